"""What the functions of the module ``operator`` mean over trackers."""

from __future__ import annotations

import operator
from typing import Any

from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.operators import binary, compare, in_place, unary
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant

__all__ = ["ROWS"]


def _operator(name: str, apply: Handler) -> Handler:
    def call(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
        return apply(tx, name, *args)

    return call


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
_IN_PLACE_OPERATORS = {f"i{n.strip('_')}": n for n in _BINARY_OPERATORS}


ROWS: dict[Any, Handler] = {
    **{getattr(operator, n): _operator(n, binary) for n in _BINARY_OPERATORS},
    **{getattr(operator, i): _operator(n, in_place) for i, n in _IN_PLACE_OPERATORS.items()},
    **{getattr(operator, n): _operator(n, compare) for n in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{getattr(operator, n): _operator(n, unary) for n in ("neg", "pos", "invert")},
    operator.getitem: lambda tx, value, key: value.item(tx, key),
    operator.not_: lambda tx, value: Constant(not tx.truth(value)),
    operator.truth: lambda tx, value: Constant(tx.truth(value)),
}
