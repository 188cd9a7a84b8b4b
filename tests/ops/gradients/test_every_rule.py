"""Every rule tells the truth: its cotangents are those of central differences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from jitmagic.errors import UserError
from jitmagic.ops import Op, all_ops
from tests.ops.gradients.differences import disagreements

ROWS = [row for row in all_ops() if row.vjp and row.samples and not row.name.startswith("scalar_")]


def sample_calls(row: Op) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    for sample in row.samples:
        yield sample.args(np.random.default_rng(5)), dict(sample.kwargs)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_rules_agree_with_differences(row: Op) -> None:
    """Values, shape and dtype, for each sample of the row."""
    refused = checked = 0
    wrong: list[str] = []
    for args, kwargs in sample_calls(row):
        try:
            wrong += disagreements(row, args, kwargs)
            checked += 1
        except UserError:
            refused += 1
    assert not wrong, "\n".join(wrong[:6])
    assert checked
    assert not refused or row.name == "view"
