"""Takes the module of a kernel, gives it a function that looks whether Ctrl-C is waiting, and the GIL's keeper.

A kernel starts with the GIL as its caller has it. It counts its work down; each time the count is used up it calls
``look(state)``, which reads a clock. Every few milliseconds ``look`` asks Python, and from the first time on it gives
the GIL away in between: a long loop lets other threads run, a short one pays nothing for that.
"""

from __future__ import annotations

import platform
from typing import Any

from llvmlite import ir

__all__ = ["POOL", "STATE", "STOP", "STOP_AT", "THREAD", "call_python", "close_state", "look_function", "take_off"]

STATE = ir.ArrayType(ir.IntType(64), 5)  # the clock when Python was asked last; see below for the others
_CYCLES = 20_000_000  # 5 to 10 ms
_HAS_CLOCK = platform.machine().lower() in ("x86_64", "amd64")  # elsewhere a program may not read the counter
_LOOKS = 8  # without a clock
I1, I32, I64 = ir.IntType(1), ir.IntType(32), ir.IntType(64)
# Words of the state: the thread state if the GIL is away; the pool, if it has been asked for; in a part of a kernel
# that threads share, the address of the word that tells all of them to stop; that word.
THREAD, POOL, STOP_AT, STOP = 1, 2, 3, 4


def look_function(module: ir.Module) -> ir.Function:
    """``i64 look(i64 *state)``: 1 if Ctrl-C is waiting, which stays pending for Python to raise."""
    known = module.globals.get("look")
    if known is not None:
        return known
    function = ir.Function(module, ir.FunctionType(I64, [I64.as_pointer()]), "look")
    function.linkage = "internal"
    # What other threads write while the GIL is away is as invisible to a kernel as what they write at any time.
    for attribute in ("noinline", "cold", "nounwind", "inaccessiblemem_or_argmemonly"):
        function.attributes.add(attribute)
    (state,) = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    last, thread = state, b.gep(state, [I64(THREAD)])
    _return_if_stopped(b, state)
    _return_unless_due(b, last)
    held = b.load(thread)
    with b.if_then(b.icmp_unsigned("!=", held, I64(0))):
        call_python(b, "PyEval_RestoreThread", ir.VoidType(), held)
    owns = b.or_(
        b.icmp_unsigned("!=", held, I64(0)), b.icmp_signed("!=", call_python(b, "PyGILState_Check", I32), I32(0))
    )
    with b.if_else(owns) as (mine, foreign):
        with mine:
            found_here = _is_waiting(b)
            b.store(call_python(b, "PyEval_SaveThread", I64), thread)
            end_here = b.block
        with foreign:
            gil = call_python(b, "PyGILState_Ensure", I32)
            found_there = _is_waiting(b)
            call_python(b, "PyGILState_Release", ir.VoidType(), gil)
            end_there = b.block
    found = b.phi(I1)
    found.add_incoming(found_here, end_here)
    found.add_incoming(found_there, end_there)
    b.ret(b.zext(found, I64))
    return function


def _return_if_stopped(b: ir.IRBuilder, state: Any) -> None:
    """Another thread has met the end of the kernel, Ctrl-C say, which only the main thread sees."""
    place = b.load(b.gep(state, [I64(STOP_AT)]))
    with b.if_then(b.icmp_unsigned("!=", place, I64(0)), likely=False):
        flag = b.load_atomic(b.inttoptr(place, I64.as_pointer()), ordering="monotonic", align=8)
        with b.if_then(b.icmp_unsigned("!=", flag, I64(0)), likely=False):
            b.ret(I64(1))


def _return_unless_due(b: ir.IRBuilder, last: Any) -> None:
    """The first look only starts the clock."""
    before = b.load(last)
    now = _ticks(b) if _HAS_CLOCK else b.add(before, I64(1))
    limit = I64(_CYCLES if _HAS_CLOCK else _LOOKS)
    is_early = b.icmp_signed("<=", b.sub(now, before), limit) if _HAS_CLOCK else b.icmp_signed("<=", now, limit)
    is_first = b.icmp_signed("==", before, I64(0))
    if not _HAS_CLOCK:
        b.store(b.select(is_early, now, I64(1)), last)
    with b.if_then(b.or_(is_first, is_early)):
        with b.if_then(is_first):
            b.store(now, last)
        b.ret(I64(0))
    if _HAS_CLOCK:
        b.store(now, last)


def _ticks(b: ir.IRBuilder) -> Any:
    counter = b.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(I64, []))
    return b.call(counter, [])


def _is_waiting(b: ir.IRBuilder) -> Any:
    found = b.icmp_signed("!=", call_python(b, "PyOS_InterruptOccurred", I32), I32(0))  # which takes the signal off
    with b.if_then(found, likely=False):
        call_python(b, "PyErr_SetInterrupt", ir.VoidType())
    return found


def take_off(b: ir.IRBuilder) -> None:
    """Ctrl-C is no longer pending, if this thread can say so: Python is told by the kernel's status."""
    with b.if_then(b.icmp_signed("!=", call_python(b, "PyGILState_Check", I32), I32(0))):
        call_python(b, "PyOS_InterruptOccurred", I32)


def close_state(b: ir.IRBuilder, state: Any) -> None:
    """At the end of a kernel: take the GIL back if it was given away."""
    held = b.load(b.gep(state, [I64(THREAD)]))
    with b.if_then(b.icmp_unsigned("!=", held, I64(0)), likely=False):
        call_python(b, "PyEval_RestoreThread", ir.VoidType(), held)


def call_python(b: ir.IRBuilder, name: str, result: Any, *args: Any) -> Any:
    """A function of Python or of the C library."""
    kind = ir.FunctionType(result, [a.type for a in args])
    return b.call(b.module.globals.get(name) or ir.Function(b.module, kind, name), args)
