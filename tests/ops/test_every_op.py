"""Every row tells the truth: what ``infer`` says of a call is what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.ops import Op, all_ops
from tests.ops.symbolic import symbolic_disagreement
from tests.ops.variations import disagreement, variations

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
