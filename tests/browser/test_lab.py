"""The harness itself: cells run, widgets draw and answer, errors and pictures are seen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the lab extra may be missing; then these tests are not run
    from tests.browser.lab import NotebookPage

    Open = Callable[[Path | list[str]], NotebookPage]

pytestmark = pytest.mark.browser

BUTTON = """
import ipywidgets
button = ipywidgets.Button(description="Count")
label = ipywidgets.Label("pressed 0")
def press(_):
    label.value = f"pressed {int(label.value.split()[1]) + 1}"
button.on_click(press)
ipywidgets.VBox([button, label])
"""


def test_a_widget_is_drawn_and_answers(open_notebook: Open, tmp_path: Path) -> None:
    """A click goes to the kernel, and what the kernel changes comes back into the page."""
    notebook = open_notebook(["print('hello from the kernel')", BUTTON])
    notebook.run_all()
    assert "hello from the kernel" in notebook.output(0).inner_text()

    notebook.output(1).get_by_role("button", name="Count").click()
    notebook.page.get_by_text("pressed 1").wait_for()
    picture = notebook.screenshot(tmp_path / "widget.png", notebook.output(1))
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert (notebook.errors(), notebook.script_errors) == ([], [])


def test_an_error_is_seen_and_the_kernel_survives(open_notebook: Open) -> None:
    notebook = open_notebook(["1 / 0", "print('not reached')"])
    notebook.run_all()
    assert notebook.errors() == ["ZeroDivisionError: division by zero"]
    assert notebook.outputs()[1] == []
