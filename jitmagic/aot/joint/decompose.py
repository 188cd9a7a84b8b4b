"""Takes a pure graph and a table from functions to functions of simpler ones, gives it with these in their place.

%l = logaddexp(%a, %b)     =>     what the table's function computes of %a and %b
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from jitmagic.aot.joint.staged import Stage, Staged
from jitmagic.errors import Unsupported, UserError
from jitmagic.graph import Graph, Node, ShapeEnv
from jitmagic.graph.passes.rewrite import Copier
from jitmagic.ops.extern import extern
from jitmagic.ops.record import Op

__all__ = ["BUILT_IN", "Decompose", "Table", "merged"]

Table: TypeAlias = Mapping[Any, Callable[..., Any]]
BUILT_IN: dict[Any, Callable[..., Any]] = {}


def merged(*tables: Table) -> dict[Op, Callable[..., Any]]:
    """One table by row; later tables win (row A36). Keys are functions of NumPy. Raises UserError for others."""
    found: dict[Op, Callable[..., Any]] = {}
    for table in tables:
        for function, simpler in table.items():
            try:
                row = extern(function)
            except Unsupported:
                message = f"the decomposition of {function!r} is for no operation that graphs have"
                raise UserError(message) from None
            found[row] = simpler
    return found


@dataclass(frozen=True, slots=True)
class Decompose:
    """A function of the table gets the operands as values that record what is done with them."""

    rows: Mapping[Op, Callable[..., Any]]
    env: ShapeEnv

    def run(self, graph: Graph) -> Graph:
        if not any(node.op in self.rows for node in graph.calls()):
            return graph
        copier = Copier(graph)
        parts: dict[Node, tuple[Any, ...]] = {}
        for node in graph.nodes:
            if node.kind == "item" and node.args[0] in parts:
                copier.copies[node] = parts[node.args[0]][node.index].node
                continue
            simpler = self.rows.get(node.op) if isinstance(node.op, Op) else None
            if simpler is None:
                copier.copy(node)
                continue
            stage = Stage(copier.new, self.env, node.span, node.stack, listens=True)
            args, kwargs = stage.lift(copier.operands(node.args)), stage.lift(copier.operands(node.kwargs))
            result = simpler(*args, **kwargs)
            if isinstance(result, tuple | list) and node.meta is None and all(isinstance(r, Staged) for r in result):
                parts[node] = tuple(result)
                continue
            if not isinstance(result, Staged):
                raise UserError(f"the decomposition of {node.op.name} gave a {type(result).__name__}, not one array")  # type: ignore[union-attr]  # it has one
            copier.copies[node] = result.node
        return copier.finish()
