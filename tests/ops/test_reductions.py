"""Folds of arrays whose size only the data tell."""

from __future__ import annotations

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import ShapeEnv
from jitmagic.ops import by_name


def test_the_largest_of_a_selection_may_raise() -> None:
    """``x[mask].max()`` fails if nothing is selected; ``x.max()`` of a known size does not."""
    env = ShapeEnv()
    x = ArrayMeta.of(np.ones(5))
    picked = by_name("getitem").infer((x, ArrayMeta.of(np.ones(5, bool))), {}, env).meta
    row = by_name("max")
    assert row.may_raise((picked,), {}, env)
    assert not row.may_raise((x,), {}, env)
    assert not row.may_raise((ArrayMeta.of(np.ones(5), (env.new_symbol(5),)),), {}, env)


def test_folds_of_a_selection_have_their_dtype() -> None:
    env = ShapeEnv()
    mask = ArrayMeta.of(np.ones(5, bool))
    picked = by_name("getitem").infer((ArrayMeta.of(np.ones(5, "f4")), mask), {}, env).meta
    for name in ("sum", "max", "mean"):
        found = by_name(name).infer((picked,), {}, env).meta
        assert found == ArrayMeta(np.dtype("f4"), scalar=True)
    assert not env.relations
