"""Graph breaks at random places change nothing that a program shows; a quick set of fixed seeds.

To look further: ``python -m tests.fuzz.break_check FIRST LAST [BACKEND]`` from the root of the repository.
"""

from __future__ import annotations

import pytest

from tests.fuzz.break_check import check
from tests.fuzz.break_programs import make_break_program


@pytest.mark.parametrize(("backend", "seeds"), [("eager", range(24)), ("numba", range(1000, 1006))])
def test_breaks_at_random_places_change_nothing_that_is_seen(backend: str, seeds: range) -> None:
    """Values are computed once, iterators go on, effects keep their order, also where an exception ends the call."""
    captured = stopped = 0
    for seed in seeds:
        different, breaks, is_captured = check(seed, backend)
        assert not different, "\n".join([f"seed {seed}", make_break_program(seed).cell, *different])
        captured += is_captured
        stopped += breaks > 0
    assert captured == len(seeds)
    assert stopped > 0.8 * len(seeds)
