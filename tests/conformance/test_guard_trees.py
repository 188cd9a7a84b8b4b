"""Rows G04, G06, G07, G09 to G11, G14 and G19: what a check reads, and guards on modules of both forms."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import warnings
import weakref
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import nn
from jitmagic.nn import dynamic
from jitmagic.runtime import covering
from jitmagic.runtime.memory import MEMORY, entry_bytes
from jitmagic.runtime.native import code
from jitmagic.runtime.native.checks import Checks
from jitmagic.runtime.native.entry_text import Check
from jitmagic.tracer.guards.codegen import Candidate, select
from tests.conformance.programs import explained, load

X = np.arange(6.0)


@pytest.fixture(autouse=True)
def native_code() -> None:
    code.prepare()


@contextlib.contextmanager
def counted_checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often each check and each load stands in the entries that are made meanwhile."""
    found: Counter[str] = Counter()
    fill, array = Checks.fill, Checks._array

    def counted_fill(self: Checks, check: Check, *operands: int) -> int:
        found[check.name] += 1
        return fill(self, check, *operands)

    def counted_array(self: Checks, *rest: Any) -> None:
        found["ARRAY"] += 1
        array(self, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(Checks, "fill", counted_fill)
        patch.setattr(Checks, "_array", counted_array)
        yield found


def generated(entry: Any, parameters: tuple[str, ...]) -> str:
    """The same check as generated Python."""
    return "\n".join(select([Candidate(entry.checked, entry.constants, ("pass",))], {n: n for n in parameters}).lines)


# -- G04, G06, G07: what one check reads
def test_g04_the_metadata_of_an_array_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(f"a{k}" for k in range(20))
    f = jm.compile(load(f"def f({', '.join(names)}): return {' + '.join(names)}")["f"], backend="aot_eager")
    arrays = [X + k for k in range(20)]
    with counted_checks(monkeypatch) as found:
        f(*arrays)
    assert found["ARRAY"] == 20
    text = generated(f.jit.frame.entries[0], names)
    for name in names:
        assert text.count(f"{name}.shape") == text.count(f"{name}.flags") == 1


def test_g06_a_shared_prefix_is_read_once_whatever_hangs_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = " + ".join(f"root.block.k{k}" for k in range(50))
    text = (
        "class A: pass\nroot = A(); root.block = A()\n"
        "for k in range(50): setattr(root.block, f'k{k}', float(k))\n"
        f"def f(x): return x * ({reads})"
    )
    names = load(text)
    f = jm.compile(names["f"], backend="aot_eager")
    with counted_checks(monkeypatch) as found:
        f(X)
    entry = f.jit.frame.entries[0]
    values = [g for g in entry.guards if g.guard.kind == "CONSTANT_MATCH"]
    assert len(values) == 50
    assert found["FROM_OWN_DICT"] == 1 + 50
    assert generated(entry, ("x",)).count("['block']") == 1
    assert f(X).tolist() == (X * sum(range(50))).tolist()


class Part(nn.Module):
    def __init__(self, value: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(np.full(6, value))
        self.register_buffer("shift", np.full(6, value + 1))

    def forward(self, x: Any) -> Any:
        return x * self.weight + self.shift


class Fold(nn.Module):
    """Its answer depends on the order of its children, parameters and buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Part(2.0), Part(3.0)
        self.p, self.q = nn.Parameter(np.full(6, 5.0)), nn.Parameter(np.full(6, 7.0))
        self.register_buffer("b", np.full(6, 0.5))
        self.register_buffer("c", np.full(6, 0.25))

    def forward(self, x: Any) -> Any:
        for child in self.children():
            x = child(x)
        for parameter in self.parameters(recurse=False):
            x = (x + 1.0) * parameter
        for buffer in self.buffers(recurse=False):
            x = (x + 2.0) * buffer
        return x


def python_calls(function: Any, *arguments: Any) -> Counter[str]:
    """The names of the Python functions that run meanwhile."""
    found: Counter[str] = Counter()

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            found[frame.f_code.co_name] += 1

    sys.setprofile(note)
    try:
        function(*arguments)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("covers", [True, False], ids=["one comparison", "read by read"])
def test_g07_a_check_calls_no_getattr(covers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(covering, "is_worth_it", lambda covered: covers)
    model = Fold()
    f = jm.compile(lambda x: model(x), backend="aot_eager", fullgraph=True)
    with jm.configure(demote=False):
        f(X)
        f(X)
        for check in (f, f.jit.frame.checking):  # compiled code, and generated Python
            called = python_calls(check, X)
            assert not {"__getattr__", "__getattribute__", "_call_impl", "forward"} & called.keys(), called
    assert f.jit.compiles == 1


# -- G09, G14: modules of both forms
TABLES = ("_modules", "_parameters", "_buffers")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("form", ["specialised", "unspecialised"])
def test_g09_a_new_order_gives_a_new_answer_in_both_forms(
    form: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Ordered(Fold):
        pass

    if form == "unspecialised":
        monkeypatch.setattr(dynamic, "_marked", type(dynamic._marked)([Ordered]))
    model = Ordered()
    f = jm.compile(lambda m, x: m(x), backend="aot_eager")
    before = f(model, X).tolist()
    assert before == model(X).tolist()
    assert f(model, X).tolist() == before
    entries = model.__dict__[table]
    key = next(iter(entries))
    entries[key] = entries.pop(key)
    after = f(model, X).tolist()
    assert after == model(X).tolist() != before
    assert f.jit.compiles == 2


def test_g14_tied_weights_are_one_attribute_until_they_are_untied() -> None:
    model = Fold()
    model.second.weight = model.first.weight
    f = jm.compile(lambda x: model(x), backend="aot_eager", fullgraph=True)
    assert f(X).tolist() == model(X).tolist()
    kept = f.jit.frame.entries[0].constants
    assert sum(value is model.first.weight for value in kept) == 1
    model.first.weight[...] = 4.0
    assert f(X).tolist() == model(X).tolist()
    assert f.jit.compiles == 1, "written through one name, seen through both"
    model.second.weight = nn.Parameter(np.full(6, 9.0))
    assert f(X).tolist() == model(X).tolist()
    assert f.jit.compiles == 2


# -- G10, G11, G19
def test_g10_the_tree_reads_less_than_whole_expressions_would() -> None:
    """Reads are counted, not timed: ``python -m tests.benchmarks.modules`` gives the times."""

    def nested(depth: int) -> nn.Module:
        model: nn.Module = Part(1.5)
        for _ in range(depth):
            model = nn.Sequential(model)
        return model

    model = nn.Sequential(*[nested(4) for _ in range(50)])
    f = jm.compile(lambda x: model(x), backend="aot_eager", fullgraph=True)
    f(X)
    sources = {s for held in f.jit.frame.entries[0].guards for s in (held.guard.source, *held.guard.others)}
    whole = sum(len(s.path) for held in f.jit.frame.entries[0].guards for s in (held.guard.source,))
    shared = len({step for source in sources for step in source.path})
    assert whole / shared >= 4.6


def test_g11_without_guard_nn_modules_contents_may_be_missed_but_no_other_module() -> None:
    covering._remark_unchecked.cache_clear()
    one, other = Fold(), Fold()
    other.p[...] = 11.0
    f = jm.compile(lambda m, x: m(x), backend="aot_eager")
    with jm.configure(guard_nn_modules=False), warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        before = f(one, X).tolist()
        one.first.__dict__["unseen"] = 1
        one.p = nn.Parameter(np.full(6, 13.0))
        missed = f(one, X).tolist()
        assert f.jit.compiles == 1
        assert missed == before
        assert f(other, X).tolist() == other(X).tolist()
        assert f.jit.compiles == 2
    assert [str(r.message)[:23] for r in remarks] == ["guard_nn_modules is off"]
    g = jm.compile(lambda m, x: m(x), backend="aot_eager")
    g(one, X)
    one.p = nn.Parameter(np.full(6, 17.0))
    assert g(one, X).tolist() == one(X).tolist()


def test_g11_training_is_guarded_all_the_same() -> None:
    class Switch(nn.Module):
        def forward(self, x: Any) -> Any:
            return x * 2.0 if self.training else x - 1.0

    model = Switch()
    f = jm.compile(lambda x: model(x), backend="aot_eager")
    with jm.configure(guard_nn_modules=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert f(X).tolist() == (X * 2).tolist()
        model.eval()
        assert f(X).tolist() == (X - 1).tolist()
        model.train()
        assert f(X).tolist() == (X * 2).tolist()
    assert f.jit.compiles == 2


def test_g19_every_guard_has_its_category() -> None:
    text = "k = 2.0\nclass A: pass\na = A(); a.j = 3.0\nx = np.ones(3)\ndef f(x, n=2): return x * k * a.j * n"
    found = {g.source: g.category for g in explained(text, "f(x)").guards}
    assert found["x"] == found["n"] == "local"
    assert found["k"] == found["a.j"] == "global"
    assert set(found.values()) <= {"local", "global", "constant", "module", "managed", "random"}


# -- threads
def test_16_threads_with_4_dtypes_compile_4_times() -> None:
    f = jm.compile(load("def f(x): return x * 3 + x")["f"])
    dtypes = [np.float64, np.float32, np.int32, np.int64]
    gate = threading.Barrier(16)
    right: list[bool] = []

    def work(index: int) -> None:
        x = np.arange(100).astype(dtypes[index % 4])
        gate.wait()
        for _ in range(20):
            y = f(x)
            right.append(y.dtype == x.dtype and bool((y == x * 3 + x).all()))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert right == [True] * 320
    assert (f.jit.compiles, f.jit.entries) == (4, 4)


# -- G21
def test_g21_entries_for_models_that_are_gone_are_gone() -> None:
    f = jm.compile(load("def f(m, x): return m(x) * 2")["f"], backend="aot_eager")
    gc.collect()
    before = MEMORY.used_bytes()
    arrays = []
    for k in range(20):
        model = Fold()
        model.p[...] = k
        assert f(model, X).tolist() == (model(X) * 2).tolist()
        arrays.append(weakref.ref(model.p))
        del model
        gc.collect()
    (left,) = f.jit.frame.entries  # made for the second model, it serves every later one; the first one's is gone
    assert f.jit.compiles == 2
    assert MEMORY.used_bytes() == before + entry_bytes(left)
    assert [r() for r in arrays] == [None] * 20
