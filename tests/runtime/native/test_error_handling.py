"""How errors are handled is asked once one occurred: the answer, its warnings and its exceptions are NumPy's."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.config import configure
from tests.runtime.native.programs import SETTLED, goes_native, served_natively

MODES = ("ignore", "warn", "raise", "call")
WHEN = {
    "nothing": (np.linspace(1, 2, 8), np.linspace(2, 3, 8)),
    "divide": (np.linspace(1, 2, 8), np.zeros(8)),
    "invalid": (np.zeros(8), np.zeros(8)),
    "over": (np.full(8, 1e200), np.full(8, 1e-200)),
    "under": (np.full(8, 1e-200), np.full(8, 1e200)),
}


@pytest.fixture(autouse=True)
def no_demotion():
    with configure(demote=False):
        yield


def quotient(x, y):
    return x / y + 1.0


def outcome(function, x, y, modes) -> list[object]:
    heard: list[object] = []
    with warnings.catch_warnings(record=True) as caught, np.errstate(**modes, call=lambda *what: heard.append(what)):
        warnings.simplefilter("always")
        try:
            heard.append(function(x, y).tobytes())
        except FloatingPointError as error:
            heard.append(str(error))
    return heard + [(str(w.message), w.lineno) for w in caught]


@pytest.mark.parametrize("size", [8, 5000])
def test_every_handling_of_every_condition_after_every_other(size) -> None:
    f = jm.compile(quotient)
    handlings = [dict.fromkeys(("divide", "over", "under", "invalid"), mode) for mode in MODES]
    handlings += [{"divide": "ignore", "over": "warn", "under": "raise", "invalid": "call"}]
    for handling, (x, y) in itertools.product([*handlings, *handlings[::-1]], WHEN.values()):
        x, y = np.resize(x, size), np.resize(y, size)
        assert outcome(f, x, y, handling) == outcome(quotient, x, y, handling)
    assert f.jit.frame.closed == ""


def test_where_nothing_occurs_the_handling_costs_no_entry() -> None:
    f = jm.compile(quotient)
    x, y = WHEN["nothing"]
    for _ in range(SETTLED):
        f(x, y)
    assert goes_native(f)
    before = served_natively(f)
    for mode in MODES[:3]:
        with np.errstate(all=mode):
            assert f(x, y).tobytes() == quotient(x, y).tobytes()
    assert (f.jit.entries, served_natively(f)) == (1, before + 3)


def test_the_entry_for_another_handling_serves_what_occurs_under_it() -> None:
    """The first entry finds out that it is not for this handling; the second, further in the row, serves the call."""
    f = jm.compile(quotient)
    x, y = WHEN["divide"]
    with np.errstate(all="ignore"):
        for _ in range(SETTLED):
            f(x, y)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide"):
        f(x, y)
    strict, quiet = f.jit.frame.entries  # the newest is tried first
    before = int(strict.native_hits[0]), int(quiet.native_hits[0])
    with np.errstate(all="ignore"):
        for _ in range(5):
            assert f(x, y).tobytes() == quotient(x, y).tobytes()
    assert (int(strict.native_hits[0]), int(quiet.native_hits[0])) == (before[0], before[1] + 5)
    assert quiet.bails == 0
    assert goes_native(f)
