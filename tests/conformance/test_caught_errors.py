"""Exceptions that Python raises inside captured code and that the program catches: all that a handler can ask them."""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, same_everywhere

TEXT = """
import collections, contextlib, dataclasses, functools, operator, types
mod = types.ModuleType("mod")
class Plain: pass
class Slots: __slots__ = ("q",)
class Meta(type): pass
class Odd(metaclass=Meta): pass
class Child(Plain):
    def above(self): return super().foo
class Asked:
    def __getattr__(self, name): raise AttributeError(name)
class Asking:
    def __getattr__(self, name): return (3).bar
class Gives:
    @property
    def v(self): return self.zz
    w = property()
class Named(AttributeError):
    def __init__(self, name): self.name = name
class Names:
    @property
    def v(self): raise Named("own")
@dataclasses.dataclass(frozen=True)
class Frozen: a: int = 1
Pair = collections.namedtuple("Pair", "a b")
def none(): return 1
@functools.wraps(none)
def one(a): return a
def gen():
    yield 1
    return 7
def stops():
    yield 1
    raise StopIteration(3)
@contextlib.contextmanager
def empty():
    if 0: yield
@contextlib.contextmanager
def renames():
    try: yield
    except ValueError as e: raise KeyError("k") from e
class Leaves:
    def __enter__(self): pass
    def __exit__(self, *a): [][0]
def look(e):
    out = [type(e).__name__, e.args, str(e), e.__suppress_context__]
    out += [(type(c).__name__, c.args) for c in (e.__cause__, e.__context__) if c is not None]
    out += [e.__cause__ is None, e.__context__ is None]
    if isinstance(e, (AttributeError, NameError)): out.append(e.name)
    if isinstance(e, AttributeError): out += [type(e.obj).__name__, e.obj is o, e.obj is x, e.obj is l]
    if isinstance(e, StopIteration): out.append(e.value)
    return out
o, x, l, d = Plain(), np.ones(3), [1, 2], {"a": 1}
def f(x, l, d):
    y = x * 2
    try:
        BODY
    except Exception as e:
        return y, look(e)
    return y
"""

ATTRIBUTES = (
    "x.foo", "x[0].foo", "x.T.foo", "x.foo()", "getattr(x, 'foo')", "operator.methodcaller('foo')(x)", "o.foo",
    "o.foo()", "o.foo += 1", "getattr(o, 'foo')", "operator.attrgetter('a.b')(o)", "del o.foo", "delattr(o, 'foo')",
    "Slots().q", "del Slots().q", "s = Slots(); s.q = 1; del s.q; s.q", "Plain.foo", "Odd.foo", "int.foo",
    "np.float64.foo", "mod.foo", "np.foo", "l.foo", "d.foo", "(1, 2).foo", "Pair(1, 2).c", "collections.deque().foo",
    "collections.OrderedDict().foo", "collections.Counter().foo", "collections.defaultdict(int).foo", "none.foo",
    "(lambda: 1).foo", "Child().above()", "Asked().foo", "Asking().foo", "Gives().v", "Gives().w", "Gives().v = 1",
    "Names().v", "Frozen().a = 3", "e = AttributeError('q'); e.name = 'zz'; raise e", "raise AttributeError('q')",
)  # fmt: skip

CHAINS = (
    "raise ValueError('v') from KeyError('k')", "raise ValueError('v') from None",
    "e = ValueError(1); e.__cause__ = KeyError(2); raise e",
    "e = ValueError(1); e.__suppress_context__ = True; raise e", "list(stops())", "g = gen(); next(g); next(g)",
    "next(iter([]))", "empty().__enter__()",
)  # fmt: skip

INSIDE = (
    "x.foo", "raise ValueError('v') from None", "next(stops())", "g = gen(); next(g); g.throw(ValueError('t'))",
    "none(1)",
)  # fmt: skip

CONTEXTS = ("with empty(): pass", "with renames(): raise ValueError('q')", "with Leaves(): 1 / 0")

OTHERS = (
    "nosuch", "d['q']", "l[9]", "l.index(9)", "max([])", "min([], key=len)", "one(1, 2)", "Frozen(1, 2)",
    "Frozen(zz=1)", "none(**{'a': 1}, a=2)", "dict(**{'a': 1}, a=2)", "none(**{1: 2})", "from math import nosuch",
    "from numpy import nosuch",
)  # fmt: skip


def _text(body: str) -> str:
    return TEXT.replace("BODY", body)


@pytest.mark.parametrize("body", ATTRIBUTES)
def test_an_attribute_error_says_of_what_and_which_name(body: str) -> None:
    same_everywhere(_text(body), ["f(x, l, d)"])


@pytest.mark.parametrize("body", ATTRIBUTES + CHAINS[:-1] + CONTEXTS + OTHERS[:9])
def test_it_is_captured(body: str) -> None:
    found = explained(_text(body), "f(x, l, d)")
    assert (found.graph_count, found.break_count) == (1, 0)


@pytest.mark.parametrize("body", CHAINS + CONTEXTS)
def test_an_error_knows_its_cause_and_its_context(body: str) -> None:
    same_everywhere(_text(body), ["f(x, l, d)"])


@pytest.mark.parametrize("body", INSIDE)
def test_an_error_while_another_one_is_handled(body: str) -> None:
    inside = f"try: 1 / 0\n        except ZeroDivisionError:\n            {body}"
    same_everywhere(_text(inside), ["f(x, l, d)"])


@pytest.mark.parametrize("body", OTHERS)
def test_an_error_has_the_words_of_python(body: str) -> None:
    same_everywhere(_text(body), ["f(x, l, d)"])


def test_the_object_of_an_attribute_error_may_be_used() -> None:
    body = "o.foo\n    except AttributeError as e:\n        e.obj.k = e.name\n        return o.k, e.obj is o"
    same_everywhere(_text(body), ["f(x, l, d)", "o.k"])
