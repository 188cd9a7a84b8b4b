"""Takes a place in an array or a list, gives what stores a number there and what reads it.

The numbers of a list may be of several types; an array beside it has the tag of each.

    q[i] = x[i] * 0.5          q: floats, and NumPy's after the first store         a[i] = v; a_tags[i] = float64
"""

from __future__ import annotations

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.expressions import cast
from jitmagic.tracer.loops.kinds import CODES, Kinds, join_all, tag, variable
from jitmagic.tracer.loops.rules import COMPLEX, FLOATS, INTS, refuse, store_is_exact

__all__ = ["MoreKinds", "room_for", "stores", "tagged_load"]

_FLOATS = ("pyfloat", *FLOATS)
_WHOLE = ("pyint", *INTS)


class MoreKinds(Exception):  # a request, not an error
    """The loop stores a number of another type in a list: capture it with room for both."""

    def __init__(self, array: str, kind: str) -> None:
        super().__init__(array, kind)
        self.array = array
        self.kind = kind


def room_for(kinds: tuple[str, ...]) -> str:
    """The dtype of an array that holds numbers of all these types exactly; ints that do not fit leave the region."""
    if all(k in ("pybool", "bool") for k in kinds):
        return "bool"
    if any(k in ("pybool", "bool") for k in kinds):
        raise refuse(f"a list of {', '.join(kinds)}")
    if any(k in COMPLEX for k in kinds):
        if not all(k in COMPLEX for k in kinds):
            raise refuse(f"a list of {', '.join(kinds)}")
        return "complex128"
    return "float64" if any(k in _FLOATS for k in kinds) else "int64"


def stores(array: ir.ArrayParameter, index: tuple[ir.Expr, ...], value: ir.Expr) -> tuple[ir.Stmt, ...]:
    """``array[index] = value``. Raises MoreKinds for a type that the list has no room for."""
    if not array.elements:
        if not store_is_exact(value.type, array.dtype):
            raise refuse(f"storing {value.type} in an array of {array.dtype}")
        return (ir.Store(array.name, index, value),)
    if value.type == "none":
        raise refuse("None in a list of numbers")
    if value.type not in array.elements:
        room_for((*array.elements, value.type))
        raise MoreKinds(array.name, value.type)
    is_widened = array.dtype == "float64" and value.type in _WHOLE
    store = ir.Store(array.name, index, cast(value, "pyfloat") if is_widened else value)
    if not array.tags:
        return (store,)
    return (store, ir.Store(array.tags, index, ir.Const(CODES[value.type], "pyint")))


def _taken_out(value: ir.Expr, kind: str) -> ir.Expr:
    """The number as it was put in: ints that lie there as floats are exact."""
    if value.type == "float64" and kind in _WHOLE:
        value = ir.Unary("int", cast(value, "pyfloat"), "pyint")
    return cast(value, kind)


def tagged_load(array: ir.ArrayParameter, index: ir.Expr, name: str) -> tuple[tuple[ir.Stmt, ...], Kinds]:
    """What binds a variable to an element of a list of several types, and what the variable may be then."""
    kinds = join_all([{name: Kinds((k,))} for k in array.elements])[name]
    value = ir.Load(array.name, (index,), array.dtype)
    made: list[ir.Stmt] = [ir.Assign(tag(name), cast(ir.Load(array.tags, (index,), "int8"), "pyint"))]
    for kind in kinds.all:
        given = ir.Assign(variable(name, kind), _taken_out(value, kind))
        if kind == kinds.shared or (kind in _FLOATS) == (array.dtype == "float64"):
            made.append(given)
        else:
            made.append(ir.If(ir.Compare("eq", tag(name), ir.Const(CODES[kind], "pyint")), (given,)))
    return tuple(made), kinds
