"""Kernels launched on arrays give NumPy's bits; both launchers behave alike."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jitmagic.backends.native import (
    FloatFlag,
    Status,
    block_words,
    compile_kernel,
    inner_loop,
    make_launcher,
    parse_form,
    split_result,
)
from jitmagic.backends.native.launch_fallback import make_fallback
from jitmagic.config import configure
from jitmagic.errors import InternalError

from . import texts

LAUNCHERS = pytest.mark.parametrize("make", [make_launcher, make_fallback])
F8 = np.dtype(np.float64)

# copies its whole block of ``hi`` words into the last operand
DUMP = """
def kernel(args, lo, hi):
    out = arg(args, hi)
    for i in range(lo, hi):
        store_int64(out, i * 8, arg(args, i))
    return 0
"""

# status and flags as asked for: fails at one index
FAIL_AT = """
def kernel(args, lo, hi):
    out, where, status = arg(args, 0), arg(args, 3), arg(args, 4)
    for i in range(lo, hi):
        if i == where:
            return status
        store_int64(out, i * 8, i)
    return 0
"""

DIVIDE = """
def kernel(args, lo, hi):
    x, y, out = arg(args, 0), arg(args, 3), arg(args, 6)
    for i in range(lo, hi):
        store_float64(out, i * 8, load_float64(x, i * 8) / load_float64(y, i * 8))
    return 0
