"""Takes the module of a kernel, gives it a function that runs a part of the kernel on several threads.

``spread(state, pool_state, part, block, lo, hi, rounds)`` asks Python for the thread pool, once in each call of the
kernel, and gives the GIL away: the workers may want it when they look for Ctrl-C. Without a pool the part runs alone.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from jitmagic.backends.native.flags import C_FLAGS
from jitmagic.backends.native.pool import RUN_OFFSET, SIZE_OFFSET, pool_state
from jitmagic.backends.regions.interrupts import POOL, THREAD, call_python

__all__ = ["CHUNK_WORK", "SPREAD_WORK", "pool_or_none", "spread_function"]

SPREAD_WORK = 200_000.0  # statements above which a loop is worth the 5 to 50 us that waking the pool costs
CHUNK_WORK = 25_000.0  # no chunk has less work
_CHUNKS_PER_THREAD = 4
I32, I64 = ir.IntType(32), ir.IntType(64)
_NO_POOL = 1
_PART = ir.FunctionType(I64, [I64, I64, I64])


def pool_or_none() -> int:
    """The address of the pool's state, or 0; what a kernel calls, which can raise nothing but KeyboardInterrupt."""
    try:
        return pool_state()
    except Exception:  # no memory, no threads: the loop runs on this one
        return 0


def spread_function(module: ir.Module) -> ir.Function:
    known = module.globals.get("spread")
    if known is not None:
        return known
    kind = ir.FunctionType(I64, [I64.as_pointer(), I64, _PART.as_pointer(), I64, I64, I64, I64])
    function = ir.Function(module, kind, "spread")
    function.linkage = "internal"
    for attribute in ("noinline", "nounwind"):
        function.attributes.add(attribute)
    state, pool_state, part, block, lo, hi, least = function.args
    b = ir.IRBuilder(function.append_basic_block("entry"))
    request = b.alloca(ir.ArrayType(I64, 6))
    place = b.gep(state, [I64(POOL)])
    with b.if_then(b.icmp_signed("==", b.load(place), I64(0)), likely=False):
        b.store(_pool(b, state, pool_state), place)
    pool = b.load(place)
    with b.if_then(b.icmp_signed("==", pool, I64(_NO_POOL))):
        b.ret(b.call(part, [block, lo, hi]))
    words = (b.ptrtoint(part, I64), block, lo, hi, _chunk(b, pool, b.sub(hi, lo), least), I64(0))
    for index, word in enumerate(words):
        b.store(word, b.gep(request, [I64(0), I64(index)]))
    thread = b.gep(state, [I64(THREAD)])
    with b.if_then(b.icmp_signed("==", b.load(thread), I64(0))):
        b.store(call_python(b, "PyEval_SaveThread", I64), thread)
    run = b.inttoptr(_word(b, pool, RUN_OFFSET), _PART.as_pointer())
    status = b.call(run, [pool, b.ptrtoint(request, I64), I64(0)])
    _raise_flags(b, b.load(b.gep(request, [I64(0), I64(5)])))
    b.ret(status)
    return function


def _pool(b: ir.IRBuilder, state: Any, pool_state: Any) -> Any:
    """The address of the pool's state, or 1: no pool, or nobody here holds the GIL."""
    thread = b.gep(state, [I64(THREAD)])
    held = b.load(thread)
    with b.if_then(b.icmp_signed("!=", held, I64(0))):
        call_python(b, "PyEval_RestoreThread", ir.VoidType(), held)
        b.store(I64(0), thread)
    owns = b.icmp_signed("!=", call_python(b, "PyGILState_Check", I32), I32(0))
    found = b.alloca(I64)
    b.store(I64(_NO_POOL), found)
    with b.if_then(owns):
        answer = call_python(b, "PyObject_CallNoArgs", I64, pool_state)
        with b.if_else(b.icmp_signed("!=", answer, I64(0))) as (given, failed):
            with given:
                address = call_python(b, "PyLong_AsLongLong", I64, answer)
                call_python(b, "Py_DecRef", ir.VoidType(), answer)
                b.store(b.select(b.icmp_signed(">", address, I64(0)), address, I64(_NO_POOL)), found)
            with failed:  # by Ctrl-C, which is put back for the next look
                call_python(b, "PyErr_Clear", ir.VoidType())
                call_python(b, "PyErr_SetInterrupt", ir.VoidType())
    return b.load(found)


def _chunk(b: ir.IRBuilder, pool: Any, rounds: Any, least: Any) -> Any:
    """Rounds of one chunk: some for each thread, since rounds may differ in work."""
    pieces = b.mul(_word(b, pool, SIZE_OFFSET), I64(_CHUNKS_PER_THREAD))
    even = b.add(b.sdiv(b.sub(rounds, I64(1)), pieces), I64(1))
    return b.select(b.icmp_signed(">", even, least), even, least)


def _word(b: ir.IRBuilder, base: Any, offset: int) -> Any:
    return b.load(b.inttoptr(b.add(base, I64(offset)), I64.as_pointer()))


def _raise_flags(b: ir.IRBuilder, flags: Any) -> None:
    """The floating-point flags of the workers become this thread's."""
    wanted: Any = I32(0)
    for flag, bit in C_FLAGS.items():
        has = b.icmp_signed("!=", b.and_(flags, I64(int(flag))), I64(0))
        wanted = b.or_(wanted, b.select(has, I32(bit), I32(0)))
    with b.if_then(b.icmp_signed("!=", flags, I64(0)), likely=False):
        call_python(b, "feraiseexcept", I32, wanted)
