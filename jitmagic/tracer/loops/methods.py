"""Takes a call of a method of a number, gives the typed expression.

x[i].item()             z.conjugate()
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.comparisons import cast
from jitmagic.tracer.loops.rules import COMPLEX, refuse

if TYPE_CHECKING:
    from jitmagic.tracer.loops.expressions import Expressions

__all__ = ["as_python", "number_method"]


def number_method(e: Expressions, node: ast.Call) -> ir.Expr | None:
    """None for any other call."""
    function = node.func
    if not isinstance(function, ast.Attribute) or function.attr not in _METHODS or node.args or node.keywords:
        return None
    if e.outside.function(function) is not None or e.outside.array(function.value) is not None:
        return None
    made = _METHODS[function.attr](e.make(function.value))
    if made is None:
        raise refuse(f"the call {ast.unparse(node)}")
    return made


def as_python(value: ir.Expr) -> ir.Expr:
    """The Python number of equal value."""
    if value.type in COMPLEX:
        return cast(value, "pycomplex")
    if value.type == "bool":
        return cast(value, "pybool")
    return cast(value, "pyfloat" if "float" in value.type else "pyint")


def _item(value: ir.Expr) -> ir.Expr | None:
    return None if value.type.startswith("py") else as_python(value)


def _conjugate(value: ir.Expr) -> ir.Expr | None:
    return ir.Unary("conjugate", value, value.type) if value.type in COMPLEX else None


def _numpys_conjugate(value: ir.Expr) -> ir.Expr | None:
    return None if value.type.startswith("py") else _conjugate(value)


_METHODS: Mapping[str, Callable[[ir.Expr], ir.Expr | None]] = {
    "item": _item,
    "conjugate": _conjugate,
    "conj": _numpys_conjugate,
}
