"""What ``scheduler.step()`` means in a trace: it runs as plain Python, when the graph has run.

It changes nothing but settings of the optimiser and numbers of its own. What is read of them afterwards can be passed
on, to the caller or to a list, but not computed with: that breaks the graph. Where the graph would have to run before
the step and something that is asked for after it, the graph breaks at the step. No epoch and no rate becomes a constant
of the entry this way. Schedules that call functions of the user which do more than compute numbers are traced like any
other code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.optim import lr_scheduler as schedules
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.effects import MethodEffect
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.number_functions import computes_numbers
from jitmagic.tracer.signals import Restart
from jitmagic.tracer.variables.base import NO_OBJECT, VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import FunctionTracker
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.objects import ObjectTracker, OpaqueTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter

__all__ = ["ROWS"]

BY_FUNCTION = frozenset({schedules.LambdaLR, schedules.MultiplicativeLR})
LATER = BY_FUNCTION | frozenset(
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


@dataclass(eq=False)
class StepEffect(MethodEffect):
    """``scheduler.step(...)``; what is passed on of what it changes is read right after it.

    ``refuse()`` lets the next attempt break the graph at this step.
    """

    refuse: Callable[[], None]
    emit: Emitter | None = field(default=None, kw_only=True)
    line: int = field(default=0, kw_only=True)

    def replay(self, emit: Emitter) -> None:
        super().replay(emit)
        self.emit, self.line = emit, len(emit.lines) - 1

    def read(self, emit: Emitter, code: str) -> str:
        """The name of what ``code`` gives after the step."""
        name = emit.temporary()
        emit.lines[self.line] += f"; {name} = {code}"
        return name


class Changed(OpaqueTracker):
    """Stands for what a step that is still to run will change: ``owner`` followed by ``read`` gives it."""

    def __init__(self, effect: StepEffect, owner: VariableTracker | None = None, read: str = "") -> None:
        super().__init__(NO_OBJECT, None, "schedule", f"what {effect.target.describe()}.step() changes")
        self.effect = effect
        self.owner = owner
        self.read = read

    def python_type(self) -> type:
        raise self._refuse()

    def reconstruct(self, emit: Emitter) -> str:
        if self.owner is None or self.effect.emit is not emit:
            self.effect.refuse()
            raise Restart
        return self.effect.read(emit, emit.value(self.owner) + self.read)


def _later(function: Any) -> Handler:
    """The meaning of ``function``, the ``step`` of a class of schedules."""

    def step(tx: Evaluator, scheduler: VariableTracker, *args: VariableTracker) -> VariableTracker:
        scheduler = tx.realize(scheduler)
        if not isinstance(scheduler, ObjectTracker) or not all(map(_may_run_later, _parts(scheduler.value))):
            return tx.inline(FunctionTracker(function, tx.output.constant_source(function)), [scheduler, *args], {})
        place, refusals = tx.place(tx.node), tx.output.policy.no_inline
        if place in refusals:
            raise refusals[place]
        refused = Unsupported("schedule", f"what {scheduler.describe()}.step() changes")
        effect = StepEffect(scheduler, "step", args, refuse=lambda: refusals.__setitem__(place, refused), span=tx.span)
        tx.output.add_effect(effect)
        for each in _parts(scheduler.value):
            _forget(tx, each, each.__dict__, effect)
            for group in each.optimizer.param_groups:
                _forget(tx, group, group, effect)
        return Constant(None)

    return step


def _may_run_later(scheduler: Any) -> bool:
    functions = scheduler.lr_lambdas if type(scheduler) in BY_FUNCTION else ()
    return type(scheduler) in LATER and all(map(computes_numbers, functions))


def _parts(scheduler: Any) -> Iterator[Any]:
    """A schedule and those that it is made of."""
    yield scheduler
    for each in getattr(scheduler, "_schedulers", ()):
        yield from _parts(each)


def _forget(tx: Evaluator, owner: Any, entries: dict[str, Any], effect: StepEffect) -> None:
    """Make sure that nobody takes what ``owner`` holds now for what it holds after the step."""
    _, tracker = tx.output.tracked.get(id(owner), (owner, None))
    if isinstance(tracker, DictTracker):
        names = [name for name in tracker.items if name != "params"]
        tracker.items.update({name: Changed(effect, tracker, f"[{name!r}]") for name in names})
    elif isinstance(tracker, ObjectTracker):
        tracker.pending.update({name: Changed(effect, tracker, f".{name}") for name in entries})
    else:
        tx.output.builder.stand_ins[id(owner)] = (owner, Changed(effect))


ROWS: dict[Any, Handler] = {
    cls.step: _later(cls.step) for cls in (schedules.LRScheduler, schedules.ReduceLROnPlateau, schedules.SequentialLR)
}
