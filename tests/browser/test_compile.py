"""``%%compile`` in a real JupyterLab: the card is drawn, and the kernel goes on after an error."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the lab extra may be missing; then these tests are not run
    from tests.browser.lab import NotebookPage

    Open = Callable[[Path | list[str]], NotebookPage]

pytestmark = pytest.mark.browser

LOAD = "%load_ext jitmagic\nimport numpy as np"
SMOOTH = "%%compile\ndef smooth(z):\n    return (z[1:] + z[:-1]) / 2\n\nsmooth(np.arange(4.0))"
WRONG = "smooth('text')"


def test_a_card_is_drawn_below_the_value(open_notebook: Open) -> None:
    notebook = open_notebook([LOAD, SMOOTH])
    notebook.run_all()
    shown = notebook.cell(1).locator(".jp-OutputArea-output")
    assert (notebook.errors(), notebook.script_errors) == ([], [])
    assert "array([0.5, 1.5, 2.5])" in shown.first.inner_text()
    assert "smooth" in notebook.cell(1).locator(".jitmagic-report").inner_text()


def test_a_wrong_argument_is_numpys_own_error(open_notebook: Open) -> None:
    """The kernel survives, and the traceback points at the line of the cell."""
    notebook = open_notebook([LOAD, SMOOTH, WRONG])
    notebook.run_all()
    assert [error.split(":")[0] for error in notebook.errors()] == ["TypeError"]
    assert "return (z[1:] + z[:-1]) / 2" in notebook.output(2).inner_text()
