"""The variables of one frame, whether plain locals or cells that its own inner functions share, as one dict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.functions import Cell

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Variables", "bind", "own_cells", "variables"]

Variables = dict[str, VariableTracker]


def own_cells(tx: Evaluator) -> dict[str, Cell]:
    """The cells that this call of the function has made."""
    found = {n: tx.cells[n] for n in tx.frame.code.co_cellvars if n in tx.cells}
    return {n: c for n, c in found.items() if c.real is None and c.code is None}


def variables(tx: Evaluator) -> Variables:
    """A copy of what the frame's names hold."""
    cells = own_cells(tx)
    return {
        **{n: v for n, v in tx.locals.items() if n not in cells},
        **{n: c.content for n, c in cells.items() if c.content is not None},
    }


def bind(tx: Evaluator, state: Variables) -> None:
    """Give the frame's names these values, and take it from all others."""
    cells = own_cells(tx)
    tx.locals = {n: v for n, v in state.items() if n not in cells}
    for name, cell in cells.items():
        cell.content = state.get(name)
