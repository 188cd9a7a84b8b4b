"""Who looks at the variables of a frame sees those of the user's function, at every call."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm


def caller() -> Any:
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    return frame.f_back.f_code.co_name, sorted(frame.f_back.f_locals), frame.f_back.f_lineno


def in_a_handler(a: Any) -> Any:
    b = a * 2
    try:
        return b[9]
    except IndexError:
        found = sys.exc_info()[2]
        assert found is not None
        return sorted(found.tb_frame.f_locals)


def in_a_handler_by_name(a: Any) -> Any:
    b = a * 2
    try:
        return b.sum() + os.stat("/no/such/file").st_size
    except OSError as error:
        found: Any = error.__traceback__
        return sorted(found.tb_frame.f_locals)


def in_a_callee(a: Any) -> Any:
    b = a + 1
    first = caller()
    c = b * 2
    return first, caller(), c.sum()


def in_a_loop(a: Any) -> Any:
    b = a + 1
    for i in range(3):
        b = b * i + len(caller())
        seen = caller()
    return seen, b


def in_a_comprehension(a: Any) -> Any:
    b = a + 1
    return [caller()[0] for _ in range(2)], b.sum() + len(caller()[1])


def in_a_block(a: Any) -> Any:
    with np.errstate(all="ignore"):
        b = a + 1
        seen = caller()
        b = b * 2
    return seen, b.sum()


def by_locals(a: Any) -> Any:
    b = a + 1
    os.getpid()  # a graph break
    return sorted(locals()), sorted(dir()), sorted(vars()), b


@pytest.mark.parametrize(
    "function",
    [
        in_a_handler,
        in_a_handler_by_name,
        in_a_callee,
        in_a_loop,
        in_a_comprehension,
        in_a_block,
        by_locals,
    ],
    ids=lambda f: f.__name__,
)
def test_variables_are_those_of_the_plain_function(function: Callable[[Any], Any]) -> None:
    compiled = jm.compile(function)
    expected = repr(function(np.ones(3)))
    assert [repr(compiled(np.ones(3))) for _ in range(3)] == [expected] * 3
