"""Takes the syntax of a comparison and the kinds of its variables, gives the typed test.

i in (1, 5)                     =>      i == 1 or i == 5
(i, j) != (0, 0)                =>      not (i == 0 and j == 0)
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.rules import COMPLEX, compare_type, refuse

if TYPE_CHECKING:
    from jitmagic.tracer.loops.expressions import Expressions

__all__ = ["LITERAL_TYPES", "WORD", "cast", "compared"]

COMPARE: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
LITERAL_TYPES: Mapping[type, str] = {bool: "pybool", int: "pyint", float: "pyfloat", complex: "pycomplex"}
WORD = 2**62  # Python ints in a region stay below this size; a result that might not leaves the region


def cast(value: ir.Expr, kind: str) -> ir.Expr:
    return value if value.type == kind else ir.Cast(value, kind)


def compared(e: Expressions, node: ast.Compare, *, as_value: bool = False) -> ir.Expr:
    """Comparisons; as a condition the type of the outcome does not matter, as a value it does."""
    if isinstance(node.ops[0], ast.Is | ast.IsNot):
        return _is_none(e, node)
    if isinstance(node.ops[0], ast.In | ast.NotIn) and len(node.ops) == 1:
        found = _is_among(e, node.left, node.comparators[0])
        return ir.Not(found) if isinstance(node.ops[0], ast.NotIn) else found
    if isinstance(node.left, ast.Tuple) and isinstance(node.ops[0], ast.Eq | ast.NotEq) and len(node.ops) == 1:
        return _compared_tuples(e, node, node.left, node.comparators[0])
    left = e.make(node.left)
    tests: list[ir.Expr] = []
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        operator = COMPARE.get(type(op))
        if operator is None:
            raise refuse(f"the comparison {ast.unparse(node)}")
        right = e.make(right_node)
        if operator not in ("eq", "ne") and (left.type in COMPLEX or right.type in COMPLEX):
            raise refuse(f"the order of complex numbers, {ast.unparse(node)}")
        inner, result = compare_type(left.type, right.type)
        tests.append(ir.Compare(operator, cast(left, inner), cast(right, inner), result if as_value else "pybool"))
        left = right
    if len(tests) == 1:
        return tests[0]
    if len({t.type for t in tests}) > 1:
        raise refuse(f"the comparison {ast.unparse(node)}")
    return ir.Logic("and", tuple(tests), tests[0].type)


def _is_among(e: Expressions, value: ast.expr, choices: ast.expr) -> ir.Expr:
    """``v in (1, 2)`` is ``v == 1 or v == 2``, as a Python bool; ``(i, j) in ((0, 1), (1, 0))`` compares in pairs."""
    known = e.outside.constants(choices)
    if known is None:
        raise refuse(f"{ast.unparse(value)} in {ast.unparse(choices)}")
    tests = [_is_equal(e, value, choice) for choice in known]
    if len(tests) < 2:
        return tests[0] if tests else ir.Const(False, "pybool")
    return ir.Logic("or", tuple(tests))


def _is_equal(e: Expressions, value: ast.expr, known: Any) -> ir.Expr:
    if isinstance(value, ast.Tuple) and isinstance(known, tuple) and len(value.elts) == len(known):
        tests = [_is_equal(e, part, other) for part, other in zip(value.elts, known, strict=True)]
        return ir.Logic("and", tuple(tests)) if len(tests) > 1 else tests[0]
    kind = LITERAL_TYPES.get(type(known))
    if (
        isinstance(value, ast.Tuple)
        or kind in (None, "pycomplex")
        or known != known
        or (kind == "pyint" and abs(known) >= WORD)
    ):
        raise refuse(f"{ast.unparse(value)} beside {known!r}")
    left = e.make(value)
    inner, _ = compare_type(left.type, kind)
    return ir.Compare("eq", cast(left, inner), cast(ir.Const(known, kind), inner), "pybool")


def _compared_tuples(e: Expressions, node: ast.Compare, left: ast.Tuple, right: ast.expr) -> ir.Expr:
    """Tuples are equal if all their elements are, or are the same objects: a nan is equal to itself there."""
    if not isinstance(right, ast.Tuple) or len(left.elts) != len(right.elts) or not left.elts:
        raise refuse(f"the comparison {ast.unparse(node)}")
    pairs = [ast.Compare(a, [ast.Eq()], [b]) for a, b in zip(left.elts, right.elts, strict=True)]
    for pair in pairs:
        sides = [e.make(pair.left), e.make(pair.comparators[0])]
        if all(("float" in side.type or side.type in COMPLEX) and not isinstance(side, ir.Const) for side in sides):
            raise refuse(f"the comparison {ast.unparse(node)} of floats")
    tests = tuple(compared(e, ast.copy_location(pair, node)) for pair in pairs)
    same = tests[0] if len(tests) == 1 else ir.Logic("and", tests)
    return ir.Not(same) if isinstance(node.ops[0], ast.NotEq) else same


def _is_none(e: Expressions, node: ast.Compare) -> ir.Expr:
    """``v is None``, which the kind of a variable tells."""
    by = node.comparators[0]
    if (
        len(node.ops) > 1
        or not isinstance(by, ast.Constant)
        or by.value is not None
        or not isinstance(node.left, ast.Name)
    ):
        raise refuse(f"the comparison {ast.unparse(node)}")
    if node.left.id in e.kinds:
        is_none = e.kinds[node.left.id] == "none"
    else:
        is_none = e.outside.is_none(node.left)
        if not is_none and e.outside.array(node.left) is None:
            e.make(node.left)
    return ir.Const(is_none == isinstance(node.ops[0], ast.Is), "pybool")
