"""Takes what a backend returns, gives a boxed callable: one list of arguments, which it empties (row A40)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from jitmagic.errors import Bail, UserError
from jitmagic.graph import Graph
from jitmagic.graph.interpreter import interpret

__all__ = ["Program", "as_boxed", "results_of"]

Program: TypeAlias = Callable[[list[Any]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class _Boxed:
    """A plain program that takes a list and leaves it alone.

    Where it bails, NumPy runs its ``graph``, with the warnings and errors that are NumPy's.
    """

    plain: Program
    graph: Graph | None = None
    boxed = True

    def __call__(self, arguments: list[Any]) -> Sequence[Any]:
        passed = list(arguments)
        arguments.clear()
        try:
            return self.plain(passed)
        except Bail:
            if self.graph is None:
                raise
        return interpret(self.graph, passed)


def as_boxed(program: Program, graph: Graph | None = None) -> Program:
    """``program`` itself if it says that it is boxed (``program.boxed`` is true), else wrapped.

    Without ``graph`` whoever calls a program that bails runs the whole function plainly. Raises UserError for what
    cannot be called.
    """
    if not callable(program):
        of = f" of graph {graph.name}" if graph is not None else ""
        raise UserError(
            f"the compiler{of} gave a {type(program).__name__}, which cannot be called: it gives a function that takes "
            "the list of the graph's inputs and returns the list of its outputs"
        )
    return program if getattr(program, "boxed", False) else _Boxed(program, graph)


def results_of(found: Any, wanted: int, graph: str) -> list[Any]:
    """What a compiled graph gave, one result for each of its ``wanted`` outputs. Raises UserError (row A41)."""
    if not isinstance(found, list | tuple):
        raise UserError(
            f"what was compiled for {graph} gave a {type(found).__name__}; it gives a list with one entry for each of "
            f"the {wanted} outputs of the graph, in their order"
        )
    if len(found) != wanted:
        raise UserError(
            f"what was compiled for {graph} gave {len(found)} results where the graph has {wanted} outputs: its "
            "compiler has to return one for each, in their order"
        )
    return list(found)
