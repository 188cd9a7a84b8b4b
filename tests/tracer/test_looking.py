"""Who looks at the variables of a frame sees those of the user's function, at every call."""

from __future__ import annotations

import inspect
import linecache
import os
import sys
import traceback
import warnings
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


def callers(levels: int) -> list[tuple[str, int]]:
    frame: Any = sys._getframe(1)
    found = []
    while frame.f_code.co_name != "plain_or_compiled" and len(found) < levels:
        found.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return found


def second_caller() -> str:
    return sys._getframe(2).f_code.co_name


def first_of_stack() -> list[str]:
    return [entry.name for entry in traceback.extract_stack() if entry.filename == __file__][-4:]


def names_of_stack() -> list[str]:
    return [entry.function for entry in inspect.stack() if entry.filename == __file__][:4]


def deprecated() -> None:
    warnings.warn("old", DeprecationWarning, stacklevel=3)


def walks(a: Any) -> Any:
    b = a + 1
    return b, callers(3)


def calls_one_that_walks(a: Any) -> Any:
    b, found = walks(a * 2)
    return b.sum(), found


def two_up(a: Any) -> Any:
    return a + 1, second_caller()


def whole_stack(a: Any) -> Any:
    return a + 1, first_of_stack(), names_of_stack()


def warns_two_up(a: Any) -> Any:
    deprecated()
    return a + 1


PAST = [walks, calls_one_that_walks, two_up, whole_stack, warns_two_up]


@pytest.mark.parametrize("function", PAST, ids=lambda f: f.__name__)
def test_who_looks_further_than_at_its_caller_meets_no_frame_of_ours(function: Callable[[Any], Any]) -> None:
    def plain_or_compiled(f: Any) -> Any:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            result = repr(f(np.ones(3)))
        return result, [(w.filename, w.lineno) for w in warned]

    expected = plain_or_compiled(function)
    compiled = jm.compile(function)
    for _ in range(4):
        assert plain_or_compiled(compiled) == expected


def test_one_that_is_defined_later_makes_the_function_plain() -> None:
    text = "def f(a):\n    return a + 1, far()\n"
    names: dict[str, Any] = {"sys": sys, "np": np}
    linecache.cache["<later>"] = (len(text), None, text.splitlines(True), "<later>")
    exec(compile(text, "<later>", "exec"), names)
    f = jm.compile(names["f"])
    text = "def far():\n    return sys._getframe(2).f_code.co_name\n"
    linecache.cache["<far>"] = (len(text), None, text.splitlines(True), "<far>")
    exec(compile(text, "<far>", "exec"), names)
    f(np.ones(2))
    later = f(np.ones(2))[1], f(np.ones(2))[1]
    assert later == ("test_one_that_is_defined_later_makes_the_function_plain",) * 2
    assert "looks at the callers of its caller" in " ".join(f.jit.report().text.split())


def near() -> str:
    return sys._getframe(1).f_code.co_name


def test_looking_at_the_caller_alone_leaves_a_function_compiled() -> None:
    def f(a: Any) -> Any:
        return a * 2 + 1, near()

    compiled = jm.compile(f)
    assert [compiled(np.ones(3))[1] for _ in range(3)] == ["f"] * 3
    assert compiled.jit.compiles == 1
