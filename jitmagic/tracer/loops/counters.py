"""Takes statements with loops, gives the variables that count rounds: what they hold afterwards follows from sizes.

for v in x:
    n += 1         n is n + len(x) after the loop: branches on it are decided while tracing
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.tracer.loops.surroundings import known_function
from jitmagic.tracer.names import names_in
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import SymbolicInt
from jitmagic.tracer.variables.sequences import RangeTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["counted"]

_LEAPS = (ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Try)


def counted(tx: Evaluator, nodes: Sequence[ast.stmt]) -> dict[str, VariableTracker]:
    """The counters, by name, with what they hold after the statements. To be asked before the loops are captured."""
    stores = [n.id for s in nodes for n in ast.walk(s) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    found: dict[str, VariableTracker] = {}
    for loop in nodes:
        if not isinstance(loop, ast.For) or loop.orelse or any(isinstance(n, _LEAPS) for n in ast.walk(loop)):
            continue
        steps = {name: step for name, step in _steps(loop) if stores.count(name) == 1 and name in tx.locals}
        rounds = _rounds(tx, loop.iter, names_in(nodes, stores_only=True)) if steps else None
        if rounds is None:
            continue
        for name, step in steps.items():
            start = tx.realize(tx.locals[name])
            if _is_size(start):
                total = tx.language.binary(tx, "mul", Constant(step), rounds)
                found[name] = tx.language.binary(tx, "add", start, total)
    return {name: value for name, value in found.items() if _is_size(value)}


def _steps(loop: ast.For) -> Iterator[tuple[str, int]]:
    """The names that every round adds a known integer to, each with that."""
    for each in loop.body:
        if not isinstance(each, ast.AugAssign) or not isinstance(each.op, ast.Add | ast.Sub):
            continue
        if isinstance(each.target, ast.Name) and isinstance(each.value, ast.Constant) and type(each.value.value) is int:
            yield each.target.id, each.value.value * (1 if isinstance(each.op, ast.Add) else -1)


def _rounds(tx: Evaluator, head: Any, rebound: set[str]) -> VariableTracker | None:
    """How many rounds a loop has over an array, a range, or ``enumerate`` of an array."""
    if names_in([ast.Expr(head)]) & rebound:
        return None
    if isinstance(head, ast.Call):
        function = known_function(tx, head.func)
        if function == "builtins.enumerate" and len(head.args) == 1 and not head.keywords:
            return _rounds(tx, head.args[0], rebound)
        if function != "builtins.range" or head.keywords or not all(_is_plain(tx, a) for a in head.args):
            return None
    elif not isinstance(head, ast.Name):
        return None
    over = tx.eval(head)
    if isinstance(over, RangeTracker):
        start, stop, step = over.bounds
        if not all(isinstance(b, Constant) for b in over.bounds) and not _counts_from_zero(start, stop, step):
            return None
    elif not isinstance(over, ArrayTracker) or not over.meta.ndim:
        return None
    length = over.length(tx)
    return length if _is_size(length) else None


def _is_plain(tx: Evaluator, node: ast.expr) -> bool:
    """Whether evaluating a bound once more does nothing that the program could notice."""
    if isinstance(node, ast.Call):
        return known_function(tx, node.func) == "builtins.len" and all(_is_array(tx, a) for a in node.args)
    if isinstance(node, ast.Attribute):
        return _is_array(tx, node.value)
    if isinstance(node, ast.Name | ast.Constant):
        return True
    parts = (n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))
    return isinstance(node, ast.BinOp | ast.UnaryOp | ast.Subscript) and all(_is_plain(tx, n) for n in parts)


def _is_array(tx: Evaluator, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and isinstance(tx.eval(node), ArrayTracker)


def _counts_from_zero(start: VariableTracker, stop: VariableTracker, step: VariableTracker) -> bool:
    known = [each.value if isinstance(each, Constant) else None for each in (start, step)]
    return isinstance(stop, SymbolicInt) and known == [0, 1]


def _is_size(value: VariableTracker) -> bool:
    return isinstance(value, SymbolicInt) or (isinstance(value, Constant) and type(value.value) is int)
