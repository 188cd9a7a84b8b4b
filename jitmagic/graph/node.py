"""One value of a graph: the operation that makes it, its operands, its description, its place in the source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from jitmagic.errors import Span
from jitmagic.graph.meta import Meta

__all__ = ["ModuleCall", "Node", "Operation", "map_nodes", "nodes_in"]


class Operation(Protocol):
    """What a graph needs to know of an operation; rows of the op registry fulfil it.

    ``call(*args, **kwargs)`` is its meaning, in NumPy. ``writes`` gives the positions of operands that it changes
    (an ``out=`` operand counts without being listed). ``effects`` is true if it must run even if its result is
    unused, and in order (random draws, seeding). ``warns`` and ``raises`` tell whether the data may make it warn of a
    floating-point condition or raise.
    """

    @property
    def name(self) -> str: ...
    @property
    def call(self) -> Callable[..., Any]: ...
    @property
    def writes(self) -> tuple[int, ...]: ...
    @property
    def effects(self) -> bool: ...
    @property
    def warns(self) -> frozenset[str]: ...
    @property
    def raises(self) -> Any: ...


class ModuleCall(NamedTuple):
    """One call of a module: its name as people write it, its class, its number among the calls of the trace.

    ``is_layer``: a call of a layer of ``jitmagic.nn`` that does what its class says, so it may be shown as one step.
    """

    name: str
    kind: str
    number: int = 0
    is_layer: bool = False

    def __str__(self) -> str:
        return f"{self.name} ({self.kind})"


@dataclass(eq=False, slots=True)
class Node:
    """A value. ``kind`` is one of

    * ``input``: the next argument of the graph;
    * ``constant``: an array or object held by the graph, in ``value``;
    * ``call``: ``op.call(*args, **kwargs)``, where args and kwargs nest nodes, symbolic ints and constants in
      tuples, lists, dicts and slices;
    * ``item``: entry ``index`` of the tuple made by ``args[0]``.

    ``view_of`` is the operand whose memory the result shares, if it does; ``stack`` the modules whose calls it is
    part of, outermost first.
    """

    name: str
    kind: str
    meta: Meta | None
    op: Operation | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    value: Any = None
    index: int = 0
    view_of: Node | None = None
    span: Span | None = None
    stack: tuple[ModuleCall, ...] = ()

    def operands(self) -> list[Node]:
        """Every node read by this one, in order, repeats included."""
        found: list[Node] = []
        for value in self.args:
            if isinstance(value, Node):  # (every stage asks this of every node: most operands stand right here)
                found.append(value)
            elif isinstance(value, NESTED):
                found += nodes_in(value)
        if self.kwargs:
            found += nodes_in(self.kwargs)
        return found

    def written(self) -> tuple[Node, ...]:
        """The operands whose memory this node changes."""
        if self.op is None:
            return ()
        places, out = self.op.writes, self.kwargs.get("out")
        if not places and out is None:
            return ()
        found = [*(self.args[i] for i in places if i < len(self.args)), *nodes_in(out)]
        return tuple(dict.fromkeys(n for n in found if isinstance(n, Node)))

    @property
    def storage(self) -> Node:
        """The node whose memory this one shows: itself unless it is a view."""
        node = self
        while node.view_of is not None:
            node = node.view_of
        return node

    @property
    def is_pure(self) -> bool:
        """True if the node may be dropped when nobody reads it."""
        return self.op is None or not (self.op.effects or self.written())

    @property
    def is_silent(self) -> bool:
        """True if, besides, running the node shows nothing: no warning and no exception, whatever the data."""
        return self.is_pure and not (self.op is not None and (self.op.warns or self.op.raises))

    def __repr__(self) -> str:
        return f"%{self.name}"


NESTED = (tuple, list, dict, slice)


def nodes_in(value: Any) -> Iterator[Node]:
    """The nodes nested in tuples, lists, dicts and slices, in order."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple | list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            if isinstance(item, Node):  # (most are, or are plain constants: a generator for each would take longer)
                yield item
            elif isinstance(item, NESTED):
                yield from nodes_in(item)
    elif isinstance(value, slice):
        yield from nodes_in((value.start, value.stop, value.step))


def map_nodes(value: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting with ``change`` applied to every leaf that is no container."""
    if type(value) in (tuple, list):
        return type(value)(map_nodes(item, change) for item in value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # a named tuple takes its fields one by one
        return type(value)(*(map_nodes(item, change) for item in value))
    if isinstance(value, dict):
        return {key: map_nodes(item, change) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(map_nodes(v, change) for v in (value.start, value.stop, value.step)))
    return change(value)
