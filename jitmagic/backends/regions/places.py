"""Takes variables of a region, gives the variables of its kernel that hold them: a complex number is two floats."""

from __future__ import annotations

from collections.abc import Iterable

from jitmagic.graph import region as ir

__all__ = ["all_places", "places"]

PARTS = ("re", "im")


def places(variable: ir.Var | ir.ScalarParameter) -> tuple[ir.Var, ...]:
    if variable.type not in ("pycomplex", "complex128"):
        return (ir.Var(variable.name, variable.type),)
    return tuple(ir.Var(f"{variable.name}_{part}", "float64") for part in PARTS)


def all_places(variables: Iterable[ir.Var | ir.ScalarParameter]) -> list[ir.Var]:
    return [place for each in variables for place in places(each)]
