"""Takes a call that reduces a part of an array along one axis, gives it as one expression of the region.

x[i - 2:i + 3].mean()           np.max(a[i])           a[:, j].sum()
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.rules import COMPLEX, FLOATS, INTS, is_integer, refuse

if TYPE_CHECKING:
    from jitmagic.tracer.loops.expressions import Expressions

__all__ = ["row_fold", "row_of"]

_FUNCTIONS: Mapping[str, str] = {
    "numpy.sum": "sum",
    "numpy.mean": "mean",
    "numpy.max": "max",
    "numpy.min": "min",
    "numpy.amax": "max",
    "numpy.amin": "min",
}
_METHODS = ("sum", "mean", "max", "min")


def row_fold(e: Expressions, node: ast.Call) -> ir.Expr | None:
    """None for any other call. Raises Unsupported for parts that no region takes."""
    if node.keywords or not e.outside.may_fold():
        return None
    if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and not node.args:
        word, part = node.func.attr, node.func.value
        if not isinstance(part, ast.Name | ast.Subscript):
            return None
    elif len(node.args) == 1 and (name := e.outside.function(node.func)) in _FUNCTIONS:
        word, part = _FUNCTIONS[name or ""], node.args[0]
    else:
        return None
    found = _parts(e, part)
    if found is None:
        return None
    array, parts = found
    if array.elements:
        raise refuse(f"the {word} of a list")
    kind = _result(word, array.dtype)
    (axis,) = (i for i, p in enumerate(parts) if isinstance(p, ast.Slice))
    index = tuple(_index(e, p) for i, p in enumerate(parts) if i != axis)
    taken = parts[axis]
    assert isinstance(taken, ast.Slice)
    bounds = [None if b is None else _index(e, b) for b in (taken.lower, taken.upper)]
    return ir.Fold(word, array.name, axis, index, bounds[0], bounds[1], kind)


def _parts(e: Expressions, node: ast.expr) -> tuple[ir.ArrayParameter, list[ast.expr]] | None:
    """The array and its whole index with one slice in it; None if it is no array, or more of one."""
    given: list[ast.expr] = []
    owner = node
    while (array := e.outside.array(owner)) is None:
        if not isinstance(owner, ast.Subscript):
            return None
        own = _elements(owner.slice)
        if given and any(isinstance(part, ast.Slice) for part in own):
            return None
        given = [*own, *given]
        owner = owner.value
    whole = [*given, *(ast.Slice() for _ in range(array.ndim - len(given)))]
    slices = [p for p in whole if isinstance(p, ast.Slice)]
    if len(whole) != array.ndim or len(slices) != 1 or slices[0].step is not None:
        return None
    return array, whole


def row_of(e: Expressions, node: ast.expr) -> tuple[ir.ArrayParameter, int] | None:
    """The array of which ``a[i]`` is a row, and the axis along which that runs; None if it is no vector."""
    depth, owner = 0, node
    while (array := e.outside.array(owner)) is None:
        if not isinstance(owner, ast.Subscript) or isinstance(owner.slice, ast.Tuple | ast.Slice):
            return None
        depth, owner = depth + 1, owner.value
    return (array, depth) if array.ndim == depth + 1 else None


def _elements(index: ast.expr) -> list[ast.expr]:
    return index.elts if isinstance(index, ast.Tuple) else [index]


def _index(e: Expressions, node: ast.expr) -> ir.Expr:
    made = e.make(node)
    if not is_integer(made.type):
        raise refuse(f"an index of type {made.type}")
    return made


def _result(word: str, dtype: str) -> str:
    """The type of the number that NumPy gives."""
    if dtype in FLOATS or (word in ("max", "min") and dtype in INTS):
        return dtype
    if word == "mean" and dtype not in COMPLEX:
        return "float64"
    if word == "sum" and (dtype == "bool" or dtype in INTS) and not dtype.startswith("uint"):
        return "int64"
    raise refuse(f"the {word} of an array of {dtype}")
