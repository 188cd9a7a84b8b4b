"""Takes promises about axes of an export's arguments, gives symbolic examples, and code that checks each call.

    n = jm.aot.dynamic_axis(x, 0, low=2, high=64, name="batch")
    jm.aot.aot_export_joint_simple(f, [x, y], trace_joint=False, constraints=[n, jm.aot.same_size(x, 0, y, 0)])

A constrained axis is symbolic whatever was marked on the array. Several ranges of one axis are intersected, also those
of axes that have to be of the same size; their names must agree. Row B81.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.aot.signature import ExportError
from jitmagic.autograd.recorded import raw
from jitmagic.autograd.tensor import Tensor
from jitmagic.graph import ArrayMeta, Graph, SymInt
from jitmagic.graph.shapes import Relation
from jitmagic.ops.constraining import constrain
from jitmagic.tracer import marks

__all__ = ["AxisRange", "Constraints", "SameSize", "constrained", "dynamic_axis", "same_size"]

TRIED = 1000  # sizes of a range that a decision of the code is tried for
SMALLEST = 2  # sizes 0 and 1 are special in NumPy: code for all other sizes does not serve them
Place = tuple[int, int]  # of an argument and of its axis


@dataclass(frozen=True, slots=True, eq=False)
class AxisRange:
    """The sizes that an axis may have."""

    array: Any
    axis: int
    low: int
    high: int | None
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class SameSize:
    """Two axes that always have one size."""

    first: tuple[Any, int]
    second: tuple[Any, int]


def dynamic_axis(array: Any, axis: int, *, low: int = SMALLEST, high: int | None = None, name: str = "") -> AxisRange:
    """Axis ``axis`` of the argument ``array`` may have any size from ``low`` (at least 2) to ``high``."""
    return AxisRange(array, axis, max(low, SMALLEST), high, name)


def same_size(first: Any, axis: int, second: Any, other_axis: int) -> SameSize:
    """Axis ``axis`` of ``first`` and axis ``other_axis`` of ``second`` have the same size at each call."""
    return SameSize((first, axis), (second, other_axis))


@dataclass(slots=True)
class _Group:
    """Axes of one size."""

    places: list[Place]
    low: int = SMALLEST
    high: int | None = None
    name: str = ""

    def take(self, low: int, high: int | None, name: str) -> None:
        """Keep only sizes that are allowed here too. Raises ExportError if the names differ, or if nothing is left."""
        if name and self.name and name != self.name:
            raise ExportError(f"{self.title} has two names, {self.name!r} and {name!r}; axes of one size share a name")
        self.name = self.name or name
        self.low = max(self.low, low)
        known = [h for h in (self.high, high) if h is not None]
        self.high = min(known, default=None)
        if self.high is not None and self.high < self.low:
            raise ExportError(f"no size is left for {self.title}: at least {self.low} and at most {self.high}")

    @property
    def title(self) -> str:
        where = " and ".join(f"axis {axis} of argument {position}" for position, axis in self.places)
        return f"{self.name} ({where})" if self.name else where

    def check(self, relation: Relation) -> None:
        """Raises ExportError if a relation that the code relies on does not hold for all of the sizes."""
        last = self.low + TRIED if self.high is None else self.high
        for size in {*range(self.low, min(last, self.low + TRIED) + 1), last}:
            if not relation.holds({s.name: size for s in relation.symbols()}):
                raise ExportError(
                    f"the code goes another way where {self.title} is {size}: it decides that {relation}. "
                    "Export it for a smaller range, or without that decision"
                )


@dataclass(slots=True)
class Constraints:
    """All groups of an export."""

    groups: list[_Group] = field(default_factory=list)

    def of(self, place: Place) -> _Group:
        found = next((g for g in self.groups if place in g.places), None)
        if found is None:
            found = _Group([place])
            self.groups.append(found)
        return found

    def join(self, first: Place, second: Place) -> None:
        one, other = self.of(first), self.of(second)
        if one is other:
            return
        self.groups.remove(other)
        one.places += other.places
        one.take(other.low, other.high, other.name)

    def check_examples(self, args: Sequence[Any]) -> None:
        for group in self.groups:
            for position, axis in group.places:
                try:
                    constrain(raw(args[position]).shape[axis], group.low, group.high, group.title)
                except ValueError as error:
                    raise ExportError(f"the example does not fit: {error}") from None

    def checked(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """``function`` with the checks before it, for the trace to take along."""
        groups = tuple((g.places[0], tuple(g.places[1:]), g.low, g.high, g.title) for g in self.groups)

        def call(*args: Any) -> Any:
            for (position, axis), others, low, high, title in groups:
                size = args[position].shape[axis]
                constrain(size, low, high, title)
                for place, own in others:
                    constrain(args[place].shape[own], size, size, title)
            return function(*args)

        call.__qualname__ = getattr(function, "__qualname__", type(function).__qualname__)
        return call

    def symbolic(self, args: Sequence[Any]) -> list[Any]:
        """The arguments, with copies for those that have constrained axes: only these are marked on the copies."""
        made = list(args)
        for position in {position for group in self.groups for position, _ in group.places}:
            given = args[position]
            array = np.array(raw(given), order="K")
            fixed = marks.static_axes(raw(given))
            for axis in range(array.ndim):
                own = any((position, axis) in group.places for group in self.groups)
                if own or axis in fixed:
                    marks.mark(array, "strict" if own else "static", axis)
            is_plain = raw(given) is given
            made[position] = array if is_plain else Tensor(array, requires_grad=given.requires_grad)
        return made

    def check_decisions(self, graph: Graph, position: Callable[[int], int]) -> None:
        """Raises ExportError where the code goes another way for some of the sizes; ``position`` is of the argument."""
        by_symbol: dict[str, _Group] = {}
        relations: dict[Relation, None] = {}
        for index, node in enumerate(graph.inputs):
            for axis, size in enumerate(node.meta.shape if isinstance(node.meta, ArrayMeta) else ()):
                group = next((g for g in self.groups if (position(index), axis) in g.places), None)
                if isinstance(size, SymInt) and group is not None:
                    by_symbol[repr(size)] = group
                    relations |= size.env.relations
        for relation in relations:
            groups = {id(g): g for s in relation.symbols() if (g := by_symbol.get(s.name)) is not None}
            if len(groups) > 1:
                titles = " and ".join(g.title for g in groups.values())
                raise ExportError(f"the code compares {titles}: where they are equal, say so with same_size()")
            for group in groups.values():
                group.check(relation)


def constrained(args: Sequence[Any], constraints: Sequence[AxisRange | SameSize]) -> Constraints:
    """The groups. Raises ExportError for an array that is no argument, or an axis that it does not have."""
    found = Constraints()
    for each in constraints:
        if isinstance(each, SameSize):
            found.join(_place(args, *each.first), _place(args, *each.second))
    for each in constraints:
        if isinstance(each, AxisRange):
            found.of(_place(args, each.array, each.axis)).take(each.low, each.high, each.name)
    found.check_examples(args)
    return found


def _place(args: Sequence[Any], array: Any, axis: int) -> Place:
    position = next((i for i, arg in enumerate(args) if arg is array), None)
    if position is None:
        raise ExportError("a constraint is for an array that is none of the arguments")
    ndim = len(raw(array).shape)
    if not -ndim <= axis < ndim:
        raise ExportError(f"argument {position} has {ndim} axes; axis {axis} cannot be constrained")
    return position, axis % ndim
