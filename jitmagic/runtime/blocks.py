"""Takes what a plain statement calls after a graph break, gives its compiled form: a loop body, or a callee.

``_jm_block(f)`` stands in the generated pieces of a split function (see ``tracer.outline`` and ``tracer.split``).
"""

from __future__ import annotations

import os
import site
import sys
import sysconfig
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any, Protocol

from jitmagic.runtime.attributes import hung
from jitmagic.runtime.frame import Cells, CompiledFrame, Values
from jitmagic.runtime.function import make_compiled
from jitmagic.runtime.handle import Handle, frame_of
from jitmagic.runtime.touch import may_touch_arrays
from jitmagic.tracer.directives import is_disabled
from jitmagic.tracer.frame import is_piece
from jitmagic.tracer.looking import looks_at_callers

__all__ = ["Blocks"]

_NOT_CALLED_ONCE = 0x20 | 0x80 | 0x100 | 0x200  # generators and coroutines

_HOLD_THE_USERS = {"contextlib", "functools"}  # their wrappers call functions of the user
_PLAIN_MODULES = sys.stdlib_module_names - _HOLD_THE_USERS
_FOLDERS = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages())
_INSTALLED = tuple(os.path.join(folder, "") for folder in dict.fromkeys(_FOLDERS))

_Callees = weakref.WeakKeyDictionary[FunctionType, FunctionType | None]


class _Server(Protocol):
    def __call__(self, frame: CompiledFrame, values: Values, cells: Cells) -> Any: ...

    def piece(
        self, whole: CompiledFrame, key: tuple[Any, ...], plain: FunctionType, line: int
    ) -> CompiledFrame | None: ...

    def follow(self, whole: CompiledFrame | None, result: Any) -> Any: ...


class Blocks:
    """The compiled forms that the programs of one function ask for; they live as long as its frame.

    Callees share them, so that functions which call each other in turn have one compiled form each.
    """

    def __init__(self, whole: weakref.ref[CompiledFrame], server: _Server, callees: _Callees | None = None) -> None:
        self._whole = whole
        self._server = server
        self._callees: _Callees = weakref.WeakKeyDictionary() if callees is None else callees

    def __call__(self, function: Any) -> Any:
        whole = self._whole()
        if whole is None or type(function) is not FunctionType:
            return function
        return self._body(whole, function) if is_piece(function.__code__) else self._callee(whole, function)

    def _body(self, whole: CompiledFrame, body: FunctionType) -> Callable[[], Any]:
        """The body of a loop or block: a frame over the cells of this call."""
        code = body.__code__
        piece = self._server.piece(whole, ("body", code), body, code.co_firstlineno)
        if piece is None:
            return body
        cells, follow = body.__closure__ or (), self._server.follow
        return lambda: follow(whole, piece.run(cells))

    def _callee(self, whole: CompiledFrame, function: FunctionType) -> FunctionType:
        """A function that could not be inlined; it has entries of its own."""
        if isinstance(hung(function), Handle) or function.__code__.co_flags & _NOT_CALLED_ONCE:
            return function
        if is_disabled(function) or _is_of_a_library(function) or not may_touch_arrays(function):
            return function
        if function not in self._callees:
            stays = looks_at_callers(function)
            self._callees[function] = None if stays else self._compiled(function, whole)
        return self._callees[function] or function

    def _compiled(self, function: FunctionType, whole: CompiledFrame) -> FunctionType:
        made = make_compiled(function, whole.options, self._server)
        frame = frame_of(made)
        assert frame is not None
        frame.blocks = Blocks(frame.whole, self._server, self._callees)
        return made


def _is_of_a_library(function: FunctionType) -> bool:
    """Whether it is a part of Python or of an installed package, which nobody wants to read about in a card.

    One that could not be inlined plots, reads files or calls machine code: there is little to be gained.
    """
    module = str(function.__globals__.get("__name__")).partition(".")[0]
    is_installed = function.__code__.co_filename.startswith(_INSTALLED)
    return module in _PLAIN_MODULES or (is_installed and module not in {"jitmagic", *_HOLD_THE_USERS})
