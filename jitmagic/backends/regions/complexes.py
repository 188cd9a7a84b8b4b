"""Takes expressions over complex numbers, gives the texts of their two parts: each step as Python and NumPy round it.

    z = z * z + c       =>      t1 = ((z_re * z_re) - (z_im * z_im))
                                t2 = ((z_re * z_im) + (z_im * z_re))
                                z_re = (t1 + c_re)
                                z_im = (t2 + c_im)

The algorithms are those of CPython's ``complexobject.c`` and ``cmathmodule.c`` (until 3.13), and of NumPy's
``scalarmath.c.src`` and ``npy_math_complex.c.src``; each part must be rounded there as it is here, which
``tests/loops/test_complexes.py`` looks at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from jitmagic.backends.native.abi import Status
from jitmagic.backends.regions.arithmetic import to_float
from jitmagic.backends.regions.places import places
from jitmagic.backends.regions.unread import may_warn
from jitmagic.backends.regions.writer import COMPLEX, Writer
from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir
from jitmagic.graph.region import LARGEST_POWER

__all__ = ["assign_pair", "complex_part", "equal", "store_pair"]

Pair: TypeAlias = tuple[str, str]

SHORT_POWER = 3  # up to which NumPy multiplies by the number itself


def pair(e: Writer, node: ir.Expr) -> Pair:
    """The texts of both parts, each of which may be used twice."""
    made = _PAIRS.get(type(node))
    if made is None:
        raise Unsupported("region", "this operation on complex numbers")
    re, im = made(e, node)
    return e.hold(re), e.hold(im)


# -- statements
def assign_pair(e: Writer, variable: ir.Var, value: ir.Expr, *, keeps: bool) -> None:
    """``variable = value``; with ``keeps`` both parts are computed although nobody may read them."""
    made = pair(e, value)
    for place, text in zip(places(variable), made, strict=True):
        e.line(f"{place.name} = {text}")
        if keeps:
            e.line(f"keep({place.name})")


def store_pair(e: Writer, node: ir.Store) -> None:
    re, im = _cast(e, ir.Cast(node.value, "complex128"))
    re, im = e.hold(re), e.hold(im)
    place = e.hold(e.address(node))
    e.line(f"store_float64({node.array}, {place}, {re})")
    e.line(f"store_float64({node.array}, {place} + 8, {im})")


# -- numbers made of complex ones
def equal(e: Writer, node: ir.Compare) -> str:
    left, right = pair(e, node.left), pair(e, node.right)
    same = f"({left[0]} == {right[0]} and {left[1]} == {right[1]})"
    return same if node.operator == "eq" else f"(not {same})"


def complex_part(e: Writer, node: ir.Unary) -> str:
    """A real number, or a truth value, that a function gives of a complex one."""
    z = pair(e, node.operand)
    if node.function in ("real", "imag"):
        if may_warn(node.operand):  # of both parts
            for part in z:
                e.line(f"keep({part})")
        return z[node.function == "imag"]
    if node.function == "abs":
        return _absolute(e, z, is_python=node.type == "pyfloat")
    if node.function == "cmath.phase":
        _leave_unless_finite(e, z)
        return f"math.atan2({z[1]}, {z[0]})"
    name = node.function.removeprefix("numpy.")
    if name in _CLASSES:
        return _CLASSES[name].format(*z)
    if node.type == "float64":
        return e.hold(f"ufunc_size({e.inner_loop(name, 'complex128', 'float64')}, {z[0]}, {z[1]})")
    raise Unsupported("region", f"{node.function} of a complex number")


_CLASSES = {
    "isnan": "({0} != {0} or {1} != {1})",
    "isinf": "(math.isinf({0}) or math.isinf({1}))",
    "isfinite": "(({0} - {0}) == 0.0 and ({1} - {1}) == 0.0)",
}


def _absolute(e: Writer, z: Pair, *, is_python: bool) -> str:
    made = e.hold(f"math.hypot({z[0]}, {z[1]})")
    if is_python:
        e.leave(f"math.isinf({made})", Status.OVERFLOW)
    return made


def _leave_unless_finite(e: Writer, z: Pair) -> None:
    for part in z:
        e.leave(f"not ({part} - {part} == 0.0)", Status.VALUE_ERROR)


# -- expressions
def _var(e: Writer, node: ir.Var) -> Pair:
    re, im = places(node)
    return re.name, im.name


def _cast(e: Writer, node: ir.Cast) -> Pair:
    operand = node.operand
    if operand.type in COMPLEX:
        return pair(e, operand)
    text, source = e.value(operand), operand.type
    if source in ("pybool", "bool"):
        text, source = f"np.int64({text})", "pyint"
    return to_float(e, text, operand, source, "float64"), "0.0"


def _load(e: Writer, node: ir.Load) -> Pair:
    place = e.hold(e.address(node))
    return f"load_float64({node.array}, {place})", f"load_float64({node.array}, {place} + 8)"


def _choose(e: Writer, node: ir.Logic) -> Pair:
    if node.operator != "choose":
        raise Unsupported("region", f"{node.operator} of complex numbers")
    test, *choices = node.operands
    names = e.name(), e.name()
    e.line(f"if {e.value(test)}:")
    for head, choice in (("", choices[0]), ("else:", choices[1])):
        if head:
            e.line(head)
        e.indent += 1
        with e.checked.block():
            for name, text in zip(names, pair(e, choice), strict=True):
                e.line(f"{name} = {text}")
        e.indent -= 1
    return names


# -- arithmetic
def _binary(e: Writer, node: ir.Binary) -> Pair:
    special = _FROM_REAL.get(node.operator)
    if special is not None:
        return special(e, e.hold(e.value(node.left)), e.hold(e.value(node.right)))
    if node.operator == "pow":
        return _power(e, node)
    left, right = pair(e, node.left), pair(e, node.right)
    return _ARITHMETIC[node.operator](e, left, right, node.type)


def _sum(e: Writer, a: Pair, b: Pair, kind: str) -> Pair:
    return f"({a[0]} + {b[0]})", f"({a[1]} + {b[1]})"


def _difference(e: Writer, a: Pair, b: Pair, kind: str) -> Pair:
    return f"({a[0]} - {b[0]})", f"({a[1]} - {b[1]})"


def _product(e: Writer, a: Pair, b: Pair, kind: str) -> Pair:
    return f"(({a[0]} * {b[0]}) - ({a[1]} * {b[1]}))", f"(({a[0]} * {b[1]}) + ({a[1]} * {b[0]}))"


def _quotient(e: Writer, a: Pair, b: Pair, kind: str) -> Pair:
    """Smith's method (https://doi.org/10.1145/368637.368661); NumPy multiplies by a reciprocal where Python divides."""
    e.leave(f"{b[0]} == 0.0 and {b[1]} == 0.0", Status.ZERO_DIVISION)
    e.leave(f"{b[0]} != {b[0]} or {b[1]} != {b[1]}", Status.VALUE_ERROR)
    names = e.name(), e.name()
    text = f"(({{0}}) {'/' if kind == 'pycomplex' else '*'} {{1}})"
    e.line(f"if abs({b[0]}) >= abs({b[1]}):")
    e.indent += 1
    ratio = e.hold(f"({b[1]} / {b[0]})")
    scale = _scale(e, f"({b[0]} + ({b[1]} * {ratio}))", kind)
    e.line(f"{names[0]} = " + text.format(f"{a[0]} + ({a[1]} * {ratio})", scale))
    e.line(f"{names[1]} = " + text.format(f"{a[1]} - ({a[0]} * {ratio})", scale))
    e.indent -= 1
    e.line("else:")
    e.indent += 1
    ratio = e.hold(f"({b[0]} / {b[1]})")
    scale = _scale(e, f"(({b[0]} * {ratio}) + {b[1]})", kind)
    e.line(f"{names[0]} = " + text.format(f"({a[0]} * {ratio}) + {a[1]}", scale))
    e.line(f"{names[1]} = " + text.format(f"({a[1]} * {ratio}) - {a[0]}", scale))
    e.indent -= 1
    return names


