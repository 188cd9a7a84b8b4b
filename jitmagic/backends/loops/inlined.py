"""Takes the nodes that every reader computes for itself, gives what loops over other nodes read and compute then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jitmagic.graph import Node

__all__ = ["Inlined"]


@dataclass(slots=True)
class Inlined:
    """``nodes`` are never in memory; ``reads`` gives what a node needs from there.

    ``reported`` are the nodes whose floating-point conditions a kernel has reported so far: once is enough.
    """

    nodes: set[Node] = field(default_factory=set)
    reported: set[Node] = field(default_factory=set)

    def reads(self, node: Node) -> Iterator[Node]:
        """The operands of ``node``, those of inlined ones in their place."""
        for operand in node.operands():
            if operand in self.nodes:
                yield from self.reads(operand)
            else:
                yield operand

    def within(self, nodes: Sequence[Node]) -> list[Node]:
        """What a loop over ``nodes`` computes besides them."""
        found: dict[Node, None] = {}
        stack = list(nodes)
        while stack:
            inner = [o for o in stack.pop().operands() if o in self.nodes and o not in found]
            found |= dict.fromkeys(inner)
            stack += inner
        return [n for n in found if n not in nodes]
