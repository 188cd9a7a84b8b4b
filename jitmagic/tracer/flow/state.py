"""Takes the evaluators of a trace, gives what is reachable from them: to see what a piece of code has changed."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from typing import Any

from jitmagic.graph.node import Node
from jitmagic.tracer.output import OutputGraph
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.functions import Cell
from jitmagic.tracer.variables.lazy import Lazy

__all__ = ["State", "changed", "other_arrays", "snapshot"]

State = dict[int, tuple[Any, tuple[Any, ...]]]  # by identity: the object, kept alive, and what it holds


def snapshot(output: OutputGraph, without: Sequence[Cell] = ()) -> State:
    """What every object in reach holds now; variables of the frames themselves are not part of it."""
    return {id(e): (e, _contents(e)) for e in _reachable(_roots(output)) if not any(e is cell for cell in without)}


def changed(before: State, without: Container[int] = ()) -> bool:
    """Whether an object of the snapshot holds something else now, but for those of these identities."""
    return any(_contents(each) != contents for number, (each, contents) in before.items() if number not in without)


def other_arrays(output: OutputGraph, finished: Any, value: VariableTracker | None) -> set[Node]:
    """The owners of arrays that somebody may see: in frames but for a ``finished`` one, in objects, in ``value``."""
    roots: list[Any] = [*output.effects, value, *(tracker for _, tracker in output.tracked.values())]
    for evaluator in output.evaluating:
        if evaluator is not finished:
            roots += [*evaluator.locals.values(), *evaluator.cells.values()]
            roots += [c for s in evaluator.scopes for c in s.cells.values()]
    return {each.node.storage for each in _reachable(roots) if isinstance(each, ArrayTracker)}


def _roots(output: OutputGraph) -> list[Any]:
    roots: list[Any] = [tracker for _, tracker in output.tracked.values()]
    for evaluator in output.evaluating:
        roots += [*evaluator.locals.values(), *evaluator.cells.values()]
        roots += [c for s in evaluator.scopes for c in s.cells.values()]
    return roots


def _reachable(roots: list[Any]) -> Iterator[Any]:
    seen: dict[int, Any] = {}
    stack = list(roots)
    while stack:
        each = stack.pop()
        if id(each) in seen:
            continue
        seen[id(each)] = each
        if isinstance(each, Lazy):
            stack.append(getattr(each, "tracker", None) or (each.realize() if each.is_realized else None))
            continue
        if isinstance(each, list | tuple | set | frozenset):
            stack.extend(each)
        elif isinstance(each, dict):
            stack.extend(each.values())
        elif isinstance(each, VariableTracker | Cell) or hasattr(type(each), "replay"):
            yield each
            stack.extend(_fields(each).values())


def _fields(each: Any) -> dict[str, Any]:
    found = dict(getattr(each, "__dict__", {}))
    for cls in type(each).__mro__:
        for name in getattr(cls, "__slots__", ()):
            if hasattr(each, name):
                found[name] = getattr(each, name)
    return found


def _contents(each: Any) -> tuple[Any, ...]:
    return tuple((name, _shallow(value)) for name, value in sorted(_fields(each).items()))


def _shallow(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return tuple(map(id, value))
    if isinstance(value, dict):
        return tuple((id(k), id(v)) for k, v in value.items())
    return value if isinstance(value, int | str | bool | None) else id(value)
