"""What a Python variable may be at one point of a loop: takes two such states, gives the one that covers both.

A variable that may be of several kinds has a tag in the region that says at run time which it is. Its value then lies
in the region's variable of that kind; and, if the kinds have a *shared* one, in that of the shared kind as well, so
that ``s = 0; s += x[i]`` needs no look at the tag.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.rules import COMPLEX, FLOATS, INTS, is_numpy

__all__ = [
    "CODES",
    "NO_NUMBERS",
    "UNBOUND",
    "Kinds",
    "Types",
    "coerce",
    "join",
    "join_all",
    "same_arithmetic",
    "tag",
    "variable",
]

CODES: Mapping[str, int] = {kind: code for code, kind in enumerate(ir.KINDS)}
_SAME_ARITHMETIC = {("float64", "pyfloat"), ("int64", "pyint"), ("bool", "pybool")}


@dataclass(frozen=True, slots=True)
class Kinds:
    """``shared`` is the kind in whose variable the value lies whatever the tag says; empty if there is none."""

    all: tuple[str, ...]
    shared: str = ""

    @property
    def place(self) -> str:
        """The kind of the variable that surely holds the value, or nothing."""
        return self.all[0] if len(self.all) == 1 else self.shared


NO_NUMBERS = ("unbound", "none")
UNBOUND = Kinds(("unbound",))
Types = dict[str, Kinds]  # by Python name; a name that is missing is unbound


def variable(name: str, kind: str) -> ir.Var:
    return ir.Var(f"{name}_{kind}", kind)


def tag(name: str) -> ir.Var:
    return ir.Var(f"{name}_tag", "pyint")


def join(one: Kinds, other: Kinds) -> Kinds:
    if one == other:
        return one
    kinds = tuple(sorted({*one.all, *other.all}, key=CODES.__getitem__))
    shared = _shared(kinds)
    if not all(side.place and (side.place == shared or _widens(side.place, shared)) for side in (one, other)):
        shared = ""
    return Kinds(kinds, shared)


def _shared(kinds: tuple[str, ...]) -> str:
    numpys = [k for k in kinds if is_numpy(k) and k not in NO_NUMBERS]
    candidate = next((k for k in COMPLEX[::-1] if k in kinds), numpys[0] if numpys else "pyfloat")
    fits = candidate in kinds and all(k == candidate or _widens(k, candidate) for k in kinds)
    return candidate if fits else ""


def _widens(before: str, later: str) -> bool:
    """Whether an operation with a number of ``later`` first makes a ``before`` one: ``0`` before floats are added."""
    if later in COMPLEX:
        return before in ("pyint", "pyfloat")
    if later in FLOATS or later == "pyfloat":
        return before in ("pyint", "pyfloat") and before != later
    return before == {"bool": "pybool"}.get(later, "pyint" if later in INTS else "")


def same_arithmetic(one: str, other: str) -> bool:
    """Whether a NumPy scalar and a Python number of equal value go through the same sums and products."""
    return one == other or (one, other) in _SAME_ARITHMETIC or (other, one) in _SAME_ARITHMETIC


def join_all(states: Iterable[Types]) -> Types:
    return functools.reduce(_join_types, states)


def _join_types(one: Types, other: Types) -> Types:
    return {name: join(one.get(name, UNBOUND), other.get(name, UNBOUND)) for name in sorted({*one, *other})}


def coerce(state: Types, wanted: Types, *, by_tag: bool = False) -> list[ir.Stmt]:
    """What must run so that shared variables hold their value; ``by_tag`` where several states may have led here."""
    made: list[ir.Stmt] = []
    for name, kinds in wanted.items():
        if not kinds.shared:
            continue
        held = state.get(name, UNBOUND).place
        target = variable(name, kinds.shared)
        if not by_tag and held != kinds.shared:
            made.append(ir.Assign(target, ir.Cast(variable(name, held), kinds.shared)))
        for kind in kinds.all if by_tag else ():
            if kind != kinds.shared:
                is_kind = ir.Compare("eq", tag(name), ir.Const(CODES[kind], "pyint"))
                made.append(ir.If(is_kind, (ir.Assign(target, ir.Cast(variable(name, kind), kinds.shared)),)))
    return made
