"""Rows B45 to B66: functions, classes, modules, objects."""

from __future__ import annotations

import pytest

import jitmagic as jm
from tests.conformance.programs import assert_same, explained, run, same_everywhere


def test_b45_everything_of_a_helper_is_noticed() -> None:
    text = "x = np.ones(2)\ndef g(x, k=2): return x * k\ndef f(x): return g(x) + 1"
    calls = [
        "f(x)",
        "g.__defaults__ = (3,)",
        "f(x)",
        "def g(x, k=2): return x - k",
        "f(x)",
        "g.__kwdefaults__ = {}",
        "f(x)",
    ]
    same_everywhere(text, calls)
    text = """
def make(k):
    def g(x): return x * k
    def put(v):
        nonlocal k
        k = v
    return g, put
g, put = make(2); x = np.ones(2)
def f(x): return g(x) + 1
"""
    same_everywhere(text, ["f(x)", "put(3)", "f(x)", "put(x)", "f(x)", "g = make(7)[0]", "f(x)"])


def test_b45_everything_of_a_method_is_noticed() -> None:
    text = """
def make():
    k = 2.0
    class A:
        n = [1.0, 2.0]
        def m(self, x, c=1.0, *, d=0.0): return x * k + c + d + self.n[0]
        @staticmethod
        def s(x, c=1.0): return x * c * k
        @classmethod
        def c(cls, x): return x * cls.n[1] * k
        @property
        def p(self): return self.n[0] * k
    def put(v):
        nonlocal k
        k = v
    return A, put
A, put = make(); a = A(); x = np.ones(2)
def f(x): return a.m(x), A.s(x), a.s(x), A.c(x), a.c(x), a.p
"""
    for change in (
        "put(5.0)", "A.m.__defaults__ = (9.0,)", "A.m.__kwdefaults__ = {'d': 4.0}", "A.n[0] = 8.0", "A.n[1] = 3.0",
        "A.s.__defaults__ = (4.0,)",
        "A.m.__code__ = (lambda s, x, c=1, *, d=0: x).__code__.replace(co_freevars=('k',))",
        "A.p = 3.0", "A.s = staticmethod(lambda x: x)", "A.c.__func__.__code__ = A.p.fget.__code__",
        "a.m = lambda x: x",
        "A.n = [4.0, 4.0]", "a.n = (1.0, 0.0)",
        "A.p.fget.__code__ = (lambda self: (k, 1)).__code__.replace(co_freevars=('k',))",
    ):  # fmt: skip
        same_everywhere(text, ["f(x)", f"try:\n    {change}\nexcept ValueError: pass", "f(x)"])


def test_b46_shadowed_builtins_and_patched_numpy_functions_are_noticed() -> None:
    text = "x = -np.ones(2)\ndef f(x): return abs(x) * len(x)"
    same_everywhere(text, ["f(x)", "def abs(x): return x * 100", "f(x)", "del abs", "f(x)"], [1, 2, 2])
    kinds = {(g.source, g.kind) for g in explained(text, "f(x)").guards}
    assert kinds >= {("abs", "BUILTIN_MATCH"), ("len", "BUILTIN_MATCH")}
    text = "x = np.ones(2); real = np.sin\ndef f(x): return np.sin(x) + 1"
    same_everywhere(text, ["f(x)", "np.sin = lambda x: x * 5", "f(x)", "np.sin = real", "f(x)"], [1, 2, 2])
    text = "import builtins\nx = np.ones(2)\ndef f(x): return x * max(1, 2)"
    calls = ["f(x)", "real = max; builtins.max = min", "f(x)", "builtins.max = real", "f(x)"]
    same_everywhere(text, calls, [1, 1, 1])  # nothing is compiled while libraries would run with it as well


def test_b47_an_allowed_function_is_one_node() -> None:
    text = "@jm.allow_in_graph\ndef g(x): return x * 3\nx = np.ones(2)\ndef f(x): return g(x + 1) + 1"
    same_everywhere(text, ["f(x)", "f(x)", "@jm.allow_in_graph\ndef g(x): return x * 4", "f(x)"], [1, 1, 2])
    found = explained(text, "f(x)")
    assert (found.graph_count, found.break_count) == (1, 0)
    assert found.graphs[0].count("= g(") == 1
    assert found.flags == ["g is called without being looked into"]
    assert found.flags[0] in str(found).replace("\n", " ")
    assert explained(text.replace("@jm.allow_in_graph\n", ""), "f(x)").flags == []


