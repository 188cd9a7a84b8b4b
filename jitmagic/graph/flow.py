"""Control flow over whole arrays, kept in the graph: straight pieces, and the loops and branches between them.

A piece is a graph of its own. The variables of the flow are nodes: what pieces make, and *joins*, which get a value
on every way that leads to them (``Move``), as the phi nodes of a compiler do.

    x = x0                               Move((x,), (x0,))
    for i in range(n):                   Count(i, (0, n, 1), (
        y = step(x); if y.max() < e: break   Piece(...), Branch(t, (Exit("break"),), ()),
        x = y                                Move((x,), (y,))))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jitmagic.graph.graph import Graph
from jitmagic.graph.node import Node

__all__ = [
    "MISSING",
    "Append",
    "Begin",
    "Branch",
    "Count",
    "Exit",
    "Flow",
    "Forever",
    "Gather",
    "Leave",
    "Move",
    "Piece",
    "Require",
    "Rounds",
    "Statement",
    "blocks",
    "walk",
]

Value: TypeAlias = Any  # a Node, a SymInt, or a constant


class _Missing:
    """What a join holds where no value has been moved into it, or this in its stead."""

    def __repr__(self) -> str:
        return "missing"


MISSING = _Missing()


@dataclass(eq=False, slots=True)
class Piece:
    """Straight code. ``inputs`` are the variables and sizes that the inputs of ``graph`` stand for, in order."""

    graph: Graph
    inputs: tuple[Value, ...] = ()


@dataclass(eq=False, slots=True)
class Move:
    """All ``targets`` get their values at once. ``enters`` marks those before the first round of a loop."""

    targets: tuple[Node, ...] = ()
    values: tuple[Value, ...] = ()
    enters: bool = False

    def add(self, target: Node, value: Value) -> None:
        """One more target."""
        self.targets, self.values = (*self.targets, target), (*self.values, value)


@dataclass(eq=False, slots=True)
class Branch:
    """``test`` is any value; its truth is Python's."""

    test: Value
    body: list[Statement]
    orelse: list[Statement]


@dataclass(eq=False, slots=True)
class Count:
    """``for index in range(*bounds)``."""

    index: Node
    bounds: tuple[Value, ...]
    body: list[Statement]


@dataclass(eq=False, slots=True)
class Forever:
    """``while True``."""

    body: list[Statement]


@dataclass(eq=False, slots=True)
class Rounds:
    """The body of a loop whose first round works on other types than the rest."""

    first: list[Statement]
    rest: list[Statement]


@dataclass(eq=False, slots=True)
class Exit:
    """``break`` or ``continue`` of the innermost loop."""

    kind: str


@dataclass(eq=False, slots=True)
class Leave:
    """The flow has no form for what comes here (an exception is raised): plain Python runs the function."""


@dataclass(eq=False, slots=True)
class Require:
    """Leave if one of these joins got no value: a loop without rounds, or a way that binds no such name."""

    joins: tuple[Node, ...]


@dataclass(eq=False, slots=True)
class Begin:
    """``target`` is a new list of these values."""

    target: Node
    values: tuple[Value, ...]


@dataclass(eq=False, slots=True)
class Append:
    """One more value at the end of a list."""

    target: Node
    value: Value


@dataclass(eq=False, slots=True)
class Gather:
    """``result`` is an array of the values of a list, along its first axis. Leaves if NumPy would make another one."""

    result: Node
    source: Node


Statement: TypeAlias = (
    Piece | Move | Branch | Count | Forever | Rounds | Exit | Leave | Require | Begin | Append | Gather
)


@dataclass(eq=False, slots=True)
class Flow:
    """``operands`` are the variables that come from outside, ``results`` those that go there.

    ``written`` are positions of operands that the flow changes; ``loose`` positions of results that may be an operand
    itself, of which nobody else knows then. ``joins`` are all joins; one without a value on some way is *missing*.
    With ``ends`` the function ends with the flow: a result is for the program only, which knows by another result
    whether it is missing (then it is None), and which array it shows.
    """

    operands: tuple[Value, ...]
    body: list[Statement]
    results: tuple[Node, ...]
    written: tuple[int, ...] = ()
    loose: frozenset[int] = frozenset()
    joins: tuple[Node, ...] = ()
    ends: bool = False


_BLOCKS: dict[type, Callable[[Any], Sequence[list[Statement]]]] = {
    Branch: lambda s: (s.body, s.orelse),
    Count: lambda s: (s.body,),
    Forever: lambda s: (s.body,),
    Rounds: lambda s: (s.first, s.rest),
}


def blocks(statement: Statement) -> Sequence[list[Statement]]:
    """The statement lists inside a statement."""
    found = _BLOCKS.get(type(statement))
    return () if found is None else found(statement)


def walk(body: Sequence[Statement]) -> Iterator[Statement]:
    """Every statement, in program order, those inside others included."""
    for statement in body:
        yield statement
        for block in blocks(statement):
            yield from walk(block)
