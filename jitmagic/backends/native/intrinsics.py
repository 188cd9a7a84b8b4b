"""The vocabulary of kernel source: takes Numba's typing of a call, gives the LLVM instructions for
it.

Kernel text is compiled with ``NAMESPACE`` as its globals. Addresses are plain int64 values and
offsets are in bytes, so that views cost nothing. Loads and stores assume no alignment: it costs
nothing on x86-64 and AArch64, and unaligned arrays are then just arrays. Nothing here sets a
fast-math flag: LLVM neither contracts nor reassociates.

Importing this module imports Numba; the warm path never does.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from jitmagic.backends.native.abi import Status, has_half
from jitmagic.backends.native.approximations import APPROXIMATIONS, Real
from jitmagic.backends.native.flags import ALL_C_FLAGS, C_FLAGS

__all__ = ["NAMESPACE"]

NAMESPACE: dict[str, Any] = {"math": math, "np": np, **{status.name: int(status) for status in Status}}

_I64 = ir.IntType(64)
_I32 = ir.IntType(32)
_I8 = ir.IntType(8)
_BYTES = _I8.as_pointer()

Emit = Callable[[Any, Any, Any, Any], Any]  # (context, builder, signature, arguments) -> value


def define(name: str, result: Any, *arguments: Any) -> Callable[[Emit], Emit]:
    """Register an intrinsic of fixed types under ``name``; the decorated function emits it."""

    def register(emit: Emit) -> Emit:
        signature = result(*arguments)
        NAMESPACE[name] = intrinsic(_typing(len(arguments), signature, emit))
        return emit

    return register


def _typing(count: int, signature: Any, emit: Emit) -> Callable[..., Any]:
    """A typing function of ``count`` parameters: Numba reads their number from the signature."""
    names = ", ".join(f"a{k}" for k in range(count))
    scope: dict[str, Any] = {"answer": (signature, emit)}
    exec(f"def typing(context{', ' if names else ''}{names}):\n    return answer", scope)
    return scope["typing"]  # type: ignore[no-any-return]  # made by the line above


# ---------------------------------------------------------------- memory

MEMORY_TYPES: dict[str, Any] = {
    "bool": types.boolean,
    "int8": types.int8,
    "int16": types.int16,
    "int32": types.int32,
    "int64": types.int64,
    "uint8": types.uint8,
    "uint16": types.uint16,
    "uint32": types.uint32,
    "uint64": types.uint64,
    "float32": types.float32,
    "float64": types.float64,
    "complex64": types.complex64,
    "complex128": types.complex128,
}


def _pointer(builder: Any, target: Any, base: Any, offset: Any) -> Any:
    """``base + offset`` as a pointer. A GEP from the base, so that LLVM can see the stride."""
    start = builder.inttoptr(base, _BYTES)
    return builder.bitcast(builder.gep(start, [offset]), target.as_pointer())


@dataclass(frozen=True)
class Memory:
    """How a type lies in memory, when that differs from what Numba says: the LLVM type and the conversions."""

    kind: Any
    stored: Any = None  # LLVM type in memory; None: Numba's
    read: Callable[[Any, Any], Any] | None = None  # (builder, value in memory) -> value
    write: Callable[[Any, Any], Any] | None = None  # (builder, value) -> value in memory


def _memory_rows() -> dict[str, Memory]:
    rows = {name: Memory(kind) for name, kind in MEMORY_TYPES.items()}
    # NumPy bools may hold any byte (a view of uint8): every byte but 0 is True
    rows["bool"] = Memory(types.boolean, _I8, lambda b, v: b.icmp_unsigned("!=", v, _I8(0)))
    if has_half():
        # float16 in memory, float32 in registers, as NumPy computes it. Only where the CPU converts (exactly, to
        # nearest even): elsewhere LLVM would call a library.
        half = ir.HalfType()
        rows["float16"] = Memory(
            types.float32, half, lambda b, v: b.fpext(v, ir.FloatType()), lambda b, v: b.fptrunc(v, half)
        )
    return rows


def _define_load(name: str, row: Memory, promise: bool) -> None:
    @define(name, row.kind, types.int64, types.int64)
    def load(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(builder, row.stored or context.get_data_type(row.kind), *args)
        value = builder.load(pointer, align=1)
        if promise:
            value.set_metadata("noalias", _written_memory(builder.module))
        if row.read is not None:
            return row.read(builder, value)
        return context.data_model_manager[row.kind].from_data(builder, value)


def _define_store(name: str, row: Memory, promise: bool) -> None:
    @define(name, types.void, types.int64, types.int64, row.kind)
    def store(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer = _pointer(builder, row.stored or context.get_data_type(row.kind), args[0], args[1])
        if row.write is not None:
            value = row.write(builder, args[2])
        else:
            value = context.data_model_manager[row.kind].as_data(builder, args[2])
        instruction = builder.store(value, pointer, align=1)
        if promise:
            instruction.set_metadata("alias.scope", _written_memory(builder.module))
        return context.get_dummy_value()


def _written_memory(module: Any) -> Any:
    """The alias scope of every ``store_*_out``, which ``load_*_in`` never meets."""
    domain = module.add_metadata(["jitmagic"])
    return module.add_metadata([module.add_metadata(["jitmagic written", domain])])


for _name, _row in _memory_rows().items():
    _define_load(f"load_{_name}", _row, False)
    _define_store(f"store_{_name}", _row, False)
    # The emitter's promise: no ``store_*_out`` of the kernel writes what one of its ``load_*_in`` reads. LLVM then
    # needs no overlap checks at run time, whose number grows with the product of inputs and outputs.
    _define_load(f"load_{_name}_in", _row, True)
    _define_store(f"store_{_name}_out", _row, True)


def _define_argument(name: str, kind: Any) -> None:
    @define(f"arg_{name}", kind, types.int64, types.int64)
    def argument(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Word ``k`` of the args block (complex128: words ``k`` and ``k + 1``), which no kernel writes."""
        offset = builder.mul(args[1], _I64(8))
        pointer = _pointer(builder, context.get_data_type(kind), args[0], offset)
        value = builder.load(pointer, align=8)
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return context.data_model_manager[kind].from_data(builder, value)