def test_b48_a_partial_is_guarded_by_its_parts() -> None:
    text = """
import functools
def g(x, a=0, k=1): return x * k + a
def h(x, a=0, k=1): return x - k
x = np.ones(2)
def f(x, p): return p(x) * 2
"""
    calls = [f"f(x, functools.partial({rest}))" for rest in ("g, k=2", "g, k=2", "g, k=3", "h, k=3", "g, k=2, a=1")]
    found = same_everywhere(text, [*calls, "f(x, functools.partial(g, x))", "f(x, functools.partial(g, a=1, k=2))"])
    assert found.compiles[:2] == [1, 1]
    guards = {(g.source, g.kind) for g in explained(text + "p = functools.partial(g, k=2)", "f(x, p)").guards}
    wanted = {("p", "TYPE_MATCH"), ("p.func", "FUNCTION_MATCH"), ("p.args", "LIST_LENGTH"), ("p.keywords", "DICT_KEYS")}
    assert guards >= wanted


def test_b49_a_function_that_cannot_be_traced_may_be_named_and_breaks_when_called() -> None:
    text = "@jm.disable\ndef g(x): return x * 3\nx = np.ones(2)\ndef f(x): return x * 2, [g]"
    same_everywhere(text, ["f(x)", "f(x)"])
    assert explained(text, "f(x)").break_count == 0
    text = "@jm.disable\ndef g(x): return x * 3\nx = np.ones(2)\ndef f(x):\n    y = g(x + 1)\n    return y * 2"
    same_everywhere(text, ["f(x)", "f(x)"])
    breaks = explained(text, "f(x)").breaks
    assert [b.span.line for b in breaks] == [5]


def test_b51_a_bound_method_is_its_function_and_its_receiver() -> None:
    text = """
class A:
    def __init__(self, k): self.k = k
    def scale(self, x): return x * self.k
a, b = A(2.0), A(5.0); x = np.ones(2)
def f(x, call): return call(x) + 1
"""
    calls = [
        "f(x, a.scale)",
        "f(x, b.scale)",
        "a.k = 3.0",
        "f(x, a.scale)",
        "A.scale = lambda s, x: x",
        "f(x, a.scale)",
    ]
    same_everywhere(text, calls)


def test_b52_the_attributes_of_a_module_are_noticed() -> None:
    text = "import types\nL = types.ModuleType('L'); L.K = 3; x = np.ones(2)\ndef f(x): return x * L.K"
    same_everywhere(text, ["f(x)", "L.K = 4", "f(x)", "L = types.SimpleNamespace(K=9)", "f(x)", "del L.K", "f(x)"])
    text = "import types\nL = types.ModuleType('L'); x = np.ones(2)\ndef f(x): return x * getattr(L, 'K', 7)"
    same_everywhere(text, ["f(x)", "L.K = 4", "f(x)"])


def test_b53_the_fields_of_a_dataclass_are_looped_over() -> None:
    text = """
import dataclasses
@dataclasses.dataclass
class C:
    a: float = 1.0
    b: float = 2.0
c = C(); x = np.ones(2)
def f(x, c):
    for field in dataclasses.fields(c):
        x = x * 10 + getattr(c, field.name)
    return x
"""
    same_everywhere(text, ["f(x, c)", "f(x, C(3.0))", "f(x, c)"])
    found = explained(text, "f(x, c)")
    assert (found.graph_count, found.break_count) == (1, 0)


def test_b54_methods_kept_in_variables_map_to_operations() -> None:
    text = "x = np.ones(2); add = np.ndarray.__add__\ndef f(x):\n    d = x.dot\n    return add(x, x), d(x)"
    same_everywhere(text, ["f(x)", "f(x * 2)"])
    found = explained(text, "f(x)")
    assert (found.graph_count, found.break_count) == (1, 0)


@pytest.mark.parametrize(
    "call",
    ["np.ndarray.sum(x, 0)", "add(x, [1, 2])", "np.ndarray.__getitem__(x, 0)", "np.ndarray.__setitem__(x, 0, 5)",
     "np.ndarray.__iadd__(x, 1) is x", "np.ndarray.__len__(x)", "np.ndarray.astype(x, 'f4')", "np.ndarray.sort(x)",
     "np.ndarray.__eq__(x, 'a')", "np.ndarray.__divmod__(x, 2)"],
)  # fmt: skip
def test_b54_a_method_that_is_taken_from_the_class_is_that_method(call: str) -> None:
    text = f"x = np.array([3.0, 1.0]); add = np.ndarray.__add__\ndef f(x): return {call}, x"
    same_everywhere(text, ["f(x)", "f(x * 2)", "x"])
    assert explained(text, "f(x)").break_count == 0


