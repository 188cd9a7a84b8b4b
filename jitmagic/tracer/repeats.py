"""Takes a list and how often it is to be repeated, gives the list of one number that is as long as a size says.

[0.0] * n           [[0] * m for _ in range(n)]: a list of lists, whose numbers are one array in the graph
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from jitmagic.tracer.call_rows import row_of
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.held import Held, Repeated
from jitmagic.tracer.variables.number import SymbolicInt, is_measured
from jitmagic.tracer.variables.number_kinds import DTYPES, number_kind
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker, SequenceTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["repeated", "repeated_rows"]

FEW_NUMBERS = 64  # of a list of lists, whose numbers then stay single values
_PURE = (
    *(ast.List, ast.ListComp, ast.comprehension, ast.Name, ast.Constant, ast.UnaryOp, ast.BinOp, ast.Call),
    *(ast.unaryop, ast.operator, ast.expr_context),
)


def repeated(tx: Evaluator, seq: SequenceTracker, count: VariableTracker) -> VariableTracker | None:
    """``[number] * n`` for a size that may differ from call to call."""
    if type(seq) is not ListTracker or not isinstance(count, SymbolicInt) or seq.held is not None or is_measured(count):
        return None
    kind = number_kind(seq.items[0]) if len(seq.items) == 1 and isinstance(seq.items[0], Constant) else None
    if kind is None or tx.output.differentiating:
        return None
    made = tx.call_form(*row_of(np.full), [count, seq.items[0]], {})
    return ListTracker.holding(Repeated(tx, made, kind, seq.items[0]))  # type: ignore[arg-type]  # an array


def repeated_rows(tx: Evaluator, node: ast.ListComp, rounds: VariableTracker) -> ListTracker | None:
    """``[[number] * m for _ in range(n)]``, if it is no short list; None for any other comprehension."""
    if type(rounds) is not RangeTracker or tx.output.differentiating or not _is_row(node):
        return None
    count = rounds.length(tx)
    if isinstance(count, Constant) and count.value == 0:
        return None
    row = tx.eval(node.elt)
    number = _number_of(row)
    kind = None if number is None else number_kind(number)
    if number is None or kind is None or kind not in DTYPES:
        return None
    assert isinstance(row, ListTracker)
    size = Constant(len(row.items)) if row.held is None else row.held.length()
    if is_measured(count) or is_measured(size):
        return None
    if isinstance(count, Constant) and isinstance(size, Constant) and count.value * size.value < FEW_NUMBERS:
        return None
    made = tx.call_form(*row_of(np.full), [TupleTracker([count, size]), number, Constant(np.dtype(DTYPES[kind]))], {})
    return ListTracker.holding(Held(tx, made, kind))  # type: ignore[arg-type]  # an array


def _is_row(node: ast.ListComp) -> bool:
    """Whether every round makes the same list anew, and nothing else."""
    (*more, only) = node.generators
    if more or only.ifs or only.is_async or not isinstance(only.target, ast.Name):
        return False
    if not isinstance(node.elt, ast.BinOp | ast.ListComp):
        return False
    parts = list(ast.walk(node.elt))
    calls = [n.func for n in parts if isinstance(n, ast.Call)]
    known = all(isinstance(f, ast.Name) and f.id in ("range", "len") for f in calls)
    own = isinstance(node.elt, ast.ListComp) and ast.unparse(node.elt.generators[0].target) == only.target.id
    reads = any(isinstance(n, ast.Name) and n.id == only.target.id for n in parts)
    return known and all(isinstance(n, _PURE) for n in parts) and (own or not reads)


def _number_of(row: VariableTracker) -> Constant | None:
    """The constant that is every element of a list."""
    if type(row) is not ListTracker:
        return None
    if row.held is not None:
        number = row.held.value if isinstance(row.held, Repeated) else None
        return number if isinstance(number, Constant) else None
    first = row.items[0] if row.items else None
    same = isinstance(first, Constant) and all(
        isinstance(v, Constant) and type(v.value) is type(first.value) and repr(v.value) == repr(first.value)
        for v in row.items
    )
    return first if same else None  # type: ignore[return-value]  # a constant then
