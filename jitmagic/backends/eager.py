"""The eager backend: takes a captured graph, gives a callable that interprets it through NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from jitmagic.graph import Graph, interpret

__all__ = ["compile_eager"]


def compile_eager(graph: Graph, examples: Sequence[Any] | None = None) -> Callable[[Sequence[Any]], list[Any]]:
    """The meaning of the graph itself; the reference for every other backend."""

    def run(inputs: Sequence[Any]) -> list[Any]:
        return interpret(graph, inputs)

    return run
