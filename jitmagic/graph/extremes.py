"""Takes polynomials, gives the polynomial of their maximum or minimum in a normal form.

``x[1:]`` and ``x[:-1]`` have the same length however it was computed: ``n - min(1, n)`` and ``min(max(n - 1, 0), n)``
are both ``max(n - 1, 0)``.
"""

from __future__ import annotations

from collections.abc import Sequence

from jitmagic.graph.polynomial import Polynomial, Term, add, lower_bound, scale

__all__ = ["extreme"]


def extreme(function: str, polys: Sequence[Polynomial]) -> Polynomial:
    """``max`` or ``min`` of at least one polynomial."""
    parts = [part for p in polys for part in _parts(function, p)]
    above = _is_at_most if function == "max" else _is_at_least
    kept: list[Polynomial] = []
    for p in parts:
        if any(above(p, q) for q in kept):
            continue
        kept = [q for q in kept if not above(q, p)] + [p]
    return kept[0] if len(kept) == 1 else (((Term(function, tuple(kept)),), 1),)


def _parts(function: str, p: Polynomial) -> list[Polynomial]:
    """``max(a, b)`` and ``c - min(a, b)`` as what the outer ``max`` is taken of; the dual for ``min``."""
    for monomial, coefficient in p:
        term = monomial[0] if len(monomial) == 1 else None
        if not isinstance(term, Term) or term.function not in ("max", "min"):
            continue
        if coefficient == (1 if term.function == function else -1):
            rest = add(p, (((term,), -coefficient),))
            return [part for a in term.args for part in _parts(function, add(rest, scale(a, coefficient)))]
    return [p]


def _is_at_least(p: Polynomial, q: Polynomial) -> bool:
    return _is_at_most(q, p)


def _is_at_most(p: Polynomial, q: Polynomial) -> bool:
    """Whether ``p <= q`` for all values of the symbols; False where that is not known."""
    low = lower_bound(add(q, scale(p, -1)))
    if low is not None and low >= 0:
        return True
    small, large = _term(p), _term(q)
    if small is not None and (all if small.function == "max" else any)(_is_at_most(a, q) for a in small.args):
        return True
    return large is not None and (any if large.function == "max" else all)(_is_at_most(p, a) for a in large.args)


def _term(p: Polynomial) -> Term | None:
    """The maximum or minimum that a polynomial is, if it is nothing else."""
    if len(p) != 1 or p[0][1] != 1 or len(p[0][0]) != 1:
        return None
    atom = p[0][0][0]
    return atom if isinstance(atom, Term) and atom.function in ("max", "min") else None
