"""Takes a frame that called into C, tells what for: storing numbers (``a[i] = x``, ``a.fill(x)``), or making text."""

from __future__ import annotations

import dis
import functools
import inspect
from types import CodeType, FrameType
from typing import Any

import numpy as np

__all__ = ["is_store", "makes_text"]

_STORES = frozenset({"STORE_SUBSCR", "STORE_SLICE"})

# Functions and methods that ask an object for its number and keep only that.
_STORING_CALLS = frozenset(
    {"__setitem__", "array", "asanyarray", "asarray", "fill", "fromiter", "itemset", "put", "setfield", "setitem"}
)


def is_store(frame: FrameType) -> bool:
    """Whether the instruction that the frame is at assigns to ``target[index]``, or calls what stores numbers."""
    if frame.f_lasti < 0:
        return False
    stores, names = _instruction(frame.f_code, frame.f_lasti)
    return stores or _is_storing(_meant(frame, names))


def makes_text(frame: FrameType) -> bool:
    """Whether it is at ``"%.3f" % x``: the operator of numbers and arrays asks nobody for a Python float."""
    return frame.f_lasti >= 0 and _is_remainder(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=1024)
def _is_remainder(code: CodeType, offset: int) -> bool:
    at = next((each for each in dis.get_instructions(code) if each.offset == offset), None)
    return at is not None and at.opname == "BINARY_OP" and at.argrepr in ("%", "%=")


def _meant(frame: FrameType, names: tuple[str, ...]) -> Any:
    """What the frame knows as ``a`` or ``a.b.c``; None where only running code would tell."""
    if not names:
        return None
    first, *rest = names
    found = frame.f_locals.get(first, frame.f_globals.get(first))
    for name in rest:
        found = inspect.getattr_static(found, name, None)
    return found


def _is_storing(function: Any) -> bool:
    """Whether it is such a method of an array, under whatever name."""
    if isinstance(function, functools.partial):
        return _is_storing(function.func)
    is_method = isinstance(getattr(function, "__self__", None), np.ndarray)
    return is_method and getattr(function, "__name__", "") in _STORING_CALLS


@functools.lru_cache(maxsize=1024)
def _instruction(code: CodeType, offset: int) -> tuple[bool, tuple[str, ...]]:
    """Whether the instruction stores, as far as its own names tell; if it is a call, of what: ``a``, ``a.b``."""
    instructions = {each.offset: each for each in dis.get_instructions(code)}
    at = instructions.get(offset)
    if at is None or not at.opname.startswith("CALL"):
        return at is not None and at.opname in _STORES, ()
    names = _called_names(instructions, at)
    return bool(names) and names[-1] in _STORING_CALLS, names


def _called_names(instructions: dict[int, dis.Instruction], call: dis.Instruction) -> tuple[str, ...]:
    """What the call expression ``name(...)`` or ``owner.name(...)`` calls: the names loaded where it starts."""
    span = call.positions
    if span is None or span.lineno is None:
        return ()
    loads = (
        each.argval
        for offset, each in instructions.items()
        if offset < call.offset
        and each.opname.startswith("LOAD")
        and each.positions is not None
        and each.positions[0] == span[0]
        and each.positions[2] == span[2]
        and each.positions != span
    )
    return tuple(name for name in loads if isinstance(name, str))
