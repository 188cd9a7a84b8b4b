"""The timeline of compiles."""

from __future__ import annotations

from typing import Any

from jitmagic_widgets import RecompileTimeline
from jitmagic_widgets.timeline import moments
from tests.widgets.reading import words


def test_every_compile_has_its_cause(compiled: Any, broken: Any) -> None:
    first, second = moments(compiled.jit.record)
    assert (first.cause, first.call) == (None, 1)
    assert second.cause is compiled.jit.record.recompiles[0]
    assert (second.call, second.compiled.entry if second.compiled else None) == (3, 1)
    pieces = moments(broken.function.jit.record)
    assert len(pieces) == len(broken.function.jit.record.compiled) > 1


def test_the_newest_is_picked_with_then_now_caller_and_remedy(compiled: Any) -> None:
    timeline = RecompileTimeline(compiled.jit)
    text = words(timeline.details.value)
    assert "z.dtype float64 float32" in text
    assert "called from conftest.py, line" in text
    assert "function(np.arange(6, dtype=kind))" in text
    assert "try: pass arrays of one dtype" in text


def test_another_one_can_be_picked(compiled: Any) -> None:
    timeline = RecompileTimeline(compiled.jit)
    timeline.picker.value = 0
    assert "first call of this piece" in words(timeline.details.value)


def test_before_the_first_call_it_says_so(fresh: Any) -> None:
    assert "nothing was compiled yet" in words(RecompileTimeline(fresh.jit).details.value)