@pytest.mark.parametrize(
    "call", ["add(x)", "add()", "add(2.0, x)", "add(x, x, x)", "add(x, None)", "add(x, odd)", "np.ndarray.__iter__(x)",
             "np.ndarray.__bool__(x[:1])", "add(x[0], 1)", "add(jm.Tensor(x), 1)"]
)  # fmt: skip
def test_b54_such_a_method_refuses_what_it_refuses_plainly(call: str) -> None:
    odd = "class Odd:\n    def __radd__(self, other): return 'odd'\nodd = Odd()\n"
    text = f"{odd}x = np.array([3.0, 1.0]); add = np.ndarray.__add__\ndef f(x): return {call}"
    found = same_everywhere(text, ["type(f(x)).__name__", "f(x)" if "iter" not in call else "list(f(x))"])
    assert len(found.outcomes) == 3


def test_b55_a_rebound_class_is_noticed() -> None:
    text = """
class A:
    def g(self, x): return x * 2
a = A(); x = np.ones(2)
def f(x): return A().g(x), isinstance(a, A), type(a) is A
"""
    same_everywhere(text, ["f(x)", "class A:\n    def g(self, x): return x * 3", "f(x)", "a = A()", "f(x)"])
    assert ("A", "ID_MATCH") in {(g.source, g.kind) for g in explained(text, "f(x)").guards}
    text = """
class Meta(type):
    def __call__(cls, k):
        made = super().__call__()
        made.k = k
        return made
class A(metaclass=Meta): pass
x = np.ones(2)
def f(x): return x * A(3).k
"""
    same_everywhere(text, ["f(x)", "f(x)"])


def test_b58_nullcontext_is_no_context() -> None:
    text = """
import contextlib
x = np.ones(2)
def f(x):
    with contextlib.nullcontext(3) as k, contextlib.nullcontext():
        x = x * k
    return x
"""
    same_everywhere(text, ["f(x)", "f(x)"], [1, 1])
    assert explained(text, "f(x)").break_count == 0


CONFIGS = """
import argparse, dataclasses, types
@dataclasses.dataclass
class D:
    k: float = 2.0
    unused: int = 0
@dataclasses.dataclass(frozen=True)
class F:
    k: float = 2.0
    unused: int = 0
class Slots:
    __slots__ = ("k", "unused")
    def __init__(self, k=2.0, unused=0):
        self.k, self.unused = k, unused
x = np.ones(2)
def f(x, c): return x * c.k
"""


@pytest.mark.parametrize("kind", ["D", "F", "types.SimpleNamespace", "argparse.Namespace", "Slots"])
def test_b59_only_the_fields_that_were_read_count(kind: str) -> None:
    values = ("k=2.0, unused=0", "k=2.0, unused=5", "k=3.0, unused=5", "k=4.0, unused=5")
    same_everywhere(CONFIGS, [f"f(x, {kind}({v}))" for v in values], [1, 1, 2, 2])


def test_b60_writes_to_objects_are_replayed_by_their_own_rules() -> None:
    text = """
class Counter:
    def __init__(self): self.n = 0
class Strict:
    def __init__(self): object.__setattr__(self, "log", [])
    def __setattr__(self, name, value):
        self.log.append((name, value))
        object.__setattr__(self, name, value)
class Prop:
    def __init__(self): self._n = 0
    @property
    def n(self): return self._n
    @n.setter
    def n(self, value): self._n = value * 2
c, s, p = Counter(), Strict(), Prop(); s.n = 0; x = np.ones(2)
def f(x, c):
    c.n = c.n + 1
    return x * c.n
"""
    same_everywhere(text, ["f(x, c)"] * 5 + ["f(x, s)"] * 3 + ["f(x, p)"] * 3)


def test_b62_a_compiled_function_inside_another_is_unwrapped() -> None:
    text = "@jm.compile\ndef g(x): return x * 3\nx = np.ones(2)\ndef f(x): return g(x + 1) + 1"
    same_everywhere(text, ["f(x)", "f(x)", "@jm.compile\ndef g(x): return x * 4", "f(x)"], [1, 1, 2])
    found = explained(text, "f(x)")
    assert (found.graph_count, found.break_count) == (1, 0)