def _scale(e: Writer, divisor: str, kind: str) -> str:
    return e.hold(divisor if kind == "pycomplex" else f"(1.0 / {divisor})")


def _power(e: Writer, node: ir.Binary) -> Pair:
    """A whole power, by squaring; of other powers nobody promises the bits."""
    exponent = node.right.operand if isinstance(node.right, ir.Cast) else node.right
    base = pair(e, node.left)
    is_python = node.type == "pycomplex"
    if not is_python:
        e.leave(f"{base[0]} == 0.0 and {base[1]} == 0.0", Status.VALUE_ERROR)
    if isinstance(exponent, ir.Const):
        made = _constant_power(e, base, int(exponent.value), node.type)
    else:
        made = _counted_power(e, base, e.hold(e.value(exponent)), is_python=is_python)
    made = e.hold(made[0]), e.hold(made[1])
    if is_python:
        e.leave(f"math.isinf({made[0]}) or math.isinf({made[1]})", Status.OVERFLOW)
    return made


def _constant_power(e: Writer, base: Pair, count: int, kind: str) -> Pair:
    is_short = kind != "pycomplex" and 0 < count <= SHORT_POWER
    made = _short_power(e, base, count) if is_short else _squared(e, base, abs(count))
    return _quotient(e, ("1.0", "0.0"), made, kind) if count < 0 else made


