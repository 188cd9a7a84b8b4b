"""Takes a new entry, gives the ``go`` that times its first calls and leaves the entry to whoever wins."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any

from jitmagic.config import current
from jitmagic.events import DemotionEvent
from jitmagic.graph.flow_call import FlowCall
from jitmagic.graph.region_call import RegionCall
from jitmagic.ops.derivatives import GRADIENT
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.frame import CompiledFrame
from jitmagic.runtime.trial import Trial

__all__ = ["is_measured", "may_lose", "measured", "settle"]

_MEASURED_BACKENDS = frozenset({"numba"})  # the others are asked for in order to look at something

# An entry without kernels makes the same calls of NumPy as the plain function. In its first calls, which are timed,
# the plain function looks slower than it will be: 2.1 us for what soon takes 0.6 us.
_NO_KERNELS = 1.5


def is_measured(frame: CompiledFrame) -> bool:
    """Whether the entries of this frame have to prove that they are faster than plain Python."""
    return not frame.is_piece and frame.options.backend in _MEASURED_BACKENDS and current().demote


def may_lose(entry: Entry) -> bool:
    """False for entries whose plain form does something else: gradients are then taken by an eager tape."""
    return not entry.is_plain and all(node.op is not GRADIENT for node in entry.capture.graph.calls())


def measured(frame: CompiledFrame, entry: Entry, inner: Callable[..., Any]) -> Callable[..., Any]:
    """``inner`` under trial: now and then a call is served by the plain function instead, and both are timed."""
    frame_of = weakref.ref(frame)
    trial = entry.trial = Trial(handicap=1.0 if _has_kernels(entry) else _NO_KERNELS)

    def timed_plain(function: Callable[..., Any], values: tuple[Any, ...]) -> Any:
        started = time.perf_counter_ns()
        result = function(*values)
        trial.add_plain(time.perf_counter_ns() - started)
        return result

    def go(*values: Any) -> Any:
        frame = frame_of()
        if frame is None:
            return inner(*values)
        if trial.wants_plain:
            result = frame.run_plain(values, frame.plain.__closure__ or (), timed_plain)
        else:
            started = time.perf_counter_ns()
            result = inner(*values)
            trial.add_compiled(time.perf_counter_ns() - started)
        if trial.verdict:
            settle(frame, entry, inner)
        return result

    return go


def _has_kernels(entry: Entry) -> bool:
    """Whether anything but calls of NumPy runs in it."""
    calls = (node.op.call for node in entry.capture.graph.calls() if node.op is not None)
    return entry.lowered.kernel_count > 0 or any(isinstance(call, RegionCall | FlowCall) for call in calls)


def settle(frame: CompiledFrame, entry: Entry, inner: Callable[..., Any]) -> None:
    """Act on the verdict of the entry's trial."""
    trial = entry.trial
    if trial is None:  # another thread was faster
        return
    entry.trial = None
    if trial.verdict == "keep":
        frame.promote(entry, inner)
        return
    frame.demote(entry)
    record = frame.record
    record.emit(DemotionEvent(record.name, record.owner, record.span, entry.index, trial.compiled_ns, trial.plain_ns))
