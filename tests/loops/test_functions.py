"""Functions of numbers in loops give the bits that Python and NumPy give outside of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

UFUNCS = """exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh
    arctanh cbrt sqrt floor ceil trunc rint sign fabs square negative isnan isinf isfinite reciprocal""".split()  # noqa: SIM905 - a list of names is easier to read so
MATH = """exp expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sqrt fabs
    floor ceil isnan isinf isfinite""".split()  # noqa: SIM905 - a list of names is easier to read so
TEXT = """
def f(x, y):
    for i in range(len(x)):
        y[i] = {0}(x[i])
    return y
"""


def _check(name: str, dtype: str, x: Any) -> None:
    plain = define(TEXT.format(name), f"loop {name}", np=np, math=math)
    compiled = jm.compile(define(TEXT.format(name), f"loop {name}", np=np, math=math))
    arguments = [x.astype(dtype), np.zeros(len(x), dtype)]
    with np.errstate(all="ignore"):
        assert outcome(compiled, arguments) == outcome(plain, arguments)
    (call,) = loop_calls(compiled)
    assert call.compiled is not None
    arguments[0][3] = np.nan
    arguments[0][5] = -np.inf
    assert outcome(compiled, arguments) == outcome(plain, arguments)


def _values(name: str) -> Any:
    rng = np.random.default_rng(0)
    inside = rng.random(300) * 0.98 + 0.01
    return inside + 1 if name in ("acosh", "arccosh") else inside


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", UFUNCS)
def test_ufuncs_of_numpy_scalars(name: str, dtype: str) -> None:
    """NumPy's own inner loop runs; nan and inf warn as they do outside."""
    _check(f"np.{name}", dtype, _values(name))


@pytest.mark.parametrize("name", MATH)
def test_functions_of_math(name: str) -> None:
    """libm's functions; outside of their domain the error is Python's."""
    _check(f"math.{name}", "float64", _values(name))


SHIFTS = """
def f(x, n):
    s = 0
    t = n
    for i in range(len(x)):
        s += (x[i] >> 1) + (x[i] >> 3)
        t = ((t << 5) + t + i) & 0xFFFFFFFF
        t = t ^ (t >> 7)
        s += (t & 1) + (True << 2)
    return s, t
"""


@pytest.mark.parametrize("dtype", ["int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "bool"])
def test_shifts_by_constants(dtype: str) -> None:
    """Of NumPy's ints to the right, of Python's ints both ways; those grow as they please."""
    plain, compiled = define(SHIFTS, "loop shifts", np=np), jm.compile(define(SHIFTS, "loop shifts", np=np))
    rng = np.random.default_rng(0)
    ends = np.array([0, 1, -1, 2**63 - 1, -(2**63), 2**31, -(2**31)])
    for x in (rng.integers(-120, 120, 30).astype(dtype), ends.astype(dtype), rng.random(9)):
        for n in (3, -3, 2**40, 2**58, 2**70, True):
            assert outcome(compiled, [x, n]) == outcome(plain, [x, n])
    assert bool(loop_calls(compiled)) is (dtype not in ("uint64", "bool"))  # which no region holds
