"""Whether a call would hit: agrees with the calls that are made, and touches nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jitmagic as jm
from jitmagic.events import recording
from jitmagic_widgets.foresight import bound, foresee

ARRAYS = st.builds(
    lambda kind, size, step: np.arange(size * abs(step), dtype=kind)[::step],
    st.sampled_from(["f8", "f4", "i8", ">f8"]),
    st.sampled_from([2, 3, 5]),
    st.sampled_from([1, 2, -1]),
)
NUMBERS = st.sampled_from([2.0, 3.0, 2, True, np.float32(2), None])


def add(z: Any, k: Any = 2.0) -> Any:
    return z[1:] + z[:-1] * (1 if k is None else k)


@given(st.lists(st.tuples(ARRAYS, NUMBERS), min_size=1, max_size=6))
def test_it_foretells_every_call(calls: list[tuple[Any, Any]]) -> None:
    """A hit is a hit of the entry that was named; a miss compiles one."""
    function = jm.compile(add, backend="eager")
    for z, k in calls:
        found = foresee(function.jit, bound(add, (z,), {"k": k}))
        before = found.hit.hit_count if found.hit else 0
        entries = function.jit.entries
        assert function(z, k).tobytes() == add(z, k).tobytes()
        assert function.jit.entries - entries == (found.hit is None)
        if found.hit:
            assert found.hit.hit_count == before + 1
            assert all(failure is None for entry, failure in found.failures if entry is found.hit)


def test_it_names_the_first_guard_that_fails_then_and_now(compiled: Any) -> None:
    found = foresee(compiled.jit, bound(compiled.jit.frame.plain, (np.arange(6),), {}))
    told = {
        entry.index: (failure.guard.text, failure.guard.then, failure.now)
        for entry, failure in found.failures
        if failure
    }
    assert told == {
        0: ("z.dtype", "float64", "int64"),
        1: ("z.dtype", "float32", "int64"),
    }
    assert found.verdict == "miss: no entry fits, the call would compile a new one"


def test_nothing_runs_and_nothing_is_compiled(broken: Any) -> None:
    """The log of the function stays as it is, and so do all counts."""
    handle, kept = broken.function.jit, list(broken.log.kept)
    counts = (handle.calls, handle.hits, handle.compiles, handle.entries)
    with recording() as seen:
        hit = foresee(handle, {"z": np.arange(6.0), "log": broken.log})
        foresee(handle, {"z": np.arange(6), "log": None})
    assert hit.hit is not None
    assert (broken.log.kept, seen) == (kept, [])
    assert (handle.calls, handle.hits, handle.compiles, handle.entries) == counts


def test_hostile_values_are_not_asked(compiled: Any) -> None:
    """No method of a user's class is called, whatever the guards compare."""

    class Hostile:
        def __getattribute__(self, name: str) -> Any:
            raise AssertionError(f"{name} was read")

        def __eq__(self, other: object) -> bool:
            raise AssertionError("it was compared")

    found = foresee(compiled.jit, {"z": Hostile(), "k": Hostile()})
    assert found.hit is None


def test_before_the_first_call_it_says_so(fresh: Any) -> None:
    assert foresee(fresh.jit, {"z": 1, "k": 2}).verdict.startswith("miss: nothing is compiled yet")


def test_at_the_limit_nothing_new_would_be_compiled(compiled: Any) -> None:
    with jm.configure(entry_limit=2):
        assert "2 entries are the limit" in foresee(compiled.jit, {"z": 1, "k": 2}).verdict


def test_an_entry_that_lost_is_said_to_run_plainly(compiled: Any) -> None:
    for entry in compiled.jit.frame.entries:
        entry.is_demoted = True
    assert "plain Python was faster" in foresee(compiled.jit, {"z": np.arange(6.0), "k": 2.0}).verdict


def test_a_call_that_does_not_fit_the_signature_is_refused() -> None:
    with pytest.raises(TypeError, match="missing a required argument: 'z'"):
        bound(add, (), {})
    assert bound(lambda *a, b=1, **c: None, (1, 2), {"d": 3}) == {"a": (1, 2), "b": 1, "c": {"d": 3}}
