"""The vocabulary of a region's kernel: takes LLVM values, gives the instructions for one word on them."""

from __future__ import annotations

import ast
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir

from jitmagic.backends.native.abi import Status
from jitmagic.backends.regions.interrupts import STOP, look_function
from jitmagic.backends.regions.rows import extreme_function, sum_function
from jitmagic.backends.regions.spreading import spread_function
from jitmagic.backends.regions.stopping import Stop
from jitmagic.errors import InternalError

__all__ = ["CALLS", "F32", "F64", "I1", "I64", "UNLIKELY", "Words"]

I1, I8, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(64)
F32, F64 = ir.FloatType(), ir.DoubleType()
UNLIKELY = [1, 100_000]  # weights of a branch that leaves
_BYTES = I8.as_pointer()
_REGISTER = "w" if platform.machine().lower() in ("aarch64", "arm64") else "x"  # of a float, in inline assembly


@dataclass(slots=True)
class Words:
    """``arrays`` says of each array whether it is written; ``array`` is the one that a load or store is about."""

    module: ir.Module
    builder: ir.IRBuilder
    places: ir.IRBuilder  # writes to the entry, for memory on the stack
    arrays: Mapping[str, bool]
    args: Any
    state: Any  # of ``interrupts``
    array: str = ""
    whole: Any = field(init=False)
    budget: Any = field(init=False)
    stop: Stop | None = None  # where a kernel goes that Ctrl-C ends
    line: int = 0  # of the program; 0 for none
    _scopes: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.budget = self.places.alloca(I64, name="budget")
        _budget(self, I64(1))
        domain = self.module.add_metadata(["region"])
        own = {name: self.module.add_metadata([f"region {name}", domain]) for name in self.arrays}
        for name, is_written in self.arrays.items():
            others = [own[o] for o, writes in self.arrays.items() if o != name and (is_written or writes)]
            self._scopes[name] = (
                self.module.add_metadata([own[name]]),
                self.module.add_metadata(others) if others else None,
            )

    def constant(self, value: Any) -> Any:
        if isinstance(value, bool):
            return I1(int(value))
        return I64(value) if isinstance(value, int) else F64(value)

    def binary(self, operator: type[ast.operator], left: Any, right: Any) -> Any:
        if left.type != right.type:
            raise InternalError(f"{operator.__name__} of {left.type} and {right.type}")
        table = _FLOAT if left.type in (F32, F64) else _INT
        return table[operator](self, left, right)

    def compare(self, operator: type[ast.cmpop], left: Any, right: Any) -> Any:
        sign = _COMPARE[operator]
        if left.type != right.type:
            raise InternalError(f"comparison of {left.type} and {right.type}")
        if left.type not in (F32, F64):
            signed = self.builder.icmp_unsigned if left.type == I1 else self.builder.icmp_signed
            return signed(sign, left, right)
        if sign == "!=":
            return self.builder.fcmp_unordered(sign, left, right)
        return self.builder.fcmp_ordered(sign, left, right)

    def intrinsic(self, name: str, *args: Any) -> Any:
        kind = args[0].type
        function = self.module.declare_intrinsic(f"llvm.{name}", [kind], ir.FunctionType(kind, [kind] * len(args)))
        return self.builder.call(function, args)

    def external(self, name: str, *args: Any) -> Any:
        """A function of libm, as Python calls it."""
        kind = ir.FunctionType(F64, [F64] * len(args))
        function = self.module.globals.get(name) or ir.Function(self.module, kind, name)
        return self.builder.call(function, args)

    def pointer(self, base: Any, offset: Any, kind: Any) -> Any:
        start = self.builder.inttoptr(base, _BYTES)
        return self.builder.bitcast(self.builder.gep(start, [offset]), kind.as_pointer())

    def look(self) -> None:
        """See whether Ctrl-C is waiting, which ends the kernel, and start a new budget."""
        self.builder.store(self.whole, self.budget)
        found = self.builder.call(look_function(self.module), [self.state])
        is_fine = self.builder.icmp_signed("==", found, I64(0))
        if self.stop is None:
            self.leave_unless(is_fine, Status.INTERRUPTED)
            return
        self.builder.store(I64(self.line), self.stop.line)
        go_on = self.builder.function.append_basic_block("fine")
        self.builder.cbranch(is_fine, go_on, self.stop.block).set_weights(UNLIKELY[::-1])
        self.builder.position_at_end(go_on)

    def leave_unless(self, condition: Any, status: Status) -> None:
        go_on, stop = (self.builder.function.append_basic_block(n) for n in ("fine", "leave"))
        self.builder.cbranch(condition, go_on, stop).set_weights(UNLIKELY[::-1])
        self.builder.position_at_end(stop)
        self.builder.ret(I64(int(status)))
        self.builder.position_at_end(go_on)

    def mark(self, instruction: Any) -> Any:
        """Accesses to an array that is written never meet those to another one."""
        if self.array in self.arrays:
            own, others = self._scopes[self.array]
            instruction.set_metadata("alias.scope", own)
            if others is not None:
                instruction.set_metadata("noalias", others)
        return instruction


