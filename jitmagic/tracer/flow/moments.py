"""Takes the evaluator of a trace, gives what all trackers hold at one moment: to go back there."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

from jitmagic.tracer.effects import Effect
from jitmagic.tracer.flow.values import refuse
from jitmagic.tracer.output import OutputGraph
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import Cell
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Moment"]

STEADY = (ArrayTracker, Constant, RunTimeNumber, SymbolicInt)  # what they stand for never changes
TABLES = ("by_source", "closures", "function_writes", "class_writes", "stand_ins", "pending_globals")  # of the builder
Table = dict[Any, Any]


class Moment:
    """What every tracker in reach of the trace, and of ``values``, holds now.

    Raises Unsupported where something is in reach that cannot go back: a generator, an iterator of Python's own.
    """

    def __init__(self, tx: Evaluator, *values: Any) -> None:
        output = tx.output
        frames = list(_frames(tx))
        self._output = output
        self._locals = [(frame, dict(frame.locals)) for frame in frames]
        self._effects = list(output.effects)
        self._tables = [(table, dict(table)) for table in _tables(output)]
        real = {id(entry[0]) for table in (output.tracked, *_pairs(output)) for entry in table.values()}
        self._objects: list[tuple[Any, dict[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        known = [table.values() for table in _tables(output)]
        variables = [table.values() for frame in frames for table in (frame.locals, frame.cells)]
        for each in _reachable([*variables, output.effects, values, *known]):
            fields = dict(_fields(each))
            self._objects.append((each, fields))
            self._containers += [
                (v, v.copy()) for v in fields.values() if isinstance(v, CONTAINERS) and id(v) not in real
            ]

    def return_to(self) -> None:
        """The trace is there again; values that never change, and are known by now, stay known."""
        for table, before in self._tables:
            kept = {k: v for k, v in table.items() if k not in before and _is_steady(v)}
            table.clear()
            table.update(before | kept)
        self.show()

    def show(self) -> None:
        """The trackers hold what they held then."""
        for frame, local in self._locals:
            frame.locals = dict(local)
        self._output.effects[:] = self._effects
        for each, fields in self._objects:
            for name in [n for n, _ in _fields(each) if n not in fields]:
                object.__delattr__(each, name)
            for name, value in fields.items():
                object.__setattr__(each, name, value)
        for container, contents in self._containers:
            if _members(container) != _members(contents):
                container.clear()
                getattr(container, "extend" if isinstance(container, list | deque) else "update")(contents)


OWN = (VariableTracker, Cell, Effect)
CONTAINERS = (list, dict, set, deque)


def _frames(tx: Evaluator) -> Iterator[Evaluator]:
    """The frame and its callers."""
    frame: Evaluator | None = tx
    while frame is not None:
        yield frame
        frame = frame.parent


def _members(container: Any) -> list[Any]:
    """What tells whether a container has changed; the objects themselves are not compared."""
    members: Iterable[Any] = container.items() if isinstance(container, dict) else container
    return [(id(m[0]), id(m[1])) if isinstance(container, dict) else id(m) for m in members]


def _is_steady(entry: Any) -> bool:
    return type(entry) is tuple and isinstance(entry[-1], STEADY)


def _tables(output: OutputGraph) -> list[Table]:
    return [output.tracked, *(getattr(output.builder, name) for name in TABLES)]


def _pairs(output: OutputGraph) -> list[Table]:
    """The tables of objects of the user's, each with its tracker."""
    return [output.builder.by_source, output.builder.stand_ins]


def _reachable(roots: Iterable[Iterable[Any]]) -> Iterator[Any]:
    """Every tracker, cell and effect."""
    seen: dict[int, Any] = {}
    stack = [each for root in roots for each in _own(root)]
    while stack:
        each = stack.pop()
        if id(each) in seen:
            continue
        seen[id(each)] = each
        yield each
        for _, value in _fields(each):
            _check(value)
            stack += _own((value,))


def _own(values: Iterable[Any]) -> Iterator[Any]:
    """What is the tracer's own among values, and among what containers of it hold."""
    for value in values:
        if isinstance(value, OWN):
            yield value
        elif isinstance(value, dict):
            yield from (v for v in value.values() if isinstance(v, OWN))
        elif isinstance(value, list | tuple | set | frozenset | deque):
            yield from (v for v in value if isinstance(v, OWN))


def _check(value: Any) -> None:
    """Refuse what moves on when it is read."""
    cells = (value.__closure__ or ()) if isinstance(value, FunctionType) else ()
    if any(isinstance(v, Iterator) and not isinstance(v, VariableTracker) for v in (value, *map(_content, cells))):
        raise refuse("an iterator that goes on")


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it is empty
        return None


def _fields(each: Any) -> Iterator[tuple[str, Any]]:
    """Of a Lazy what it has become; its value is the user's."""
    skipped = "value" if isinstance(each, Lazy) else ""
    yield from ((n, v) for n, v in list(getattr(each, "__dict__", {}).items()) if n != skipped)
    for cls in type(each).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(each, name):
                yield name, getattr(each, name)
