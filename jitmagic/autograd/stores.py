"""Takes a frame that called into C, tells whether it is storing numbers (``a[i] = x``, ``a.fill(x)``)."""

from __future__ import annotations

import dis
import functools
from types import CodeType, FrameType

__all__ = ["is_store"]

_STORES = frozenset({"STORE_SUBSCR", "STORE_SLICE"})

# Functions and methods that ask an object for its number and keep only that.
_STORING_CALLS = frozenset({"__setitem__", "fill", "fromiter", "itemset", "put", "setfield", "setitem"})


def is_store(frame: FrameType) -> bool:
    """Whether the instruction that the frame is at assigns to ``target[index]``, or calls what stores numbers."""
    return frame.f_lasti >= 0 and _stores(frame.f_code, frame.f_lasti)


@functools.lru_cache(maxsize=1024)
def _stores(code: CodeType, offset: int) -> bool:
    instructions = {each.offset: each for each in dis.get_instructions(code)}
    at = instructions.get(offset)
    if at is None:
        return False
    return at.opname in _STORES or (at.opname.startswith("CALL") and _called_name(instructions, at) in _STORING_CALLS)


def _called_name(instructions: dict[int, dis.Instruction], call: dis.Instruction) -> object:
    """What the call expression ``name(...)`` or ``owner.name(...)`` calls: the last name loaded where it starts."""
    span = call.positions
    if span is None or span.lineno is None:
        return None
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
    return max(enumerate(loads), default=(0, None), key=lambda numbered: numbered[0])[1]
