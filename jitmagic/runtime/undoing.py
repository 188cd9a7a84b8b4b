"""Takes the function that runs a graph with random draws, gives one that puts the generators back if it stops.

Whoever stops has the call run plainly, and the plain run must draw the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitmagic.backends.base import Bail
from jitmagic.graph.graph import Graph
from jitmagic.graph.meta import PyMeta
from jitmagic.graph.node import Node
from jitmagic.ops.draws import GENERATORS, put_back, states_of

__all__ = ["undoing"]

Run = Callable[[list[Any]], list[Any]]


def undoing(run: Run, graph: Graph) -> Run:
    """``run`` itself where nothing can stop it after a draw: reading a state takes longer than a short draw."""
    places = [i for i, node in enumerate(graph.inputs) if _is_generator(node)]
    if not places or not any(map(_may_stop, graph.calls())):
        return run

    def run_or_undo(arguments: list[Any]) -> list[Any]:
        generators = [arguments[i] for i in places]
        states = states_of(generators)
        try:
            return run(arguments)
        except Exception as error:
            put_back(generators, states)
            raise error if isinstance(error, Bail) else Bail from error

    return run_or_undo


def _is_generator(node: Node) -> bool:
    return isinstance(node.meta, PyMeta) and node.meta.type in GENERATORS


def _may_stop(node: Node) -> bool:
    """Draws were tried with all that is constant; what else is shown is a reason to stop."""
    if node.op is not None and node.op.effects:
        return any(not _is_generator(operand) for operand in node.operands())
    return not node.is_silent
