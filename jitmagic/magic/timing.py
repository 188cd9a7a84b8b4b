"""Takes the calls of compiled functions while a cell runs, gives how fast each is against plain Python."""

from __future__ import annotations

import contextlib
import copy
import functools
import inspect
import io
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

import numpy as np

__all__ = ["CallRecorder", "time_calls"]

_Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class CallRecorder:
    """Keeps copies of the arguments of each function's first call, taken before the call runs."""

    def __init__(self, functions: Sequence[Any]) -> None:
        self._functions = functions  # grows while the cell makes more of them
        self.calls: dict[int, tuple[Any, _Arguments]] = {}

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Watch calls; does nothing while another profiler is at work."""
        if sys.getprofile() is not None:
            yield
            return
        sys.setprofile(self._called)
        try:
            yield
        finally:
            sys.setprofile(None)

    def _called(self, frame: FrameType, what: str, argument: object) -> None:
        if what != "call":
            return
        for function in self._functions:
            if function.__code__ is frame.f_code and id(function) not in self.calls:
                self._keep(function, frame)

    def _keep(self, function: Any, frame: FrameType) -> None:
        with contextlib.suppress(Exception):  # what cannot be copied is not timed
            self.calls[id(function)] = (
                function,
                copy.deepcopy(_arguments(frame.f_code, frame.f_locals)),
            )


def _arguments(code: CodeType, values: Any) -> _Arguments:
    """The arguments of a call that has just begun, from its frame."""
    names = code.co_varnames
    count, keyword_only = code.co_argcount, code.co_kwonlyargcount
    rest = list(names[count + keyword_only :])
    positional = [values[name] for name in names[:count]]
    if code.co_flags & inspect.CO_VARARGS:
        positional += values[rest.pop(0)]
    keywords = {name: values[name] for name in names[count : count + keyword_only]}
    if code.co_flags & inspect.CO_VARKEYWORDS:
        keywords |= values[rest.pop(0)]
    return tuple(positional), keywords


def time_calls(recorder: CallRecorder) -> list[Callable[[], Any]]:
    """One view to show for each function that was called."""
    return [functools.partial(_timed, f, *arguments) for f, arguments in recorder.calls.values()]


def _timed(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Time on the copies, without a second print and without moving the random streams on."""
    state, legacy = random.getstate(), np.random.get_state()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return function.jit.time(*arguments, **keywords)
    finally:
        random.setstate(state)
        np.random.set_state(legacy)
