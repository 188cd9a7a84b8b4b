"""The vocabulary of kernel text: every name does what NumPy does with the same bytes."""

from __future__ import annotations

import _thread
import re
import threading

import llvmlite.binding as llvm
import numpy as np
import pytest

from jitmagic.backends.native import Status, compile_kernel, has_half, make_launcher
from jitmagic.backends.native.codegen import assembly
from jitmagic.backends.native.flags import C_FLAGS
from jitmagic.backends.native.intrinsics import NAMESPACE

from . import texts

INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
TYPES = ["bool", *INTEGERS, "float32", "float64", "complex64", "complex128"]

VECTOR_PRODUCT = re.compile(r"mulpd|fmul\s+v\d+\.2d")

COPY = """
def kernel(args, lo, hi):
    x, x_step, out, out_step = arg(args, 0), arg(args, 2), arg(args, 3), arg(args, 5)
    for i in range(lo, hi):
        store_NAME(out, i * out_step, load_NAME(x, i * x_step))
    return 0
"""


def launch(text: str, form: str, size: int, *operands: object) -> int:
    return make_launcher(form)(compile_kernel(text, "kernel").address, 0, size, 0, *operands)


@pytest.mark.parametrize("promise", [False, True])
@pytest.mark.parametrize("name", TYPES)
def test_a_load_and_a_store_move_every_bit(name: str, promise: bool) -> None:
    dtype = np.dtype(name)
    raw = np.random.default_rng(1).integers(0, 256, 64 * dtype.itemsize, np.uint8)
    x = raw.view(dtype) if name != "bool" else raw > 127
    out = np.zeros(200, dtype)[::-3]
    text = COPY.replace("NAME(x", f"{name}_in(x").replace("NAME(out", f"{name}_out(out")
    text = text if promise else COPY.replace("NAME", name)
    assert launch(text, "a1a1", x.size, x, out) == 0
    assert out[: x.size].tobytes() == x.tobytes()


def test_any_byte_but_zero_is_true() -> None:
    x = np.array([0, 1, 2, 128, 255], np.uint8).view(np.bool_)
    out = np.zeros(5, np.bool_)
    assert launch(COPY.replace("NAME", "bool"), "a1a1", 5, x, out) == 0
    assert out.view(np.uint8).tolist() == [0, 1, 1, 1, 1]


@pytest.mark.parametrize("name", ["int64", "uint64", "float64", "complex128"])
def test_scalars_come_out_of_the_block(name: str) -> None:
    kinds = {"int64": "i", "uint64": "u", "float64": "d", "complex128": "c"}
    value = np.dtype(name).type(3) / 2 if name[0] in "fc" else np.dtype(name).type(2**63 - 1)
    text = f"""
def kernel(args, lo, hi):
    store_{name}(arg(args, 0), 0, arg_{name}(args, 3))
    return 0
"""
    out = np.zeros(1, name)
    assert launch(text, "a1" + kinds[name], 1, out, value) == 0
    assert out[0] == value


def test_bits_are_reinterpreted_not_converted() -> None:
    text = """
def kernel(args, lo, hi):
    out = arg(args, 0)
    store_int64(out, 0, float64_to_bits(-1.5))
    store_float64(out, 8, bits_to_float64(load_int64(out, 0)))
    store_int32(out, 16, float32_to_bits(np.float32(-1.5)))
    store_float32(out, 20, bits_to_float32(load_int32(out, 16)))
    return 0
"""
    out = np.zeros(3, np.int64)
    assert launch(text, "a1", 1, out) == 0
    bits = np.float64(-1.5).tobytes() * 2 + np.float32(-1.5).tobytes() * 2
    assert out.tobytes() == bits


def test_fma_rounds_once_and_only_when_named() -> None:
    text = """
def kernel(args, lo, hi):
    a, b, c, out = arg_float64(args, 0), arg_float64(args, 1), arg_float64(args, 2), arg(args, 3)
    store_float64(out, 0, a * b + c)
    store_float64(out, 8, fma_float64(a, b, c))
    return 0
"""
    tiny = 2.0**-30
    out = np.zeros(2)
    assert launch(text, "ddda1", 1, 1 + tiny, 1 - tiny, -1.0, out) & 0xFF == 0
    assert out.tolist() == [0.0, -(tiny**2)]


def test_nothing_is_contracted_by_default() -> None:
    fused = re.compile(r"\bv?f(n)?m(add|sub|la|ls)\w*\b")
    assert not fused.search(assembly(texts.AXPY, "kernel"))
    has_fma = llvm.get_host_cpu_features().get("fma", "x86" not in llvm.get_process_triple())
    assert bool(fused.search(assembly(texts.AXPY, "kernel", fastmath=True))) == has_fma


def test_sums_keep_their_order() -> None:
    text = """
def kernel(args, lo, hi):
    total = 0.0
    for i in range(lo, hi):
        total += load_float64(arg(args, 0), i * 8)
    store_float64(arg(args, 3), 0, total)
    return 0
"""
    x = np.random.default_rng(3).standard_normal(10_000) * 10.0 ** np.arange(-50, 50).repeat(100)
    out = np.zeros(1)
    assert launch(text, "a1a1", x.size, x, out) == 0
    assert out[0] == np.add.accumulate(x)[-1]


