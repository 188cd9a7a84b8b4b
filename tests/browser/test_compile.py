"""``%%compile`` in a real JupyterLab: one notebook, run once, looked at as a reader looks at it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # the lab extra may be missing; then these tests are not run
    from playwright.sync_api import Locator

    from tests.browser.lab import NotebookPage

    Open = Callable[[Path | list[str]], NotebookPage]

pytestmark = pytest.mark.browser

STAMPED = """%%compile
def stamped(z):
    half = z / 2 + 1
    mark = zlib.crc32(half)
    return np.sqrt(half) * 2, mark

stamped(x)[1]"""
CELLS = [
    "%load_ext jitmagic\nimport zlib\nimport numpy as np\nx = np.linspace(0.0, 1.0, 40_000)",
    "%%compile -r full\ndef smooth(z):\n    return (z[1:] + z[:-1]) / 2\n\nsmooth(x)",
    "smooth(x.astype('f4')).dtype",
    STAMPED,
    "%jit explore smooth",
    "smooth('text')",
]
SMOOTH, RECOMPILE, BREAK, EXPLORE, WRONG = range(1, 6)


@pytest.fixture(scope="module")
def notebook(open_for_module: Open) -> NotebookPage:
    page = open_for_module(CELLS)
    page.run_all()
    return page


def card(notebook: NotebookPage, cell: int) -> Locator:
    return notebook.cell(cell).locator(".jitmagic-report").first


def photograph(notebook: NotebookPage, name: str) -> None:
    """Keep a picture where a person asked for it: JITMAGIC_SHOTS=folder."""
    folder = os.environ.get("JITMAGIC_SHOTS")
    if folder:
        for cell in (SMOOTH, RECOMPILE, BREAK, EXPLORE, WRONG):
            notebook.screenshot(Path(folder) / f"{name}-{cell}.png", notebook.cell(cell))


def test_the_value_and_the_card_are_shown(notebook: NotebookPage) -> None:
    shown = notebook.output(SMOOTH).inner_text()
    assert "array([" in shown
    assert "smooth: 1 kernel, 0 breaks" in card(notebook, SMOOTH).inner_text()


def test_sections_open_and_the_graph_is_drawn(notebook: NotebookPage) -> None:
    """The picture is an image; the kernel's text is readable."""
    sections = card(notebook, SMOOTH).locator("details")
    for index in range(sections.count()):
        if sections.nth(index).get_attribute("open") is None:
            sections.nth(index).locator("summary").first.click()
    picture = card(notebook, SMOOTH).locator("img")
    picture.scroll_into_view_if_needed()
    assert picture.evaluate("image => image.complete && image.naturalWidth > 100")
    text = card(notebook, SMOOTH).inner_text()
    assert "z.dtype" in text
    assert "store_float64" in text


def test_a_recompile_is_told_below_the_cell_that_caused_it(notebook: NotebookPage) -> None:
    text = card(notebook, RECOMPILE).inner_text()
    assert "recompiled at call 2 (Cell In[3], line 1): z.dtype was" in text
    assert "float64" in text
    assert "float32" in text


def test_a_graph_break_is_told_with_its_line(notebook: NotebookPage) -> None:
    text = card(notebook, BREAK).inner_text()
    assert "1 graph break" in text
    assert "Cell In[4], line 4" in text
    assert card(notebook, BREAK).locator("u").first.inner_text() == "zlib.crc32(half)"


def test_the_inspector_names_the_guard_that_would_fail(notebook: NotebookPage) -> None:
    """Pick an entry, type an argument, read the answer; nothing is compiled by it."""
    panel = notebook.output(EXPLORE)
    panel.locator("select").first.select_option(index=1)
    panel.get_by_text("float32").first.wait_for()

    field = panel.locator("input[placeholder='variable or expression']").first
    field.fill("x.astype(int)")
    field.press("Enter")
    panel.get_by_text("miss: no entry fits").wait_for()
    panel.get_by_text("would fail: is int64").first.wait_for()  # the guards are drawn after the answer

    field.fill("x")
    field.press("Enter")
    panel.get_by_text("hit: entry 0 would serve this call").wait_for()
    assert "entry 0: 1 hit" not in panel.locator("select").first.inner_text()


def test_the_filter_and_the_other_tabs_answer(notebook: NotebookPage) -> None:
    panel = notebook.output(EXPLORE)
    panel.locator("input[placeholder^='dtype']").fill("dtype")
    panel.get_by_text("1 of ").wait_for()
    panel.get_by_role("tab", name="Recompiles").click()
    panel.get_by_text("called from Cell In[3], line 1").wait_for()
    panel.get_by_role("tab", name="Graph").click()
    picture = panel.locator("img:visible").first
    picture.wait_for()
    assert picture.evaluate("image => image.complete && image.naturalWidth > 100")
    panel.get_by_role("tab", name="Cache").click()
    panel.get_by_text("in use").first.wait_for()
    panel.get_by_role("tab", name="Guards").click()


def test_a_wrong_argument_is_numpys_own_error(notebook: NotebookPage) -> None:
    """The traceback points at the line of the cell, shows no frame of ours, and the kernel goes on."""
    assert [error.split(":")[0] for error in notebook.errors()] == ["TypeError"]
    text = notebook.output(WRONG).inner_text()
    assert "return (z[1:] + z[:-1]) / 2" in text
    assert "Cell In[2], line 3, in smooth(z)" in text
    assert "jitmagic" not in text


def test_it_reads_on_a_dark_page(notebook: NotebookPage) -> None:
    """Text takes the colour of the page: light on dark, and back."""
    photograph(notebook, "light")
    notebook.set_theme("JupyterLab Dark")
    assert brightness(card(notebook, BREAK)) > 150
    photograph(notebook, "dark")
    notebook.set_theme("JupyterLab Light")
    assert brightness(card(notebook, BREAK)) < 110


def test_no_script_failed(notebook: NotebookPage) -> None:
    assert notebook.script_errors == []


def brightness(shown: Locator) -> float:
    """Of the text, from 0 (black) to 255."""
    colour = shown.locator("p").first.evaluate("text => getComputedStyle(text).color.match(/[\\d.]+/g).slice(0, 3)")
    return sum(float(part) for part in colour) / 3
