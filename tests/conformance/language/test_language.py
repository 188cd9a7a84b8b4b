"""Every feature of ordinary Python: captured as stated, and with the same results, effects and exceptions."""

from __future__ import annotations

import functools

import pytest

from tests.conformance.language import (
    attributes,
    breaking,
    caches,
    callees,
    class_rules,
    classes,
    control,
    copying,
    data,
    effects,
    enums,
    functions,
    generators,
    handling,
    iterating,
    leaving_classes,
    library,
    made_functions,
    members,
    records,
    stories,
    streams,
    studies,
)
from tests.conformance.runner import Outcome, Program, run

FAMILIES = (
    functions,
    control,
    copying,
    handling,
    generators,
    classes,
    records,
    library,
    effects,
    data,
    studies,
    stories,
    breaking,
    callees,
    attributes,
    caches,
    class_rules,
    enums,
    iterating,
    leaving_classes,
    made_functions,
    members,
    streams,
)
ROWS = [row for family in FAMILIES for row in family.ROWS]


@functools.cache
def outcome_of(row: Program) -> Outcome:
    return run(row)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_program_means_what_plain_python_means(row: Program) -> None:
    """Same bits, types, strides, identity, memory, output and exceptions; as many graph breaks as stated."""
    outcome = outcome_of(row)
    assert outcome.difference == ""
    assert len(outcome.breaks) == row.breaks, outcome.breaks
    if row.plain:
        assert any(row.plain in reason for reason in outcome.plain), outcome.plain
    else:
        assert outcome.plain == []
        assert outcome.nodes > 0 or row.breaks or not row.nodes


def test_the_list_is_long_and_most_of_it_is_captured_whole() -> None:
    """At least 110 programs, at least 100 of them in one graph."""
    assert len({row.name for row in ROWS}) == len(ROWS) >= 110
    assert sum(not row.breaks and not row.plain for row in ROWS) >= 100


def test_second_calls_are_answered_by_the_first_capture() -> None:
    """But for programs whose own counters and caches change what is guarded."""
    assert sum(outcome_of(row).hits > 0 for row in ROWS) >= 130
