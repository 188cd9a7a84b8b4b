"""Every rule tells the truth: its cotangents are those of central differences."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

from jitmagic.errors import UserError
from jitmagic.ops import Op, Sample, all_ops
from jitmagic.ops.differentiable import DIFFERENTIABLE
from jitmagic.ops.extern import differentiable_row
from tests.ops.gradients.differences import disagreements, entries, is_real, result_of

UNDEFINED = {"empty", "empty_like"}  # what is in them is not determined
ROWS = [row for row in all_ops() if row.vjp and row.samples and not row.name.startswith("scalar_")]
EXTERNS = [
    (module, name, each)
    for module, table in DIFFERENTIABLE.items()
    for name, each in table.items()
    if hasattr(importlib.import_module(module), name)
]


def arguments(sample: Sample) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return sample.args(np.random.default_rng(5)), dict(sample.kwargs)


def check(row: Op, samples: tuple[Sample, ...]) -> None:
    wrong: list[str] = []
    refused = 0
    for sample in samples:
        args, kwargs = arguments(sample)
        try:
            wrong += [f"{args[1:]} {kwargs} {text}" for text in disagreements(row, args, kwargs)]
        except UserError:
            refused += 1
    assert not wrong, "\n".join(wrong[:6])
    assert not refused or (row.name == "view" and refused < len(samples))


@pytest.mark.parametrize("row", [row for row in ROWS if row.name not in UNDEFINED], ids=lambda row: row.name)
def test_rules_agree_with_differences(row: Op) -> None:
    """Values, shape and dtype, for each sample of the row; operands without a rule do not matter."""
    check(row, row.samples)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("module", "name", "each"), EXTERNS, ids=lambda v: v if isinstance(v, str) else "")
def test_rules_of_functions_without_a_row(module: str, name: str, each: Any) -> None:
    """The same for ``np.linalg``, ``np.fft`` and SciPy."""
    row = differentiable_row(getattr(importlib.import_module(module), name))
    assert row is not None
    assert row.vjp == each.vjp
    check(row, each.samples)


@pytest.mark.parametrize("row", list(all_ops()), ids=lambda row: row.name)
def test_every_row_with_real_results_has_rules_or_a_reason(row: Op) -> None:
    real = any(any(map(is_real, entries(_result(row, sample)))) for sample in row.samples)
    assert not real or row.vjp is not None or row.no_vjp
    assert not (row.vjp and row.no_vjp)


def _result(row: Op, sample: Sample) -> Any:
    args, kwargs = arguments(sample)
    try:
        return result_of(row, args, kwargs)
    except (TypeError, OverflowError, ValueError):
        return None


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "mod", "pow", "neg", "abs"])
def test_scalars_have_the_rules_of_arrays(name: str) -> None:
    """Scalars and Python numbers share the rules of arrays; results are scalars of the operand's dtype."""
    rows = {row.name: row for row in all_ops()}
    unary = name in ("neg", "abs")
    values = tuple(map(np.float64, (1.7,) if unary else (1.7, 0.6)))
    assert disagreements(rows[f"scalar_{name}"], values, {}) == []
