"""Takes the syntax of what only complex numbers have, gives the typed expression.

z.real          complex(x, y)           cmath.rect(r, phi)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.comparisons import cast
from jitmagic.tracer.loops.rules import COMPLEX, FLOATS, refuse

if TYPE_CHECKING:
    from jitmagic.tracer.loops.expressions import Expressions

__all__ = ["check_power", "complex_of", "constant_complex", "part_of", "real_number"]

_REAL_TYPES = {"pycomplex": "pyfloat", "complex128": "float64"}


def part_of(value: ir.Expr, function: str) -> ir.Expr:
    """``real``, ``imag`` or ``abs`` of a number, which is a float; ``x.real`` of a float is ``x``."""
    if function == "real" and value.type in ("pyfloat", *FLOATS):
        return value
    if value.type not in COMPLEX:
        raise refuse(f"the attribute {function} of {value.type}")
    return ir.Unary(function, value, _REAL_TYPES[value.type])


def complex_of(e: Expressions, node: ast.Call) -> ir.Expr:
    """``complex(x)``, ``complex(x, y)`` of real numbers, and ``cmath.rect(r, phi)``."""
    _check_derivative(e)
    values = [e.make(a) for a in node.args]
    function = e.outside.function(node.func)
    if function == "builtins.complex" and len(values) == 1:
        return cast(values[0], "pycomplex")
    if len(values) != 2 or any(v.type in COMPLEX for v in values):
        raise refuse(f"the call {ast.unparse(node)}")
    left, right = (cast(v, "pyfloat") for v in values)
    return ir.Binary("rect" if function == "cmath.rect" else "complex", left, right, "pycomplex")


def constant_complex(e: Expressions, value: complex) -> ir.Expr:
    _check_derivative(e)
    return ir.Binary("complex", ir.Const(value.real, "pyfloat"), ir.Const(value.imag, "pyfloat"), "pycomplex")


def check_power(exponent: ir.Expr) -> None:
    """Raises Unsupported for powers of complex numbers other than small whole ones."""
    if isinstance(exponent, ir.Const):
        if not 0 < abs(exponent.value) < ir.LARGEST_POWER or exponent.value != int(exponent.value):
            raise refuse("a power of complex numbers that is not whole, or large")
    elif exponent.type != "pyint":
        raise refuse("a power of complex numbers that is no int")


def _check_derivative(e: Expressions) -> None:
    if not e.outside.may_fold():
        raise refuse("a complex number, and a derivative")


def real_number(e: Expressions, node: ast.Call) -> ir.Expr:
    """The only argument of a call that complex numbers raise in."""
    value = e.make(node.args[0])
    if value.type in COMPLEX:
        raise refuse(f"the call {ast.unparse(node)} of a complex number")
    return value
