"""Takes an operator and the trackers of its operands, gives the TypeError that their types alone bring."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt

__all__ = ["refusal"]

_CONTAINERS = (list, tuple, dict, set, frozenset)
_UNKNOWN = object()


def refusal(name: str, *operands: VariableTracker) -> TypeError | None:
    """What ``operator.name(*operands)`` raises whatever the operands hold, or None if that is not known.

    It is asked with empty containers and with arrays without elements, so nothing is computed, and what NumPy says of
    single elements does not come up.
    """
    values = [_stand_in(operand) for operand in operands]
    mixed = any(type(v) in _CONTAINERS for v in values) and any(isinstance(v, np.ndarray | np.generic) for v in values)
    if mixed or any(v is _UNKNOWN for v in values):
        return None
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            getattr(operator, name)(*values)
    except TypeError as error:
        return error.with_traceback(None)
    except Exception:  # of a value, which stands in for another
        return None
    return None


def _stand_in(operand: VariableTracker) -> Any:
    """A value of the operand's class."""
    if isinstance(operand, Constant):
        return operand.value
    if isinstance(operand, ArrayTracker):
        empty = np.zeros((0,) * len(operand.meta.shape), operand.meta.dtype)
        return np.zeros((), operand.meta.dtype)[()] if operand.meta.scalar else empty
    kind = operand.python_type()
    if isinstance(operand, SymbolicInt | RunTimeNumber):
        return kind(1)
    return kind() if kind in _CONTAINERS else _UNKNOWN
