"""Notebooks are kept as a person who opens them should find them: fresh."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_outputs_and_no_widget_state(path: Path) -> None:
    """Outputs go stale, and saved widget state makes exported pages blank offline."""
    saved = nbformat.read(path, as_version=4)
    nbformat.validate(saved)
    assert "widgets" not in saved.metadata
    assert not [cell for cell in saved.cells if cell.get("outputs")]
