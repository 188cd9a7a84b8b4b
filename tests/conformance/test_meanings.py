"""Each of many small programs means compiled what it means plainly."""

from __future__ import annotations

import pytest

from tests.conformance import meanings, state, surroundings
from tests.conformance.programs import assert_same, plain, run

PROGRAMS = [*meanings.PROGRAMS, *state.PROGRAMS, *surroundings.PROGRAMS]


@pytest.mark.parametrize("backend", ["aot_eager", "numba"])
@pytest.mark.parametrize(("name", "text", "calls"), PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_program_means_what_it_means_plainly(name: str, text: str, calls: tuple[str, ...], backend: str) -> None:
    assert_same(run(text, calls, backend), plain(text, calls))


@pytest.mark.parametrize(("name", "text", "calls"), PROGRAMS, ids=[p[0] for p in PROGRAMS])
def test_the_same_with_symbols_from_the_start_and_entries_in_another_order(
    name: str, text: str, calls: tuple[str, ...]
) -> None:
    again = [*calls, *(c for c in reversed(calls) if c.startswith("f("))]
    assert_same(run(text, again, "eager", dynamic=True), plain(text, again))
