"""Loops and branches over whole arrays mean what plain Python means, and are part of the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.flow.programs import PROGRAMS
from tests.loops.outcomes import outcome

CALLS = 2  # the first call compiles, the second finds an entry


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "numba"])
@pytest.mark.parametrize(("function", "cases"), [p[:2] for p in PROGRAMS], ids=lambda p: getattr(p, "__name__", None))
def test_program_shows_what_plain_python_shows(function: Any, cases: list[Callable[[], Any]], backend: str) -> None:
    compiled = jm.compile(function, backend=backend)
    for make in [*cases, *cases[:1]]:
        for _ in range(CALLS):
            assert outcome(compiled, make()) == outcome(function, make())


@pytest.mark.parametrize(("function", "cases", "breaks"), PROGRAMS, ids=lambda p: getattr(p, "__name__", None))
def test_number_of_breaks_is_as_stated(function: Any, cases: list[Callable[[], Any]], breaks: int) -> None:
    with np.errstate(all="ignore"):
        found = jm.explain(function)(*cases[0]())
    assert (found.graph_count, found.break_count) == (1, breaks), found