_COMPARE: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


# -- arithmetic
def _floor_division(w: Words, left: Any, right: Any) -> Any:
    """Towards minus infinity; the text has checked that the divisor is neither 0 nor -1."""
    b = w.builder
    whole, rest = b.sdiv(left, right), b.srem(left, right)
    return b.select(_signs_differ(w, rest, right), b.sub(whole, I64(1)), whole)


def _remainder(w: Words, left: Any, right: Any) -> Any:
    rest = w.builder.srem(left, right)
    return w.builder.select(_signs_differ(w, rest, right), w.builder.add(rest, right), rest)


def _signs_differ(w: Words, rest: Any, right: Any) -> Any:
    b = w.builder
    return b.and_(b.icmp_signed("!=", rest, I64(0)), b.icmp_signed("<", b.xor(rest, right), I64(0)))


Binary = Callable[[Words, Any, Any], Any]
_INT: Mapping[type[ast.operator], Binary] = {
    ast.Add: lambda w, a, b: w.builder.add(a, b),
    ast.Sub: lambda w, a, b: w.builder.sub(a, b),
    ast.Mult: lambda w, a, b: w.builder.mul(a, b),
    ast.BitAnd: lambda w, a, b: w.builder.and_(a, b),
    ast.BitOr: lambda w, a, b: w.builder.or_(a, b),
    ast.BitXor: lambda w, a, b: w.builder.xor(a, b),
    ast.FloorDiv: _floor_division,
    ast.Mod: _remainder,
    ast.RShift: lambda w, a, b: w.builder.ashr(a, b),
}
_FLOAT: Mapping[type[ast.operator], Binary] = {
    ast.Add: lambda w, a, b: w.builder.fadd(a, b),
    ast.Sub: lambda w, a, b: w.builder.fsub(a, b),
    ast.Mult: lambda w, a, b: w.builder.fmul(a, b),
    ast.Div: lambda w, a, b: w.builder.fdiv(a, b),
}


# -- conversions
def _to_int(w: Words, value: Any) -> Any:
    if value.type == I1:
        return w.builder.zext(value, I64)
    return value if value.type == I64 else w.builder.fptosi(value, I64)


def _to_float64(w: Words, value: Any) -> Any:
    if value.type == F64:
        return value
    return w.builder.fpext(value, F64) if value.type == F32 else w.builder.sitofp(_to_int(w, value), F64)


def _to_float32(w: Words, value: Any) -> Any:
    if value.type == F32:
        return value
    return w.builder.fptrunc(value, F32) if value.type == F64 else w.builder.sitofp(_to_int(w, value), F32)


# -- memory
def _argument(kind: Any) -> Callable[..., Any]:
    def word(w: Words, args: Any, number: Any) -> Any:
        """A word of the args block, which no kernel writes."""
        value = w.builder.load(w.pointer(args, w.builder.mul(number, I64(8)), kind), align=8)
        value.set_metadata("invariant.load", w.module.add_metadata([]))
        return value

    return word


_MEMORY: Mapping[str, tuple[Any, bool]] = {  # LLVM's type, and whether it has a sign
    "bool": (I8, False),
    "int8": (I8, True),
    "int16": (ir.IntType(16), True),
    "int32": (ir.IntType(32), True),
    "int64": (I64, True),
    "uint8": (I8, False),
    "uint16": (ir.IntType(16), False),
    "uint32": (ir.IntType(32), False),
    "float32": (F32, True),
    "float64": (F64, True),
}


def _load(name: str) -> Callable[..., Any]:
    kind, has_sign = _MEMORY[name]

    def load(w: Words, base: Any, offset: Any) -> Any:
        value = w.mark(w.builder.load(w.pointer(base, offset, kind), align=1))
        if name == "bool":  # any byte but 0 is True
            return w.builder.icmp_unsigned("!=", value, I8(0))
        if kind in (F32, F64, I64):
            return value
        return w.builder.sext(value, I64) if has_sign else w.builder.zext(value, I64)

    return load


