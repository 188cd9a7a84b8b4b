"""What the functions that optimisers are written with mean over trackers."""

from __future__ import annotations

from typing import Any

from jitmagic.autograd.writing import writable
from jitmagic.errors import Unsupported
from jitmagic.optim.numbers import is_on, run_time
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.guards.kinds import expression_guard
from jitmagic.tracer.operators import compare
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.tensor import TensorTracker

__all__ = ["ROWS"]


def _writable(tx: Evaluator, tensor: VariableTracker) -> VariableTracker:
    tensor = tx.realize(tensor)
    if not isinstance(tensor, TensorTracker):
        raise Unsupported("tensor", f"writing {tensor.describe()}, which is no Tensor")
    return tensor.tensors.allow_writes(tx, tensor)


def _run_time(tx: Evaluator, group: VariableTracker, name: VariableTracker) -> VariableTracker:
    """A float that nobody has looked at yet as an input of the graph, whatever its value; anything else as it is."""
    entry = _unread(tx, group, name)
    if entry is None:
        return tx.realize(group).item(tx, name)
    return tx.output.builder.run_time_number(entry.value, entry.source)


def _is_on(tx: Evaluator, group: VariableTracker, name: VariableTracker) -> VariableTracker:
    """Guarded by itself, not by the number."""
    entry = _unread(tx, group, name)
    if entry is None:
        return Constant(tx.truth(compare(tx, "ne", tx.realize(group).item(tx, name), Constant(0))))
    found = entry.value != 0
    about = f"{entry.source.text} != 0"
    tx.output.guards.add(
        expression_guard("CONSTANT_MATCH", entry.source, f"({{v}} != 0) is {found}", str(found), "{v}", about=about)
    )
    return Constant(found)


def _unread(tx: Evaluator, group: VariableTracker, name: VariableTracker) -> Lazy | None:
    """The entry, if it is a float that nothing was decided on."""
    group = tx.realize(group)
    entry = group.items.get(name.constant()) if isinstance(group, DictTracker) else None
    is_unread = isinstance(entry, Lazy) and not entry.is_realized and type(entry.value) is float
    return entry if is_unread else None


ROWS: dict[Any, Handler] = {is_on: _is_on, run_time: _run_time, writable: _writable}
