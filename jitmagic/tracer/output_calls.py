"""What ``print`` means in a trace: recorded, and replayed in order after the graph."""

from __future__ import annotations

from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.effects import CallEffect
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

__all__ = ["ROWS"]


def _print(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
    """Recorded, and replayed in order after the graph; the values shown are those of this moment."""
    if "file" in kwargs:
        raise Unsupported("call", "print(file=...)")
    tx.output.add_effect(CallEffect("print", [_snapshot(tx, a) for a in args], kwargs, span=tx.span))
    return Constant(None)


def _snapshot(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """A value that later writes of this call do not change."""
    value = tx.realize(value)
    if isinstance(value, ArrayTracker) and not value.meta.scalar:
        return value.method(tx, "copy", [Constant("K")], {})
    if isinstance(value, ListTracker):
        return ListTracker([_snapshot(tx, v) for v in value.items])
    if type(value) is TupleTracker:
        return TupleTracker([_snapshot(tx, v) for v in value.items])
    if isinstance(value, DictTracker):
        return DictTracker({k: _snapshot(tx, v) for k, v in value.items.items()}, cls=value.cls, factory=value.factory)
    if isinstance(value, Constant | SymbolicInt | RunTimeNumber | ArrayTracker):
        return value
    raise Unsupported("call", "print of an object with a text of its own")


ROWS: dict[Any, Handler] = {
    print: _print,
}
