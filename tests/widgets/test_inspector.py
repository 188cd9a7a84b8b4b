"""The guard inspector, driven as the front end drives it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic_widgets import GuardInspector
from tests.widgets.reading import words


@pytest.fixture
def inspector(compiled: Any) -> GuardInspector:
    return GuardInspector(compiled.jit, {"np": np, "whole": np.arange(6), "real": np.arange(6.0)})


def test_an_entry_is_picked(inspector: GuardInspector) -> None:
    assert [label for label, _ in inspector.picker.options] == ["entry 0: 1 hit", "entry 1: 0 hits"]
    assert "float64" in words(inspector.tree.value)
    inspector.picker.value = 1
    assert "float32" in words(inspector.tree.value)


def test_last_outcomes_come_from_the_calls_that_were_made(inspector: GuardInspector) -> None:
    """The recompile names the guard; an entry without hits was not asked."""
    assert "call 3 came with float32" in words(inspector.tree.value)
    inspector.picker.value = 1
    assert "not asked yet" in words(inspector.tree.value)


def test_a_failure_before_an_entry_existed_is_not_its_own(inspector: GuardInspector, compiled: Any) -> None:
    """Entry 2 expects the dtype of entry 0, but it was made after the call that had another one."""
    compiled(np.arange(7.0))
    inspector.refresh()
    inspector.picker.value = 2
    assert "float64" in words(inspector.tree.value)
    assert "came with" not in words(inspector.tree.value)


def test_the_filter_leaves_the_guards_that_match(inspector: GuardInspector) -> None:
    inspector.filter.value = "dtype"
    text = words(inspector.tree.value)
    assert "1 of" in text
    assert "z.dtype" in text
    assert "memory order" not in text


def test_a_typed_argument_tells_the_guard_that_fails(inspector: GuardInspector) -> None:
    """In the table of entries, and in the tree of the entry that is picked."""
    inspector.arguments.fields["z"].value = "whole"
    verdict = words(inspector.verdict.value)
    assert "miss: no entry fits" in verdict
    assert "entry 0 z.dtype float64 int64" in verdict
    assert "try: pass arrays of one dtype" in verdict
    assert "would fail: is int64" in words(inspector.tree.value)
    assert "not reached" in words(inspector.tree.value)


def test_a_call_that_hits_says_which_entry(inspector: GuardInspector) -> None:
    inspector.arguments.fields["z"].value = "real"
    assert "hit: entry 0 would serve this call" in words(inspector.verdict.value)
    assert "failed" not in words(inspector.tree.value)
    inspector.arguments.fields["z"].value = "real.astype('f4')"
    assert "hit: entry 1 would serve this call" in words(inspector.verdict.value)


def test_a_mistake_is_told_in_the_panel(inspector: GuardInspector) -> None:
    inspector.button.click()
    assert "not checked : z has no value" in words(inspector.verdict.value)
    inspector.arguments.fields["z"].value = "missing <b>"
    assert "SyntaxError" in words(inspector.verdict.value)
    assert "<b>" not in inspector.verdict.value.replace("<b style", "")


def test_the_same_from_python(inspector: GuardInspector) -> None:
    found = inspector.check(np.arange(6.0))
    assert found.hit is not None
    assert found.hit.index == 0
    with pytest.raises(TypeError):
        inspector.check()


def test_new_entries_are_shown_after_refresh(inspector: GuardInspector, compiled: Any) -> None:
    compiled(np.arange(6))
    inspector.refresh()
    assert len(inspector.picker.options) == 3


def test_a_piece_after_a_graph_break_has_a_tree_of_its_own(broken: Any) -> None:
    """A check is about the beginning of the function; the piece keeps what was recorded."""
    inspector = GuardInspector(broken.function.jit, {})
    labels = [label for label, _ in inspector.picker.options]
    assert any("from line" in label for label in labels)
    inspector.check(np.arange(6), broken.log)
    inspector.picker.value = len(labels) - 1
    assert "would fail" not in words(inspector.tree.value)


def test_before_the_first_call_it_says_what_to_do(fresh: Any) -> None:
    assert "not compiled yet: call it once" in words(GuardInspector(fresh.jit, {}).tree.value)
