"""Takes a statement of the loop IR, gives its value as Numba Python text with NumPy's exact bits.

Numba's own typing is never relied upon: integers are brought back to their width after every operation, constants
carry their type.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable
from functools import cache
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
    pieces = template(statement.expression, statement.arguments[0].dtype)
    names = dict(zip(OPERANDS, map(str, statement.arguments), strict=False))
    return typed("".join([names.get(piece, piece) for piece in pieces]), statement.out.dtype)


OPERANDS = "abcdefgh"
_NAME = re.compile(r"(?<![\w.])([A-Za-z_][\w.]*)")


@cache
def template(expression: str, dtype: np.dtype[Any]) -> tuple[str, ...]:
    """``expression`` with Numba's functions and constants of the loop's dtype, cut at its names.

    There are as many as NumPy has operations: it is written once for each, and programs only put in the names of
    their values. It becomes free of branches: into a branch LLVM would move arithmetic whose floating-point flags
    must show.
    """
    written = ast.unparse(_ForNumba(dtype).visit(ast.parse(expression, mode="eval")).body)
    return tuple(_NAME.split(written))


class _ForNumba(ast.NodeTransformer):
    """From an expression of a recipe to one of a kernel whose operands have one dtype."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.parse(FUNCTIONS.get(node.id, node.id), mode="eval").body

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        plain = self.dtype == np.float64 or self.dtype.kind == "b"
        return node if plain else ast.parse(f"np.{self.dtype.name}({node.value!r})", mode="eval").body

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """NumPy reports nothing when it compares NaN."""
        ordered = _ORDERED.get(type(node.ops[0]))
        sides = [self.visit(side) for side in (node.left, *node.comparators)]
        if ordered is None or self.dtype.kind != "f":
            return ast.Compare(sides[0], node.ops, sides[1:])
        name, swaps = ordered
        return ast.Call(ast.Name(f"{name}_{self.dtype.name}"), sides[::-1] if swaps else sides, [])

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
