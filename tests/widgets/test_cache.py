"""The cache browser."""

from __future__ import annotations

from typing import Any

from jitmagic_widgets import CacheBrowser
from tests.widgets.reading import words


def test_each_entry_has_a_row_with_its_counts(compiled: Any) -> None:
    text = words(CacheBrowser(compiled.jit).table.value)
    assert "smooth : 2 entries, 3 calls, 1 hit" in text
    assert "entry 0 in use 1" in text
    assert "entry 1 in use 0" in text


def test_an_entry_that_lost_says_so(compiled: Any) -> None:
    compiled.jit.frame.entries[0].is_demoted = True
    assert "entry 1 slower than plain: not used" in words(CacheBrowser(compiled.jit).table.value)


def test_the_picked_entry_is_told_in_detail(compiled: Any) -> None:
    browser = CacheBrowser(compiled.jit)
    browser.picker.value = 1
    assert "z.dtype: float32" in words(browser.details.value)


def test_dropping_all_entries_empties_cache_and_table(compiled: Any) -> None:
    browser = CacheBrowser(compiled.jit)
    browser.clear.click()
    assert compiled.jit.entries == 0
    assert "nothing is compiled" in words(browser.table.value)
    assert browser.picker.options == ()
