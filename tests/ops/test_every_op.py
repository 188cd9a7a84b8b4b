"""Every row tells the truth: what ``infer`` says of a call is what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.graph.shapes import ShapeEnv
from jitmagic.ops import Op, all_ops
from tests.ops.symbolic import symbolic_disagreement, with_symbols
from tests.ops.variations import copied, described, disagreement, outcome, variations

ROWS = [row for row in all_ops() if row.samples]


def arguments(row: Op) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    return [(sample.args(np.random.default_rng(5)), dict(sample.kwargs)) for sample in row.samples]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_infer_agrees_with_numpy(row: Op) -> None:
    """dtype, shape, strides, scalar or array, view or copy, writeable or not, or the same exception."""
    wrong = [
        f"{variation} {kwargs}: {found}"
        for args, kwargs in arguments(row)
        for variation, varied in variations(args)
        if (found := disagreement(row, varied, kwargs))
    ]
    assert not wrong, "\n".join(wrong[:12])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_symbolic_sizes_hold_for_other_sizes(row: Op) -> None:
    """Sizes inferred with symbols are right for every other size that the recorded relations allow."""
    wrong = [found for args, kwargs in arguments(row) if (found := symbolic_disagreement(row, args, kwargs))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_samples_are_no_graph_breaks(row: Op) -> None:
    """Each sample is inferred, with known sizes and with symbols, unless NumPy refuses it."""
    for args, kwargs in arguments(row):
        assert refusal(row, args, kwargs, symbols=False) is None
        assert refusal(row, args, kwargs, symbols=True) is None


def refusal(row: Op, args: tuple[Any, ...], kwargs: dict[str, Any], *, symbols: bool) -> Exception | None:
    """What ``infer`` raises, if NumPy raises nothing like it."""
    env = ShapeEnv()
    metas, options = with_symbols((args, kwargs), env)[0] if symbols else described((args, kwargs))
    _, error = outcome(lambda: row.infer(metas, options, env))
    _, real = outcome(lambda: row.call(*copied(args), **kwargs))
    return None if type(error) is type(real) else error
