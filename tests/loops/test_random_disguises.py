"""Random comprehensions, folds and lists that grow show what plain Python shows."""

from __future__ import annotations

import pytest

from tests.loops.random_disguises import differs, disguise

SEEDS = 40


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(4))
def test_random_disguises_show_what_plain_python_shows(part: int) -> None:
    """``python -m tests.loops.random_disguises`` runs more of them; enough are regions for this to mean something."""
    told = [differs(disguise(seed)) for seed in range(part, SEEDS, 4)]
    assert not any(told), next(filter(None, told))
    assert differs.captured >= len(told) // 2  # type: ignore[attr-defined]  # counted there
