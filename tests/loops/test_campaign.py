"""A small fixed part of the campaign: generated calls of each program show what plain Python shows."""

from __future__ import annotations

import pytest

from tests.loops.campaign import FUNCTIONS, campaign

CALLS = 25


@pytest.mark.parametrize("name", FUNCTIONS)
def test_generated_calls_show_what_plain_python_shows(name: str) -> None:
    """``python -m tests.loops.campaign`` makes ten thousand of each, in processes of their own."""
    told = campaign(name, CALLS)
    assert not told["differed"], told["differed"][0]
    assert told["served"] > CALLS // 4
