"""Takes the traceback entries of a function's pieces, gives the entry that the whole function would have made.

After a graph break a function runs in pieces, whose frames have other parameters, and names of ours among them. The
entry made here has a frame of the user's own code with the variables that the pieces hold. Python has a function
that makes a frame without running anything (``PyFrame_New``; Cython makes its tracebacks with it).
"""

from __future__ import annotations

import ctypes
import dis
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FrameType, TracebackType
from typing import Any

from jitmagic.tracer.frame import is_piece, whole_of

__all__ = ["is_part", "whole_entry", "whole_frame"]


def is_part(entry: TracebackType) -> bool:
    """Whether the frame of this entry runs a piece of a function."""
    return is_piece(entry.tb_frame.f_code)


def whole_frame(parts: Sequence[TracebackType], arguments: Mapping[str, Any]) -> FrameType:
    """The frame of the whole function for ``parts``: a piece, and in it the body of its loop or block.

    ``arguments`` are those of its call; a piece knows only the ones that it needs.
    """
    last = parts[-1]
    if _new_frame is None:
        return last.tb_frame
    code = whole_of(last.tb_frame.f_code)
    known = {name: arguments[name] for name in _never_assigned(code) if name in arguments}
    for part in parts:
        known.update(part.tb_frame.f_locals)
    frame = _frame(code, last.tb_frame.f_globals, known)
    _set_line(frame, _last_line(parts))
    return frame


def _last_line(parts: Sequence[TracebackType]) -> int:
    """The line at which the call ended: a handler around a body has gone on from where the body stopped."""
    ended = next((part for part in parts if part.tb_frame.f_lineno != part.tb_lineno), parts[-1])
    return ended.tb_frame.f_lineno or ended.tb_lineno  # code that Python adds has no line


def whole_entry(part: TracebackType, frame: FrameType, following: TracebackType | None) -> TracebackType:
    """The entry of ``frame``, which ``whole_frame`` made, at the place where ``part`` stopped."""
    stopped = part.tb_lasti if frame is part.tb_frame else _same_place(whole_of(part.tb_frame.f_code), part)
    return TracebackType(following, frame, stopped, part.tb_lineno)


@functools.lru_cache(maxsize=256)
def _never_assigned(code: CodeType) -> tuple[str, ...]:
    """The parameters that keep their value to the end."""
    touched = set(_stored_cells(code))
    for instruction in dis.get_instructions(code):
        if instruction.opname.startswith(("STORE_FAST", "DELETE_FAST", "LOAD_FAST_AND_CLEAR")):
            names = instruction.argval
            touched.update(names if isinstance(names, tuple) else (names,))
    stars = bool(code.co_flags & 0x4) + bool(code.co_flags & 0x8)
    count = code.co_argcount + code.co_kwonlyargcount + stars
    return tuple(name for name in code.co_varnames[:count] if name not in touched)


def _stored_cells(code: CodeType) -> Iterator[str]:
    """The variables that the function or one inside it stores in a cell."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("STORE_DEREF", "DELETE_DEREF"):
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _stored_cells(constant)


def _same_place(code: CodeType, entry: TracebackType) -> int:
    """The offset in the whole function of the instruction at which the piece stopped: the one at the same columns."""
    stopped = entry.tb_frame.f_code
    at = entry.tb_lasti // 2
    position = _positions(stopped)[at]
    found = [i for i, each in enumerate(_positions(code)) if each == position]
    operation = stopped.co_code[entry.tb_lasti]
    alike = [i for i in found if code.co_code[2 * i] == operation] or found
    if not alike:
        alike = [i for i, each in enumerate(_positions(code)) if each[0] == entry.tb_lineno] or [0]
    return 2 * alike[0]


@functools.lru_cache(maxsize=256)
def _positions(code: CodeType) -> list[tuple[int | None, ...]]:
    return list(code.co_positions())


def _frame(code: CodeType, globals_: dict[str, Any], known: Mapping[str, Any]) -> FrameType:
    """A frame of ``code`` with these variables; nothing has been run in it, so none of them is in a cell."""
    names = tuple(dict.fromkeys((*code.co_varnames, *code.co_cellvars, *code.co_freevars)))
    flat = code.replace(co_varnames=names, co_nlocals=len(names), co_cellvars=(), co_freevars=())
    assert _new_frame is not None
    frame: FrameType = _new_frame(_this_thread(), flat, globals_, {})
    variables: Any = frame.f_locals
    for name in names:
        if name in known:
            variables[name] = known[name]
    if sys.version_info < (3, 13):  # from then on f_locals writes through
        ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), 0)
    return frame


def _find_new_frame() -> Any:
    """``PyFrame_New``; None where Python has none, or has it with a fault (before 3.11.1)."""
    if sys.implementation.name != "cpython" or sys.version_info < (3, 11, 1):
        return None
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, *[ctypes.py_object] * 3)
    return make(("PyFrame_New", ctypes.pythonapi))


def _set_line(frame: FrameType, line: int) -> None:
    """Let ``frame.f_lineno`` be ``line``; IPython shows that where it reads no source (in a kernel, of every cell).

    It is the int behind three pointers in every ``PyFrameObject``, nothing until somebody sets it.
    """
    field = ctypes.c_int.from_address(id(frame) + object.__basicsize__ + 3 * ctypes.sizeof(ctypes.c_void_p))
    if field.value == 0:
        field.value = line
        if frame.f_lineno != line:  # another layout: it was not this field
            field.value = 0


_new_frame = _find_new_frame()
_this_thread = ctypes.PYFUNCTYPE(ctypes.c_void_p)(("PyThreadState_Get", ctypes.pythonapi))
