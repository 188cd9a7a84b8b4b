"""Takes the module of a kernel, gives it functions that reduce a row: the address of its first element, count, stride.

Sums of floats go in NumPy's order: fewer than 8 one after the other, up to 128 in eight sums side by side, more in
halves. The largest or smallest of floats is NaN where there is one; whether it is 0.0 or -0.0 depends on NumPy's order,
so the function says where both are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

__all__ = ["extreme_function", "sum_function"]

I1, I64 = ir.IntType(1), ir.IntType(64)
_FEW, _BLOCK, _LANES = 8, 128, 8
_ATTRIBUTES = ("noinline", "nounwind", "readonly")


def sum_function(module: ir.Module, name: str, kind: Any, load: Callable[..., Any]) -> ir.Function:
    """``load(builder, address)`` gives an element as ``kind``; ints wrap around in 64 bits."""
    function, b, is_new = _function(module, f"row_{name}", kind)
    if is_new:
        total = _whole_sum if kind == I64 else _pairwise_sum
        total(function, b, kind, load)
    return function


def extreme_function(module: ir.Module, word: str, name: str, kind: Any, load: Callable[..., Any]) -> ir.Function:
    """(the largest or smallest of at least one element, whether it is a zero of a sign that is not known)."""
    result = ir.LiteralStructType([kind, I1])
    function, b, is_new = _function(module, f"row_{word}_{name}", result)
    if not is_new:
        return function
    start, count, stride = function.args
    is_float = kind != I64
    sign = ">" if word == "max" else "<"
    best = b.alloca(kind)
    zeros = [b.alloca(I1), b.alloca(I1)]  # whether there is a 0.0, a -0.0
    b.store(load(b, start), best)
    for place in zeros:
        b.store(I1(0), place)
    with _counted(b, I64(0), count, 1) as at:
        value, present = load(b, b.add(start, b.mul(at, stride))), b.load(best)
        if is_float:
            better = b.or_(b.fcmp_ordered(sign, value, present), b.fcmp_unordered("uno", value, value))
            _note_zero(b, value, kind, zeros)
        else:
            better = b.icmp_signed(sign, value, present)
        b.store(b.select(better, value, present), best)
    found = b.load(best)
    unsure = I1(0)
    if is_float:
        both = b.and_(b.load(zeros[0]), b.load(zeros[1]))
        unsure = b.and_(b.fcmp_ordered("==", found, kind(0.0)), both)
    b.ret(b.insert_value(b.insert_value(ir.Constant(result, ir.Undefined), found, 0), unsure, 1))
    return function


def _note_zero(b: ir.IRBuilder, value: Any, kind: Any, zeros: list[Any]) -> None:
    bits = ir.IntType(32) if kind == ir.FloatType() else I64
    is_zero = b.fcmp_ordered("==", value, kind(0.0))
    has_sign = b.icmp_signed("<", b.bitcast(value, bits), bits(0))
    for place, is_it in zip(zeros, (b.not_(has_sign), has_sign), strict=True):
        b.store(b.or_(b.load(place), b.and_(is_zero, is_it)), place)


def _function(module: ir.Module, name: str, result: Any) -> tuple[ir.Function, ir.IRBuilder, bool]:
    known = module.globals.get(name)
    if known is not None:
        return known, ir.IRBuilder(), False
    function = ir.Function(module, ir.FunctionType(result, [I64, I64, I64]), name)
    function.linkage = "internal"
    for attribute in _ATTRIBUTES:
        function.attributes.add(attribute)
    return function, ir.IRBuilder(function.append_basic_block("entry")), True


@contextmanager
def _counted(b: ir.IRBuilder, start: Any, stop: Any, step: int) -> Iterator[Any]:
    """The body of a loop from ``start`` on, as long as its counter is below ``stop``."""
    head, body, after = (b.function.append_basic_block(n) for n in ("head", "body", "after"))
    before = b.block
    b.branch(head)
    b.position_at_end(head)
    at = b.phi(I64)
    at.add_incoming(start, before)
    b.cbranch(b.icmp_signed("<", at, stop), body, after)
    b.position_at_end(body)
    yield at
    at.add_incoming(b.add(at, I64(step)), b.block)
    b.branch(head)
    b.position_at_end(after)


def _whole_sum(function: ir.Function, b: ir.IRBuilder, kind: Any, load: Callable[..., Any]) -> None:
    start, count, stride = function.args
    total = b.alloca(kind)
    b.store(kind(0), total)
    with _counted(b, I64(0), count, 1) as at:
        b.store(b.add(b.load(total), load(b, b.add(start, b.mul(at, stride)))), total)
    b.ret(b.load(total))


def _pairwise_sum(function: ir.Function, b: ir.IRBuilder, kind: Any, load: Callable[..., Any]) -> None:
    start, count, stride = function.args
    total = b.alloca(kind)

    def element(at: Any) -> Any:
        return load(b, b.add(start, b.mul(at, stride)))

    def add_from(first: Any) -> None:
        with _counted(b, first, count, 1) as at:
            b.store(b.fadd(b.load(total), element(at)), total)
        b.ret(b.load(total))

    with b.if_then(b.icmp_signed("<", count, I64(_FEW))):
        b.store(kind(-0.0), total)
        add_from(I64(0))
    with b.if_then(b.icmp_signed(">", count, I64(_BLOCK))):
        half = b.sdiv(count, I64(2))
        half = b.sub(half, b.srem(half, I64(_LANES)))
        first = b.call(function, [start, half, stride])
        second = b.call(function, [b.add(start, b.mul(half, stride)), b.sub(count, half), stride])
        b.ret(b.fadd(first, second))
    lanes = [b.alloca(kind) for _ in range(_LANES)]
    for k, lane in enumerate(lanes):
        b.store(element(I64(k)), lane)
    whole = b.sub(count, b.srem(count, I64(_LANES)))
    with _counted(b, I64(_LANES), whole, _LANES) as at:
        for k, lane in enumerate(lanes):
            b.store(b.fadd(b.load(lane), element(b.add(at, I64(k)))), lane)
    sums = [b.load(lane) for lane in lanes]
    while len(sums) > 1:
        sums = [b.fadd(one, other) for one, other in zip(sums[::2], sums[1::2], strict=True)]
    b.store(sums[0], total)
    add_from(whole)