"""


def strided(values: np.ndarray, step: int) -> np.ndarray:
    """A view with the given step that holds ``values``."""
    room = np.full(max(1, values.size * abs(step)), np.nan)
    view = room[:: abs(step)][: values.size]
    view = view[::-1] if step < 0 else view
    view[...] = values
    return view


@LAUNCHERS
@pytest.mark.parametrize("size", [0, 1, 3, 12, 1001])
@pytest.mark.parametrize("steps", [(1, 1, 1), (2, -1, 3), (-1, -1, -1)])
def test_multiply_add_has_the_bits_of_numpy(
    make: Callable[[str], Callable[..., int]], size: int, steps: tuple[int, int, int]
) -> None:
    rng = np.random.default_rng(size)
    x, y, out = (strided(rng.standard_normal(size) * 1e3, step) for step in steps)
    kernel = compile_kernel(texts.AXPY, "kernel")
    assert make("a1a1a1")(kernel.address, 0, size, 3, x, y, out) & 0xFF == Status.OK
    np.testing.assert_array_equal(out.view(np.int64), (x * y + 1.0).view(np.int64))


def test_operands_may_be_unaligned() -> None:
    x, y, out = (np.zeros(8 * 101 + 1, np.uint8)[1:].view(F8) for _ in range(3))
    x[...], y[...] = np.linspace(1, 2, 101), np.linspace(2, 5, 101)
    kernel = compile_kernel(texts.AXPY, "kernel")
    assert make_launcher("a1a1a1")(kernel.address, 0, 101, 3, x, y, out) == 0
    np.testing.assert_array_equal(out, x * y + 1.0)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 127, 128, 129, 136, 1000, 4097, 100_003])
def test_pairwise_sum_has_the_bits_of_numpy(size: int) -> None:
    x = np.random.default_rng(size).standard_normal(size) * 1e8
    out = np.empty(1)
    kernel = compile_kernel(texts.PAIRWISE_SUM, "kernel")
    assert make_launcher("a1a1")(kernel.address, 0, size, 0, x, out) == 0
    assert out[0].tobytes() == np.sum(x, initial=-0.0).tobytes()


@pytest.mark.parametrize("size", [1, 5, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("steps", [(1, 1), (2, 1), (-1, 3)])
def test_exp_on_tiles_has_the_bits_of_numpy(size: int, steps: tuple[int, int]) -> None:
    rng = np.random.default_rng(size)
    x, out = (strided(rng.standard_normal(size), step) for step in steps)
    loop = inner_loop(np.exp, (F8, None), (8, 8))
    kernel = compile_kernel(texts.EXP_TILES, "kernel")
    launch = make_launcher("a1a1iii")
    addresses = (loop.function, loop.context, loop.auxdata)
    assert split_result(launch(kernel.address, 0, size, 0, x, out, *addresses))[0] == Status.OK
    np.testing.assert_array_equal(out.view(np.int64), np.exp(-x * x).view(np.int64))


@pytest.mark.parametrize("ufunc", [np.exp, np.log, np.tan, np.sqrt, np.arctan])
@pytest.mark.parametrize("steps", [(1, 1), (2, 1), (-1, 1), (3, -2)])
def test_a_loop_with_the_strides_of_numpy_has_its_bits(ufunc: np.ufunc, steps: tuple[int, int]) -> None:
    rng = np.random.default_rng(7)
    x, out = (strided(rng.uniform(0.1, 5.0, 1003), step) for step in steps)
    expected = strided(np.zeros(1003), steps[1])
    ufunc(x, out=expected)
    loop = inner_loop(ufunc, (F8, None), (x.strides[0], out.strides[0]))
    kernel = compile_kernel(texts.EXP_STRIDED, "kernel")
    launch = make_launcher("a1a1iii")
    addresses = (loop.function, loop.context, loop.auxdata)
    assert split_result(launch(kernel.address, 0, 1003, 0, x, out, *addresses))[0] == Status.OK
    np.testing.assert_array_equal(out.view(np.int64), expected.view(np.int64))


@LAUNCHERS
def test_the_block_holds_what_the_form_says(make: Callable[[str], Callable[..., int]]) -> None:
    form = "a0a1a3iudca1"
    operands = parse_form(form)
    words = block_words(form)
    scalar, vector = np.array(1.5), np.zeros(4, np.int8)[::-2]
    cube = np.zeros((2, 3, 4), np.float32).transpose(2, 0, 1)
    out = np.zeros(words, np.int64)
    number, unsigned, real, imaginary = -7, 2**64 - 3, -0.0, complex(2.5, -1.5)
    at = operands[-1].first
    kernel = compile_kernel(DUMP, "kernel")
    values = (scalar, vector, cube, number, unsigned, real, imaginary, out)
    assert make(form)(kernel.address, 0, at, 0, *values) == 0
    arrays = [[a.ctypes.data, *a.shape, *a.strides] for a in (scalar, vector, cube)]
    scalars = np.array([-0.0, 2.5, -1.5]).view(np.int64).tolist()
    assert out[:at].tolist() == [*arrays[0], *arrays[1], *arrays[2], number, -3, *scalars]


@LAUNCHERS
@pytest.mark.parametrize(
    ("values", "error"),
    [
        ((np.zeros(3), 1), TypeError),
        ((np.zeros(3), 1, 1.0, 4), TypeError),
        ((np.zeros((3, 1)), 1, 1.0), TypeError),
        (([0.0], 1, 1.0), TypeError),
        ((np.zeros(3), 2**63, 1.0), OverflowError),
        ((np.zeros(3), None, 1.0), (TypeError, AttributeError)),
        ((np.zeros(3), 1, "x"), (TypeError, ValueError)),
    ],
)
def test_an_operand_that_does_not_fit_is_an_error_and_nothing_runs(
    make: Callable[[str], Callable[..., int]], values: tuple[object, ...], error: type[Exception]
) -> None:
    kernel = compile_kernel(FAIL_AT, "kernel")
    with pytest.raises(error):
        make("a1id")(kernel.address, 0, 3, 0, *values)


@LAUNCHERS
@given(number=st.integers(-(2**63), 2**63 - 1), real=st.floats())
def test_scalars_keep_their_bits(make: Callable[[str], Callable[..., int]], number: int, real: float) -> None:
    out = np.zeros(2, np.int64)
    kernel = compile_kernel(DUMP, "kernel")
    launch = make("ida1")
    assert launch(kernel.address, 0, 2, 0, number, real, out) == 0
    assert out.tobytes() == np.int64(number).tobytes() + np.float64(real).tobytes()
    assert launch(kernel.address, 0, 2, 0, np.int64(number), np.float64(real), out) == 0
    assert out.tobytes() == np.int64(number).tobytes() + np.float64(real).tobytes()


@LAUNCHERS
@pytest.mark.parametrize("number", [1.0, np.complex64(1 + 2j), "1j", None])
def test_only_complex128_is_complex(make: Callable[[str], Callable[..., int]], number: object) -> None:
    out = np.zeros(2)
    launch = make("ca1")
    kernel = compile_kernel(DUMP, "kernel")
    with pytest.raises(TypeError, match="complex number of 128 bits"):
        launch(kernel.address, 0, 2, 0, number, out)
    assert launch(kernel.address, 0, 2, 0, np.complex128(1 + 2j), out) == 0
    assert out.tolist() == [1.0, 2.0]


def test_subclasses_of_ndarray_are_arrays() -> None:
    out = np.zeros(1, np.int64).view(np.recarray)
    assert make_launcher("ia1")(compile_kernel(DUMP, "kernel").address, 0, 1, 0, 5, out) == 0
    assert out[0] == 5


@LAUNCHERS
@pytest.mark.parametrize(
    ("x", "y", "flag"),
    [
        (1.0, 2.0, FloatFlag.NONE),
        (1.0, 0.0, FloatFlag.DIVIDE),
        (0.0, 0.0, FloatFlag.INVALID),
        (1e300, 1e-300, FloatFlag.OVER),
        (1e-300, 1e300, FloatFlag.UNDER),
    ],
)
def test_flags_are_those_of_this_launch(
    make: Callable[[str], Callable[..., int]], x: float, y: float, flag: FloatFlag
) -> None:
    kernel = compile_kernel(DIVIDE, "kernel")
    launch = make("a1a1a1")
    bad = launch(kernel.address, 0, 1, 0, np.zeros(1), np.zeros(1), np.zeros(1))
    assert split_result(bad) == (Status.OK, FloatFlag.INVALID)
    for work in (0, 10**6, 10**12):  # in the GIL, outside, and over more than one element
        xs, ys = np.full(3, x), np.full(3, y)
        result = launch(kernel.address, 0, 3, work, xs, ys, np.zeros(3))
        assert split_result(result) == (Status.OK, flag)


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_the_first_failing_chunk_in_program_order_wins(threads: int) -> None:
    """Every chunk from the middle on fails; the status tells which one was reported."""
    text = """
