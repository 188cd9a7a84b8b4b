"""Random loops and branches over arrays show what plain Python shows; ``tests.flow.check`` runs more of them."""

from __future__ import annotations

import pytest

from tests.flow.check import check

SEEDS = 24
FOUND = (215, 1234)  # programs that differed once


@pytest.mark.parametrize("backend", ["aot_eager", "numba"])
def test_random_flows_show_what_plain_python_shows(backend: str) -> None:
    flows = 0
    for seed in range(SEEDS):
        found, has_flow = check(seed, backend)
        assert not found, found
        flows += has_flow
    assert flows >= SEEDS // 4


@pytest.mark.parametrize("seed", FOUND)
def test_programs_that_differed_once(seed: int) -> None:
    found, _ = check(seed, "aot_eager")
    assert not found, found
