"""Rows name every floating-point condition that their operation meets: what they do not name may be removed as dead."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from jitmagic.ops.record import Op, Sample
from jitmagic.ops.registry import all_ops

CONDITIONS = ("divide", "over", "under", "invalid")
EXTREMES = {
    "f": np.array([np.nan, np.inf, -np.inf, 1e308, -1e308, 0.0, 1e-310, -1.0, 1.5, 1e200]),
    "c": np.array([complex(1e308, 1e308), complex(np.nan, np.inf), 0, 1j]),
}
DRAWS = 6
ROWS = [row for row in all_ops() if row.samples and len(row.warns) < len(CONDITIONS)]


def _extreme(value: Any, rng: np.random.Generator) -> Any:
    """``value`` with extreme floats in place of its own."""
    if isinstance(value, np.ndarray) and value.dtype.kind in EXTREMES:
        return rng.choice(EXTREMES[value.dtype.kind], value.shape).astype(value.dtype)
    if isinstance(value, np.floating):
        return value.dtype.type(rng.choice(EXTREMES["f"]))
    return type(value)(_extreme(v, rng) for v in value) if type(value) in (list, tuple) else value


def _met(row: Op, sample: Sample, condition: str) -> str:
    """What NumPy reports of the condition for some draw of extreme values; empty if nothing."""
    modes: dict[str, Any] = {**dict.fromkeys(CONDITIONS, "ignore"), condition: "raise"}
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            args = _extreme(sample.args(np.random.default_rng(0)), rng)
            try:
                with np.errstate(**modes):
                    row.call(*args, **sample.kwargs)
            except FloatingPointError as error:
                return str(error)
            except Exception:  # refused for other reasons: such data are no sample
                continue
    return ""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_row_names_the_conditions_that_it_meets(row: Op) -> None:
    """``x.round(1)`` multiplies, so it may overflow, even if nobody reads the result."""
    found = {(c, _met(row, s, c)) for c in CONDITIONS if c not in row.warns for s in row.samples}
    assert {(c, text) for c, text in found if text} == set()
