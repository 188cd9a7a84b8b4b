"""Takes a call that no entry of its frame matches, gives its answer: by a new entry, another thread's, or plainly.

Also the loop that goes on from frame to frame after graph breaks, without growing the stack.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

from jitmagic.backends.base import Bail
from jitmagic.backends.deferring import is_at_once
from jitmagic.config import current
from jitmagic.runtime.blocks import Blocks
from jitmagic.runtime.checking import check_entry
from jitmagic.runtime.compiling import CaptureStep, Compiler, LowerStep, is_tracing
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.frame import DEPTH, Cells, CompiledFrame, Values, over
from jitmagic.runtime.measuring import is_measured, may_lose, measured
from jitmagic.runtime.room import has_room
from jitmagic.runtime.touch import may_touch_arrays
from jitmagic.tracer.capture import Tail

__all__ = ["Server"]

_LOCK_WAIT_S = 60.0  # a compile that takes longer (or waits for a lock of ours in a way unforeseen) is not waited for
_NESTED = 3  # calls of a function inside each other for which something is compiled; a later call finds it and goes on
_ASIDE = 8  # calls that were left to plain Python for that; a function for which it does not help gives up
_LOOK = 4  # nested calls of a function after which the stack is looked at
_TOUCHLESS_CALLS = 3  # calls without arrays after which a function that might use some gets its own code back


class Server:
    """``server(frame, values, cells)`` is what a frame calls on a miss."""

    def __init__(self, capture: CaptureStep, lower: LowerStep) -> None:
        self._compiler = Compiler(capture, lower, self._blocks)

    def __reduce__(self) -> tuple[Any, ...]:
        return Server, (self._compiler.capture, self._compiler.lower)

    def __call__(self, frame: CompiledFrame, values: Values, cells: Cells) -> Any:
        if _is_waiting(frame):
            frame.misses += 1
            return frame.run_plain(values, cells)
        if frame.is_piece:
            return self._answer(frame, values, cells)
        local = frame.record.local
        if not frame.closed and frame.went_aside < _ASIDE and (local.missed >= _NESTED or not has_room()):
            with frame.aside():
                return frame.run_plain(values, cells)
        with _one_call(frame):
            local.missed += 1
            try:
                return self._answer(frame, values, cells)
            finally:
                local.missed -= 1

    def _answer(self, frame: CompiledFrame, values: Values, cells: Cells) -> Any:
        frame.misses += 1
        entry, known = None, frame.serial
        if not frame.closed and not is_tracing() and (not frame.is_piece or has_room()):
            entry = self._entry_for(frame, values, cells)
            if entry is not None and entry.index >= known and _is_checked(frame, entry):
                check_entry(frame, entry, values, self.follow)
        if entry is None:
            return frame.run_plain(values, cells)
        arguments = (*values, cells) if frame.is_piece else values
        try:
            return entry.go(*arguments)
        except Bail:
            pass
        frame.note_bail(entry)
        return frame.run_plain(values, cells)

    def _entry_for(self, frame: CompiledFrame, values: Values, cells: Cells) -> Entry | None:
        if not frame.lock.acquire(timeout=_LOCK_WAIT_S):
            return None
        try:
            frame.bury()
            entry = frame.matching(values, cells)
            waits = _is_waiting(frame)
            frame.pending = frame.pending if waits else None
            if entry is None and not frame.closed and not waits:
                entry = self._compiler.compile(frame, values, cells, self._install)
        finally:
            frame.lock.release()
        if entry is None:
            _close_if_idle(frame)
        return entry

    def _install(self, frame: CompiledFrame, entry: Entry) -> None:
        """Wrap the program: go on after its breaks, time its first calls."""
        go: Callable[..., Any] = entry.program
        if entry.has_tail and not frame.is_piece:
            go = self._going_on(frame, go)
        if is_measured(frame) and may_lose(entry):
            go = measured(frame, entry, go)
        entry.go = go

    def _going_on(self, frame: CompiledFrame, program: Callable[..., Any]) -> Callable[..., Any]:
        frame_of = weakref.ref(frame)

        def go(*values: Any) -> Any:
            frame = frame_of()
            if frame is None:  # the function died during its own call
                return self.follow(None, program(*values))
            with _one_call(frame):
                return self.follow(frame, program(*values))

        return go

    def follow(self, whole: CompiledFrame | None, result: Any) -> Any:
        """Go on from piece to piece until there is a result."""
        while type(result) is Tail:
            resume = result.resume
            function = resume.make(result.cells)
            piece = whole and self.piece(whole, resume.key, function, resume.line)
            result = piece.run(*result.args, function.__closure__ or ()) if piece else function(*result.args)
        return result

    def _blocks(self, frame: CompiledFrame) -> Blocks:
        """What programs of ``frame`` ask for the compiled forms of loop bodies and callees."""
        whole = frame.whole() or frame
        blocks: Blocks = whole.blocks or Blocks(frame.whole, self)
        whole.blocks = blocks
        return blocks

    def piece(self, whole: CompiledFrame, key: tuple[Any, ...], plain: FunctionType, line: int) -> CompiledFrame | None:
        """The compiled frame of a piece; None if it is to run plainly."""
        found = whole.pieces.get(key)
        if found is None:
            with whole.lock:
                found = whole.pieces.get(key)
                if found is None and len(whole.pieces) < 4 * current().entry_limit:
                    found = CompiledFrame(over(plain, ()), whole.options, whole.record, self, whole, line)
                    whole.pieces[key] = found
        return None if found is None or (found.closed and not found.entries) else found


def _is_waiting(frame: CompiledFrame) -> bool:
    """Whether kernels of this frame are still being compiled in the background."""
    is_done = frame.pending
    return is_done is not None and not is_done() and not is_at_once()


def _is_checked(frame: CompiledFrame, entry: Entry) -> bool:
    return frame.options.check and not frame.is_piece and not entry.is_plain


@contextmanager
def _one_call(frame: CompiledFrame) -> Iterator[None]:
    """What is compiled in here counts as one compile of the function."""
    local = frame.record.local
    before = local.call
    local.call = before or object()
    local.depth += 1
    if local.depth > DEPTH or (local.depth % _LOOK == 0 and not has_room()):
        frame.give_up_recursion(local.depth - 1)
    try:
        yield
    finally:
        local.depth -= 1
        local.call = before


def _close_if_idle(frame: CompiledFrame) -> None:
    """What meets no arrays stays plain; a function then gets its own code back, as one that is plain whatever comes."""
    calls = _TOUCHLESS_CALLS if frame.form.layout.names or may_touch_arrays(frame.plain) else 1
    idle = frame.touchless >= calls
    if idle and not frame.entries:
        frame.closed = frame.closed or "it never touches an array"
    if frame.closed and not frame.entries and not frame.is_piece:
        frame.give_back(frame.closed)
