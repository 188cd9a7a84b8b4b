"""Takes the statements of a block from one on, gives how many of them belong into one region with the loops among them.

    y[0] = x[0]
    for i in range(1, n):                   one region: a kernel that is called once
        y[i] = a * x[i] + y[i - 1]
    return y[n - 1] / n

Around loops these are statements on array elements, and on numbers that the loops give. A name that gets a value
which does not depend on the data stays outside: it may be a size, which the graph has to know.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from jitmagic.tracer.loops.leaving import has_return, part_name, without_returns
from jitmagic.tracer.loops.ways import has_ways, numbered
from jitmagic.tracer.names import names_in

__all__ = [
    "RETURNED",
    "TEMPORARY",
    "as_statements",
    "has_numbers",
    "last_loop",
    "returned_parts",
    "returns_ways",
    "runs_from",
]

TEMPORARY = "_jm"  # what names of ours begin with
RETURNED = f"{TEMPORARY}_return"  # holds the value of a ``return`` that is part of a region
_LOOPS = (ast.For, ast.While)


def last_loop(block: Sequence[ast.stmt]) -> int:
    """The position after which no run starts, as no loop stands there; -1 in a block without loops."""
    return next((k for k in reversed(range(len(block))) if isinstance(block[k], _LOOPS)), -1)


def runs_from(block: Sequence[ast.stmt], *, ends_function: bool) -> list[int]:
    """Lengths to try, longest first: runs with more than one statement that start here and have a loop in them.

    ``ends_function`` if the end of the block is one of the function, and what it returns may be of several forms.
    """
    end = _longest(block, ends_function=ends_function)
    loops = [k for k in range(end) if isinstance(block[k], _LOOPS)]
    if not loops:
        return []
    if any(has_return(block[k]) for k in loops):
        at_end = ends_function and end == len(block) and has_ways(block)
        return [end] if isinstance(block[end - 1], ast.Return) or at_end else []
    return [n for n in dict.fromkeys((end, loops[-1] + 1)) if n > 1]


def _longest(block: Sequence[ast.stmt], *, ends_function: bool) -> int:
    """How many statements from the start on may be part of one region, as far as their syntax tells."""
    bound: set[str] = set()
    for position, statement in enumerate(block):
        if isinstance(statement, ast.Return):
            leaves = any(map(has_return, block[:position]))
            if not leaves:
                return position + _is_taken_along(statement, bound)
            taken = block[: position + 1]
            return position + (has_numbers(taken) or (ends_function and has_ways(taken)))
        if isinstance(statement, _LOOPS):
            bound |= names_in([statement], stores_only=True) | _written(statement)
            continue
        if isinstance(statement, ast.If) and any(map(has_return, block[:position])) and _is_plain(statement):
            bound |= names_in([statement], stores_only=True) | _written(statement)
            continue
        if not isinstance(statement, ast.Assign | ast.AugAssign):
            return position
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if not all(_may_bind(t, statement, bound, block, position) for t in targets):
            return position
        bound |= names_in([statement], stores_only=True) | _written(statement)
    return len(block)


def _is_plain(statement: ast.stmt) -> bool:
    """Whether it is made of assignments, branches, loops and returns alone."""
    known = (ast.Assign, ast.AugAssign, ast.If, ast.For, ast.While, ast.Return, ast.Break, ast.Continue, ast.Pass)
    return all(isinstance(n, known) for n in ast.walk(statement) if isinstance(n, ast.stmt))


def _is_taken_along(node: ast.Return, bound: set[str]) -> bool:
    """A value that is computed from what the region gives; names alone, arrays that is, need no computing."""
    if node.value is None or isinstance(node.value, ast.Name | ast.Tuple | ast.List):
        return False
    return bool(names_in([ast.Expr(node.value)]) & bound)


def has_numbers(block: Sequence[ast.stmt]) -> bool:
    """Whether what the block returns may be numbers, as its syntax tells, or tuples of them, all of one length."""
    values = _returned_values(block)
    if any(v is None or isinstance(v, ast.List) or _holds_no_number(v) for v in values):
        return False
    return not any(isinstance(v, ast.Tuple) for v in values) or returned_parts(block) is not None


def _holds_no_number(value: ast.expr) -> bool:
    """Whether a constant that is no number is the value, or in it."""
    parts = value.elts if isinstance(value, ast.Tuple) else [value]
    return any(isinstance(p, ast.Constant) and not isinstance(p.value, int | float) for p in parts)


def _returned_values(block: Sequence[ast.stmt]) -> list[ast.expr | None]:
    return [n.value for s in block for n in ast.walk(s) if isinstance(n, ast.Return)]


def returned_parts(block: Sequence[ast.stmt]) -> list[str | ast.Name] | None:
    """Where the elements are found of the tuple that a region returns; None if it returns no tuple.

    The names of variables, or, for what every ``return`` gives without the region binding it, that.
    """
    values = _returned_values(block)
    tuples = [v for v in values if isinstance(v, ast.Tuple) and not any(isinstance(e, ast.Starred) for e in v.elts)]
    if not tuples or len(tuples) < len(values) or len({len(v.elts) for v in tuples}) > 1:
        return None
    bound = names_in(block, stores_only=True)
    made: list[str | ast.Name] = []
    for position, elements in enumerate(zip(*(v.elts for v in tuples), strict=True)):
        fixed = elements[0]
        stays = isinstance(fixed, ast.Name) and all(isinstance(e, ast.Name) and e.id == fixed.id for e in elements)
        if isinstance(fixed, ast.Name) and stays and fixed.id not in bound:
            made.append(fixed)
        else:
            made.append(part_name(RETURNED, position))
    return made


def _may_bind(
    target: ast.expr, statement: ast.Assign | ast.AugAssign, bound: set[str], block: Sequence[ast.stmt], position: int
) -> bool:
    if isinstance(target, ast.Subscript):
        return not any(isinstance(n, ast.Slice) for n in ast.walk(target)) and isinstance(target.value, ast.Name)
    if not isinstance(target, ast.Name):
        return False
    if names_in([ast.Expr(statement.value)]) & bound or (isinstance(statement, ast.AugAssign) and target.id in bound):
        return True
    later = next((s for s in block[position + 1 :] if isinstance(s, _LOOPS)), None) if bound else None
    return later is not None and target.id in names_in([later], stores_only=True)


def _written(statement: ast.stmt) -> set[str]:
    """Arrays in which a statement stores."""
    found = (n.value for n in ast.walk(statement) if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
    return {n.id for n in found if isinstance(n, ast.Name)}


def as_statements(nodes: Sequence[ast.stmt], *, by_ways: bool = False) -> list[ast.stmt]:
    """The statements of a region; the value of each ``return`` goes to ``RETURNED``, or to ``returned_parts``.

    ``by_ways``: each has variables of its own (``ways``), for numbers of several types.
    """
    if not any(map(has_return, nodes)):
        return list(nodes)
    if by_ways or returns_ways(nodes):
        return without_returns(numbered(nodes), RETURNED, nodes[0])
    parts = returned_parts(nodes) or []
    fixed = [i for i, part in enumerate(parts) if isinstance(part, ast.Name)]
    given = [_WithoutFixed(fixed).visit(copy.deepcopy(n)) for n in nodes] if fixed else nodes
    return without_returns(given, RETURNED, nodes[0])


def returns_ways(nodes: Sequence[ast.stmt]) -> bool:
    """Whether what the statements return is of several forms, or some of it is no number."""
    return any(map(has_return, nodes)) and not (isinstance(nodes[-1], ast.Return) and has_numbers(nodes))


class _WithoutFixed(ast.NodeTransformer):
    """Leaves out of returned tuples what is no business of the region."""

    def __init__(self, positions: Sequence[int]) -> None:
        self.positions = positions

    def visit_Return(self, node: ast.Return) -> ast.Return:
        assert isinstance(node.value, ast.Tuple)
        for position in self.positions:
            node.value.elts[position] = ast.copy_location(ast.Constant(0), node.value)
        return node
