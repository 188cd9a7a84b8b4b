"""Every function of NumPy that is differentiable has a gradient: that of central differences."""

from __future__ import annotations

import functools
import os

import numpy as np
import pytest

from tests.ops.coverage.values import scope
from tests.ops.derivatives import table
from tests.ops.derivatives.calls import MISSING, groups
from tests.ops.derivatives.measure import measure, on_tensors

pytestmark = pytest.mark.slow  # every call is compiled, with its gradient

CALLS = [(name, text) for _, called in groups() for name, text in called]
row_of = functools.cache(table.row)


@pytest.mark.parametrize(("name", "text"), CALLS, ids=lambda v: v)
def test_a_call_has_the_gradient_of_central_differences(name: str, text: str) -> None:
    """And its value, bit for bit; with real, complex and longer operands, and on Tensors."""
    found = row_of(name, text).found
    told = [f"{column}: {each.why}" for column, each in zip(table.COLUMNS, found, strict=True) if each.is_amiss]
    if text in MISSING:
        assert told, f"{text} has a gradient now: take it out of the list of those that are missing"
    else:
        assert not told, "\n".join(told)


def test_the_page_in_the_docs_says_so() -> None:
    """JITMAGIC_UPDATE_GOLDEN=1 writes it."""
    text = table.markdown([(title, [row_of(*each) for each in called]) for title, called in groups()])
    if os.environ.get("JITMAGIC_UPDATE_GOLDEN") == "1":
        table.DOCUMENT.write_text(text, encoding="utf-8")
    shown = table.DOCUMENT.read_text(encoding="utf-8")
    if f"NumPy {table.numpy_version()})" not in shown:
        pytest.skip(f"the page was written with another NumPy than {table.numpy_version()}")
    assert shown == text, "docs/gradient_coverage.md changed; if that is wanted, run with JITMAGIC_UPDATE_GOLDEN=1"


def test_a_wrong_gradient_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison sees a value from which a gradient does not come back."""
    monkeypatch.setitem(scope, "cut", lambda x: np.array([float(v) for v in getattr(x, "_values", x).ravel()]))
    assert on_tensors("cut(v) + np.sum(v)").kind == "wrong"
    assert measure("v * 2").kind == "compiled"
