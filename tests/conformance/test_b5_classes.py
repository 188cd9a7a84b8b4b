"""Rows B49, B52 and B55: functions left plain, modules and classes, and whatever changes in them between calls."""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, same_everywhere

DISABLED = """
import functools
x = np.ones(2)
@jm.disable
def g(x): return x * 3
class C:
    @jm.disable
    def m(self, x): return x * 3
c, fs, part = C(), [g], functools.partial(g)
def h(x): return g(x + 1) + 1
"""


@pytest.mark.parametrize(
    ("body", "line"),
    [
        ("return fs[0](x) + 1", 11), ("return c.m(x + 1) * 2", 11), ("return h(x) * 2", 11), ("return part(x) + 1", 11),
        ("return x * 2, sorted([1, 3, 2], key=g)", 11),
        ("for i in range(3):\n        x = g(x) + i\n    return x", 12),
    ],
)  # fmt: skip
def test_b49_however_it_is_called_the_break_is_at_the_call(body: str, line: int) -> None:
    text = f"{DISABLED}def f(x):\n    {body}"
    same_everywhere(text, ["f(x)", "f(x)", "def g(x): return x * 5", "f(x)"])
    found = explained(text, "f(x)").breaks
    assert [b.span.line for b in found[:1]] == [line + 1]
    assert found[0].code == "disabled"


@pytest.mark.parametrize(
    "body",
    ["return x * len(fs), fs[0] is g, callable(g), g.__name__", "return [e for e in (g, print, eval)], x * 2",
     "k = {'g': g}\n    return k['g'], x + len(k)", "return x, type(g), isinstance(g, type)"],
)  # fmt: skip
def test_b49_to_name_it_is_no_break(body: str) -> None:
    text = f"{DISABLED}def f(x):\n    {body}"
    same_everywhere(text, ["f(x)", "f(x)"])
    assert explained(text, "f(x)").break_count == 0


def test_b49_a_mark_of_its_own_overrides_the_list() -> None:
    text = "@jm.allow_in_graph\n@jm.disable\ndef g(x): return x * 3\nx = np.ones(2)\ndef f(x): return g(x + 1) * 2"
    same_everywhere(text, ["f(x)", "f(x)"])
    assert explained(text, "f(x)").break_count == 0


MODULES = """
import sys, types
sys.modules.pop("conformance_b52", None)
x = np.ones(2)
L = types.ModuleType("conformance_b52")
L.K = 3
"""
OTHER_MODULE = "types.SimpleNamespace(K=9)"


@pytest.mark.parametrize(
    ("body", "between"),
    [
        ("return x * L.K", ["L.K = 4", "L.K = np.ones(2)", "del L.K", f"L = {OTHER_MODULE}"]),
        ("return x, hasattr(L, 'K')", ["del L.K", "L.K = 1"]),
        ("return x * L.part.K", ["L.part = types.ModuleType('part'); L.part.K = 2", "L.part.K = 5"]),
        ("return x * L.h(x)", ["L.h = np.sin", "L.h = np.cos", "L.h = lambda x: x + 1"]),
        ("return x, L.C.k", ["class C: k = 2\nL.C = C", "C.k = 3", "class C: k = 20\nL.C = C"]),
        ("L.log.append(1); return x, len(L.log)", ["L.log = []", "L.log = [1, 2]"]),
        ("return L.w + x", ["L.w = x * 5", "L.w[0] = 7", "L.w = np.zeros((3, 2))"]),
        ("import conformance_b52 as m; return x * m.K", [
            "sys.modules['conformance_b52'] = L", "L.K = 4", f"sys.modules['conformance_b52'] = {OTHER_MODULE}",
            "del sys.modules['conformance_b52']",
        ]),
        ("from conformance_b52 import K; return x * K", ["sys.modules['conformance_b52'] = L", "L.K = 4", "del L.K"]),
        ("return x, L.__name__, L is L, L is np, [L][0] is L", ["L.__name__ = 'other'", "L = np"]),
        ("L.K += 1; return x * L.K", ["L.K = 10"]),
    ],
)  # fmt: skip
def test_b52_whatever_changes_in_a_module_is_noticed(body: str, between: list[str]) -> None:
    text = f"{MODULES}def f(x): {body}"
    same_everywhere(text, ["f(x)", "f(x)", *(step for each in between for step in (each, "f(x)"))])


STAND_IN = """
import sys, types
x = np.ones(2)
class StandIn(types.ModuleType):
    def __init__(self, name):
        super().__init__(name)
        self.asked = []
    def __getattr__(self, name):
        if name.startswith('__'): raise AttributeError(name)
        self.asked.append(name)
        return {'K': 3.0, 'J': 2.0}[name]
L = sys.modules['conformance_b52_missing'] = StandIn('conformance_b52_missing')
L.given = 4.0
"""


@pytest.mark.parametrize(
    "body",
    [
        "return x * L.K + L.J * L.given", "import conformance_b52_missing as m; return x * m.given + m.K",
        "from conformance_b52_missing import given, J; return x * given + J",
    ],
)  # fmt: skip
def test_b52_a_recorded_stand_in_for_a_missing_module(body: str) -> None:
    text = f"{STAND_IN}def f(x): {body}"
    calls = ["f(x)", "f(x)", "L.given = 5.0", "f(x)", "L.K = 7.0", "f(x)", "del L.K", "f(x)", "L.asked"]
    same_everywhere(text, [*calls, "del sys.modules['conformance_b52_missing']", "f(x)"])
    assert explained(text, "f(x)").graph_count > 0


