"""A card and a panel in a saved notebook, opened untrusted and without running a cell, say all they said live."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import numpy as np
import pytest

import jitmagic as jm
from jitmagic.report import Report
from tests.report.scenes import SOURCES, eventful_cell

if TYPE_CHECKING:  # the lab extra may be missing; then these tests are not run
    from tests.browser.lab import NotebookPage

    Open = Callable[[Path | list[str]], NotebookPage]

pytestmark = pytest.mark.browser


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A notebook as it is after somebody else ran and saved it: its outputs are not trusted."""
    card = Report(eventful_cell(), sources=SOURCES, graph="open")
    return save(tmp_path / "saved.ipynb", card._repr_mimebundle_())


def save(path: Path, bundle: dict[str, Any]) -> Path:
    output = nbformat.v4.new_output("display_data", bundle)
    cell = nbformat.v4.new_code_cell("smooth(x, y)", outputs=[output], execution_count=1)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    nbformat.write(nbformat.v4.new_notebook(metadata=kernel, cells=[cell]), path)
    return path


def test_it_reads_as_it_did_live(open_notebook: Open, saved: Path) -> None:
    """The break with its line, what changed in the recompile, and the graph as a picture."""
    notebook = open_notebook(saved)
    assert not notebook.is_trusted()
    text = notebook.output(0).inner_text()
    assert "graph break" in text
    assert "Cell In[4], line 6" in text
    assert "float32" in text

    picture = notebook.output(0).locator("img").first
    picture.scroll_into_view_if_needed()
    assert picture.evaluate("image => image.complete && image.naturalWidth > 100")
    assert notebook.script_errors == []


def test_folded_sections_open_and_close(open_notebook: Open, saved: Path) -> None:
    notebook = open_notebook(saved)
    folded = notebook.output(0).locator("details:not([open])").first
    section = folded.element_handle()
    assert section is not None
    folded.locator("summary").first.click()
    assert section.evaluate("details => details.open")


def test_a_panel_without_its_kernel_is_what_it_says(open_notebook: Open, tmp_path: Path) -> None:
    """Guards with last outcomes, recompiles and cache stand there as text; nothing is left blank."""

    def halves(z: Any) -> Any:
        return z / 2 + 1

    function = jm.compile(halves, backend="eager")
    function(np.arange(6.0))
    function(np.arange(6, dtype="f4"))
    notebook = open_notebook(save(tmp_path / "panel.ipynb", function.jit.explore()._repr_mimebundle_()))
    assert not notebook.is_trusted()
    text = notebook.output(0).inner_text()
    assert "call 2 came with float32" in text
    assert "z.dtype: float64 -> float32" in text
    assert "2 entries, 2 calls" in text
    assert notebook.output(0).locator("img").first.evaluate("image => image.naturalWidth > 100")
