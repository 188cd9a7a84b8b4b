"""Parts of one array, read and written, on random shapes, layouts and dtypes, against plain NumPy."""

from __future__ import annotations

import pytest

from tests.fuzz.views import different


@pytest.mark.parametrize("first", range(0, 150, 30))
def test_parts_of_an_array_are_the_right_elements(first: int) -> None:
    """Running everything plainly must not pass: parts without elements break, the others are captured."""
    found = [different(seed) for seed in range(first, first + 30)]
    assert [fault for faults, _ in found for fault in faults] == []
    assert sum(captured for _, captured in found) >= 24
