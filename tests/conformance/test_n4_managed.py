"""Rows N42 and N57 to N61: what settings leave unguarded, managed modules, modules of the library."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic import nn
from jitmagic.errors import InternalError, UserError
from jitmagic.runtime import covering
from jitmagic.tracer.guards import DictSource, LocalSource, inside
from jitmagic.tracer.variables.modules import NNModuleTracker
from tests.nn.running import run, same

NET = """
x = np.arange(6.0).reshape(2, 3)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)
        self.k = 2
    def forward(self, x): return self.lin(x) * self.k
m, m2 = Net(), Net()
def f(m, x): return m(x)
"""
MANAGED = NET + "nn.manage(m, use_orig_params=True); nn.manage(m2, use_orig_params=True)\n"


@contextlib.contextmanager
def unguarded() -> Iterator[None]:
    """``guard_nn_modules`` off, its remark shown before (programs of tests turn warnings into errors)."""
    with jm.configure(guard_nn_modules=False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        covering._remark_unchecked()
        yield


def test_n42_unspecialised_modules_are_guarded_whatever_the_option_says() -> None:
    with unguarded():
        same(NET + "nn.mark_dynamic_class(Net)\n", ["f(m,x)", "m.k = 3", "f(m,x)"], [1, 2])


def test_n42_also_below_a_specialised_module() -> None:
    text = """
x = np.arange(6.0).reshape(2, 3)
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.k, self.l = 2, 3
    def forward(self, x): return x * self.k + self.l
nn.mark_dynamic_class(Inner)
class Outer(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(*(Inner() for _ in range(5)))
    def forward(self, x): return self.inner(x)
m = Outer()
def f(x): return m(x)
"""
    with unguarded():
        same(text, ["f(x)", "m.inner[3].k = 5", "f(x)"], [1, 2])


def test_n57_an_owner_swaps_arrays_without_a_compile() -> None:
    calls = ["f(m,x)", "m.lin.weight = np.ones((3, 3))", "f(m,x)", "m.lin._parameters['bias'] = np.ones(3)", "f(m,x)"]
    same(MANAGED, calls, [1, 1, 1])


def test_n57_parameters_of_managed_modules_are_inputs() -> None:
    found = run(MANAGED, ["f(m,x)"], "eager")
    graph = found.names["f"].jit.frame.entries[0].capture.graph
    assert [p.source for p in graph.placeholders] == ["x", "m.lin.weight", "m.lin.bias"]


def test_n57_another_shape_is_noticed() -> None:
    calls = ["f(m,x)", "m.lin.weight = np.ones((1, 3)); m.lin.bias = np.ones(1)", "f(m,x)"]
    same(MANAGED, calls, [1, 2])


def test_n58_managed_models_share_no_entry() -> None:
    same(MANAGED, ["f(m,x)", "f(m2,x)", "f(m,x)", "f(m2,x)"], [1, 2, 2, 2])


def test_n58_an_owner_must_declare_what_it_keeps() -> None:
    model = nn.manage(nn.Linear(3, 3))

    @jm.compile
    def f(x: Any) -> Any:
        return model(x)

    with pytest.raises(UserError, match="use_orig_params=True"):
        f(np.ones((2, 3)))


def test_n58_a_managed_module_has_a_source_and_stays_managed() -> None:
    model = nn.manage(nn.Linear(2, 2), use_orig_params=True)
    with pytest.raises(InternalError, match=r"managed Linear .* without the place"):
        NNModuleTracker(nn.Linear, model, None, category="managed")
    tracker = NNModuleTracker(nn.Linear, model, LocalSource("m"), category="managed")
    assert tracker.contents.category == "managed"
    tracker.source = DictSource(LocalSource("other"), "m")
    assert (tracker.contents.category, tracker.contents.text) == ("managed", "other.m")
    assert inside(DictSource(tracker.contents, "child"), "builtin").category == "managed"


def test_n59_wrapping_a_source_twice_does_not_nest() -> None:
    once = inside(LocalSource("m"), "managed")
    assert inside(once, "managed") == once
    assert once.base == LocalSource("m")


def test_n59_without_the_option_edits_of_managed_modules_are_noticed() -> None:
    same(MANAGED, ["f(m,x)", "m.k = 3", "f(m,x)", "m.eval()", "f(m,x)"], [1, 2, 2])


def test_n59_with_the_option_their_contents_are_not_guarded() -> None:
    calls = ["f(m,x)", "m.k = 3", "f(m,x)", "m.lin.weight = np.ones((3, 3))", "f(m,x)", "f(m2,x)"]
    with jm.configure(skip_managed_guards=True):
        found = run(MANAGED, calls, "numba")
    plain = run(MANAGED, [c for c in calls if c != "m.k = 3"])
    assert found.outcomes == plain.outcomes
    assert found.compiles == [1, 1, 1, 2]


def test_n59_with_the_option_arrays_of_another_shape_are_noticed_all_the_same() -> None:
    with jm.configure(skip_managed_guards=True):
        test_n57_another_shape_is_noticed()


def test_n60_an_entry_from_before_the_management_is_not_used() -> None:
    calls = [
        "f(m,x)",
        "nn.manage(m, use_orig_params=True)._get_name()",
        "f(m,x)",
        "m.lin.weight = np.ones((3, 3))",
        "f(m,x)",
        "m.lin.weight = np.zeros((3, 3))",
        "f(m,x)",
    ]
    same(NET, calls, [1, 2, 2, 2])


def test_n60_nor_is_one_for_a_dynamic_class() -> None:
    text = NET + "nn.mark_dynamic_class(Net)\n"
    same(
        text, ["f(m,x)", "f(m2,x)", "nn.manage(m, use_orig_params=True)._get_name()", "f(m,x)", "f(m2,x)"], [1, 2, 3, 3]
    )


LIBRARY = """
x = np.arange(6.0).reshape(2, 3)
class Mine(nn.LayerNorm):
    pass
m, m2, mine, mine2 = nn.LayerNorm(3), nn.LayerNorm(3), Mine(3), Mine(3)
def f(m, x): return m(x)
"""


@pytest.mark.parametrize("guarded", [True, False])
def test_n61_attributes_of_modules_of_the_library_are_guarded_by_setting(guarded: bool) -> None:
    calls = ["f(m,x)", "f(m2,x)", "m.eps = 1.0", "f(m,x)"]
    with jm.configure(guard_builtin_modules=guarded):
        found = run(LIBRARY, calls, "numba")
    assert (found.outcomes == run(LIBRARY, calls).outcomes) is guarded
    assert found.compiles == ([1, 2, 3] if guarded else [1, 2, 2])


@pytest.mark.parametrize("guarded", [True, False])
def test_n61_modules_of_the_user_and_arrays_always_are(guarded: bool) -> None:
    with jm.configure(guard_builtin_modules=guarded):
        same(LIBRARY, ["f(mine,x)", "f(mine2,x)", "mine.eps = 1.0", "f(mine,x)"], [1, 2, 3])
        same(LIBRARY, ["f(m,x)", "f(m2,x)", "m.weight = np.zeros(3)", "f(m,x)", "m.eval()", "f(m,x)"], [1, 2, 2, 2])


def test_n61_the_generated_check_serves_functions_of_the_library() -> None:
    """``forward`` is inlined from another module, and asks for builtins there: so does the check in Python."""
    found = run(LIBRARY, ["f(m,x)", "f(m2,x)"], "eager")
    frame, names = found.names["f"].jit.frame, found.names
    misses = frame.misses
    for module in (names["m"], names["m2"]):
        frame.checking(module, names["x"])
    assert frame.misses == misses
