"""Takes what a plain statement calls after a graph break, gives its compiled form: a loop body, or a callee.

``__jm_block(f)`` stands in the generated pieces of a split function (see ``tracer.outline`` and ``tracer.split``).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jitmagic.runtime.handle import frame_of
from jitmagic.runtime.touch import may_touch_arrays
from jitmagic.tracer.capture import Resume
from jitmagic.tracer.frame import is_piece

if TYPE_CHECKING:
    from jitmagic.runtime.frame import CompiledFrame
    from jitmagic.runtime.serving import Server

__all__ = ["Blocks"]


class Blocks:
    """The compiled forms that one frame's programs ask for; they live as long as the frame."""

    def __init__(self, frame: CompiledFrame, server: Server) -> None:
        self._frame = weakref.ref(frame)
        self._server = server
        self._callees: weakref.WeakKeyDictionary[FunctionType, FunctionType] = weakref.WeakKeyDictionary()

    def __call__(self, function: Any) -> Any:
        frame = self._frame()
        if frame is None or type(function) is not FunctionType:
            return function
        return self._body(frame, function) if is_piece(function.__code__) else self._callee(frame, function)

    def _body(self, frame: CompiledFrame, function: FunctionType) -> Callable[[], Any]:
        """The body of a loop or block: a frame over the cells of this call."""
        cells = function.__closure__ or ()
        code = function.__code__
        resume = Resume(("body", code), lambda _: function, "", code.co_firstlineno)
        own = self._server.resume_frame(frame, resume, function)
        if own is None:
            return function
        run, go_on = own, self._server.finish

        def call() -> Any:
            return go_on(frame, run.run(cells))

        return call

    def _callee(self, frame: CompiledFrame, function: FunctionType) -> FunctionType:
        """A function that could not be inlined; it has entries of its own."""
        from jitmagic.runtime.function import compile_callable

        if frame_of(function) is not None or not may_touch_arrays(function):
            return function
        known = self._callees.get(function)
        if known is None:
            known = self._callees[function] = compile_callable(function, frame.options, self._server)
        return known