def kernel(args, lo, hi):
    if hi <= 700:
        return 0
    return 1 + lo // 100
"""
    kernel = compile_kernel(text, "kernel")
    launch = make_launcher("")
    with configure(threads=threads):
        for _ in range(50):
            serial = launch(kernel.address, 600, 1000, 0)
            assert serial == 7
            parallel = launch(kernel.address, 0, 1600, 10_000)
            first = next(lo for lo in range(0, 1600, _chunk(threads)) if lo + _chunk(threads) > 700)
            assert parallel == 1 + first // 100


def _chunk(threads: int) -> int:
    return 1600 if threads == 1 else -(-1600 // (4 * threads))


def test_a_kernel_lives_as_long_as_it_is_held() -> None:
    kernel = compile_kernel(texts.AXPY.replace("1.0", "77.25"), "kernel")
    again = compile_kernel(texts.AXPY.replace("1.0", "77.25"), "kernel")
    assert again is kernel
    gone = weakref.ref(kernel)
    del kernel, again
    gc.collect()
    assert gone() is None


def test_the_gil_is_released_in_long_kernels() -> None:
    """The kernel waits until another Python thread has changed its operand."""
    text = """
def kernel(args, lo, hi):
    word = arg(args, 0)
    while load_acquire(word, 0) == 0:
        pass
    return 0
"""
    word = np.zeros(1, np.int64)
    kernel = compile_kernel(text, "kernel")
    timer = threading.Timer(0.05, word.fill, (1,))
    timer.start()
    assert make_launcher("a1")(kernel.address, 0, 1, 10**9, word) == 0
    timer.join()


@pytest.mark.parametrize("form", ["x", "a", "i1", "a1z", "a65"])
def test_a_form_that_is_not_understood_says_so(form: str) -> None:
    with pytest.raises(InternalError, match="launch form"):
        make_launcher(form)
