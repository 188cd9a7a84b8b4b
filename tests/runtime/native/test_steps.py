"""Programs that run without Python give what NumPy gives, or leave the call to plain Python."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jitmagic as jm
from jitmagic.backends.native.flags import C_FLAGS
from jitmagic.config import configure
from tests.runtime.native.programs import SETTLED, goes_native, same, served_natively


@pytest.fixture(autouse=True)
def no_demotion():
    with configure(demote=False):
        yield


def line(x, y):
    return x * y + 1.0


def pair(x, y):
    return np.sqrt(x) + y, x - y * 2.0


def scaled(x, k):
    return x * k - 1.0


def looped(x):
    return np.exp(-x * x) * 2.0 + 1.0


def nested(x, y):
    return (x * 2.0 + y, (y * 2.0 - x, x))


def compared(x, y):
    return (x < y) & (y < 3.0)


def integers(x, y):
    return x * y + x - 3


ARRAYS = {
    "small": lambda rng: rng.normal(size=8),
    "one": lambda rng: rng.normal(size=1),
    "empty": lambda rng: np.empty(0),
    "matrix": lambda rng: rng.normal(size=(3, 4)),
    "fortran": lambda rng: np.asfortranarray(rng.normal(size=(3, 4))),
    "empty matrix": lambda rng: np.empty((3, 0)),
    "strided": lambda rng: rng.normal(size=(6, 8))[::2, ::2],
    "reversed": lambda rng: rng.normal(size=8)[::-1],
    "single": lambda rng: rng.normal(size=8).astype(np.float32),
    "special": lambda rng: np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e308, 5e-324, -1.0]),
    "large": lambda rng: rng.normal(size=200_000),
    "read-only": lambda rng: np.frombuffer(rng.normal(size=8).tobytes()),
    "unaligned": lambda rng: np.frombuffer(b"x" + rng.normal(size=8).tobytes(), np.uint8)[1:].view(np.float64),
    "swapped": lambda rng: rng.normal(size=8).astype(">f8"),
    "integers": lambda rng: rng.integers(-5, 5, 8),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("function", [line, pair, compared], ids=lambda f: f.__name__)
def test_the_answer_is_numpys(function, name) -> None:
    f = jm.compile(function)
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        for _ in range(3):
            x, y = ARRAYS[name](rng), ARRAYS[name](rng)
            assert same(f(x, y), function(x, y))
    assert f.jit.hits >= 2


@pytest.mark.parametrize("function", [line, pair, compared], ids=lambda f: f.__name__)
def test_plain_arithmetic_is_served_without_python(function) -> None:
    f = jm.compile(function)
    x, y = np.linspace(1, 2, 8), np.linspace(2, 3, 8)
    for _ in range(3):
        assert same(f(x, y), function(x, y))
    assert goes_native(f)
    assert served_natively(f) == 2


def test_inner_loops_and_integers_are_served_without_python() -> None:
    f, g = jm.compile(looped), jm.compile(integers)
    x, n = np.linspace(-1, 1, 9), np.arange(9)
    for _ in range(3):
        assert same(f(x), looped(x))
        assert same(g(n, n + 1), integers(n, n + 1))
    assert goes_native(f)
    assert goes_native(g)


def test_arguments_that_are_returned_are_the_same_objects() -> None:
    f = jm.compile(nested)
    x, y = np.ones(3), np.arange(3.0)
    for _ in range(3):
        first, (second, third) = f(x, y)
        assert third is x
        assert same((first, second), (x * 2.0 + y, y * 2.0 - x))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=3), st.floats(width=32), st.booleans())
@settings(max_examples=60)
def test_any_size_and_any_number(shape, k, fortran) -> None:
    x = np.arange(float(np.prod(shape)), dtype=np.float64).reshape(shape, order="F" if fortran else "C") - 3.0
    with np.errstate(all="ignore"):
        assert same(SCALED(x, k), scaled(x, k))


SCALED = jm.compile(scaled)


def test_a_new_size_and_a_new_number_need_no_new_entry() -> None:
    f = jm.compile(scaled)
    for n in range(2, 9):
        assert same(f(np.arange(float(n)), n / 3), scaled(np.arange(float(n)), n / 3))
    assert f.jit.entries <= 3
    before = served_natively(f)
    assert same(f(np.arange(50.0), 0.7), scaled(np.arange(50.0), 0.7))
    assert served_natively(f) == before + 1
    assert goes_native(f)


def test_warnings_come_from_the_users_line() -> None:
    def root(x, y):
        return np.sqrt(x) * y + 1.0

    f = jm.compile(root)
    x, y = np.ones(4), np.ones(4)
    for _ in range(3):
        f(x, y)
    assert goes_native(f)
    x[1] = -1.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = f(x, y)
    assert np.isnan(found[1])
    assert [(w.category, w.filename) for w in caught] == [(RuntimeWarning, __file__)]
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="invalid"):
        f(x, y)
    with np.errstate(all="ignore"):
        assert np.isnan(f(x, y)[1])


def test_no_reference_is_lost_or_kept() -> None:
    f = jm.compile(pair)
    x, y = np.linspace(1, 2, 8), np.ones(8)
    for _ in range(SETTLED):
        f(x, y)
    assert goes_native(f)
    watched = (x, y, x.dtype, np.ndarray, np.float64, None, f, f.jit.frame.run, tuple)
    before = [sys.getrefcount(o) for o in watched]
    for _ in range(10_000):
        f(x, y)
    after = [sys.getrefcount(o) for o in watched]
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) < 20


def test_calls_leave_no_memory_behind() -> None:
    f = jm.compile(pair)
    x, y = np.linspace(1, 2, 1000), np.ones(1000)
    bad = x.copy()
    bad[3] = -1.0
    for _ in range(SETTLED):
        f(x, y)
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(300):
            f(x, y)
        begin, _ = tracemalloc.get_traced_memory()
        for _ in range(3000):
            f(x, y)
        end, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert end - begin < 50_000


def test_a_result_that_cannot_be_allocated_raises_what_numpy_raises() -> None:
    f = jm.compile(line)
    y = np.ones(1)
    for n in (4, 5, 6):
        x = np.lib.stride_tricks.as_strided(np.ones(1), (n, n), (0, 0))
        assert same(f(x, y), line(x, y))
    huge = np.lib.stride_tricks.as_strided(np.ones(1), (1 << 25, 1 << 25), (0, 0))
    for function in (line, f):
        with pytest.raises(MemoryError, match="Unable to allocate"):
            function(huge, y)


def test_threads_share_an_entry() -> None:
    f = jm.compile(line)
    x = np.arange(50_000.0)
    f(x, x + 1)
    wrong = []

    def work(k: int) -> None:
        y = x + k
        for _ in range(30):
            if not same(f(x, y), line(x, y)):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert f.jit.hits == 240


def test_what_python_has_to_do_stays_in_python() -> None:
    def printing(x):
        print("called")
        return x * 2.0 + 1.0

    def viewing(x):
        return (x * 2.0 + 1.0)[1:]

    def writing(x):
        x += 1.0
        return x * 2.0 + 1.0

    for function in (printing, viewing, writing):
        f = jm.compile(function)
        for _ in range(3):
            assert same(f(np.ones(4)), function(np.ones(4)))
        assert not f.jit.entries or not goes_native(f)


def test_flags_that_others_left_are_none_of_the_kernels() -> None:
    f = jm.compile(line)
    x = np.linspace(1, 2, 8)
    f(x, x)
    for _ in range(20):
        with np.errstate(all="ignore"):
            np.ones(8) / np.zeros(8)
        ctypes.CDLL(None).feraiseexcept(sum(C_FLAGS.values()))
        assert same(f(x, x), line(x, x))
    assert f.jit.frame.entries[0].bails == 0
    assert goes_native(f)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow"):
        f(x * 1e200, x * 1e200)
