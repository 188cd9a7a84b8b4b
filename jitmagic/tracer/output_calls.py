"""What ``print`` means in a trace: recorded, and replayed in order after the graph."""

from __future__ import annotations

from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.effects import CallEffect
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.guards.naming import home
from jitmagic.tracer.texts import str_text
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.deferred import snapshot
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker
from jitmagic.tracer.variables.objects import ObjectTracker

__all__ = ["ROWS"]


def _print(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
    """Recorded, and replayed in order after the graph; the values shown are those of this moment."""
    file = kwargs.get("file")
    if file is not None and not _is_stream(tx.realize(file)):
        raise Unsupported("call", "print(file=...)")
    tx.output.add_effect(CallEffect("print", [_shown(tx, a) for a in args], kwargs, span=tx.span))
    return Constant(None)


def _is_stream(file: VariableTracker) -> bool:
    """A stream of Python's or of the notebook's, which no trace looks into: what is written there comes in order."""
    if isinstance(file, Constant):
        return file.value is None
    return file.source is not None and home(file.python_type()).partition(".")[0] in ("_io", "ipykernel")


def _shown(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """The value as it is now, or its text if it has methods of its own."""
    value = tx.realize(value)
    if isinstance(value, ObjectTracker | NamedTupleTracker):
        return str_text(tx, value)
    return snapshot(tx, value)


ROWS: dict[Any, Handler] = {
    print: _print,
}
