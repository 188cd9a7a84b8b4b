"""NumPy's inner loops: the same bits, kept alive, with their errors and flags found again."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from jitmagic.backends.native import FloatFlag, InnerLoop, Status, compile_kernel, inner_loop, make_launcher
from jitmagic.backends.native import split_result as split

F4, F8, I8 = (np.dtype(name) for name in ("f4", "f8", "i8"))

# two inputs and one output, as they lie
BINARY = """
def kernel(args, lo, hi):
    data = stack(24)
    dims = stack(8)
    strides = stack(24)
    for operand in range(3):
        step = arg(args, operand * 3 + 2)
        store_int64(data, operand * 8, arg(args, operand * 3) + lo * step)
        store_int64(strides, operand * 8, step)
    store_int64(dims, 0, hi - lo)
    return call_inner_loop(arg(args, 9), arg(args, 10), data, dims, strides, arg(args, 11)) * 10
"""


def run(loop: InnerLoop, *arrays: np.ndarray, work: int = 0) -> tuple[Status, FloatFlag]:
    launch = make_launcher("a1a1a1iii")
    kernel = compile_kernel(BINARY, "kernel")
    size = arrays[0].size
    return split(launch(kernel.address, 0, size, work, *arrays, loop.function, loop.context, loop.auxdata))


@pytest.mark.parametrize("ufunc", [np.power, np.arctan2, np.fmod, np.remainder, np.floor_divide, np.hypot])
@pytest.mark.parametrize("dtype", [F4, F8])
def test_binary_loops_have_the_bits_of_numpy(ufunc: np.ufunc, dtype: np.dtype) -> None:
    x, y = np.random.default_rng(0).uniform(0.1, 9, (2, 1003)).astype(dtype)
    out = np.zeros(1003, dtype)
    loop = inner_loop(ufunc, (dtype, dtype, None), (x.strides[0], y.strides[0], out.strides[0]))
    assert run(loop, x, y, out)[0] == Status.OK
    assert out.tobytes() == ufunc(x, y).tobytes()


def test_foreign_ufuncs_work_too() -> None:
    from scipy import special

    x, y = np.random.default_rng(0).uniform(0.1, 9, (2, 1003))
    out = np.zeros(1003)
    loop = inner_loop(special.beta, (F8, F8, None))
    assert run(loop, x, y, out)[0] == Status.OK
    assert out.tobytes() == special.beta(x, y).tobytes()


def test_loops_of_objects_say_that_they_need_python() -> None:
    assert inner_loop(np.add, (np.dtype(object), np.dtype(object), None)).requires_python
    assert not inner_loop(np.add, (F8, F8, None)).requires_python


def test_the_dtypes_are_those_of_the_loop() -> None:
    assert inner_loop(np.true_divide, (np.dtype("i4"), np.dtype("i4"), None)).dtypes == (F8, F8, F8)
    assert inner_loop(np.add, (np.dtype(">f8"), F8, None)).dtypes == (F8, F8, F8)


def test_a_missing_loop_is_the_type_error_of_numpy() -> None:
    with pytest.raises(TypeError):
        inner_loop(np.subtract, (np.dtype(bool), np.dtype(bool), None))


def test_loops_whose_flags_numpy_ignores_say_so() -> None:
    text = np.dtype("U3")
    assert inner_loop(np.equal, (text, text, None)).no_float_errors
    assert not inner_loop(np.true_divide, (F8, F8, None)).no_float_errors


@pytest.mark.parametrize("work", [0, 10**9])
def test_flags_come_through(work: int) -> None:
    x, y, out = np.ones(3), np.array([1.0, 0.0, 2.0]), np.zeros(3)
    loop = inner_loop(np.true_divide, (F8, F8, None))
    assert run(loop, x, y, out, work=work) == (Status.OK, FloatFlag.DIVIDE)


@pytest.mark.parametrize("work", [0, 10**5])  # one iteration each: on this thread
def test_an_error_of_a_loop_is_a_status(work: int) -> None:
    x, y, out = np.array([2]), np.array([-1]), np.zeros(1, np.int64)
    loop = inner_loop(np.power, (I8, I8, None))
    assert run(loop, x, y, out, work=work)[0] == Status.INNER_LOOP
    assert run(loop, x, np.array([3]), out, work=work) == (Status.OK, FloatFlag.NONE)
    assert out[0] == 8


def test_the_context_keeps_the_loop_alive() -> None:
    x, out = np.linspace(1, 2, 50), np.zeros(50)
    loops = [inner_loop(np.power, (F8, F8, None)) for _ in range(50)]
    triples = [(loop.function, loop.context, loop.auxdata) for loop in loops]
    del loops
    gc.collect()
    launch = make_launcher("a1a1a1iii")
    kernel = compile_kernel(BINARY, "kernel")
    for triple in triples:
        assert split(launch(kernel.address, 0, 50, 0, x, x, out, *triple))[0] == Status.OK
        assert out.tobytes() == (x**x).tobytes()
