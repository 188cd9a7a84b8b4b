"""Analysis is not heard: it warns of nothing, and changes nothing that the user could see."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import ShapeEnv
from jitmagic.ops import Op, all_ops, by_name
from jitmagic.ops.quiet import Quiet
from tests.ops.variations import described, variations

ROWS = [row for row in all_ops() if row.samples]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_infer_warns_of_nothing(row: Op) -> None:
    """Warnings belong to the run, where the user sees them once."""
    for sample in row.samples:
        args = sample.args(np.random.default_rng(5))
        for _, varied in variations(args):
            infer_strictly(row, *described((varied, dict(sample.kwargs))))


def infer_strictly(row: Op, metas: Any, options: Any) -> None:
    with warnings.catch_warnings(record=True) as shown, np.errstate(all="raise"):
        warnings.simplefilter("always")
        try:
            row.infer(metas, options, ShapeEnv())
        except FloatingPointError:
            raise
        except Exception:  # refusals are the business of other tests
            return
    assert not shown


def test_random_state_stays() -> None:
    """Neither Python's nor NumPy's random numbers are drawn."""
    before = random.getstate(), repr(np.random.get_state())
    for name in ("sort", "partition", "median", "getitem", "unique"):
        for sample in by_name(name).samples:
            metas, options = described((sample.args(np.random.default_rng(5)), dict(sample.kwargs)))
            by_name(name).infer(metas, options, ShapeEnv())
    assert (random.getstate(), repr(np.random.get_state())) == before


def test_warnings_shown_once_stay_shown_once() -> None:
    """The user's own warning is not shown again because something was analysed in between."""
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("default")
        for _ in range(3):
            warnings.warn("mine", UserWarning, stacklevel=1)
            # The rule runs NumPy on samples; "log" of what it tries would warn on its own.
            by_name("log").infer((ArrayMeta.of(np.zeros(2)),), {}, ShapeEnv())
            with Quiet():
                warnings.warn("theirs", UserWarning, stacklevel=1)
    assert [str(w.message) for w in shown] == ["mine"]


def test_quiet_ends_after_an_error() -> None:
    before = list(warnings.filters)
    with pytest.raises(ValueError, match="inside"), Quiet():
        raise ValueError("inside")
    assert list(warnings.filters) == before


def test_constants_that_overflow_are_not_heard() -> None:
    """The warning comes when the run stores the number, not before."""
    x = np.ones(3, np.float32)
    infer_strictly(by_name("setitem"), *described(((x, 0, 1e300), {})))
    infer_strictly(by_name("fill"), *described(((x, 1e300), {})))
    infer_strictly(by_name("full"), *described((((3,), 1e300), {"dtype": "f4"})))