def _store(name: str) -> Callable[..., Any]:
    kind, _ = _MEMORY[name]

    def store(w: Words, base: Any, offset: Any, value: Any) -> Any:
        if value.type == I1:
            value = w.builder.zext(value, kind)
        elif value.type != kind:
            value = w.builder.trunc(value, kind)
        return w.mark(w.builder.store(value, w.pointer(base, offset, kind), align=1))

    return store


def _row(name: str, function: str) -> Callable[..., Any]:
    """Reduce ``count`` elements from an offset on; the kernel ends where NumPy's order decides what comes out."""
    kind, has_sign = _MEMORY[name]
    result = F64 if function == "real" else kind if kind in (F32, F64) else I64

    def load(b: ir.IRBuilder, address: Any) -> Any:
        value = b.load(b.inttoptr(address, kind.as_pointer()), align=1)
        if name == "bool":
            value = b.zext(b.icmp_unsigned("!=", value, I8(0)), I64)
        elif kind not in (F32, F64, I64):
            value = b.sext(value, I64) if has_sign else b.zext(value, I64)
        return b.sitofp(value, F64) if function == "real" else value

    def reduce(w: Words, base: Any, offset: Any, count: Any, stride: Any) -> Any:
        b, given = w.builder, [w.builder.add(base, offset), count, stride]
        if function in ("sum", "real"):
            return b.call(sum_function(w.module, f"{function}_{name}", result, load), given)
        found = b.call(extreme_function(w.module, function, name, result, load), given)
        w.leave_unless(b.not_(b.extract_value(found, 1)), Status.OVERFLOW)
        return b.extract_value(found, 0)

    return reduce


# -- functions
def _absolute(w: Words, value: Any) -> Any:
    if value.type in (F32, F64):
        return w.intrinsic("fabs", value)
    return w.builder.select(w.builder.icmp_signed("<", value, I64(0)), w.builder.neg(value), value)


def _is_infinite(w: Words, value: Any) -> Any:
    return w.builder.fcmp_ordered("==", w.intrinsic("fabs", value), value.type(float("inf")))


def _or_leave(name: str) -> Callable[..., Any]:
    def compute(w: Words, left: Any, right: Any) -> Any:
        """The result, or the end of the kernel if it does not fit 64 bits."""
        kind = ir.FunctionType(ir.LiteralStructType([I64, I1]), [I64, I64])
        both = w.builder.call(w.module.declare_intrinsic(f"llvm.{name}.with.overflow", [I64], kind), [left, right])
        w.leave_unless(w.builder.not_(w.builder.extract_value(both, 1)), Status.OVERFLOW)
        return w.builder.extract_value(both, 0)

    return compute


def _keep(w: Words, value: Any) -> Any:
    """Compute a value that nobody reads: its floating-point flags are part of what the loop does."""
    kind = ir.FunctionType(ir.VoidType(), [value.type])
    return w.builder.asm(kind, "", "x" if _REGISTER == "x" else "w", [value], side_effect=True)


def _count(w: Words, rounds: Any) -> None:
    """Count rounds down in the middle of a statement, where nobody looks."""
    w.builder.store(w.builder.sub(w.builder.load(w.budget), rounds), w.budget)


def _on_line(w: Words, line: Any) -> None:
    w.line = line.constant


def _poll(w: Words, rounds: Any, bad: Any = None) -> None:
    """Count rounds down; when the budget is used up, look whether Ctrl-C is waiting, which ends the kernel.

    A loop that might run on for ever with an int that has overflowed looks at ``bad``, too.
    """
    b = w.builder
    left = b.sub(b.load(w.budget), rounds)
    b.store(left, w.budget)
    with b.if_then(b.icmp_signed("<", left, I64(0)), likely=False):
        w.look()
        if bad is not None:
            w.leave_unless(b.icmp_signed(">=", bad, I64(0)), Status.OVERFLOW)


def _budget(w: Words, rounds: Any) -> None:
    """How many rounds may run between two looks."""
    w.whole = rounds
    w.places.store(rounds, w.budget)


def _block(w: Words, values: Sequence[Any]) -> Any:
    """The address of a block for a part of the kernel: its own ``args``, the word that stops all threads, numbers."""
    b = w.builder
    stop = b.gep(w.state, [I64(STOP)])
    b.store(I64(0), stop)
    place = w.places.alloca(ir.ArrayType(I64, 2 + len(values)))
    start = b.ptrtoint(place, I64)
    for index, value in enumerate((w.args, b.ptrtoint(stop, I64), *values)):
        if value.type == F32:
            value = b.fpext(value, F64)
        elif value.type == I1:
            value = b.zext(value, I64)
        b.store(value, w.pointer(start, I64(8 * index), value.type))
    return start


