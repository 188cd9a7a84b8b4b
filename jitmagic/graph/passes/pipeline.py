"""Takes a graph and passes, gives the last pass's graph; checks each one's result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from jitmagic.errors import InternalError
from jitmagic.graph.graph import Graph
from jitmagic.graph.verifier import verify

__all__ = ["Pass", "run_passes"]


class Pass(Protocol):
    """A frozen dataclass whose fields are its settings.

    It gives a new graph and leaves the old one as it is, or gives that where nothing is to be changed.
    """

    def run(self, graph: Graph) -> Graph: ...


def run_passes(graph: Graph, passes: Sequence[Pass], *, pure: bool = False) -> Graph:
    """Raises InternalError, with the pass's name, for a broken graph or a changed calling convention."""
    verify(graph, pure=pure)
    for step in passes:
        result = step.run(graph)
        name = type(step).__name__
        if len(result.outputs) != len(graph.outputs) or len(result.placeholders) != len(graph.placeholders):
            raise InternalError(f"pass {name} changed the number of inputs or outputs of graph {graph.name!r}")
        try:
            verify(result, pure=pure)
        except InternalError as error:
            raise InternalError(f"after pass {name}: {error}") from error
        graph = result
    return graph
