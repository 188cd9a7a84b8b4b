"""What ``print`` means in a trace: recorded, and replayed in order after the graph."""

from __future__ import annotations

from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.effects import CallEffect
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.texts import str_text
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.deferred import snapshot
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker
from jitmagic.tracer.variables.objects import ObjectTracker

__all__ = ["ROWS"]


def _print(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
    """Recorded, and replayed in order after the graph; the values shown are those of this moment."""
    if "file" in kwargs:
        raise Unsupported("call", "print(file=...)")
    tx.output.add_effect(CallEffect("print", [_shown(tx, a) for a in args], kwargs, span=tx.span))
    return Constant(None)


def _shown(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """The value as it is now, or its text if it has methods of its own."""
    value = tx.realize(value)
    if isinstance(value, ObjectTracker | NamedTupleTracker):
        return str_text(tx, value)
    return snapshot(tx, value)


ROWS: dict[Any, Handler] = {
    print: _print,
}
