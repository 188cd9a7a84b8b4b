"""For each thing that a trace can read: change just that between two calls of a native entry."""

from __future__ import annotations

import pytest

from jitmagic.runtime.native import checks
from jitmagic.runtime.native.stamps import can_watch
from tests.runtime.test_campaign import CASES, UNREAD, Case, run

# What only generated Python can check; every other case has to go through compiled code.
LEFT_TO_PYTHON = {
    *("dict order", "set", "partial", "__slots__"),
    "complex number",
}
DEPENDS_ON_PYTHON = {"dataclass default"}  # how dataclasses writes __init__


def native_hits(names: dict) -> int:
    return sum(int(entry.native_hits[0]) for entry in names["f"].jit.frame.entries)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_answer_follows_the_change(case: Case) -> None:
    plain, _ = run(case, compile=False)
    found, names = run(case, compile=True)
    assert found == plain
    frame = names["f"].jit.frame
    if case.name in LEFT_TO_PYTHON:
        assert frame.native is None
    elif frame.entries and case.name not in DEPENDS_ON_PYTHON:
        assert frame.native is not None


@pytest.mark.parametrize("case", UNREAD, ids=lambda c: c.name)
def test_what_nothing_read_still_matches(case: Case) -> None:
    plain, _ = run(case, compile=False)
    found, names = run(case, compile=True)
    assert found == plain
    assert names["f"].jit.compiles == 1
    if case.name in LEFT_TO_PYTHON:
        assert names["f"].jit.hits == 3
    else:
        assert native_hits(names) == 3


@pytest.mark.parametrize("case", [c for c in (*CASES, *UNREAD) if "global" in c.name], ids=lambda c: c.name)
def test_watched_namespaces_do_as_well_as_tags(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also before Python 3.12: nothing is watched there, so every read is checked in every call."""
    monkeypatch.setattr(checks, "has_dict_tags", lambda: False)
    plain, _ = run(case, compile=False)
    found, names = run(case, compile=True)
    assert found == plain
    native = names["f"].jit.frame.native
    assert native is not None
    assert any(type(kept) is checks.DictStamp for kept in native.words.kept) == (
        can_watch() and "array" not in case.name
    )