for _name in ("int64", "uint64", "float64", "complex128"):
    _define_argument(_name, MEMORY_TYPES[_name])
NAMESPACE["arg"] = NAMESPACE["arg_int64"]


@intrinsic
def stack(context, size):  # type: ignore[no-untyped-def]  # Numba reads the signature
    """``stack(1024)``: address of so many bytes on the stack, 64-byte aligned; the size is a
    constant.

    Allocated once per call of the kernel, also when written inside a loop.
    """
    if not isinstance(size, types.IntegerLiteral):
        return None
    size_bytes = size.literal_value

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        with builder.goto_entry_block():
            buffer = builder.alloca(ir.ArrayType(_I8, size_bytes))
            buffer.align = 64
        return builder.ptrtoint(buffer, _I64)

    return types.int64(size), emit


NAMESPACE["stack"] = stack


# ---------------------------------------------------------------- past the caches

_LINE = ir.VectorType(_I64, 8)  # 64 bytes, what caches hold and memory takes at once


@define("stream_line", types.void, types.int64, types.int64, types.int64)
def _stream_line(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """``stream_line(place, offset, source)``: copy the line ``offset`` bytes behind ``source`` to behind ``place``.

    The line it goes to starts at a multiple of 64. It is not read into the cache first, and does not stay there.
    """
    place, offset, source = args
    line = builder.load(_pointer(builder, _LINE, source, offset), align=1)
    instruction = builder.store(line, _pointer(builder, _LINE, place, offset), align=64)
    instruction.set_metadata("nontemporal", builder.module.add_metadata([_I32(1)]))
    return context.get_dummy_value()


@define("stream_fence", types.void)
def _stream_fence(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Other threads see the lines before anything that this thread writes from here on."""
    if _HAS_SSE:
        builder.call(_instruction(builder, "llvm.x86.sse.sfence", []), [])
    return context.get_dummy_value()


def _instruction(builder: Any, name: str, parameters: list[Any]) -> Any:
    """LLVM's name for an instruction that gives nothing."""
    function = builder.module.globals.get(name)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), parameters), name)
    return function


