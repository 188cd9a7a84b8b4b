"""Loops that write into a read-only array raise NumPy's error at the line and after the writes of plain Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome_on

LOOPS = {
    "one array": "for i in range(len(b)):\n    b[i] = 1",
    "updates": "for i in range(len(a)):\n    b[i] += a[i]",
    "rows": "for i in range(1, len(a)):\n    b[i : i + 1] = a[i]",
    "after another write": "for i in range(len(a)):\n    a[i] += 1\n    b[i] = a[i]",
    "the second loop": "for i in range(len(a)):\n    a[i] += 1\nfor i in range(len(a)):\n    b[i] = 1",
    "under a condition": "for i in range(len(a)):\n    a[i] += 1\n    if a[i] > 5:\n        b[i] = a[i]",
    "a condition that never holds": "for i in range(len(a)):\n    a[i] += 1\n    if a[i] > 1e9:\n        b[i] = a[i]",
    "while": "i = 0\nwhile i < len(a):\n    a[i] = 0\n    b[i] = 1\n    i += 1",
    "no round": "for i in range(len(a), len(b)):\n    b[i] = 1",
    "a view of it": "c = b[::2]\nfor i in range(len(c)):\n    c[i] = 1",
    "reads only": "for i in range(len(b)):\n    a[i] += b[i]",
}


def _function(name: str) -> Any:
    inner = LOOPS[name].replace("\n", "\n    ")
    return define(f"def f(a, b):\n    {inner}\n    return a\n", f"read-only {name}", np=np)


def _calls(flags: tuple[bool, ...]) -> Iterator[list[Any]]:
    for is_writeable in flags:
        given = [np.arange(40.0), np.arange(40.0) + 1]
        given[1].flags.writeable = is_writeable
        yield given


@pytest.mark.parametrize("flags", [(False, True, False, True), (True, False, False, True)])
@pytest.mark.parametrize("name", LOOPS)
def test_the_outcome_is_that_of_plain_python(name: str, flags: tuple[bool, ...]) -> None:
    """Whether the first call gives the array that may be written or the other."""
    plain, compiled = _function(name), jm.compile(_function(name))
    for one, other in zip(_calls(flags), _calls(flags), strict=True):
        assert outcome_on(compiled, one) == outcome_on(plain, other)


@pytest.mark.parametrize("name", [n for n in LOOPS if n != "no round"])
def test_a_call_that_may_write_is_a_region(name: str) -> None:
    """Also after one that may not."""
    compiled = jm.compile(_function(name))
    for given in _calls((False, True, True)):
        outcome_on(compiled, given)
    assert any(c.compiled is not None for c in loop_calls(compiled))
