"""Loops that change attributes of objects and items of dicts: results, the objects afterwards, exceptions, breaks."""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, same_everywhere
from tests.flow import counting_programs, method_programs, shared_state_programs, state_programs

FAMILIES = (state_programs, method_programs, shared_state_programs, counting_programs)
PROGRAMS = [program for family in FAMILIES for program in family.PROGRAMS]


@pytest.mark.parametrize(("text", "calls"), [p[1:3] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS])
def test_objects_hold_what_they_hold_in_plain_python(text: str, calls: list[str]) -> None:
    """Also after the second call of each kind, which finds an entry, and where a round raises."""
    same_everywhere(text, [call for each in calls for call in (each, each)])


@pytest.mark.parametrize(("text", "calls", "breaks"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS])
def test_number_of_breaks_is_as_stated(text: str, calls: list[str], breaks: int) -> None:
    found = explained(text, calls[0])
    assert found.break_count == breaks, found.breaks


def test_reasons_are_in_the_words_of_the_program() -> None:
    text = next(p for p in PROGRAMS if p[0] == "property read")[1]
    (told,) = explained(text, "f(np.arange(99.0))").breaks
    assert "another way to s._t, which the loop changes" in told.reason
