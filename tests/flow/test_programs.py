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


def _until_small(x: Any) -> Any:
    np.negative(x, x)
    while x.sum() > 0:
        x = x - 1
    return x


def _over_rows(x: Any) -> Any:
    np.negative(x, x)
    y = x
    for _ in x:
        x, y = x + 1, x
    return x, y


@pytest.mark.parametrize("backend", ["aot_eager", "numba"])
@pytest.mark.parametrize("size", [0, 3])
@pytest.mark.parametrize("function", [_until_small, _over_rows])
def test_a_result_is_the_argument_where_it_is_in_plain_python(function: Any, size: int, backend: str) -> None:
    """Arrays without elements share no memory, and are still one object or two."""
    compiled = jm.compile(function, backend=backend)
    for _ in range(CALLS):
        plain, given = np.ones(size), np.ones(size)
        wanted, found = function(plain), compiled(given)
        pairs = [(wanted, found)] if function is _until_small else list(zip(wanted, found, strict=True))
        assert [w is plain for w, _ in pairs] == [f is given for _, f in pairs]
        if len(pairs) == 2:
            assert (wanted[0] is wanted[1]) == (found[0] is found[1])