# ---------------------------------------------------------------- bits and arithmetic


def _define_bitcast(name: str, result: Any, argument: Any) -> None:
    @define(name, result, argument)
    def cast(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(result))


_define_bitcast("float64_to_bits", types.int64, types.float64)
_define_bitcast("bits_to_float64", types.float64, types.int64)
_define_bitcast("float32_to_bits", types.int32, types.float32)
_define_bitcast("bits_to_float32", types.float32, types.int32)


def _define_fma(name: str, kind: Any) -> None:
    @define(name, kind, kind, kind, kind)
    def fma(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """``a * b + c`` rounded once, only where it was asked for by name."""
        return builder.fma(*args)


_define_fma("fma_float64", types.float64)
_define_fma("fma_float32", types.float32)


@intrinsic
def select(context, condition, a, b):  # type: ignore[no-untyped-def]  # Numba reads the signature
    """``a if condition else b`` with both computed: LLVM may not move arithmetic, and its flags, into a branch."""
    if a != b or condition != types.boolean:
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        chosen = builder.select(*args)
        chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
        return chosen

    return a(condition, a, b), emit


NAMESPACE["select"] = select


def _define_quiet_comparison(name: str, kind: Any, word: Any, predicate: str) -> None:
    @define(name, types.boolean, kind, kind)
    def compare(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """``a < b`` (``<=``) that sets no flag for NaN: LLVM's own comparison vectorises into one that does.

        Floats compare like their bits as integers, once the bits of negative ones are turned round; ``+ 0.0`` makes
        one zero of two.
        """
        keys = []
        for value in args:
            bits = builder.bitcast(builder.fadd(value, ir.Constant(value.type, 0.0)), word)
            turned = builder.lshr(builder.ashr(bits, word(word.width - 1)), word(1))
            keys.append(builder.xor(bits, turned))
        return builder.and_(builder.fcmp_ordered("ord", *args), builder.icmp_signed(predicate, *keys))


for _name, _kind, _word in (("float64", types.float64, _I64), ("float32", types.float32, _I32)):
    _define_quiet_comparison(f"less_{_name}", _kind, _word, "<")
    _define_quiet_comparison(f"less_equal_{_name}", _kind, _word, "<=")


def _define_unknown(name: str, kind: Any, word: Any) -> None:
    @define(name, kind, kind)
    def unknown(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """The same value, of which LLVM knows nothing: it passes through an empty piece of assembly."""
        bits = builder.bitcast(args[0], word)
        same = builder.asm(ir.FunctionType(word, [word]), "", "=r,0", [bits], side_effect=False)
        return builder.bitcast(same, args[0].type)


_define_unknown("unknown_float64", types.float64, _I64)
_define_unknown("unknown_float32", types.float32, _I32)


def _define_approximation(name: str, count: int, function: Callable[..., Real]) -> None:
    @define(f"fast_{name}", types.float64, *[types.float64] * count)
    def approximation(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """The function of ``fastmath``."""
        return function(*(Real(builder, value) for value in args)).value


for _name, (_count, _function) in APPROXIMATIONS.items():
    _define_approximation(_name, _count, _function)


# ---------------------------------------------------------------- calls through addresses


def _define_call(name: str, result: Any, arguments: int) -> None:
    @define(name, types.int64, *[types.int64] * (arguments + 1))
    def call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Call the C function at the address ``args[0]``; its parameters are words."""
        function_type = ir.FunctionType(result, [_I64] * arguments)
        value = builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])
        return value if result == _I64 else builder.sext(value, _I64)


_define_call("call_kernel", _I64, 3)  # (address, args, lo, hi) -> status
_define_call("call_inner_loop", _I32, 5)  # (function, context, data, dims, strides, auxdata) -> int
_define_call("call_new_array", _I64, 8)  # PyArray_NewFromDescr; its two ints take words, too, in the ABIs we know


# ---------------------------------------------------------------- floating-point flags


def _external_call(builder: Any, symbol: str, result: Any, *args: Any) -> Any:
    module = builder.module
    function = module.globals.get(symbol)
    if function is None:
        function_type = ir.FunctionType(result, [value.type for value in args])
        function = ir.Function(module, function_type, symbol)
    return builder.call(function, args)


@define("float_flags", types.int64)
def _float_flags(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """The flags of this thread in NumPy's numbers. LLVM may move arithmetic across: call it around
    kernels.
    """
    return _in_numpys_numbers(builder, _external_call(builder, "fetestexcept", _I32, _I32(ALL_C_FLAGS)))


def _in_numpys_numbers(builder: Any, found: Any) -> Any:
    result = _I32(0)
    for flag, bit in C_FLAGS.items():
        is_set = builder.icmp_unsigned("!=", builder.and_(found, _I32(bit)), _I32(0))
        result = builder.or_(result, builder.select(is_set, _I32(int(flag)), _I32(0)))
    return builder.zext(result, _I64)


@define("clear_float_flags", types.void)
def _clear_float_flags(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Clear only what is set: reading is much cheaper than clearing (NumPy does the same)."""
    found = _external_call(builder, "fetestexcept", _I32, _I32(ALL_C_FLAGS))
    with builder.if_then(builder.icmp_unsigned("!=", found, _I32(0)), likely=False):
        _external_call(builder, "feclearexcept", _I32, _I32(ALL_C_FLAGS))
    return context.get_dummy_value()


def _control_instruction(builder: Any, name: str) -> Any:
    """An instruction on MXCSR, the control word of the vector unit."""
    return _instruction(builder, name, [_BYTES])


def _read_control(builder: Any) -> tuple[Any, Any]:
    with builder.goto_entry_block():
        word = builder.alloca(_I32)
    builder.call(_control_instruction(builder, "llvm.x86.sse.stmxcsr"), [builder.bitcast(word, _BYTES)])
    return word, builder.load(word)


_HAS_SSE = platform.machine().lower() in ("x86_64", "amd64")


@define("vector_float_flags", types.int64)
def _vector_float_flags(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """``float_flags`` of kernels that call nothing: what the x87 unit met is left out, which takes most of the time.

    On x86-64 the C library's numbers are the bits of MXCSR (Intel SDM, volume 1, 10.2.3).
    """
    if not _HAS_SSE:
        return _float_flags(context, builder, signature, args)
    _, found = _read_control(builder)
    return _in_numpys_numbers(builder, found)


@define("clear_vector_float_flags", types.void)
def _clear_vector_float_flags(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """``clear_float_flags`` before kernels that call nothing."""
    if not _HAS_SSE:
        return _clear_float_flags(context, builder, signature, args)
    word, found = _read_control(builder)
    with builder.if_then(builder.icmp_unsigned("!=", builder.and_(found, _I32(ALL_C_FLAGS)), _I32(0)), likely=False):
        builder.store(builder.and_(found, _I32(~ALL_C_FLAGS)), word)
        builder.call(_control_instruction(builder, "llvm.x86.sse.ldmxcsr"), [builder.bitcast(word, _BYTES)])
    return context.get_dummy_value()


@define("raise_float_flags", types.void, types.int64)
def _raise_float_flags(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Set flags of this thread, given in NumPy's numbers, in addition to those that are set."""
    with builder.if_then(builder.icmp_unsigned("!=", args[0], _I64(0)), likely=False):
        found = builder.trunc(args[0], _I32)
        result = _I32(0)
        for flag, bit in C_FLAGS.items():
            is_set = builder.icmp_unsigned("!=", builder.and_(found, _I32(int(flag))), _I32(0))
            result = builder.or_(result, builder.select(is_set, _I32(bit), _I32(0)))
        _external_call(builder, "feraiseexcept", _I32, result)
    return context.get_dummy_value()


# ---------------------------------------------------------------- CPython and pthreads


@define("interrupted", types.boolean)
def _interrupted(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """Whether Ctrl-C is waiting for this thread; it stays pending, for Python to raise.

    Takes the GIL, for which it may wait: ask every 10 ms or so, and return Status.INTERRUPTED.
    """
    gil = _external_call(builder, "PyGILState_Ensure", _I32)
    found = _external_call(builder, "PyOS_InterruptOccurred", _I32)  # takes it off
    is_found = builder.icmp_unsigned("!=", found, _I32(0))
    with builder.if_then(is_found, likely=False):
        _external_call(builder, "PyErr_SetInterrupt", ir.VoidType())
    _external_call(builder, "PyGILState_Release", ir.VoidType(), gil)
    return is_found


# CPython: objects are words, results are checked by the caller
_EXTERNALS: dict[str, tuple[Any, ...]] = {
    "PyLong_AsLongLong": (types.int64, types.int64),
    "PyLong_AsUnsignedLongLongMask": (types.int64, types.int64),
    "PyLong_FromLongLong": (types.int64, types.int64),
    "PyFloat_AsDouble": (types.float64, types.int64),
    "PyComplex_RealAsDouble": (types.float64, types.int64),
    "PyComplex_ImagAsDouble": (types.float64, types.int64),
    "PyErr_Clear": (types.void,),
    "PyErr_Occurred": (types.int64,),
    "PyErr_SetObject": (types.void, types.int64, types.int64),
    "PyEval_SaveThread": (types.int64,),
    "PyEval_RestoreThread": (types.void, types.int64),
    "PyType_IsSubtype": (types.int32, types.int64, types.int64),
    "_PyType_Lookup": (types.int64, types.int64, types.int64),
    "PyObject_GenericGetDict": (types.int64, types.int64, types.int64),
    "PyDict_GetItemWithError": (types.int64, types.int64, types.int64),
    "PyObject_RichCompareBool": (types.int32, types.int64, types.int64, types.int32),
    "PyContextVar_Get": (types.int32, types.int64, types.int64, types.int64),
    "PyFunction_GetClosure": (types.int64, types.int64),
    "PyFunction_GetCode": (types.int64, types.int64),
    "PyFunction_GetDefaults": (types.int64, types.int64),
    "PyFunction_GetGlobals": (types.int64, types.int64),
    "PyFunction_GetKwDefaults": (types.int64, types.int64),
    "PyErr_ExceptionMatches": (types.int32, types.int64),
    "PyObject_Vectorcall": (types.int64, types.int64, types.int64, types.int64, types.int64),
    "PyTuple_New": (types.int64, types.int64),
    "Py_IncRef": (types.void, types.int64),
    "PyObject_CallNoArgs": (types.int64, types.int64),
    "Py_DecRef": (types.void, types.int64),
    "pthread_mutex_lock": (types.int32, types.int64),
    "pthread_mutex_unlock": (types.int32, types.int64),
    "pthread_cond_broadcast": (types.int32, types.int64),
    "pthread_cond_wait": (types.int32, types.int64, types.int64),
}
for _name, (_result, *_arguments) in _EXTERNALS.items():
    NAMESPACE[_name] = types.ExternalFunction(_name, _result(*_arguments))


# ---------------------------------------------------------------- atomics (for the thread pool)


@define("load_acquire", types.int64, types.int64, types.int64)
def _load_acquire(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.load_atomic(_pointer(builder, _I64, *args), "acquire", 8)


@define("store_release", types.void, types.int64, types.int64, types.int64)
def _store_release(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    builder.store_atomic(args[2], _pointer(builder, _I64, args[0], args[1]), "release", 8)
    return context.get_dummy_value()


def _define_atomic(name: str, operation: str) -> None:
    @define(name, types.int64, types.int64, types.int64, types.int64)
    def update(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Update the word at ``args[0] + args[1]``; gives the value that it had before."""
        pointer = _pointer(builder, _I64, args[0], args[1])
        return builder.atomic_rmw(operation, pointer, args[2], "acq_rel")


_define_atomic("atomic_add", "add")
_define_atomic("atomic_or", "or")
_define_atomic("atomic_exchange", "xchg")
