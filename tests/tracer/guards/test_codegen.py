"""The generated check: it agrees with the evaluated one, reads shared things once, and runs no user code."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jitmagic.tracer.guards import (
    AttributeSource,
    ConstantSource,
    GlobalSource,
    Guard,
    ItemSource,
    LocalSource,
    Source,
)
from jitmagic.tracer.guards.codegen import Candidate, select
from jitmagic.tracer.guards.explain import first_failure
from jitmagic.tracer.guards.holding import Held, hold
from jitmagic.tracer.guards.kinds import (
    NAMES,
    array_guard,
    constant_guard,
    identity_guard,
    length_guard,
    no_alias_guard,
)

X, Y = LocalSource("x"), LocalSource("y")


def checker(entries: Sequence[Sequence[Held]], parameters: Sequence[str], constants: Sequence[Any] = ()) -> Any:
    """``check(*values)`` gives the index of the entry that matches, or None; ``check.text`` is its source."""
    names = {name: f"p{i}" for i, name in enumerate(parameters)}
    candidates = [Candidate(guards, constants, (f"return {i}",)) for i, guards in enumerate(entries)]
    selection = select(candidates, names)
    body = "\n".join("        " + line for line in selection.lines) or "        pass"
    text = f"def check({', '.join(names.values())}):\n    try:\n{body}\n    except Exception:\n        pass\n"
    scope = {**NAMES, **selection.names, "G": {}, "B": vars(builtins), "C": ()}
    exec(text, scope)
    scope["check"].text = text
    return scope["check"]


arrays = st.builds(
    lambda shape, dtype, order: np.zeros(shape, dtype, order),
    st.lists(st.integers(0, 3), max_size=2),
    st.sampled_from(["f8", "f4", "i4", ">f8"]),
    st.sampled_from("CF"),
)
values = st.one_of(arrays, st.sampled_from([None, 1, 2, True, 1.0, 0.0, -0.0, float("nan"), "a", (1, 2), [1], [1, 2]]))


def guards_for(name: str, value: Any) -> list[Guard]:
    source = LocalSource(name)
    if isinstance(value, np.ndarray):
        free = tuple(None if n >= 2 else n for n in value.shape)
        return array_guard(source, value, free)
    if isinstance(value, list):
        first = constant_guard(ItemSource(source, 0), value[0])
        return [length_guard(source, list, len(value)), first]
    return [constant_guard(source, value)]


@given(st.lists(st.tuples(values, values), min_size=1, max_size=5), st.tuples(values, values))
def test_it_finds_the_entry_that_the_evaluated_form_finds(seen: list[tuple[Any, Any]], call: tuple[Any, Any]) -> None:
    entries = [[hold(g) for n, v in zip("xy", pair, strict=True) for g in guards_for(n, v)] for pair in seen]
    check = checker(entries, "xy")
    arguments = dict(zip("xy", call, strict=True))
    expected = [i for i, guards in enumerate(entries) if first_failure(guards, arguments, NAMES) is None]
    assert check(*call) == (expected[0] if expected else None)
    for index, pair in enumerate(seen):
        assert check(*pair) is not None
        assert check(*pair) <= index


class Counting:
    """A container that counts its reads."""

    def __init__(self, items: dict[str, Any]) -> None:
        self.items, self.reads = items, 0

    def __getitem__(self, key: str) -> Any:
        self.reads += 1
        return self.items[key]


def test_a_shared_prefix_is_read_once() -> None:
    """Row G06: 50 guards under one block cost one read of the block."""
    inner = Counting({str(i): i for i in range(50)})
    outer = Counting({"block": inner})
    block = ItemSource(X, "block")
    guards = [hold(constant_guard(ItemSource(block, str(i)), i)) for i in range(50)]
    check = checker([guards, guards], ["x"])
    assert check(outer) == 0
    assert (outer.reads, inner.reads) == (1, 50)


def test_each_piece_of_an_arrays_metadata_is_read_once() -> None:
    """Row G04, also for many arrays and several entries."""
    arrays = {f"a{i}": np.zeros((2, 3)) for i in range(20)}
    entry = [hold(g) for n, a in arrays.items() for g in array_guard(LocalSource(n), a, (None, None))]
    check = checker([entry, entry], list(arrays))
    assert check(*arrays.values()) == 0
    for index in range(20):
        assert check.text.count(f"p{index}.shape") <= 1
        assert check.text.count(f"p{index}.flags") <= 1


def test_entries_share_the_tests_that_they_start_with() -> None:
    entries = [[hold(g) for g in array_guard(X, np.zeros(n), (n,))] for n in range(2, 34)]
    check = checker(entries, ["x"])
    assert check(np.zeros(20)) == 18
    assert check.text.count("is ndarray") == 1


@pytest.mark.parametrize("name", ["G", "B", "C", "K0", "k0", "t1", "p1", "len", "type", "ndarray", "v"])
def test_parameters_may_have_any_name(name: str) -> None:
    guards = [hold(g) for n in (name, "other") for g in array_guard(LocalSource(n), np.zeros(3), (3,))]
    check = checker([guards], [name, "other"])
    assert check(np.zeros(3), np.zeros(3)) == 0
    assert check(np.zeros(4), np.zeros(3)) is None


def test_what_cannot_be_read_does_not_match() -> None:
    """Row G16: a missing item, a missing attribute, a missing global."""
    sources: list[Source] = [ItemSource(X, 5), AttributeSource(X, "nowhere"), GlobalSource("nowhere")]
    for source in sources:
        check = checker([[hold(constant_guard(source, 1))]], ["x"])
        assert check([1]) is None


class Hostile:
    """Every special method that a careless test might run raises."""

    def _raise(self, *args: object) -> Any:
        raise AssertionError("a guard ran user code")

    __eq__ = __ne__ = __bool__ = __hash__ = __len__ = __getitem__ = __index__ = __float__ = __repr__ = _raise
    __array__ = __iter__ = __contains__ = __lt__ = __str__ = _raise


@pytest.mark.parametrize("seen", [1, 2.0, -0.0, "a", None, True, np.zeros(3), [1, 2], np.float64(3), (1, 2)])
def test_no_guard_runs_code_of_the_user(seen: Any) -> None:
    ran: list[str] = []

    class Spy(Hostile):
        def __getattribute__(self, name: str) -> Any:
            ran.append(name)
            return super().__getattribute__(name)

    check = checker([[hold(g) for g in guards_for("x", seen)]], ["x"])
    assert check(Spy()) is None
    assert not ran


def test_constants_of_the_entry_are_its_own() -> None:
    source = ItemSource(ConstantSource(0), "n")
    guards = [hold(constant_guard(source, 1))]
    names = {"x": "p0"}
    candidates = [Candidate(guards, [{"n": 2}], ("return 0",)), Candidate(guards, [{"n": 1}], ("return 1",))]
    selection = select(candidates, names)
    text = "def check(p0):\n" + "\n".join("    " + line for line in selection.lines)
    scope = {**NAMES, **selection.names}
    exec(text, scope)
    assert scope["check"](None) == 1


def test_two_arguments_that_are_one_object() -> None:
    check = checker([[hold(no_alias_guard((X, Y, LocalSource("z"))))]], ["x", "y", "z"])
    a, b, c = (np.zeros(2) for _ in range(3))
    assert check(a, b, c) == 0
    assert check(a, b, a) is None


def test_an_identity_guard_never_takes_a_dead_object_for_none() -> None:
    class Thing:
        pass

    thing = Thing()
    guards = [hold(identity_guard(X, thing))]
    check = checker([guards], ["x"])
    assert check(thing) == 0
    assert check(Thing()) is None
    del thing
    assert guards[0].is_dead
    assert check(None) is None