def test_contiguous_loops_are_vectorised() -> None:
    text = """
def kernel(args, lo, hi):
    x, y, out = arg(args, 0), arg(args, 1), arg(args, 2)
    for i in range(lo, hi):
        store_float64(out, i * 8, load_float64(x, i * 8) * load_float64(y, i * 8) + 1.0)
    return 0
"""
    assert VECTOR_PRODUCT.search(assembly(text, "kernel"))


def test_a_promise_about_outputs_saves_the_overlap_checks() -> None:
    product = " * ".join(f"load_float64_in(arg(args, {k}), i * 8)" for k in range(12))
    text = f"""
def kernel(args, lo, hi):
    for i in range(lo, hi):
        value = {product}
        store_float64_out(arg(args, 12), i * 8, value)
        store_float64_out(arg(args, 13), i * 8, value + 1.0)
    return 0
"""
    plain = text.replace("_in(", "(").replace("_out(", "(")
    assert VECTOR_PRODUCT.search(assembly(text, "kernel"))
    checked = assembly(plain, "kernel").count("\n") - assembly(text, "kernel").count("\n")
    assert checked > 24  # one comparison at least for each of 12 inputs with each of 2 outputs
    arrays = np.random.default_rng(0).uniform(0.5, 1.5, (12, 1001))
    out = np.zeros((2, 1001))
    addresses = [row.ctypes.data for row in (*arrays, *out)]
    assert launch(text, "i" * 14, 1001, *addresses) == 0
    np.testing.assert_array_equal(out[0], np.multiply.reduce(arrays, axis=0))
    np.testing.assert_array_equal(out[1], out[0] + 1.0)


def test_float16_is_numpy_float16_where_the_cpu_converts_it() -> None:
    if not has_half():
        assert "load_float16" not in NAMESPACE
        return
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    text = COPY.replace("store_NAME", "store_float32").replace("load_NAME", "load_float16")
    wide = np.zeros(every.size, np.float32)
    assert launch(text, "a1a1", every.size, every, wide) & 0xFF == 0
    np.testing.assert_array_equal(wide, every.astype(np.float32))
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2**32, 100_000, np.uint32).view(np.float32)
    x = np.concatenate([x, rng.uniform(-1e-4, 1e-4, 1000).astype(np.float32), wide])
    narrow = np.zeros(x.size, np.float16)
    text = COPY.replace("store_NAME", "store_float16").replace("load_NAME", "load_float32")
    assert launch(text, "a1a1", x.size, x, narrow) & 0xFF == 0
    with np.errstate(all="ignore"):
        expected = x.astype(np.float16)
    np.testing.assert_array_equal(narrow, expected)


def test_a_stack_buffer_is_aligned_and_private_to_the_call() -> None:
    text = """
def kernel(args, lo, hi):
    first = stack(100)
    second = stack(8)
    for i in range(lo, hi):
        store_int64(stack(8), 0, i)
    store_int64(second, 0, 5)
    store_int64(arg(args, 0), 0, (first | second) % 64)
    store_int64(arg(args, 0), 8, load_int64(second, 0))
    return 0
"""
    out = np.full(2, -1)
    assert launch(text, "a1", 100_000, out) == 0
    assert out.tolist() == [0, 5]


def test_atomics_give_the_value_before() -> None:
    text = """
def kernel(args, lo, hi):
    out = arg(args, 0)
    store_int64(out, 8, atomic_add(out, 0, 5))
    store_int64(out, 16, atomic_or(out, 0, 8))
    store_int64(out, 24, atomic_exchange(out, 0, 99))
    store_release(out, 32, load_acquire(out, 0) + 1)
    return 0
"""
    out = np.array([1, 0, 0, 0, 0])
    assert launch(text, "a1", 1, out) == 0
    assert out.tolist() == [99, 1, 6, 14, 100]


def test_flags_in_a_kernel_have_the_numbers_of_numpy() -> None:
    assert sorted(C_FLAGS) == [1, 2, 4, 8]
    text = """
def kernel(args, lo, hi):
    clear_float_flags()
    store_float64(arg(args, 0), 0, arg_float64(args, 3) / arg_float64(args, 4))
    return call_kernel(arg(args, 5), args, 0, 0)
"""
    read = compile_kernel("def kernel(args, lo, hi):\n    return float_flags()\n", "kernel")
    assert launch(text, "a1ddi", 1, np.zeros(1), 1.0, 0.0, read.address) & 0xFF == 1


def test_a_waiting_interrupt_is_seen_and_stays() -> None:
    text = """
def kernel(args, lo, hi):
    while not interrupted():
        pass
    return 8
"""
    kernel = compile_kernel(text, "kernel")
    launch_it = make_launcher("")
    timer = threading.Timer(0.05, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - the interrupt comes after the launch or in it
        assert launch_it(kernel.address, 0, 1, 10**9) == Status.INTERRUPTED
        timer.join()