def test_b62_a_compiled_module_inside_a_compiled_function_is_unwrapped() -> None:
    text = """
from jitmagic import nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(np.ones(2))
    def forward(self, x): return x * 2 + self.w
m = jm.compile(M()); x = np.ones(2)
def f(x): return m(x + 1) * 3
def ask(): return np.asarray(jm.detach(f(x)))
"""
    found = same_everywhere(text, ["ask()", "m.w.data[0] = 7", "ask()", "m = jm.compile(M())", "ask()"])
    assert found.f.jit.compiles == 2
    told = explained(text, "f(x)")
    assert (told.graph_count, told.break_count) == (1, 0)
    assert ("m", "TYPE_MATCH") in {(g.source, g.kind) for g in told.guards}


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_b63_recurrent_layers_break_the_graph_unless_they_are_allowed(kind: str) -> None:
    text = f"""
from jitmagic import nn
m = nn.{kind}(3, 2, rng=np.random.default_rng(0)); x = np.sin(np.arange(9.0)).reshape(3, 1, 3)
def f(x): return m(x * 2)[0] + 1
"""
    calls = ["f(x)", "f(x)", "m.weight_hh_l0[...] = 0.1", "f(x)"]
    same_everywhere(text, calls)
    (found,) = explained(text, "f(x)").breaks
    assert found.code == "recurrent"
    assert kind in found.reason
    assert "allow_rnn=True" in found.hint
    (error,) = run(text, ["f(x)"], "eager", fullgraph=True).outcomes[:1]
    assert "allow_rnn=True" in str(error)
    expected = run(text, calls)
    with jm.configure(allow_rnn=True):
        allowed = explained(text, "f(x)")
        assert (allowed.graph_count, allowed.break_count) == (1, 0)
        for backend in ("eager", "numba"):
            assert_same(run(text, calls, backend, fullgraph=True), expected)


def test_b64_opaque_handles_pass_through() -> None:
    text = """
from concurrent.futures import ThreadPoolExecutor
import threading
x = np.ones(2); lock = threading.Lock(); other = threading.Lock()
def f(x, lock):
    y = x * 2
    return y + 1, lock
"""
    same_everywhere(text.replace("\nx =", "\nkept = []\nx ="), ["f(x, lock) is not None", "f(x, other)[1] is other"])
    assert explained(text, "f(x, lock)").break_count == 0
    text = """
from concurrent.futures import ThreadPoolExecutor
x = np.ones(2); p, q = ThreadPoolExecutor(1), ThreadPoolExecutor(1)
def f(x, pool):
    y = x * 2
    return y + 1, pool
def g(x, pool):
    y = x * 2
    return pool.submit(abs, -3).result() + y
"""
    calls = ["f(x, p)[0]", "f(x, q)[0]", "f(x, p)[1] is p, f(x, q)[1] is q", "p.shutdown(), q.shutdown()"]
    same_everywhere(text.replace("p, q =", "pools = p, q ="), ["del pools", *calls, "del p, q"])
    assert explained(text, "f(x, p)").break_count == 0
    used = text.replace("def f(", "def unused(").replace("def g(", "def f(")
    same_everywhere(used, ["f(x, p)", "f(x, q)", "p.shutdown(), q.shutdown()", "del p, q"])
    assert explained(used, "f(x, p)").break_count >= 1


def test_b65_values_made_in_the_trace_have_no_guards() -> None:
    text = """
x = np.ones(2)
def f(x):
    parts = [x, x + 1, (x * 2, {"k": x - 1})]
    total = parts[0] + parts[1] + parts[2][0] + parts[2][1]["k"]
    return parts, total
"""
    found = same_everywhere(text, ["f(x)", "f(x)"], [1, 1])
    assert found.outcomes[0][0] is not found.outcomes[1][0]
    assert {g.source.split("[")[0].split(".")[0] for g in explained(text, "f(x)").guards} <= {"x", "np"}


def test_b66_generators_of_random_numbers_advance() -> None:
    text = """
rng, other, old = np.random.default_rng(1), np.random.default_rng(2), np.random.RandomState(3)
def f(rng): return rng.normal(size=3) * 2
"""
    ends = ["rng.random()", "other.random()", "old.rand()"]
    same_everywhere(text, ["f(rng)", "f(rng)", "f(other)", "f(old)", *ends], [1, 1, 1, 2])
    text = text.replace("np.random.default_rng(2)", "np.random.Generator(np.random.MT19937(2))")
    same_everywhere(text, ["f(rng)", "f(other)", "f(rng)", "f(other)", *ends])
    jm.reset()


def test_b55_typing_aliases_in_isinstance() -> None:
    text = """
import typing
x = np.ones(2)
def f(x, v): return x * isinstance(v, typing.Sized), isinstance(v, (list, tuple)), isinstance(v, int | float)
"""
    same_everywhere(text, ["f(x, [1])", "f(x, 3)", "f(x, [1])"], [1, 2, 2])