def _spread(w: Words, part: Any, pool: Any, lo: Any, hi: Any, least: Any, *values: Any) -> Any:
    """Run a part of the kernel on several threads; the status of the first piece that failed."""
    block = _block(w, values)
    return w.builder.call(spread_function(w.module), [w.state, pool, part, block, lo, hi, least])


def _alone(w: Words, part: Any, pool: Any, lo: Any, hi: Any, least: Any, *values: Any) -> Any:
    return w.builder.call(part, [_block(w, values), lo, hi])


_PAIR = ir.LiteralStructType([F64, F64])  # a complex number


def _ufunc(result: Any) -> Callable[..., Any]:
    def call(w: Words, table: Any, *parts: Any) -> Any:
        """NumPy's own loop over one element, as NumPy runs it for a scalar."""
        b = w.builder
        words = ir.ArrayType(I64, 9)  # where both elements are, their number, both strides, the elements themselves
        place = b.ptrtoint(w.places.alloca(words), I64)
        head = (b.add(place, I64(40)), b.add(place, I64(56)), I64(1), I64(0), I64(0))  # NumPy has strides of 0 there
        for index, word in enumerate(head):
            b.store(word, w.pointer(place, I64(8 * index), I64))
        for index, part in enumerate(parts):
            b.store(part, w.pointer(place, I64(40 + 8 * index), part.type))
        function, context, data = (b.load(w.pointer(table, I64(8 * k), I64)) for k in range(3))
        form = ir.FunctionType(ir.IntType(32), [I64] * 5)
        given = [context, place, b.add(place, I64(16)), b.add(place, I64(24)), data]
        status = b.call(b.inttoptr(function, form.as_pointer()), given)
        w.leave_unless(b.icmp_signed("==", status, ir.IntType(32)(0)), Status.INNER_LOOP)
        return b.load(w.pointer(place, I64(56), result), align=4)

    return call


def _extreme(name: str) -> Callable[..., Any]:
    """Of two ints; LLVM may take three of them in any order."""

    def compute(w: Words, left: Any, right: Any) -> Any:
        kind = ir.FunctionType(I64, [I64, I64])
        return w.builder.call(w.module.declare_intrinsic(f"llvm.s{name}", [I64], kind), [left, right])

    return compute


def _libm(name: str) -> Callable[..., Any]:
    return lambda w, *args: w.external(name, *args)


_EXTERNAL = (
    "pow fmod exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh hypot atan2"
)
CALLS: Mapping[str, Callable[..., Any]] = {
    "arg": _argument(I64),
    "arg_float64": _argument(F64),
    "np.int64": _to_int,
    "np.float64": _to_float64,
    "np.float32": _to_float32,
    **{f"np.{name}": lambda w, value: value for name in _MEMORY if "int" in name and name != "int64"},
    **{f"load_{name}": _load(name) for name in _MEMORY},
    **{f"store_{name}": _store(name) for name in _MEMORY},
    **{f"row_{f}_{name}": _row(name, f) for name in _MEMORY for f in ("sum", "real", "max", "min")},
    **{f"math.{name}": _libm(name) for name in _EXTERNAL.split()},
    "math.sqrt": lambda w, value: w.intrinsic("sqrt", value),
    "math.fabs": _absolute,
    "math.floor": lambda w, value: w.intrinsic("floor", value),
    "math.ceil": lambda w, value: w.intrinsic("ceil", value),
    "math.copysign": lambda w, value, sign: w.intrinsic("copysign", value, sign),
    "math.isinf": _is_infinite,
    "abs": _absolute,
    "outside": lambda w, index, size: w.builder.icmp_unsigned(">=", index, size),
    "select": lambda w, test, a, b: w.builder.select(test, a, b),
    "max": _extreme("max"),
    "min": _extreme("min"),
    "add_or_leave": _or_leave("sadd"),
    "sub_or_leave": _or_leave("ssub"),
    "mul_or_leave": _or_leave("smul"),
    "ufunc_float64": _ufunc(F64),
    "ufunc_float32": _ufunc(F32),
    "ufunc_complex128": _ufunc(_PAIR),
    "ufunc_size": _ufunc(F64),
    "real": lambda w, pair: w.builder.extract_value(pair, 0),
    "imag": lambda w, pair: w.builder.extract_value(pair, 1),
    "keep": _keep,
    "poll": _poll,
    "count": _count,
    "on_line": _on_line,
    "spread": _spread,
    "alone": _alone,
    "budget": _budget,
}