@pytest.mark.parametrize("body", ["return x * m.K", "return x, getattr(m, 'K'), hasattr(m, 'K')"])
def test_b52_a_module_may_be_an_argument(body: str) -> None:
    text = f"{MODULES}other = types.ModuleType('other'); other.K = 5\ndef f(x, m): {body}"
    same_everywhere(text, ["f(x, L)", "f(x, other)", "f(x, L)", "other.K = 6", "f(x, other)"], [1, 2, 2, 2])
    found = explained(text, "f(x, L)")
    assert found.break_count == 0
    assert ("m", "PYMODULE_MATCH") in {(g.source, g.kind) for g in found.guards}


@pytest.mark.parametrize("found", ["7", "{}[n]", "getattr({}, n)"])
def test_b52_what_a_module_does_when_it_is_asked_is_done_once(found: str) -> None:
    text = f"""{MODULES}log = []
def asked(n):
    log.append(n)
    return {found}
L.__getattr__ = asked
def f(x):
    try: return x * L.Q, len(log)
    except (AttributeError, KeyError) as e: return x, e.args, len(log)
"""
    same_everywhere(text, ["f(x)", "f(x)", "L.Q = 2", "f(x)", "del L.Q", "f(x)", "log"])


def test_b52_a_name_that_numpy_has_no_more_has_numpys_words() -> None:
    text = "x = np.ones(2)\ndef f(x, n):\n    try: return x, getattr(np, n)\n    except AttributeError as e: "
    same_everywhere(f"{text}return x, e.args, e.name, e.obj is np", [f"f(x, {n!r})" for n in ("int", "float_", "foo")])


@pytest.mark.parametrize("place", ["C.o", "L.o", "o", "held[0]", "z"])
def test_b52_no_object_is_asked_for_its_name(place: str) -> None:
    """A module or object of the user's may do anything when it is asked for what it has not."""
    text = f"""{MODULES}class Asked:
    def __init__(self): object.__setattr__(self, "seen", [])
    def __getattr__(self, name):
        self.seen.append(name)
        if name.startswith("__"): raise AttributeError(name)
        return 3
o = Asked()
held = [o]; L.o = o
class C: pass
C.o = o
def f(x, z=o): return x * {place}.k, {place}, {place} is o, type({place}).__name__
"""
    same_everywhere(text, ["f(x)", "f(x)", "o.seen"])


@pytest.mark.parametrize(
    "kinds",
    ["typing.List", "typing.Union[int, str]", "typing.Optional[int]", "list[int]", "typing.Any", "typing.Hashable",
     "typing.Literal[1]", "typing.TypeVar('T')", "int | None", "(int, (str, float))", "np.ndarray | list", "()",
     "collections.abc.Sequence", "numbers.Number", "np.floating", "typing.SupportsFloat", "typing.NamedTuple"],
)  # fmt: skip
def test_b55_isinstance_answers_or_refuses_as_python_does(kinds: str) -> None:
    text = f"""
import collections.abc, numbers, typing
x = np.ones(2)
T = {kinds}
def f(x, v):
    try: return x * 2, isinstance(v, T), isinstance(v, {kinds})
    except TypeError as e: return x * 2, str(e)
"""
    values = ("1", "'a'", "None", "[1]", "x", "np.float32(2)", "(1,)")
    same_everywhere(text, [*(f"f(x, {v})" for v in values), "T = str", "f(x, 'a')", "f(x, 1)"])


@pytest.mark.parametrize(
    ("setup", "call", "between"),
    [
        ("class A: k = 1\nclass B(A): pass", "x * B.k, issubclass(B, A)",
         ["A.k = 2", "B.k = 3", "class A: k = 9", "B.__bases__ = (A,)"]),
        ("class A: k = 1\nclass B: k = 2\nb = A()", "x * b.k, isinstance(b, A), type(b) is A, b.__class__ is A",
         ["b.__class__ = B", "b = B()", "A = B"]),
        ("def make(k):\n    class C: q = k\n    return C\nC = make(2)", "x * C().q, C.__name__",
         ["C = make(3)", "C.q = 4", "C.__name__ = 'D'"]),
        ("import abc\nclass P(abc.ABC): pass\nclass A: pass", "x * isinstance(A(), P)", ["P.register(A)"]),
        ("class M(type):\n    k = 5\n    def __len__(c): return 7\nclass A(metaclass=M): pass", "x * A.k, len(A)",
         ["M.k = 6", "M.__len__ = lambda c: 8", "class A(metaclass=M): k = 1"]),
        ("class A: k = 1\nclass B: k = 2\nkinds = {'a': A}", "x * kinds['a'].k, {A: 1}.get(kinds['a']), A in (A, B)",
         ["kinds['a'] = B", "A = B"]),
        ("class A: pass\ndef new(c): o = object.__new__(c); o.k = 4; return o\nA.k = 1", "x * A().k",
         ["A.__new__ = new", "A.__init__ = lambda s: setattr(s, 'k', 7)"]),
    ],
)  # fmt: skip
def test_b55_whatever_changes_in_a_class_is_noticed(setup: str, call: str, between: list[str]) -> None:
    text = f"{setup}\nx = np.ones(2)\ndef f(x): return {call}"
    same_everywhere(text, ["f(x)", "f(x)", *(step for each in between for step in (each, "f(x)"))])
