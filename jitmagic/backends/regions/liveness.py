"""Takes a region, gives for each ``for`` loop the variables that a round, or what follows the loop, may still read.

Backwards over the statements; a loop is gone through until nothing is added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from jitmagic.graph import region as ir

__all__ = ["Lives", "lives", "read_in"]

Names = frozenset[str]
_NONE: Names = frozenset()


@dataclass(frozen=True, slots=True)
class Lives:
    """``at_round``: read by a round before it is assigned there, or after the loop; ``after``: read after the loop."""

    at_round: Names
    after: Names


def lives(region: ir.Region) -> dict[int, Lives]:
    """By the ``id`` of the loop."""
    walk = _Walk()
    walk.block(region.body, frozenset(v.name for v in region.results))
    return walk.found


def read_in(node: Any) -> Iterator[str]:
    """The variables that an expression reads, or may read."""
    if isinstance(node, ir.Var):
        yield node.name
        return
    for name in node.__dataclass_fields__:
        value = getattr(node, name)
        for each in value if isinstance(value, tuple) else (value,):
            if hasattr(each, "__dataclass_fields__"):
                yield from read_in(each)


@dataclass(slots=True)
class _Walk:
    found: dict[int, Lives] = field(default_factory=dict)
    loops: list[tuple[Names, Names]] = field(default_factory=list)  # live at (continue, break)

    def block(self, body: tuple[ir.Stmt, ...], after: Names) -> Names:
        for each in reversed(body):
            after = _RULES[type(each)](self, each, after)
        return after

    def rounds(self, body: tuple[ir.Stmt, ...], tested: Names, after: Names) -> Names:
        """What is live at the head of a loop."""
        head = after | tested
        while True:
            self.loops.append((head, after))
            found = head | self.block(body, head)
            self.loops.pop()
            if found == head:
                return head
            head = found


def _for(walk: _Walk, node: ir.For, after: Names) -> Names:
    after = walk.block(node.orelse, after) | after
    head = walk.rounds(node.body, _NONE, after)
    walk.loops.append((head, after))
    walk.found[id(node)] = Lives(walk.block(node.body, head) - {node.variable.name}, after)
    walk.loops.pop()
    return (head - {node.variable.name}).union(*(read_in(b) for b in (node.start, node.stop, node.step)))


def _while(walk: _Walk, node: ir.While, after: Names) -> Names:
    return walk.rounds(node.body, frozenset(read_in(node.test)), walk.block(node.orelse, after) | after)


def _if(walk: _Walk, node: ir.If, after: Names) -> Names:
    return walk.block(node.body, after) | walk.block(node.orelse, after) | frozenset(read_in(node.test))


def _store(walk: _Walk, node: ir.Store, after: Names) -> Names:
    return after.union(*(read_in(e) for e in (*node.index, node.value)))


_RULES: Mapping[type, Callable[[_Walk, Any, Names], Names]] = {
    ir.Assign: lambda walk, node, after: (after - {node.variable.name}) | frozenset(read_in(node.value)),
    ir.Store: _store,
    ir.If: _if,
    ir.For: _for,
    ir.While: _while,
    ir.Break: lambda walk, node, after: walk.loops[-1][1],
    ir.Continue: lambda walk, node, after: walk.loops[-1][0],
    ir.Leave: lambda walk, node, after: _NONE,
}
