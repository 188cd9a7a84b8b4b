"""Takes a number of the traced program, gives the name that loops have for its type."""

from __future__ import annotations

from collections.abc import Mapping

from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt

__all__ = ["DTYPES", "ELEMENTS", "PYTHON_NUMBERS", "number_kind"]

PYTHON_NUMBERS: Mapping[type, str] = {int: "pyint", float: "pyfloat", bool: "pybool", complex: "pycomplex"}
DTYPES: Mapping[str, str] = {  # of arrays that hold them
    "pyint": "int64",
    "pyfloat": "float64",
    "pybool": "bool",
    "pycomplex": "complex128",
}
INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32")
ELEMENTS = (*INTS, "float32", "float64", "complex128", "bool")


def number_kind(value: VariableTracker) -> str | None:
    """``pyint``, ``pycomplex``, ..., or the dtype of a NumPy scalar; None for what loops do not compute with."""
    if isinstance(value, Constant):
        return PYTHON_NUMBERS.get(type(value.value))
    if isinstance(value, SymbolicInt):
        return "pyint"
    if isinstance(value, RunTimeNumber):
        return PYTHON_NUMBERS.get(value.kind)
    if type(value) is ArrayTracker and value.meta.scalar and value.meta.dtype.name in ELEMENTS:
        return value.meta.dtype.name
    return None
