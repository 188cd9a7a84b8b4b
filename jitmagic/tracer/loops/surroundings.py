"""Takes names and attributes that a loop reads, gives parameters of its region: arrays, numbers, known functions."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.graph import region as ir
from jitmagic.tracer.directives import is_disabled, is_opaque
from jitmagic.tracer.loops.expressions import Outside
from jitmagic.tracer.loops.rules import FLOATS, INTS, refuse
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import CallableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import FunctionTracker
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.tensor import TensorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Surroundings", "scalar_type"]

ELEMENTS = (*INTS, *FLOATS, "bool")
_LITERALS: Mapping[type, str] = {int: "pyint", float: "pyfloat", bool: "pybool"}


@dataclass(slots=True)
class Surroundings(Outside):
    """Answers from the trackers; everything that the region reads becomes an operand of its node."""

    tx: Evaluator
    rebound: frozenset[str]
    arrays: dict[str, tuple[ir.ArrayParameter, ArrayTracker]] = field(default_factory=dict)
    scalars: dict[str, tuple[ir.Var, VariableTracker]] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)

    def _value(self, node: ast.expr) -> VariableTracker | None:
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.rebound:
            return None
        return self.tx.eval(node)

    def array(self, node: ast.expr) -> ir.ArrayParameter | None:
        text = ast.unparse(node)
        if text in self.arrays:
            return self.arrays[text][0]
        value = self._value(node)
        if isinstance(value, TensorTracker):
            raise refuse("a Tensor")
        if not isinstance(value, ArrayTracker) or value.meta.scalar:
            return None
        meta = value.meta
        if meta.dtype.name not in ELEMENTS or not meta.dtype.isnative or not meta.ndim:
            raise refuse(f"an array of {meta.dtype}")
        name = f"a{len(self.arrays)}"
        made = ir.ArrayParameter(name, meta.dtype.name, meta.ndim, False, "C" in meta.contiguous)
        self.arrays[text] = (made, value)
        return made

    def scalar(self, node: ast.expr) -> ir.Var | None:
        text = ast.unparse(node)
        if text in self.scalars:
            return self.scalars[text][0]
        value = self._value(node)
        kind = None if value is None else scalar_type(value)
        if value is None or kind is None:
            return None
        made = ir.Var(f"c{len(self.scalars)}", kind)
        self.scalars[text] = (made, value)
        return made

    def function(self, node: ast.expr) -> str | None:
        value = self._value(node)
        if not isinstance(value, CallableTracker):
            return None
        found = _FUNCTIONS.get(value.value)
        if found is not None:
            self.functions[ast.unparse(node)] = value.value
        return found

    def callee(self, node: ast.expr) -> FunctionType | None:
        value = self._value(node)
        if not isinstance(value, FunctionTracker) or is_opaque(value.function) or is_disabled(value.function):
            return None
        function = value.function
        own = {*self.tx.frame.local_names, *self.tx.cells}
        known = function.__globals__ is self.tx.globals and not own & {*function.__code__.co_names}
        return function if known and self.tx.language.builtins.get(function) is None else None


def scalar_type(value: VariableTracker) -> str | None:
    if isinstance(value, Constant):
        return _LITERALS.get(type(value.value))
    if isinstance(value, SymbolicInt):
        return "pyint"
    if isinstance(value, RunTimeNumber):
        return _LITERALS.get(value.kind)
    if type(value) is ArrayTracker and value.meta.scalar and value.meta.dtype.name in ELEMENTS:
        return value.meta.dtype.name
    return None


def _known_functions() -> dict[Any, str]:
    table: dict[Any, str] = {
        getattr(builtins, n): f"builtins.{n}"
        for n in ["len", "abs", "enumerate", "zip", "max", "min", "int", "float", "bool", "range"]
    }
    table |= {getattr(math, n): f"math.{n}" for n in dir(math) if callable(getattr(math, n)) and n[0] != "_"}
    table |= {v: f"numpy.{v.__name__}" for v in vars(np).values() if isinstance(v, np.ufunc)}
    return table


_FUNCTIONS: Mapping[Any, str] = _known_functions()
