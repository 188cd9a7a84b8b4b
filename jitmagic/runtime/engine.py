"""The server behind every compiled function: the tracer's capture, the backend's lowering."""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import Any

from jitmagic.runtime import ahead
from jitmagic.runtime.lowering import lower
from jitmagic.runtime.serving import Server
from jitmagic.tracer.capture import Capture, FrameState, Options

__all__ = ["capture", "serve"]


def capture(function: FunctionType, arguments: dict[str, Any], options: Options, state: FrameState) -> Capture:
    """The tracer is loaded at the first call that needs it, unless that was done ahead: it is half of the package."""
    ahead.finish()
    made: Capture = importlib.import_module("jitmagic.tracer.trace").capture(function, arguments, options, state)
    return made


serve = Server(capture, lower)
