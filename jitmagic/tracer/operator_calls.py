"""What the functions of the module ``operator`` mean over trackers."""

from __future__ import annotations

import operator
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.identity import same_object
from jitmagic.tracer.operators import binary, compare, in_place, unary
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.objects import ObjectTracker

__all__ = ["ROWS"]


def _operator(name: str, apply: Handler) -> Handler:
    def call(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
        return apply(tx, name, *args)

    return call


def _index(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """An int stays what it is, known or not."""
    if isinstance(value, SymbolicInt) or (isinstance(value, RunTimeNumber) and value.kind is int):
        return value
    if isinstance(value, ArrayTracker):
        raise Unsupported("data-number", f"operator.index({value.describe()})")
    if isinstance(value, ObjectTracker):
        method = value.class_attribute(tx, "__index__")
        if method is not None:
            return method.call(tx, [value], {})
    elif isinstance(value, Constant):
        try:
            return Constant(operator.index(value.value))
        except TypeError as error:
            raise Raised(error) from None
    kind = value.python_type()
    if hasattr(kind, "__index__"):
        raise Unsupported("call", f"operator.index({value.describe()})")
    raise python_error(TypeError, f"{kind.__name__!r} object cannot be interpreted as an integer")


_BINARY_OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
]
_CALL: Any = getattr(operator, "call", None)  # new in Python 3.11
_IN_PLACE_OPERATORS = {f"i{n.strip('_')}": n for n in _BINARY_OPERATORS}


ROWS: dict[Any, Handler] = {
    **{getattr(operator, n): _operator(n, binary) for n in _BINARY_OPERATORS},
    **{getattr(operator, i): _operator(n, in_place) for i, n in _IN_PLACE_OPERATORS.items()},
    **{getattr(operator, n): _operator(n, compare) for n in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{getattr(operator, n): _operator(n, unary) for n in ("neg", "pos", "invert")},
    operator.index: _index,
    operator.getitem: lambda tx, value, key: value.item(tx, key),
    operator.is_: lambda tx, left, right: Constant(same_object(tx, left, right)),
    operator.is_not: lambda tx, left, right: Constant(not same_object(tx, left, right)),
    **({_CALL: lambda tx, function, *args, **kwargs: function.call(tx, args, kwargs)} if _CALL else {}),
    operator.not_: lambda tx, value: Constant(not tx.truth(value)),
    operator.truth: lambda tx, value: Constant(tx.truth(value)),
}
