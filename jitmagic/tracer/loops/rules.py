"""Types of scalar operations: what Python and NumPy (NEP 50) give for these operand types, and what they compute in.

Answers come from NumPy's own type resolution; a Python number is weak in it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping

import numpy as np

from jitmagic.errors import Unsupported

__all__ = [
    "COMPLEX",
    "FLOATS",
    "INTS",
    "LIBM",
    "binary_types",
    "compare_type",
    "function_types",
    "is_integer",
    "is_numpy",
    "store_is_exact",
]

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
FLOATS = ("float32", "float64")
COMPLEX = ("pycomplex", "complex128")
PYTHON = ("pybool", "pyint", "pyfloat", "pycomplex")
_WEAK: Mapping[str, type] = {"pybool": bool, "pyint": int, "pyfloat": float, "pycomplex": complex}
_UFUNCS: Mapping[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and_": np.bitwise_and,
    "or_": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
_BITWISE = ("and_", "or_", "xor", "lshift", "rshift")
LIBM = "sqrt exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh fabs floor ceil"
_CMATH = {"exp": "pycomplex", "sqrt": "pycomplex", "phase": "pyfloat"}
_EXACT_UFUNCS = {"sqrt", "fabs", "absolute", "square", "negative"}


def is_numpy(kind: str) -> bool:
    return kind not in PYTHON


def is_integer(kind: str) -> bool:
    """Whether a number of that kind can be an index; True and False select in another way."""
    return kind == "pyint" or kind in INTS


def refuse(what: str) -> Unsupported:
    return Unsupported("region", what)


@functools.lru_cache(maxsize=4096)
def binary_types(operator: str, left: str, right: str) -> tuple[str, str]:
    """(the type to compute in, the type of the result). Raises Unsupported for what regions do not hold."""
    if operator not in _UFUNCS:
        raise refuse(f"operator {operator}")
    if "pycomplex" in (left, right) and _is_pythons(left, right):
        return _complex_types(operator)
    if is_numpy(left) or is_numpy(right):
        return _numpy_types(operator, left, right)
    if "pyfloat" in (left, right):
        if operator in _BITWISE:
            raise refuse(f"{operator} of floats")
        return "pyfloat", "pyfloat"
    if operator == "truediv":
        return "pyfloat", "pyfloat"
    if operator in ("pow", "lshift", "rshift"):
        raise refuse(f"{operator} of ints")
    return "pyint", "pyint"


def _is_pythons(left: str, right: str) -> bool:
    """Whether Python's complex numbers do an operation; float64 is a float, and NumPy's only if it comes first."""
    return not is_numpy(left) and (not is_numpy(right) or (left == "pycomplex" and right == "float64"))


def _complex_types(operator: str) -> tuple[str, str]:
    if sys.version_info >= (3, 14):
        raise refuse("a complex number, in this version of Python")  # which computes float * complex in another way
    if operator not in ("add", "sub", "mul", "truediv", "pow"):
        raise refuse(f"{operator} of complex numbers")
    return "pycomplex", "pycomplex"


def _numpy_types(operator: str, left: str, right: str) -> tuple[str, str]:
    if {left, right} <= {"bool", "pybool"}:
        raise refuse("arithmetic on numpy.bool")
    ufunc = _UFUNCS[operator]
    given = [np.dtype(k) if is_numpy(k) else _WEAK[k] for k in (left, right)]
    try:
        resolved = ufunc.resolve_dtypes((*given, None))
    except TypeError as error:
        raise refuse(str(error)) from None
    inner, out = resolved[0].name, resolved[2].name
    if resolved[1].name != inner or not {inner, out} <= {*INTS, *FLOATS, "complex128"}:
        raise refuse(f"{operator} of {left} and {right}")
    if operator in ("pow", "lshift", "rshift") and inner in INTS:
        raise refuse(f"{operator} of ints")
    return inner, out


def compare_type(left: str, right: str) -> tuple[str, str]:
    """(the type to compare in, the type of the result)."""
    if "pycomplex" in (left, right) and _is_pythons(left, right):
        return _complex_types("add")[0], "pybool"
    if not is_numpy(left) and not is_numpy(right):
        return ("pyfloat" if "pyfloat" in (left, right) else "pyint"), "pybool"
    if left == right == "bool":
        return "bool", "bool"
    inner, _ = _numpy_types("add", left, right)
    if {left, right} <= {*INTS, "pyint", "pybool"} and inner not in INTS:
        raise refuse(f"comparison of {left} and {right}")
    return inner, "bool"


def function_types(function: str, operand: str) -> tuple[str, str]:
    """The same for a function of one number: ``math.sqrt`` gives Python floats, ``numpy.sqrt`` NumPy's."""
    module, _, name = function.partition(".")
    if module == "cmath" and name in _CMATH:
        return "pycomplex", _CMATH[name]
    if operand in COMPLEX and module != "numpy":
        raise refuse(f"{function} of a complex number")
    if module == "math" and name in LIBM.split(" "):
        return "pyfloat", "pyint" if name in ("floor", "ceil") else "pyfloat"
    if module == "numpy" and name in _EXACT_UFUNCS and operand in FLOATS:
        return operand, operand
    if module == "numpy" and name in _EXACT_UFUNCS and operand == "pyfloat":
        return "float64", "float64"
    if module == "math" and name in ("isnan", "isinf", "isfinite"):
        return "pyfloat", "pybool"
    if module == "numpy":
        return _ufunc_types(name, operand)
    raise refuse(f"{function} of {operand}")


def _ufunc_types(name: str, operand: str) -> tuple[str, str]:
    """A ufunc of one float: NumPy's own inner loop runs it."""
    ufunc = getattr(np, name, None)
    kind = {"pyfloat": "float64", "pyint": "float64", "pycomplex": "complex128"}.get(operand, operand)
    if not isinstance(ufunc, np.ufunc) or (ufunc.nin, ufunc.nout) != (1, 1) or kind not in (*FLOATS, "complex128"):
        raise refuse(f"numpy.{name} of {operand}")
    if operand == "pyint" and name in ("negative", "absolute", "sign", "square", "rint", "floor", "ceil", "trunc"):
        raise refuse(f"numpy.{name} of {operand}")
    try:
        resolved = ufunc.resolve_dtypes((np.dtype(kind), None))
    except TypeError as error:
        raise refuse(str(error)) from None
    given = (kind, "bool", "float64") if kind == "complex128" else (kind, "bool")
    if resolved[0].name != kind or resolved[1].name not in given:
        raise refuse(f"numpy.{name} of {operand}")
    return kind, resolved[1].name


def store_is_exact(value: str, element: str) -> bool:
    """Whether a region can store a number in an array as ``array[i] = value`` does; what NumPy warns of leaves it."""
    if value == element or element == "complex128":
        return True
    if value in COMPLEX:
        return False
    if element in FLOATS:
        return True
    if element == "bool":
        return value in ("pybool", "bool")
    return value not in INTS or np.can_cast(value, element) or value == element
