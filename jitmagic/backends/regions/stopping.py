"""Takes the places of a kernel's variables, gives the block in which the kernel ends when Ctrl-C has been found.

    hand_back(out, 8, s_pyfloat, i_pyint)      out[1], out[2] = s_pyfloat, i_pyint; out[3] = the line, 0 for none

The variables are then as plain Python might show them at the head of the loop on that line, and so are the arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from jitmagic.backends.native.abi import Status

__all__ = ["Stop", "open_stop"]

F32, F64, I1, I64 = ir.FloatType(), ir.DoubleType(), ir.IntType(1), ir.IntType(64)


@dataclass(frozen=True, slots=True)
class Stop:
    """``line`` is the place of the present line; ``places`` are those of the variables, in order."""

    block: Any
    line: Any
    out: Any
    places: Sequence[Any]

    def close(self, bad: Any) -> None:
        """Write the block. If an int has overflowed (``bad < 0``), nothing that was computed is any good."""
        b = ir.IRBuilder(self.block)
        for index, place in enumerate(self.places):
            value = b.load(place)
            if value.type == F32:
                value = b.fpext(value, F64)
            elif value.type == I1:
                value = b.zext(value, I64)
            _store(b, value, self.out, index)
        line = b.load(self.line)
        if bad is not None:
            line = b.select(b.icmp_signed("<", b.load(bad), I64(0)), I64(0), line)
        _store(b, line, self.out, len(self.places))
        b.ret(I64(int(Status.INTERRUPTED)))


def open_stop(b: ir.IRBuilder, entry: ir.IRBuilder, out: Any, places: Sequence[Any]) -> Stop:
    """``out`` is the address of the first word; ``entry`` writes where memory on the stack is made."""
    stop = Stop(b.function.append_basic_block("stopped"), entry.alloca(I64, name="line"), out, places)
    _store(b, I64(0), out, len(places))
    return stop


def _store(b: ir.IRBuilder, value: Any, out: Any, index: int) -> None:
    pointer = b.inttoptr(b.add(out, I64(8 * index)), value.type.as_pointer())
    b.store(value, pointer, align=8)
