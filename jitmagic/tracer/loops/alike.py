"""Takes two pieces of a region that were typed under different assumptions, says whether they compute the same values.

``same`` maps variables to the one that holds an equal value: ``s_pyint`` to ``s_float64``, say. Where the value was
rounded on the way (to float32) only the cast of the one is the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.kinds import same_arithmetic

__all__ = ["alike"]

Same = Mapping[str, ir.Var]
_EXACT = {
    ("pyint", "pyfloat"),
    ("pyint", "float64"),
    ("pyint", "int64"),
    ("int64", "pyint"),
    ("pyfloat", "float64"),
    ("float64", "pyfloat"),
    ("float32", "pyfloat"),
    ("float32", "float64"),
    ("pybool", "bool"),
    ("bool", "pybool"),
}
_ROUNDED_ONCE = ("add", "sub", "mul")  # the same for Python and NumPy numbers; divisions differ at zero


def alike(one: Any, other: Any, same: Same) -> bool:
    """Whether two statements, expressions or tuples of them give equal values for equal variables."""
    if isinstance(one, Sequence):
        return len(one) == len(other) and all(alike(a, b, same) for a, b in zip(one, other, strict=True))
    one, other = _plain(one, same), _plain(other, same)
    if type(one) is not type(other):
        return False
    return one == other or _RULES.get(type(one), _never)(one, other, same)


def _plain(node: Any, same: Same) -> Any:
    """Without casts that keep the value, and with variables replaced by those of equal value."""
    while isinstance(node, ir.Cast):
        if isinstance(node.operand, ir.Var):
            equal = same.get(node.operand.name)
            if equal is not None and equal.type == node.type:
                return equal
        if (node.operand.type, node.type) not in _EXACT:
            return node
        node = node.operand
    if isinstance(node, ir.Var) and (equal := same.get(node.name)) is not None and (node.type, equal.type) in _EXACT:
        return equal
    return node


def _never(one: Any, other: Any, same: Same) -> bool:
    return False


def _binary(one: ir.Binary, other: ir.Binary, same: Same) -> bool:
    if one.operator != other.operator:
        return False
    if one.operator in _ROUNDED_ONCE:
        if not same_arithmetic(one.type, other.type):
            return False
    elif (one.type, one.left.type, one.right.type) != (other.type, other.left.type, other.right.type):
        return False
    return alike(one.left, other.left, same) and alike(one.right, other.right, same)


def _unary(one: ir.Unary, other: ir.Unary, same: Same) -> bool:
    kinds_agree = one.type == other.type
    if one.function in ("neg", "abs"):
        kinds_agree = same_arithmetic(one.type, other.type)
    elif one.function == "int":
        kinds_agree = True  # of equal values
    elif one.operand.type != other.operand.type:
        return False
    return one.function == other.function and kinds_agree and alike(one.operand, other.operand, same)


def _compare(one: ir.Compare, other: ir.Compare, same: Same) -> bool:
    return (
        one.operator == other.operator
        and same_arithmetic(one.type, other.type)
        and alike(one.left, other.left, same)
        and alike(one.right, other.right, same)
    )


def _cast(one: ir.Cast, other: ir.Cast, same: Same) -> bool:
    """A cast that rounds or checks: the same from equal values, if it starts from numbers of one sort."""
    if one.type != other.type or not same_arithmetic(one.operand.type, other.operand.type):
        return False
    return alike(one.operand, other.operand, same)


def _logic(one: ir.Logic, other: ir.Logic, same: Same) -> bool:
    return (
        one.operator == other.operator
        and same_arithmetic(one.type, other.type)
        and alike(one.operands, other.operands, same)
    )


def _store(one: ir.Store, other: ir.Store, same: Same) -> bool:
    """Python and NumPy floats are stored alike; an int that does not fit raises only if it is Python's."""
    stored = (one.value.type, other.value.type)
    kinds_agree = stored[0] == stored[1] or not any("int" in kind and kind != "pyint" for kind in stored)
    return (
        one.array == other.array and kinds_agree and alike((*one.index, one.value), (*other.index, other.value), same)
    )


_RULES: Mapping[type, Callable[[Any, Any, Same], bool]] = {
    ir.Assign: lambda a, b, same: alike(a.value, b.value, same),
    ir.Store: _store,
    ir.Binary: _binary,
    ir.Unary: _unary,
    ir.Cast: _cast,
    ir.Compare: _compare,
    ir.Logic: _logic,
    ir.Not: lambda a, b, same: alike(a.operand, b.operand, same),
    ir.Load: lambda a, b, same: a.array == b.array and alike(a.index, b.index, same),
}
