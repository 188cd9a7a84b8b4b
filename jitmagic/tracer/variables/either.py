"""An array that is one that existed before or a new one, as the data decide: ``y = x * 2 if test else x``.

The graph goes on with a copy of the old one, so it may be read as any array; only the program around the graph needs
to know which object it is. What a copy would show differently (a write, a view that leaves, the question ``y is x``)
makes the trace start again without this form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.node import Node
from jitmagic.tracer.signals import Restart
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter

__all__ = ["Either", "Ties"]


@dataclass(slots=True)
class Ties:
    """Of one trace: the memory that has two names in the graph, and the place whose form as a flow says so.

    ``refused`` are the places without this form; it outlives the trace.
    """

    refused: set[tuple[Any, ...]]
    places: dict[Node, tuple[Any, ...]] = field(default_factory=dict)

    def add(self, tracker: Either, place: tuple[Any, ...]) -> None:
        """From here on ``tracker`` and the arrays that it may be share memory."""
        for each in (tracker, *tracker.others.values()):
            self.places[each.node.storage] = place

    def check_write(self, node: Node) -> None:
        """Raises Restart if what is written here would have to show in another array of the graph."""
        place = self.places.get(node.storage)
        if place is not None:
            self.refuse(place)

    def check_view(self, node: Node) -> None:
        """Raises Restart if a view of one of two leaves the function."""
        if node.view_of is not None:
            self.check_write(node)

    def refuse(self, place: tuple[Any, ...]) -> NoReturn:
        """Trace again without the form at this place."""
        self.refused.add(place)
        raise Restart


class Either(ArrayTracker):
    """``others[tag]`` if the value of ``tag`` is among them, else the array of ``node``."""

    def __init__(self, node: Node, meta: ArrayMeta, tag: Node, others: Mapping[int, ArrayTracker], ties: Ties) -> None:
        super().__init__(node, meta)
        self.tag = tag
        self.others = dict(others)
        self.ties = ties

    def is_same_object(self, other: VariableTracker) -> bool:
        if other is not self and isinstance(other, ArrayTracker) and not other.meta.scalar:
            self.ties.check_write(self.node)
        return other is self

    def reconstruct(self, emit: Emitter) -> str:
        text = emit.output(self.node)
        for number, other in self.others.items():
            text = f"({emit.value(other)} if {emit.output(self.tag)} == {number} else {text})"
        return text
