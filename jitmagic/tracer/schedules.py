"""What ``scheduler.step()`` means in a trace: it runs as plain Python, when the graph has run.

It changes nothing but settings of the optimiser and numbers of its own, so in a step that ends with it nobody reads
them before; who does, breaks the graph. No epoch and no rate becomes a constant of the entry this way. Schedules that
call functions of the user are traced like any other code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jitmagic.optim import lr_scheduler as schedules
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.effects import MethodEffect
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import FunctionTracker
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.objects import ObjectTracker, OpaqueTracker

__all__ = ["ROWS"]

LATER = frozenset(
    {
        schedules.ConstantLR,
        schedules.CosineAnnealingLR,
        schedules.ExponentialLR,
        schedules.LinearLR,
        schedules.MultiStepLR,
        schedules.OneCycleLR,
        schedules.PolynomialLR,
        schedules.ReduceLROnPlateau,
        schedules.SequentialLR,
        schedules.StepLR,
    }
)


class Changed(OpaqueTracker):
    """Stands for what a step that is still to run will change."""

    def reconstruct(self, emit: Any) -> str:
        raise self._refuse()


def _later(function: Any) -> Handler:
    """The meaning of ``function``, the ``step`` of a class of schedules."""

    def step(tx: Evaluator, scheduler: VariableTracker, *args: VariableTracker) -> VariableTracker:
        scheduler = tx.realize(scheduler)
        if not isinstance(scheduler, ObjectTracker) or not all(type(s) in LATER for s in _parts(scheduler.value)):
            return tx.inline(FunctionTracker(function, tx.output.constant_source(function)), [scheduler, *args], {})
        tx.output.add_effect(MethodEffect(scheduler, "step", args, span=tx.span))
        for each in _parts(scheduler.value):
            _forget(tx, each, each.__dict__, scheduler)
            for group in each.optimizer.param_groups:
                _forget(tx, group, group, scheduler)
        return Constant(None)

    return step


def _parts(scheduler: Any) -> Iterator[Any]:
    """A schedule and those that it is made of."""
    yield scheduler
    for each in getattr(scheduler, "_schedulers", ()):
        yield from _parts(each)


def _forget(tx: Evaluator, owner: Any, entries: dict[str, Any], scheduler: VariableTracker) -> None:
    """Make sure that nobody takes what ``owner`` holds now for what it holds after the step."""
    changed = Changed(None, None, "schedule", f"what {scheduler.describe()}.step() changes")
    _, tracker = tx.output.tracked.get(id(owner), (owner, None))
    if isinstance(tracker, DictTracker):
        kept = {"params": tracker.items["params"]} if "params" in tracker.items else {}
        tracker.items.update({name: changed for name in tracker.items if name not in kept})
    elif isinstance(tracker, ObjectTracker):
        tracker.pending.update(dict.fromkeys(entries, changed))
    else:
        tx.output.builder.stand_ins[id(owner)] = (owner, changed)


ROWS: dict[Any, Handler] = {
    cls.step: _later(cls.step) for cls in (schedules.LRScheduler, schedules.ReduceLROnPlateau, schedules.SequentialLR)
}
