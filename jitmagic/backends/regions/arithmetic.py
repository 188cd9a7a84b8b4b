"""Takes casts and binary operations of a region, gives their text: exact, with checks where Python and C differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from jitmagic.backends.native.abi import Status
from jitmagic.backends.regions.ranges import WORD_BITS
from jitmagic.backends.regions.writer import FLOATS, LIMITS, SMALL_STEP, Writer
from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir

__all__ = ["binary", "cast", "fitting", "to_float"]

_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "and_": "&", "or_": "|", "xor": "^"}


def cast(e: Writer, node: ir.Cast) -> str:
    source, target = node.operand.type, node.type
    text = e.value(node.operand)
    if {source, target} <= {"pybool", "bool"}:
        return text
    if source in ("pybool", "bool"):
        text = f"np.int64({text})"
        source = "pyint"
    if target in FLOATS:
        return to_float(e, text, node.operand, source, target)
    if source in FLOATS:
        raise Unsupported("region", "a float where an int is meant")
    return _to_int(e, text, node.operand, source, target)


def to_float(e: Writer, text: str, operand: ir.Expr, source: str, target: str) -> str:
    if source == "pyfloat" and target == "float32":
        text = e.hold(text)
    if source == "pyint" and e.ranges.bits(operand) > 53:
        text = e.hold(text)
        e.leave(f"{text} > {2**53} or {text} < {-(2**53)}", Status.OVERFLOW)
    if target == "float32" and source == "pyfloat":  # a constant would be rounded by LLVM, which sets no flag
        rounded = e.hold(f"np.float32({text})")
        e.leave(f"math.isinf({rounded}) and not math.isinf({text})", Status.OVERFLOW)
        return rounded
    if target == "float32":
        return f"np.float32({text})"
    return f"np.float64({text})" if source not in ("pyfloat", "float64") else text


def _to_int(e: Writer, text: str, operand: ir.Expr, source: str, target: str) -> str:
    if target == "pyint":
        if source == "int64":
            text = e.hold(text)
            e.leave(f"{text} > {2**WORD_BITS} or {text} < {-(2**WORD_BITS)}", Status.OVERFLOW)
        return text
    return fitting(e, text, target) if target in LIMITS else text


def fitting(e: Writer, text: str, kind: str) -> str:
    """Leave the kernel if an int does not fit a small NumPy type."""
    low, high = LIMITS[kind]
    text = e.hold(text)
    e.leave_later(f"(({text} - {low}) | ({high} - {text}))")
    return text


def binary(e: Writer, node: ir.Binary) -> str:
    special = _SPECIAL.get(node.operator)
    if special is not None:
        return special(e, node)
    left, right = e.value(node.left), e.value(node.right)
    text = f"({left} {_SYMBOLS[node.operator]} {right})"
    if node.left.type in FLOATS:
        if node.operator == "truediv" and node.type == "pyfloat":
            right = e.hold(right)
            e.leave(f"{right} == 0.0", Status.ZERO_DIVISION)
            return f"({left} / {right})"
        return text
    return _checked_int(e, node, left, right, text)


def _checked_int(e: Writer, node: ir.Binary, left: str, right: str, text: str) -> str:
    if node.operator == "truediv":
        right = e.hold(right)
        e.leave(f"{right} == 0", Status.ZERO_DIVISION)
        return f"(np.float64({left}) / np.float64({right}))"
    if node.operator not in ("add", "sub", "mul") or (node.type == "pyint" and _stays_small(e, node)):
        return text
    left, right = e.hold(left), e.hold(right)
    if node.type in LIMITS:
        return fitting(e, text, node.type)
    if node.operator == "mul":
        if limit := _factor_limit(node):
            factor = left if _constant_of(node.right) else right
            e.leave_later(f"(({factor} + {limit}) | ({limit} - {factor}))")
            return text
        text = f"mul_or_leave({left}, {right})"
    total = e.hold(text)
    if node.type == "pyint":
        e.leave_later(f"{total} + {2**WORD_BITS}")
    elif node.operator == "add" and (natural := _natural(e, node, left, right)):
        e.leave_later(f"((~{natural}) & {total})")
    elif node.operator == "sub" and e.ranges.is_never_negative(node.right):
        e.leave_later(f"({left} & (~{total}))")
    elif node.operator != "mul":
        other = right if node.operator == "add" else f"(~{right})"
        e.leave_later(f"(({left} ^ {total}) & ({other} ^ {total}))")
    return total


def _factor_limit(node: ir.Binary) -> int:
    """How large a number may be whose product with the constant of ``node`` fits; 0 if there is no such constant."""
    constant = abs(_constant_of(node.right) or _constant_of(node.left))
    if constant < 2:
        return 0
    return int((2**WORD_BITS if node.type == "pyint" else 2**63 - 1) // constant)


def _constant_of(node: ir.Expr) -> int:
    """The value of an int constant, or 0."""
    inner = node.operand if isinstance(node, ir.Cast) else node
    return int(inner.value) if isinstance(inner, ir.Const) and isinstance(inner.value, int) else 0


def _natural(e: Writer, node: ir.Binary, left: str, right: str) -> str:
    """The other operand of a sum, if one is never negative: such a sum is too large only if it has changed sign."""
    if e.ranges.is_never_negative(node.right):
        return left
    return right if e.ranges.is_never_negative(node.left) else ""


def _stays_small(e: Writer, node: ir.Binary) -> bool:
    """Whether a Python int needs no check: it has few bits, or would have to be counted up for weeks."""
    step = node.right if isinstance(node.right, ir.Const) else node.left
    is_step = node.operator != "mul" and isinstance(step, ir.Const) and abs(step.value) <= SMALL_STEP
    return is_step or e.ranges.bits(node) <= WORD_BITS


def _int_division(e: Writer, node: ir.Binary) -> str:
    """``int / int``: exact while both are exact as floats."""
    left, right = e.hold(e.value(node.left)), e.hold(e.value(node.right))
    e.leave(f"{right} == 0", Status.ZERO_DIVISION)
    for text, operand in ((left, node.left), (right, node.right)):
        if e.ranges.bits(operand) > 53:
            e.leave(f"{text} > {2**53} or {text} < {-(2**53)}", Status.OVERFLOW)
    return f"(np.float64({left}) / np.float64({right}))"


def _floor_division(e: Writer, node: ir.Binary) -> str:
    if (power := _power_of_two(node)) is not None:
        return f"({e.value(node.left)} >> {power})"
    left, right = e.hold(e.value(node.left)), e.hold(e.value(node.right))
    if node.type not in FLOATS:
        if not (isinstance(node.right, ir.Const) and node.right.value > 0):
            e.leave(f"{right} == 0 or {right} == -1", Status.ZERO_DIVISION)
        return f"({left} // {right})"
    e.leave(f"{right} == 0.0", Status.ZERO_DIVISION)
    rest, quotient = e.name(), e.name()
    e.line(f"{rest} = math.fmod({left}, {right})")
    e.line(f"{quotient} = ({left} - {rest}) / {right}")
    e.line(f"if {rest} != 0.0 and ({right} < 0.0) != ({rest} < 0.0):")
    e.line(f"    {quotient} -= 1.0")
    e.line(f"if {quotient} != 0.0:")
    whole = e.name()
    e.line(f"    {whole} = math.floor({quotient})")
    e.line(f"    if {quotient} - {whole} > 0.5:")
    e.line(f"        {whole} += 1.0")
    e.line(f"    {quotient} = np.float64({whole})")
    e.line("else:")
    e.line(f"    {quotient} = math.copysign(0.0, {left} / {right})")
    return quotient


def _power_of_two(node: ir.Binary) -> int | None:
    """``k`` if an int is divided by the constant ``2**k``: shifts round down, as Python's division does."""
    if node.type in FLOATS or not isinstance(node.right, ir.Const | ir.Cast):
        return None
    constant = node.right.operand if isinstance(node.right, ir.Cast) else node.right
    value = int(constant.value) if isinstance(constant, ir.Const) and isinstance(constant.value, int) else 0
    return value.bit_length() - 1 if value > 0 and not value & (value - 1) else None


