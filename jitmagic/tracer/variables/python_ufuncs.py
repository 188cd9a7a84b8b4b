"""What ``np.frompyfunc`` makes, and the arrays of Python objects that it gives."""

from __future__ import annotations

import gc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards import Source
from jitmagic.tracer.guards import kinds as guard
from jitmagic.tracer.inputs import is_held
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import CallableTracker
from jitmagic.tracer.variables.constant import Constant

if TYPE_CHECKING:
    from jitmagic.tracer.builder import Builder
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Objects", "PythonUfunc", "is_python_ufunc", "wrap_python_ufunc"]

_CASTS: Mapping[str, str] = {"float64": "float64", "int64": "int64 float64", "bool": "bool int64 float64"}


class PythonUfunc(VariableTracker):
    """``made`` is the ufunc if it existed before the call."""

    def __init__(self, function: VariableTracker, nin: int, nout: int, made: Any = None) -> None:
        self.function = function
        self.nin = nin
        self.nout = nout
        self.made = made
        self.source: Source | None = None

    def python_type(self) -> type:
        return np.ufunc

    def describe(self) -> str:
        return f"np.frompyfunc({self.function.describe()})"

    def truth(self, tx: Evaluator) -> bool:
        return True

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return tx.language.builtins[PythonUfunc](tx, self, args, kwargs)

    def reconstruct(self, emit: Emitter) -> str:
        if self.made is not None:
            return emit.constant(self.made)
        return f"{emit.constant(np.frompyfunc)}({emit.value(self.function)}, {self.nin}, {self.nout})"


class Objects(VariableTracker):
    """An array of Python numbers of one type, of which the graph holds the values in ``array``."""

    def __init__(self, array: ArrayTracker) -> None:
        self.array = array

    def python_type(self) -> type:
        return np.ndarray

    def describe(self) -> str:
        return "an array of Python objects"

    def length(self, tx: Evaluator) -> VariableTracker:
        return self.array.length(tx)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in ("shape", "ndim", "size"):
            return self.array.attribute(tx, name)
        if name == "astype":
            return _AsType(self)
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.array)}.astype({emit.constant(object)})"


class _AsType(VariableTracker):
    """``objects.astype``, for casts that every Python number of the type survives as NumPy's of the same type would."""

    def __init__(self, owner: Objects) -> None:
        self.owner = owner

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        array = self.owner.array
        known = len(args) == 1 and not kwargs and isinstance(args[0], CallableTracker | Constant)
        dtype = np.dtype(args[0].value) if known else None  # type: ignore[attr-defined]  # of both classes
        if dtype is None or dtype.name not in _CASTS[array.meta.dtype.name].split():
            raise Unsupported("call", f"astype of {self.owner.describe()}")
        return array.method(tx, "astype", [Constant(dtype)], {})

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.owner)}.astype"


def _function_of(value: Any) -> Any:
    """The Python function behind a ufunc; None for other ufuncs."""
    if type(value) is not np.ufunc or set("".join(value.types)) > {"O", "-", ">"} or not value.types:
        return None
    found = [each for each in gc.get_referents(value) if callable(each)]
    named = len(found) == 1 and value.__name__ == f"{getattr(found[0], '__name__', '')} (vectorized)"
    return found[0] if named else None


def is_python_ufunc(value: Any) -> bool:
    return _function_of(value) is not None


def wrap_python_ufunc(builder: Builder, value: Any, source: Source) -> VariableTracker:
    """One that existed before the call: a ufunc keeps its function."""
    if not is_held(source):
        builder.output.guards.add(guard.identity_guard(source, value, "BUILTIN_MATCH"))
    function = _function_of(value)
    tracker = builder.wrap(None, function, builder.output.constant_source(function))
    return PythonUfunc(tracker, value.nin, value.nout, value)
