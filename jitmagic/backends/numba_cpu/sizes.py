"""Takes sizes and strides, symbolic ones too, gives them as Python text for host programs."""

from __future__ import annotations

from typing import Any

from jitmagic.graph import ArrayMeta
from jitmagic.graph.polynomial import Polynomial, Symbol

__all__ = ["packed_strides", "polynomial_text", "product"]


def product(sizes: list[Any]) -> Any:
    total: Any = 1
    for n in sizes:
        total = n * total
    return total


def polynomial_text(p: Polynomial) -> str:
    """A size as Python over the names of the symbols."""
    terms = []
    for monomial, coefficient in p:
        factors = [atom_text(a) for a in monomial]
        if coefficient != 1 or not factors:
            factors.insert(0, str(coefficient))
        terms.append("*".join(factors))
    return " + ".join(terms) or "0"


def atom_text(atom: Any) -> str:
    if isinstance(atom, Symbol):
        return atom.name
    args = [polynomial_text(a) for a in atom.args]
    infix = {"floordiv": "//", "mod": "%"}.get(atom.function)
    return f"(({args[0]}) {infix} ({args[1]}))" if infix else f"{atom.function}({', '.join(args)})"


def packed_strides(meta: ArrayMeta, inner_first: tuple[int, ...]) -> tuple[Any, ...]:
    """The strides of a new array, with symbolic sizes in them."""
    strides: list[Any] = [0] * meta.ndim
    step: Any = meta.dtype.itemsize
    for axis in inner_first:
        strides[axis] = step
        step = meta.shape[axis] * step
    return tuple(strides)
