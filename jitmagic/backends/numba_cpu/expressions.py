"""Takes a statement of the loop IR, gives its value as Numba Python text with NumPy's exact bits.

Numba's own typing is never relied upon: integers are brought back to their width after every operation, constants
carry their type.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.backends.loops.ir import Apply, Cast, Literal, Scalar, Value

__all__ = ["apply_text", "cast_text", "literal_text", "range_text", "scalar_text", "typed"]

FUNCTIONS = {
    "abs": "abs",
    "ceil": "np.ceil",
    "copysign": "math.copysign",
    "floor": "np.floor",
    "isfinite": "math.isfinite",
    "isinf": "math.isinf",
    "isnan": "math.isnan",
    "rint": "np.rint",
    "signbit": "np.signbit",
    "sqrt": "math.sqrt",
    "trunc": "np.trunc",
}


# Comparisons of floats by name, and whether they swap their sides
_ORDERED: dict[type, tuple[str, bool]] = {
    ast.Lt: ("less", False),
    ast.LtE: ("less_equal", False),
    ast.Gt: ("less", True),
    ast.GtE: ("less_equal", True),
}


def apply_text(statement: Apply) -> str:
    """The expression over the names of its arguments, in the dtype of the result."""
    names = dict(zip("abcdefgh", map(str, statement.arguments), strict=False))
    text = substitute(statement.expression, names, statement.arguments[0].dtype)
    return typed(text, statement.out.dtype)


def substitute(expression: str, names: dict[str, str], dtype: np.dtype[Any]) -> str:
    """``expression`` with other names for its operands, Numba's functions, and constants of the loop's dtype.

    It becomes free of branches: into a branch LLVM would move arithmetic whose floating-point flags must show.
    """

    class Rename(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            wanted = names.get(node.id) or FUNCTIONS.get(node.id, node.id)
            return ast.parse(wanted, mode="eval").body

        def visit_Constant(self, node: ast.Constant) -> ast.AST:
            plain = dtype == np.float64 or dtype.kind == "b"
            return node if plain else ast.parse(f"np.{dtype.name}({node.value!r})", mode="eval").body

        def visit_Compare(self, node: ast.Compare) -> ast.AST:
            """NumPy reports nothing when it compares NaN."""
            ordered = _ORDERED.get(type(node.ops[0]))
            sides = [self.visit(side) for side in (node.left, *node.comparators)]
            if ordered is None or dtype.kind != "f":
                return ast.Compare(sides[0], node.ops, sides[1:])
            name, swaps = ordered
            return ast.Call(ast.Name(f"{name}_{dtype.name}"), sides[::-1] if swaps else sides, [])

        def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
            parts = [self.visit(part) for part in (node.test, node.body, node.orelse)]
            return ast.Call(ast.Name("select"), parts, [])

        def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
            operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
            first: ast.expr
            first, *rest = [self.visit(value) for value in node.values]
            for value in rest:
                first = ast.BinOp(first, operator, value)
            return first

    return ast.unparse(Rename().visit(ast.parse(expression, mode="eval")).body)


def typed(text: str, dtype: np.dtype[Any]) -> str:
    """An expression brought to a dtype; floats of 64 bits are what Numba computes in anyway."""
    if dtype == np.float64:
        return text
    if dtype.kind == "b":
        return f"bool({text})"
    return f"np.{dtype.name}({text})"


def literal_text(statement: Literal) -> str:
    dtype, value = statement.out.dtype, statement.value
    if dtype.kind == "b":
        return repr(bool(value))
    if dtype.kind in "iu":
        return f"np.{dtype.name}({int(value)})"
    number = float(value)
    if math.isnan(number) or math.isinf(number):
        text = "math.nan" if math.isnan(number) else "math.inf" if number > 0 else "-math.inf"
    else:
        text = repr(number)
    return text if dtype == np.float64 else f"np.{dtype.name}({text})"


def cast_text(statement: Cast) -> str:
    source, target = statement.source, statement.out.dtype
    return _CASTS[source.dtype.kind](source, target)


def _from_bool_or_int(source: Value, target: np.dtype[Any]) -> str:
    return f"{source} != 0" if target.kind == "b" else f"np.{target.name}({source})"


def _from_bool(source: Value, target: np.dtype[Any]) -> str:
    return f"np.{target.name}({source})"


def _from_float(source: Value, target: np.dtype[Any]) -> str:
    return f"{source} != 0.0" if target.kind == "b" else f"np.{target.name}({source})"


_CASTS: dict[str, Callable[[Value, np.dtype[Any]], str]] = {
    "b": _from_bool,
    "i": _from_bool_or_int,
    "u": _from_bool_or_int,
    "f": _from_float,
}


def range_text(statement: Cast) -> str | None:
    """The condition under which the conversion is defined; None where it always is.

    Outside of it LLVM may give anything, and NumPy reports it, or gives what the processor happens to give.
    """
    source, target = statement.source, statement.out.dtype
    if source.dtype.kind != "f" or target.kind not in "iu":
        return None
    info = np.iinfo(target)
    low = f"{source} >= {float(info.min)}" if target == np.int64 else f"{source} > {float(info.min - 1)}"
    return f"({low}) & ({source} < {float(int(info.max) + 1)})"


def scalar_text(statement: Scalar, word: int, letter: str) -> str:
    reader = {"i": "arg_int64", "u": "arg_uint64", "d": "arg_float64"}[letter]
    text, dtype = f"{reader}(args, {word})", statement.out.dtype
    if dtype.kind == "b":
        return f"{text} != 0"
    plain = {"i": "int64", "u": "uint64", "d": "float64"}[letter]
    return text if dtype.name == plain else f"np.{dtype.name}({text})"