def _counted_power(e: Writer, base: Pair, count: str, *, is_python: bool) -> Pair:
    """A power that only the run tells; those that are not positive leave the kernel."""
    e.leave(f"{count} < 1 or {count} >= {LARGEST_POWER}", Status.VALUE_ERROR)
    made, square = (e.name(), e.name()), (e.name(), e.name())
    _set(e, made, ("1.0", "0.0"))
    _set(e, square, base)
    for bit in range(LARGEST_POWER.bit_length()):
        if bit:
            _set_if(e, f"{count} >= {1 << bit}", square, lambda: _product(e, square, square, ""))
        _set_if(e, f"({count} & {1 << bit}) != 0", made, lambda: _product(e, made, square, ""))
    for short in () if is_python else range(1, SHORT_POWER + 1):
        _set_if(e, f"{count} == {short}", made, partial(_short_power, e, base, short))
    return made


def _set(e: Writer, names: Pair, values: Pair) -> None:
    held = e.hold(values[0]), e.hold(values[1])
    for name, text in zip(names, held, strict=True):
        e.line(f"{name} = {text}")


def _set_if(e: Writer, test: str, names: Pair, make: Callable[[], Pair]) -> None:
    e.line(f"if {test}:")
    e.indent += 1
    _set(e, names, make())
    e.indent -= 1


def _short_power(e: Writer, base: Pair, count: int) -> Pair:
    made = base
    for _ in range(count - 1):
        re, im = _product(e, base, made, "")
        made = e.hold(re), e.hold(im)
    return made


def _squared(e: Writer, base: Pair, count: int) -> Pair:
    """The first product is with 1: it may change the sign of a zero."""
    made: Pair = ("1.0", "0.0")
    for bit in range(count.bit_length()):
        if bit:
            re, im = _product(e, base, base, "")
            base = e.hold(re), e.hold(im)
        if count >> bit & 1:
            re, im = _product(e, made, base, "")
            made = e.hold(re), e.hold(im)
    return made


def _polar(e: Writer, size: str, angle: str) -> Pair:
    _leave_unless_finite(e, (size, angle))
    e.leave(f"{angle} == 0.0", Status.VALUE_ERROR)
    return f"({size} * math.cos({angle}))", f"({size} * math.sin({angle}))"


_FROM_REAL: Mapping[str, Callable[[Writer, str, str], Pair]] = {
    "complex": lambda e, re, im: (re, im),
    "rect": _polar,
}
_ARITHMETIC: Mapping[str, Callable[[Writer, Pair, Pair, str], Pair]] = {
    "add": _sum,
    "sub": _difference,
    "mul": _product,
    "truediv": _quotient,
}


# -- functions
def _unary(e: Writer, node: ir.Unary) -> Pair:
    z = pair(e, node.operand)
    if node.function == "neg":
        return f"(-{z[0]})", f"(-{z[1]})"
    if node.function == "conjugate":
        return z[0], f"(-{z[1]})"
    made = _CMATH.get(node.function)
    if made is not None:
        _leave_unless_finite(e, z)
        return made(e, z)
    name = node.function.removeprefix("numpy.")
    found = e.hold(f"ufunc_complex128({e.inner_loop(name, 'complex128', 'complex128')}, {z[0]}, {z[1]})")
    return f"real({found})", f"imag({found})"


def _exponential(e: Writer, z: Pair) -> Pair:
    """Below the size from which on Python scales."""
    e.leave(f"not {z[0]} <= 700.0", Status.OVERFLOW)
    size = e.hold(f"math.exp({z[0]})")
    return f"({size} * math.cos({z[1]}))", f"({size} * math.sin({z[1]}))"


def _square_root(e: Writer, z: Pair) -> Pair:
    """Of 0 and of numbers that are not so small that Python scales them."""
    width, height = e.hold(f"abs({z[0]})"), e.hold(f"abs({z[1]})")
    least, names = repr(2.0**-1022), (e.name(), e.name())
    e.line(f"if {z[0]} == 0.0 and {z[1]} == 0.0:")
    for name, text in zip(names, ("0.0", z[1]), strict=True):
        e.line(f"    {name} = {text}")
    e.line("else:")
    e.indent += 1
    e.leave(f"{width} < {least} and {height} < {least}", Status.VALUE_ERROR)
    small = e.hold(f"({width} / 8.0)")
    size = e.hold(f"(2.0 * math.sqrt({small} + math.hypot({small}, {height} / 8.0)))")
    other = e.hold(f"({height} / (2.0 * {size}))")
    test = e.hold(f"({z[0]} >= 0.0)")
    e.line(f"{names[0]} = select({test}, {size}, {other})")
    e.line(f"{names[1]} = math.copysign(select({test}, {other}, {size}), {z[1]})")
    e.indent -= 1
    return names


_CMATH: Mapping[str, Callable[[Writer, Pair], Pair]] = {"cmath.exp": _exponential, "cmath.sqrt": _square_root}
_PAIRS: Mapping[type, Callable[..., Pair]] = {
    ir.Var: _var,
    ir.Cast: _cast,
    ir.Load: _load,
    ir.Logic: _choose,
    ir.Binary: _binary,
    ir.Unary: _unary,
}
