"""Every public function of NumPy gives NumPy's result inside a compiled function, and nearly all without a break."""

from __future__ import annotations

import os

import pytest

from tests.ops.coverage import table
from tests.ops.coverage.measure import measure
from tests.ops.coverage.names import GROUPS, texts_of, why_not_called
from tests.ops.coverage.values import scope

pytestmark = pytest.mark.slow  # every call is compiled

SHARE = 0.95  # of the calls, without a graph break


@pytest.fixture(scope="module")
def measured() -> list[tuple[str, list[table.Row]]]:
    return list(table.rows())


def test_every_name_is_called_or_has_a_reason() -> None:
    """The list is NumPy's own: a function that is new in NumPy makes this fail."""
    missing = [
        name
        for members in GROUPS.values()
        for name, value in members.items()
        if not why_not_called(name, value) and not any(texts_of(name, value))
    ]
    assert not missing


def test_compiled_calls_give_what_numpy_gives(measured: list[tuple[str, list[table.Row]]]) -> None:
    """Result, exception, warnings, operands afterwards and the state of the generators, in two calls each."""
    wrong = [f"{call.text}: {call.wrong}" for _, found in measured for _, call in found if call.wrong]
    assert not wrong, "\n".join(wrong)


def test_nearly_all_run_without_a_graph_break(measured: list[tuple[str, list[table.Row]]]) -> None:
    calls = [call for _, found in measured for _, call in found]
    broken = [f"{call.text}: {call.reason}" for call in calls if call.kind == "broken"]
    assert len(broken) <= (1 - SHARE) * len(calls), "\n".join(broken)


def test_the_page_in_the_docs_says_so(measured: list[tuple[str, list[table.Row]]]) -> None:
    """JITMAGIC_UPDATE_GOLDEN=1 writes it."""
    text = table.markdown(measured)
    if os.environ.get("JITMAGIC_UPDATE_GOLDEN") == "1":
        table.DOCUMENT.write_text(text, encoding="utf-8")
    shown = table.DOCUMENT.read_text(encoding="utf-8")
    if f"NumPy {table.numpy_version()})" not in shown:
        pytest.skip(f"the page was written with another NumPy than {table.numpy_version()}")
    assert shown == text, "docs/coverage.md changed; if that is wanted, run with JITMAGIC_UPDATE_GOLDEN=1"


def test_a_wrong_result_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison sees a function that gives something else each time."""
    monkeypatch.setitem(scope, "count", iter(range(9)))
    assert measure("np.float64(next(count))").wrong
