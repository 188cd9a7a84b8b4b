"""Every function of NumPy that is differentiable has a gradient: that of central differences."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ops.coverage.values import scope
from tests.ops.derivatives import table
from tests.ops.derivatives.calls import groups
from tests.ops.derivatives.measure import Derived, measure, on_tensors

pytestmark = pytest.mark.slow  # every call is compiled, with its gradient

UPDATE = "docs/gradient_coverage.md changed; if that is wanted: python -m tests.ops.derivatives.table"
CALLS = [(name, text) for _, called in groups() for name, text in called]
PAGE = table.DOCUMENT.read_text(encoding="utf-8")
IS_OF_THIS_NUMPY = f"NumPy {table.numpy_version()})" in PAGE
KNOWN = table.kinds_on(PAGE)


@pytest.mark.parametrize(("name", "text"), CALLS, ids=lambda v: v)
def test_a_call_has_the_gradient_of_central_differences(name: str, text: str) -> None:
    """And its value, bit for bit; with real, complex and longer operands, and on Tensors. The page says so."""
    found = table.row(name, text).found
    if IS_OF_THIS_NUMPY:
        kinds = tuple(each.kind for each in found) if found[0].kind else ("",) * len(found)
        assert kinds == KNOWN.get(text, ("",) * len(found)), UPDATE
    told = [f"{column}: {each.why}" for column, each in zip(table.COLUMNS, found, strict=True) if each.is_amiss]
    assert not told, "\n".join(told)


def test_the_page_in_the_docs_is_made_of_these_calls() -> None:
    """Its lines are compared call by call above; here the order, the counts and all else."""
    if not IS_OF_THIS_NUMPY:
        pytest.skip(f"the page was written with another NumPy than {table.numpy_version()}")
    nothing = ("",) * len(table.COLUMNS)
    rows = [
        (title, [table.Row(*call, tuple(map(Derived, KNOWN.get(call[1], nothing)))) for call in called])
        for title, called in groups()
    ]
    assert table.markdown(rows) == PAGE, UPDATE


def test_a_wrong_gradient_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison sees a value from which a gradient does not come back."""
    monkeypatch.setitem(scope, "cut", lambda x: np.array([float(v) for v in getattr(x, "_values", x).ravel()]))
    assert on_tensors("cut(v) + np.sum(v)").kind == "wrong"
    assert measure("v * 2").kind == "compiled"
