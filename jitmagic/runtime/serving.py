"""Takes a call that no entry of its frame matches, gives its answer: by a new entry, another thread's, or plainly.

Also the loop that goes on from frame to frame after graph breaks, without growing the stack.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from jitmagic.backends.base import Bail
from jitmagic.config import current
from jitmagic.runtime.blocks import Blocks
from jitmagic.runtime.compiling import Compiler, is_tracing
from jitmagic.runtime.entry import Entry
from jitmagic.runtime.frame import Cells, CompiledFrame, Values, over
from jitmagic.runtime.measuring import is_measured, measured
from jitmagic.runtime.touch import may_touch_arrays
from jitmagic.tracer.capture import Resume, Tail

__all__ = ["Server"]

_LOCK_WAIT_S = 60.0  # a compile that takes longer (or waits for a lock of ours in a way unforeseen) is not waited for
_TOUCHLESS_CALLS = 3  # calls without arrays after which a function that might use some gets its own code back


@dataclass(frozen=True, slots=True)
class Server:
    """``server(frame, values, cells)`` is what a frame calls on a miss."""

    compiler: Compiler

    def __call__(self, frame: CompiledFrame, values: Values, cells: Cells) -> Any:
        if frame.resume is not None:
            return self._answer(frame, values, cells)
        local = frame.record.local
        before, local.call = local.call, object()
        try:
            return self._answer(frame, values, cells)
        finally:
            local.call = before

    def _answer(self, frame: CompiledFrame, values: Values, cells: Cells) -> Any:
        frame.misses += 1
        if "block" not in frame.names:
            frame.names["block"] = Blocks(frame, self)
        entry = None
        if not frame.closed and not is_tracing():
            entry = self._entry_for(frame, values, cells)
        if entry is None:
            return frame.run_plain(values, cells)
        arguments = (*values, cells) if frame.form.takes_cells else values
        try:
            return entry.go(*arguments)
        except Bail:
            pass
        return frame.run_plain(values, cells)

    def _entry_for(self, frame: CompiledFrame, values: Values, cells: Cells) -> Entry | None:
        if not frame.lock.acquire(timeout=_LOCK_WAIT_S):
            return None
        try:
            frame.bury()
            entry = frame.matching(values, cells)
            if entry is None and not frame.closed:
                entry = self.compiler.compile(frame, values, cells)
                if entry is not None:
                    self._install(frame, entry)
        finally:
            frame.lock.release()
        if frame.resume is None and entry is None:
            _give_back_if_idle(frame)
        return entry

    def _install(self, frame: CompiledFrame, entry: Entry) -> None:
        """Wrap the program: drive its tails, time its first calls."""
        go: Callable[..., Any] = entry.program
        if frame.resume is None and entry.has_tail:
            go = self._driving(frame, go)
        if is_measured(frame) and not entry.is_plain:
            go = measured(frame, entry, go)
        frame.promote(entry, go)

    def _driving(self, frame: CompiledFrame, program: Callable[..., Any]) -> Callable[..., Any]:
        frame_of = weakref.ref(frame)

        def go(*values: Any) -> Any:
            return self.finish(frame_of(), program(*values))

        return go

    def finish(self, frame: CompiledFrame | None, result: Any) -> Any:
        """Go on from frame to frame until there is an answer."""
        while type(result) is Tail:
            result = self._go_on(frame, result)
        return result

    def _go_on(self, frame: CompiledFrame | None, tail: Tail) -> Any:
        """Run one resume function; its answer may be the next tail."""
        if frame is None:  # the function died during its own call
            return tail.resume.make(tail.cells)(*tail.args)
        local = frame.record.local
        before = local.call
        local.call = before or object()
        try:
            function = tail.resume.make(tail.cells)
            rest = self.resume_frame(frame, tail.resume, function)
            return rest.run(*tail.args, function.__closure__ or ()) if rest else function(*tail.args)
        finally:
            local.call = before

    def resume_frame(self, frame: CompiledFrame, resume: Resume, plain: FunctionType) -> CompiledFrame | None:
        """The compiled frame of a resume function; None if there are too many of them."""
        found = frame.resumes.get(resume.key)
        if found is None:
            with frame.lock:
                found = frame.resumes.get(resume.key)
                if found is None and len(frame.resumes) < 4 * current().entry_limit:
                    found = CompiledFrame(over(plain, ()), frame.options, frame.record, self, resume)
                    found.names["block"] = frame.names["block"]
                    frame.resumes[resume.key] = found
        return found


def _give_back_if_idle(frame: CompiledFrame) -> None:
    """A function that meets no arrays gets its own code back, and so does one that stays plain whatever comes."""
    idle = frame.touchless >= _TOUCHLESS_CALLS or (frame.touchless and not may_touch_arrays(frame.plain))
    if idle and not frame.entries:
        frame.closed = frame.closed or "it never touches an array"
    if frame.closed and not frame.entries:
        function = frame.record.function()
        if function is not None:
            function.__code__ = frame.plain.__code__
