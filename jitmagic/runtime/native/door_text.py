"""The code behind a trampoline, as kernel text: from the weak reference to a frame to the call of its ``run``."""

from __future__ import annotations

import ctypes
from typing import Any

from jitmagic.errors import InternalError
from jitmagic.runtime.native.layout import OFFSETS, is_known, word_at
from jitmagic.runtime.trampoline import Link, Target

__all__ = ["DOOR_TEXT"]

# A METH_FASTCALL function; ``self`` is a Link. A native entry is entered at once, without Python's calling convention;
# it holds what it needs itself.
_DOOR = """
def door(self, argv, count):
    target = load_int64(self, {VALUE})
    if target == load_int64(self, {NOTHING}):
        return PyObject_Vectorcall(load_int64(self, {DEAD}), argv, count, 0)
    run = load_int64(target, {RUN})
    known = load_int64(self, {KNOWN}) + {BYTES}
    method = load_int64(run, {VALUE})
    if load_int64(run, {TYPE}) == load_int64(known, 0) and method == load_int64(known, 8):
        return call_kernel(load_int64(method, 8), load_int64(run, {SELF}), argv, count)
    Py_IncRef(run)
    answer = PyObject_Vectorcall(run, argv, count, 0)
    Py_DecRef(run)
    return answer
"""


def _slot(owner: Any, name: str) -> int:
    """Where ``owner`` keeps the slot ``name``, in bytes from its start."""
    marker = object()
    before = getattr(owner, name, None)
    setattr(owner, name, marker)
    places = range(OFFSETS["VALUE"], type(owner).__basicsize__, ctypes.sizeof(ctypes.c_void_p))
    found = [place for place in places if word_at(id(owner) + place) == id(marker)]
    setattr(owner, name, before)
    if len(found) != 1:
        raise InternalError(f"the slot {name} of {type(owner).__name__} is not where slots are in CPython")
    return found[0]


def _text() -> str:
    """The text for this interpreter; it never runs where layouts are not known."""
    if not is_known():
        return ""
    target = Target()
    link = Link(target)
    places = {name.upper(): _slot(link, name) for name in ("nothing", "dead", "known")}
    return _DOOR.format(**OFFSETS, **places, RUN=_slot(target, "run"))


DOOR_TEXT = _text()
