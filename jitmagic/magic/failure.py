"""Takes an exception of a cell, gives the one to raise, which is shown as the plain cell would show it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Any

__all__ = ["as_in_plain_cell", "out_of_coroutine"]

_OURS = "jitmagic.magic."


def as_in_plain_cell(shell: Any, error: BaseException) -> BaseException:
    """Let IPython render ``error`` without the frames of this package; the exception to raise instead of it.

    It is the same object, except for a SyntaxError: IPython would list its own frames with it.
    """
    frames = _user_frames(error.__traceback__)
    if isinstance(error, SyntaxError):
        return _syntax_error(shell, error, frames)
    if not hasattr(error, "_render_traceback_"):
        _attach(error, lambda: _render(shell, error, _user_frames(error.__traceback__)))
    return error


def out_of_coroutine(shell: Any, error: BaseException) -> BaseException:
    """What a coroutine may raise for ``error``: the same, or a stand-in for StopIteration (PEP 479)."""
    if not isinstance(error, StopIteration):
        return error
    return _named_like(error, lambda: _render(shell, error, _user_frames(error.__traceback__)))


def _render(shell: Any, error: BaseException, frames: TracebackType | None) -> Any:
    return shell.InteractiveTB.structured_traceback(type(error), error, frames, tb_offset=0)


def _attach(error: BaseException, render: Callable[[], Any]) -> None:
    try:
        object.__setattr__(error, "_render_traceback_", _Rendering(render))
    except (AttributeError, TypeError):
        return  # an exception that takes no attributes is shown with our frames in it


class _Rendering:
    """What IPython calls to draw an exception; a copied or pickled exception goes without."""

    def __init__(self, render: Callable[[], Any] | None = None) -> None:
        self._render = render

    def __call__(self) -> Any:
        if self._render is None:
            raise NotImplementedError("this exception was copied from the one that was raised")
        return self._render()

    def __reduce__(self) -> Any:
        return (_Rendering, ())


def _user_frames(chain: TracebackType | None) -> TracebackType | None:
    """The part of the traceback after the last frame of this package; all of it if there is none."""
    cut, last = chain, chain
    while last is not None:
        if last.tb_frame.f_globals.get("__name__", "").startswith(_OURS):
            cut = last.tb_next
        last = last.tb_next
    return cut


def _syntax_error(shell: Any, error: SyntaxError, frames: TracebackType | None) -> BaseException:
    """A stand-in for a syntax error, of the cell itself (no frames) or raised by code that the cell ran."""

    def render() -> Any:
        listed = _listed(stand_in.__traceback__, frames) if frames is not None else []
        return shell.SyntaxTB.structured_traceback(type(error), error, listed)

    stand_in = _named_like(error, render)
    return stand_in


def _listed(whole: TracebackType | None, frames: TracebackType) -> traceback.StackSummary:
    """What a plain cell lists: the frame of IPython that runs the cell, then the user's frames."""
    first = traceback.extract_tb(whole, limit=1)
    first.extend(traceback.extract_tb(frames))
    return first


def _named_like(error: BaseException, render: Callable[[], Any]) -> BaseException:
    """An exception with the name and text of ``error`` but not of its class."""
    stand_in: type[Exception] = type(
        type(error).__name__,
        (Exception,),
        {"__module__": type(error).__module__, "__str__": lambda self: str(error)},
    )
    made = stand_in(*error.args)
    made.__cause__, made.__suppress_context__ = error, True
    _attach(made, render)
    return made
