"""Takes the syntax of an expression and one kind for each variable in it, gives the typed expression."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.comparisons import LITERAL_TYPES, WORD, cast, compared
from jitmagic.tracer.loops.complexes import check_power, complex_of, constant_complex, part_of, real_number
from jitmagic.tracer.loops.folds import is_fold
from jitmagic.tracer.loops.integers import FUNCTIONS
from jitmagic.tracer.loops.kinds import variable
from jitmagic.tracer.loops.methods import as_python, number_method
from jitmagic.tracer.loops.rows import row_fold, row_of
from jitmagic.tracer.loops.rules import (
    COMPLEX,
    INTS,
    binary_types,
    function_types,
    is_integer,
    refuse,
)
from jitmagic.tracer.variables.number_kinds import DTYPES

__all__ = ["BINARY", "Expressions", "Outside", "Turn", "cast", "row_of_ours"]

BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.BitAnd: "and_",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}
SHIFTS = 62  # bits; a Python int in a region has fewer


class Outside:
    """What the region asks of the world around it; ``surroundings`` answers from the trackers."""

    def array(self, node: ast.expr) -> ir.ArrayParameter | None:
        """The array that an expression denotes, if it denotes one that the loop does not rebind."""
        raise NotImplementedError

    def scalar(self, node: ast.expr) -> ir.Var | ir.Const | None:
        """The number that it denotes, as a parameter of the region."""
        raise NotImplementedError

    def may_fold(self) -> bool:
        """Whether parts of arrays may be reduced: there are no derivatives of that yet."""
        raise NotImplementedError

    def is_none(self, node: ast.expr) -> bool:
        """Whether it denotes None, and the loop does not rebind it."""
        raise NotImplementedError

    def function(self, node: ast.expr) -> str | None:
        """The full name of the function that it denotes (``math.sqrt``, ``builtins.abs``)."""
        raise NotImplementedError

    def constants(self, node: ast.expr) -> Sequence[Any] | None:
        """The numbers, and tuples of numbers, in a tuple, list or set that the loop does not rebind or change."""
        raise NotImplementedError

    def callee(self, node: ast.expr) -> Any:
        """The Python function that it denotes, if its body can stand in the place of a call."""
        raise NotImplementedError

    def defaults(self, node: ast.Call) -> Mapping[str, ast.expr]:
        """The defaults that a call of a callee takes, by parameter: those that are numbers or None."""
        raise NotImplementedError


class Turn(Exception):  # a request, not an error
    """``node`` has a type only once it is known which of its operands is its value: make statements of it."""

    def __init__(self, node: ast.expr) -> None:
        super().__init__(ast.unparse(node))
        self.node = node


@dataclass(frozen=True, slots=True)
class Expressions:
    """``kinds`` has one kind for each variable that may be read; ``counters`` are those that are a loop's own."""

    outside: Outside
    kinds: Mapping[str, str]
    counters: Mapping[str, ir.Var]

    def make(self, node: ast.expr) -> ir.Expr:
        """A number."""
        made = self.value(node)
        if made.type == "none":
            raise refuse(f"{ast.unparse(node)}, which is None")
        return made

    def value(self, node: ast.expr) -> ir.Expr:
        """A number, or None."""
        handler = _EXPRESSIONS.get(type(node))
        if handler is None:
            raise refuse(f"the expression {ast.unparse(node)}")
        return handler(self, node)

    def truth(self, node: ast.expr) -> ir.Expr:
        """An expression as a condition."""
        if isinstance(node, ast.BoolOp):
            return self._any_or_all(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ir.Not(self.truth(node.operand))
        if isinstance(node, ast.Compare):
            return compared(self, node)
        return _as_condition(self.value(node))

    def _any_or_all(self, node: ast.BoolOp) -> ir.Expr:
        """What is known to decide ends it: what follows may have no meaning then (``v is None or v < 1``)."""
        decides = isinstance(node.op, ast.Or)
        tests: list[ir.Expr] = []
        for each in node.values:
            test = self.truth(each)
            if not isinstance(test, ir.Const):
                tests.append(test)
            elif bool(test.value) == decides:
                tests.append(test)
                break
        if len(tests) < 2:
            return tests[0] if tests else ir.Const(not decides, "pybool")
        return ir.Logic("or" if decides else "and", tuple(tests))

    def index(self, node: ast.expr, array: ir.ArrayParameter) -> tuple[ir.Expr, ...]:
        parts = node.elts if isinstance(node, ast.Tuple) else [node]
        if len(parts) != array.ndim:
            raise refuse(f"part of an array: {array.name}[{ast.unparse(node)}]")
        made = tuple(self.make(p) for p in parts)
        for each in made:
            if not is_integer(each.type):
                raise refuse(f"an index of type {each.type}")
        return made

    def place(self, node: ast.Subscript) -> tuple[ir.ArrayParameter, tuple[ir.Expr, ...]]:
        """The array of an element, and the whole index."""
        array, index = _flattened(self, node)
        if array is None:
            raise refuse(f"the value of {ast.unparse(node)}")
        return array, self.index(index, array)

    def operate(self, operator: type[ast.operator], left: ast.expr, right: ast.expr) -> ir.Expr:
        name = BINARY.get(operator)
        if name is None:
            raise refuse(f"the operator {operator.__name__}")
        return _operation(name, self.make(left), self.make(right))


def _as_condition(value: ir.Expr) -> ir.Expr:
    if value.type == "none":
        return ir.Const(False, "pybool")
    if value.type in ("pybool", "bool"):
        return value
    return ir.Compare("ne", value, ir.Cast(ir.Const(0, "pyint"), value.type) if value.type != "pyint" else _ZERO)


_ZERO = ir.Const(0, "pyint")
_NONE = ir.Const(0, "none")


def _constant(e: Expressions, node: ast.Constant) -> ir.Expr:
    if node.value is None:
        return _NONE
    kind = LITERAL_TYPES.get(type(node.value))
    if kind is None or (kind == "pyint" and not -WORD < node.value < WORD):  # type: ignore[operator]  # an int here
        raise refuse(f"the constant {node.value!r}")
    if isinstance(node.value, complex):
        return constant_complex(e, node.value)
    return ir.Const(node.value, kind)  # type: ignore[arg-type]  # one of LITERAL_TYPES


def _name(e: Expressions, node: ast.Name) -> ir.Expr:
    if (kind := e.kinds.get(node.id)) is not None:
        return e.counters.get(node.id) or variable(node.id, kind)
    found = e.outside.scalar(node)
    if found is None:
        raise refuse(f"the value of {node.id}")
    return found


def _attribute(e: Expressions, node: ast.Attribute) -> ir.Expr:
    array = e.outside.array(node.value)
    if array is not None and node.attr == "size" and array.ndim == 1 and not array.elements:
        return ir.Size(array.name, 0)
    if node.attr == "size" and (row := row_of_ours(e, node.value)) is not None and not row[0].elements:
        return ir.Size(row[0].name, row[1])
    found = e.outside.scalar(node)
    if found is not None:
        return found
    if node.attr in ("real", "imag"):
        return part_of(e.make(node.value), node.attr)
    raise refuse(f"the value of {ast.unparse(node)}")


def _subscript(e: Expressions, node: ast.Subscript) -> ir.Expr:
    owner = node.value
    if isinstance(owner, ast.Attribute) and owner.attr == "shape" and isinstance(node.slice, ast.Constant):
        shaped = e.outside.array(owner.value)
        axis = node.slice.value
        if shaped is not None and not shaped.elements and isinstance(axis, int) and -shaped.ndim <= axis < shaped.ndim:
            return ir.Size(shaped.name, axis % shaped.ndim)
    array, index = e.place(node)
    if len(array.elements) > 1:
        raise Turn(node)
    return cast(ir.Load(array.name, index, array.dtype), array.elements[0] if array.elements else array.dtype)


def _flattened(e: Expressions, node: ast.Subscript) -> tuple[ir.ArrayParameter | None, ast.expr]:
    """The array and the whole index of ``a[i, j]``; ``a[i][j]`` is the same element, ``a[1:]`` an array of its own."""
    parts = [node.slice]
    owner = node.value
    while (array := e.outside.array(owner)) is None and isinstance(owner, ast.Subscript):
        parts.insert(0, owner.slice)
        owner = owner.value
    if len(parts) == 1:
        return array, node.slice
    if any(isinstance(p, ast.Tuple | ast.Slice) for p in parts):
        raise refuse(f"the value of {ast.unparse(node)}")
    return array, ast.copy_location(ast.Tuple(parts, ast.Load()), node)


def _operation(operator: str, left: ir.Expr, right: ir.Expr) -> ir.Expr:
    if operator == "pow" and {left.type, right.type} <= {"pyint", "pybool"}:
        return _int_power(left, right)
    if operator in ("lshift", "rshift") and (shifted := _shifted(operator, left, right)) is not None:
        return shifted
    if operator == "truediv" and {left.type, right.type} <= {"pyint", "pybool"}:
        return ir.Binary("intdiv", cast(left, "pyint"), cast(right, "pyint"), "pyfloat")
    inner, result = binary_types(operator, left.type, right.type)
    if operator == "pow" and result in COMPLEX:
        check_power(right)
    return ir.Binary(operator, cast(left, inner), cast(right, inner), result)


def _shifted(operator: str, left: ir.Expr, right: ir.Expr) -> ir.Expr | None:
    """A shift by a constant as a product or a quotient, which rounds down too; None where it is neither."""
    if not isinstance(right, ir.Const) or right.type != "pyint" or not 0 <= right.value < SHIFTS:
        return None
    factor = 1 << int(right.value)
    if left.type in ("pyint", "pybool"):
        is_left = operator == "lshift"
        return ir.Binary("mul" if is_left else "floordiv", cast(left, "pyint"), ir.Const(factor, "pyint"), "pyint")
    if operator == "rshift" and left.type in INTS and factor <= np.iinfo(left.type).max:
        return ir.Binary("floordiv", left, cast(ir.Const(factor, "pyint"), left.type), left.type)
    return None


def _int_power(base: ir.Expr, exponent: ir.Expr) -> ir.Expr:
    if isinstance(base, ir.Const) and isinstance(exponent, ir.Const) and (base.value or exponent.value >= 0):
        known = int(base.value) ** int(exponent.value)
        if isinstance(known, float) or -WORD < known < WORD:
            return ir.Const(known, "pyfloat" if isinstance(known, float) else "pyint")
    if not isinstance(exponent, ir.Const) or not 1 <= exponent.value <= 4:
        raise refuse("a power of ints")
    made = cast(base, "pyint")
    power = made
    for _ in range(int(exponent.value) - 1):
        power = ir.Binary("mul", power, made, "pyint")
    return power


def _binary(e: Expressions, node: ast.BinOp) -> ir.Expr:
    is_by_loop = _BY_LOOPS.get(type(node.op))
    if is_by_loop is not None and is_by_loop(e.make(node.left), e.make(node.right)):
        raise Turn(node)
    return e.operate(type(node.op), node.left, node.right)


def _is_long_shift(value: ir.Expr, count: ir.Expr) -> bool:
    return {value.type, count.type} <= {"pyint", "pybool"} and not isinstance(count, ir.Const)


def _is_long_power(base: ir.Expr, exponent: ir.Expr) -> bool:
    if not {base.type, exponent.type} <= {"pyint", "pybool"}:
        return False
    if isinstance(exponent, ir.Const):
        return not isinstance(base, ir.Const) and not 1 <= exponent.value <= 4
    return True


# whether only a loop computes it (integers.py)
_BY_LOOPS: Mapping[type[ast.operator], Callable[[ir.Expr, ir.Expr], bool]] = {
    ast.Pow: _is_long_power,
    ast.LShift: _is_long_shift,
    ast.RShift: _is_long_shift,
}


def _unary(e: Expressions, node: ast.UnaryOp) -> ir.Expr:
    if isinstance(node.op, ast.Not):
        return ir.Not(e.truth(node.operand))
    value = e.make(node.operand)
    if isinstance(node.op, ast.Invert):
        return _inverted(value, node)
    if isinstance(node.op, ast.UAdd) and value.type in ("pyint", "pyfloat", *COMPLEX):
        return value
    if not isinstance(node.op, ast.USub) or value.type == "bool" or value.type.startswith("uint"):
        raise refuse(f"the operator in {ast.unparse(node)}")
    if isinstance(value, ir.Const):
        return ir.Const(-value.value, "pyint" if value.type == "pybool" else value.type)
    if value.type == "pybool":
        value = ir.Cast(value, "pyint")
    return ir.Unary("neg", value, value.type)


def _inverted(value: ir.Expr, node: ast.UnaryOp) -> ir.Expr:
    """``~n`` is ``-n - 1``; of an unsigned number it is what is missing to the largest."""
    if value.type == "pyint":
        return ir.Binary("sub", ir.Unary("neg", value, "pyint"), ir.Const(1, "pyint"), "pyint")
    if value.type not in INTS:
        raise refuse(f"the operator in {ast.unparse(node)}")
    ones = -1 if value.type.startswith("int") else int(np.iinfo(value.type).max)
    return ir.Binary("xor", value, cast(ir.Const(ones, "pyint"), value.type), value.type)


def _bool(e: Expressions, node: ast.BoolOp) -> ir.Expr:
    made = tuple(e.make(v) for v in node.values)
    if {m.type for m in made} not in ({"pybool"}, {"bool"}):
        raise Turn(node)
    return ir.Logic("and" if isinstance(node.op, ast.And) else "or", made, made[0].type)


def _conditional(e: Expressions, node: ast.IfExp) -> ir.Expr:
    test = e.truth(node.test)
    body, orelse = e.value(node.body), e.value(node.orelse)
    if body.type != orelse.type:
        raise Turn(node)
    return ir.Logic("choose", (test, body, orelse), body.type)


def _call(e: Expressions, node: ast.Call) -> ir.Expr:
    if (made := row_fold(e, node)) is not None or (made := number_method(e, node)) is not None:
        return made
    name = e.outside.function(node.func)
    is_inlined = isinstance(node.func, ast.Lambda) or (name is None and e.outside.callee(node.func) is not None)
    if is_inlined or is_fold(name, node):
        raise Turn(node)
    if name is None or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        raise refuse(f"the call {ast.unparse(node)}")
    if name in FUNCTIONS and all(is_integer(e.make(a).type) or e.make(a).type == "pybool" for a in node.args):
        raise Turn(node)
    handler = _CALLS.get(name)
    if len(node.args) != 1 and handler not in (_extreme, _is_dtype, complex_of):
        raise refuse(f"the call {ast.unparse(node)}")
    if handler is not None:
        return handler(e, node)
    operand = e.make(node.args[0])
    inner, result = function_types(name, operand.type)
    return ir.Unary(name, cast(operand, inner), result)


def _is_dtype(e: Expressions, node: ast.Call) -> ir.Expr:
    """Whether NumPy makes an array of that dtype of a number alone."""
    kind = e.make(node.args[0]).type
    own = DTYPES.get(kind, kind)
    return ir.Const(own == node.args[1].value, "pybool")  # type: ignore[attr-defined]  # a constant


def _as_numpy(e: Expressions, node: ast.Call) -> ir.Expr:
    """The number as NumPy's own."""
    value = e.make(node.args[0])
    return cast(value, DTYPES.get(value.type, value.type))


def _len(e: Expressions, node: ast.Call) -> ir.Expr:
    array = e.outside.array(node.args[0])
    if array is not None and array.ndim:
        return ir.Size(array.name, 0)
    if (row := row_of_ours(e, node.args[0])) is not None:
        return ir.Size(row[0].name, row[1])
    raise refuse(f"the call {ast.unparse(node)}")


def row_of_ours(e: Expressions, node: ast.expr) -> tuple[ir.ArrayParameter, int] | None:
    """A row by the number of a round of ours, which is in range."""
    root = node.value if isinstance(node, ast.Subscript) else None
    return row_of(e, node) if isinstance(root, ast.Name) and root.id.startswith("_jm") else None


def _abs(e: Expressions, node: ast.Call) -> ir.Expr:
    value = e.make(node.args[0])
    if value.type in COMPLEX:
        return part_of(value, "abs")
    if value.type == "bool":
        raise refuse(f"the call {ast.unparse(node)}")
    return ir.Cast(value, "pyint") if value.type == "pybool" else ir.Unary("abs", value, value.type)


def _numpy_abs(e: Expressions, node: ast.Call) -> ir.Expr:
    value = e.make(node.args[0])
    if value.type in COMPLEX:
        return ir.Unary("numpy.absolute", cast(value, "complex128"), "float64")
    if value.type not in ("pyint", "pyfloat", "int64", "float64", "float32"):
        raise refuse(f"the call {ast.unparse(node)}")
    value = cast(value, {"pyint": "int64", "pyfloat": "float64"}.get(value.type, value.type))
    return ir.Unary("abs", value, value.type)


def _extreme(e: Expressions, node: ast.Call) -> ir.Expr:
    """``max(a, b)`` is ``b if b > a else a``: what stays is the first, also for nan and equal values."""
    values = tuple(e.make(a) for a in node.args)
    if len(values) < 2 or any(v.type in COMPLEX for v in values):
        raise refuse(f"the call {ast.unparse(node)}")
    if len({v.type for v in values}) > 1 or values[0].type in ("pybool", "bool"):
        if ast.unparse(node.func) not in ("max", "min"):
            raise refuse(f"the call {ast.unparse(node)}")
        raise Turn(node)
    return ir.Logic("max" if e.outside.function(node.func) == "builtins.max" else "min", values, values[0].type)


def _int(e: Expressions, node: ast.Call) -> ir.Expr:
    value = real_number(e, node)
    if value.type in ("pybool", "bool"):
        return ir.Cast(value, "pyint")
    return value if value.type == "pyint" else ir.Unary("int", value, "pyint")


def _float(e: Expressions, node: ast.Call) -> ir.Expr:
    given = node.args[0]
    if isinstance(given, ast.Constant) and given.value in _NO_FINITE:
        return ir.Const(float(given.value), "pyfloat")
    return cast(real_number(e, node), "pyfloat")


_NO_FINITE = ("inf", "-inf", "nan")


def _truth_value(e: Expressions, node: ast.Call) -> ir.Expr:
    made = e.truth(node.args[0])
    return made if made.type == "pybool" else ir.Cast(made, "pybool")


_CALLS: Mapping[str, Callable[[Expressions, ast.Call], ir.Expr]] = {
    "builtins.len": _len,
    "builtins.abs": _abs,
    "builtins.max": _extreme,
    "builtins.min": _extreme,
    "builtins.int": _int,
    "builtins.float": _float,
    "builtins.bool": _truth_value,
    "builtins.complex": complex_of,
    "cmath.rect": complex_of,
    "numpy.abs": _numpy_abs,
    "numpy.absolute": _numpy_abs,
    "_jm_is_dtype": _is_dtype,
    "_jm_python": lambda e, node: as_python(e.make(node.args[0])),
    "_jm_numpy": _as_numpy,
}
_EXPRESSIONS: Mapping[type[ast.expr], Callable[[Expressions, Any], ir.Expr]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: lambda e, node: compared(e, node, as_value=True),
    ast.BoolOp: _bool,
    ast.IfExp: _conditional,
    ast.Call: _call,
}
