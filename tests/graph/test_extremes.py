"""Maxima and minima of sizes: one form for equal values, and never another value."""

from __future__ import annotations

import random

import pytest

from jitmagic.graph.extremes import extreme
from jitmagic.graph.polynomial import Polynomial, Symbol, add, constant, evaluate, format_polynomial, scale

U = ((Symbol("u", 3, 0, run_time=True),), 1)
N = ((Symbol("n", 5, 2),), 1)


def _random(rng: random.Random, deep: int) -> Polynomial:
    pick = rng.randrange(6 if deep else 3)
    if pick == 0:
        return constant(rng.randint(-2, 3))
    if pick <= 2:
        return (rng.choice([U, N]),)
    if pick == 3:
        return add(_random(rng, deep - 1), scale(_random(rng, deep - 1), rng.choice([1, -1, 2])))
    return extreme(rng.choice(["max", "min"]), [_random(rng, deep - 1) for _ in range(2)])


@pytest.mark.parametrize("seed", range(40))
def test_the_value_is_that_of_python(seed: int) -> None:
    """For all values that the symbols may have."""
    rng = random.Random(seed)
    for _ in range(40):
        polys = [_random(rng, 3) for _ in range(rng.randint(1, 3))]
        for name, function in (("max", max), ("min", min)):
            found = extreme(name, polys)
            for u in range(6):
                for n in range(2, 6):
                    values = {"u": u, "n": n}
                    assert evaluate(found, values) == function(evaluate(p, values) for p in polys), polys


def test_lengths_of_slices_have_one_form() -> None:
    u = (U,)
    less = add(u, constant(-1))
    forms = (
        extreme("max", [add(u, scale(extreme("min", [constant(1), u]), -1)), constant(0)]),
        extreme("min", [extreme("max", [less, constant(0)]), u]),
        extreme("max", [extreme("max", [less, constant(0)]), constant(0)]),
    )
    assert {format_polynomial(f) for f in forms} == {"max(u - 1, 0)"}
