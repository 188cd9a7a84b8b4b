"""Random comprehensions, folds and lists that grow show what plain Python shows."""

from __future__ import annotations

import pytest

from tests.loops.random_disguises import compared, disguise

SEEDS = 40


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_random_disguises_show_what_plain_python_shows(part: int) -> None:
    """``python -m tests.loops.random_disguises`` runs more of them; enough are regions for this to mean something."""
    told = [compared(disguise(seed)) for seed in range(part, SEEDS, 4)]
    assert not [t.differed for t in told if t.differed]
    assert sum(t.is_region for t in told) >= len(told) // 2