def _remainder(e: Writer, node: ir.Binary) -> str:
    if (power := _power_of_two(node)) is not None:
        return f"({e.value(node.left)} & {2**power - 1})"
    left, right = e.hold(e.value(node.left)), e.hold(e.value(node.right))
    if node.type not in FLOATS:
        return _int_remainder(e, node, left, right)
    e.leave(f"{right} == 0.0", Status.ZERO_DIVISION)
    rest = e.name()
    e.line(f"{rest} = math.fmod({left}, {right})")
    e.line(f"if {rest} != 0.0:")
    e.line(f"    if ({right} < 0.0) != ({rest} < 0.0):")
    e.line(f"        {rest} += {right}")
    e.line("else:")
    e.line(f"    {rest} = math.copysign(0.0, {right})")
    return rest


def _int_remainder(e: Writer, node: ir.Binary, left: str, right: str) -> str:
    """A division costs as much as a dozen additions: numbers that are their own remainder do without."""
    if isinstance(node.right, ir.Const) and node.right.value > 0:
        return f"({left} % {right})"
    if not e.is_positive(node.right):
        e.leave(f"{right} == 0 or {right} == -1", Status.ZERO_DIVISION)
    rest = e.name()
    e.line(f"if {left} >= 0 and {left} < {right}:")
    e.line(f"    {rest} = {left}")
    e.line("else:")
    e.line(f"    {rest} = {left} % {right}")
    return rest


def _power(e: Writer, node: ir.Binary) -> str:
    """libm's ``pow``, as Python and NumPy scalars call it.

    A constant exponent is hidden from LLVM, which would turn ``pow(x, 2.0)`` into ``x * x``: other bits, since
    libm's result is not always the correctly rounded one.
    """
    if node.type == "float32":
        raise Unsupported("region", "a power of float32")
    left = e.hold(e.value(node.left))
    exponent = node.right.operand if isinstance(node.right, ir.Cast) else node.right
    right = e.hidden(float(exponent.value)) if isinstance(exponent, ir.Const) else e.hold(e.value(node.right))
    if node.type == "pyfloat":
        e.leave(
            f"({left} < 0.0 and math.floor({right}) != {right}) or ({left} == 0.0 and {right} < 0.0)",
            Status.VALUE_ERROR,
        )
    result = e.hold(f"math.pow({left}, {right})")
    if node.type == "pyfloat":
        e.leave(f"math.isinf({result}) and not math.isinf({left}) and not math.isinf({right})", Status.OVERFLOW)
    return result


_SPECIAL: Mapping[str, Callable[[Writer, ir.Binary], str]] = {
    "intdiv": _int_division,
    "floordiv": _floor_division,
    "mod": _remainder,
    "pow": _power,
}
