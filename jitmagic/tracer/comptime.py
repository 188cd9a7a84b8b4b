"""``jm.comptime``: takes a hook of the user's, calls it when the program around it has been captured.

Nothing of it is left in the graph: later calls, and plain Python, do nothing at this place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Span, Unsupported
from jitmagic.graph.printer import print_graph
from jitmagic.tracer.part_names import readable
from jitmagic.tracer.variables.base import NO_OBJECT, VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import FunctionTracker, NestedFunction

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Moment", "comptime", "note_hook"]


@dataclass(frozen=True, slots=True)
class Moment:
    """The capture as it was at a call of ``comptime``; ``print(moment)`` shows the graph.

    ``graph`` is the text of the operations recorded so far, ``guards`` the conditions so far, ``variables`` says of
    each local variable what is known of it, and ``span`` where the call stands.
    """

    graph: str
    guards: tuple[str, ...]
    variables: Mapping[str, str]
    span: Span

    def __str__(self) -> str:
        return self.graph


def comptime(hook: Callable[[Moment], Any]) -> None:
    """Call ``hook(moment)`` once each time the function around is compiled; what it returns is dropped.

    In plain Python, and when compiled code is called, this does nothing.
    """


def note_hook(tx: Evaluator, args: Sequence[VariableTracker], kwargs: Mapping[str, VariableTracker]) -> VariableTracker:
    """Remember the hook and the moment; it is called when the capture is finished, as an attempt may be made again."""
    hooks = [*args, *kwargs.values()]
    if len(hooks) != 1 or not set(kwargs) <= {"hook"}:
        raise Unsupported("call", "jitmagic.comptime() with these arguments")
    tx.output.hooks.append((_real_hook(tx.realize(hooks[0])), _moment(tx)))
    return Constant(None)


def _real_hook(hook: VariableTracker) -> Callable[[Moment], Any]:
    if isinstance(hook, FunctionTracker):
        return hook.function
    if isinstance(hook, NestedFunction) and not (hook.code.co_freevars or hook.defaults or hook.kwdefaults):
        return FunctionType(hook.code, hook.owner.globals)
    found: Any = hook.real_object()
    if found is NO_OBJECT or not callable(found):
        raise Unsupported("call", f"jitmagic.comptime({hook.describe()})")
    return found  # type: ignore[no-any-return]  # it is callable


def _moment(tx: Evaluator) -> Moment:
    variables = {name: tx.realize(value).describe() for name, value in tx.locals.items()}
    operations = print_graph(tx.output.graph).splitlines()[:-1]  # without the line of what it returns
    guards = tuple(readable(f"{guard.text} is {guard.then}") for guard in tx.output.guards)
    return Moment("\n".join(operations), guards, variables, tx.span)
