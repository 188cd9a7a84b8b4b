"""Numba is asked what words mean, but compiles nothing: same results as when it does."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from jitmagic.backends.native import codegen, launch, pool
from jitmagic.backends.native.codegen import ENTRY
from jitmagic.backends.native.compile import compile_kernel
from jitmagic.backends.native.link import link
from jitmagic.backends.native.lowering import lower
from jitmagic.backends.native.store import Store, Stored
from jitmagic.errors import Unsupported
from jitmagic.runtime.native.door_text import DOOR_TEXT
from jitmagic.runtime.native.entry_text import ENTRY_TEXT
from jitmagic.runtime.native.steps_text import STEPS_TEXT

from . import texts

HEAD = "def kernel(args, lo, hi):\n"
# Each line computes ``r`` from ``a`` and ``b``, two int64
INTEGERS = [
    "r = a + b * 3 - (a & b | 5 ^ a)",
    "r = a // b if b != 0 else 7",
    "r = a % b if b != 0 else 7",
    "r = (a >> (b & 63)) + (a << (b & 63))",
    "r = min(a, b, 3) - max(-2, b)",
    "r = -a + ~b + abs(a)",
    "r = np.int8(a) + np.uint16(b) + np.int32(a)",
    "r = np.int64(np.uint64(a) + np.uint64(b))",
    "r = np.int64(np.uint8(np.uint8(a) + np.uint8(b)))",
    "r = np.int64(np.uint32(a) < np.uint32(b)) + np.int64(np.uint64(a) < np.uint64(b))",
    "r = select(a < b, a, b) + select(bool(a), 1, 0)",
    "r = np.int64(a < b and b < 10) + 2 * np.int64(a == b or not a)",
    "r = 0\n    if a > b:\n        r = 1\n    elif a == b:\n        r = 2\n    else:\n        r = 3",
    "r = 0\n    for i in range(9, -3, -2):\n        if i == b:\n            continue\n        r = r * 3 + i",
    "r = 0\n    for i in range(5):\n        if i == b:\n            break\n        r += i",
    "r = 0\n    while True:\n        r += 1\n        if r > 5 or r == b:\n            break",
    "r, x = 0, 4\n    while x > 0 and r != b:\n        x -= 1\n        for i in range(x):\n            r += i",
    "r, x = b, a\n    x, r = r, x\n    r -= x",
    "x = np.float64(a)\n    r = 0\n    for i in range(3):\n        x = i\n        r += x",  # another type inside
    "x = float64_to_bits(np.float64(a))\n    x = np.float32(b)\n    r = np.int64(x)",
    "r = 9223372036854775807 if a > b else -9223372036854775808",
    "if a > b:\n        return 3\n    r = a",
]
# The same from two float64
FLOATS = [
    "r = a + b * 3.0 - a / b",
    "r = math.sqrt(abs(a)) + math.copysign(a, b) - (-a)",
    "r = np.floor(a) + np.ceil(b) + np.rint(a) + np.trunc(b)",
    "r = np.float64(np.float32(a) * np.float32(b)) + np.float32(0.1)",
    "r = np.float64(math.isnan(a)) + 2.0 * math.isinf(b) + 4.0 * np.signbit(a)",
    "r = select(less_float64(a, b) | (b != b), b, a)",
    "r = a if a <= b else b",
    "r = np.float64(np.int64(a) + np.int32(3)) + True",
    "r = math.exp(a) + math.sin(b) + math.pow(a, 3.0)",
    "r = -0.0 + np.float64(-0.0 * a) - math.inf * b",
    "r = fma_float64(a, b, a)",
    "r = np.float64(a != a) + 2.0 * (a == b) + 4.0 * (a >= b)",
]


def integer_text(body: str) -> str:
    return f"{HEAD}    a, b = load_int64(args, 0), load_int64(args, 8)\n    {body}\n    return r\n"


def float_text(body: str) -> str:
    end = "store_float64(args, 16, r)\n    return 0"
    return f"{HEAD}    a, b = load_float64(args, 0), load_float64(args, 8)\n    {body}\n    {end}\n"


def call(stored: Stored, block: np.ndarray) -> int:
    address = link(stored.object_code, stored.symbol)
    return int(ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(address)(block.ctypes.data, 0, 0))


def both(text: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stored]:
    """Lowered here, and compiled by Numba."""
    with monkeypatch.context() as patch:
        patch.delattr(codegen, "_compile")
        yield codegen.generate(text, "kernel", "<here>", False)
    monkeypatch.setattr(codegen, "_optimised", lambda *_: None)
    yield codegen.generate(text, "kernel", "<numba>", False)


@pytest.mark.parametrize("body", INTEGERS)
def test_integers_are_those_of_numba(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, numbas = both(integer_text(body), monkeypatch)
    values = (0, 1, -1, 3, -7, 200, 2**40 + 5, 2**63 - 1, -(2**63) + 1)
    blocks = [np.array([a, b]) for a in values for b in values]
    assert [call(ours, block) for block in blocks] == [call(numbas, block) for block in blocks]


@pytest.mark.parametrize("body", FLOATS)
def test_floats_are_those_of_numba(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, numbas = both(float_text(body), monkeypatch)
    values = (0.0, -0.0, 1.5, -2.5, 1e300, -1e-300, float("inf"), float("nan"))
    for a in values:
        for b in values:
            first, second = np.array([a, b, 0.0]), np.array([a, b, 0.0])
            assert call(ours, first) == call(numbas, second) == 0
            np.testing.assert_array_equal(first, second)
            assert np.isnan(first[2]) or np.signbit(first[2]) == np.signbit(second[2])


@pytest.mark.parametrize(
    "body",
    [
        "return np.zeros(hi).size",
        "raise ValueError",
        "return int(np.int8(lo))",  # a function that Numba compiles
        "return unknown",
        "return np.unknown(lo)",
        "return lo < hi < 5",
        "return lo and hi",
        "return abs(lo, key=3)",
        "return lo(3)",
        "for i in range(lo, hi, lo):\n        pass\n    return 0",
        "for i in range(np.uint64(lo)):\n        pass\n    return 0",
        "for i in range(3):\n        pass\n    else:\n        lo = 3\n    return lo",
        "while lo < hi:\n        lo += 1\n    else:\n        lo = 3\n    return lo",
        "x = 1\n    for i in range(3):\n        x = x * 0.5\n    return x > 2.0",  # two types of x meet at the head
        "x = 1\n    while x != 0:\n        x = 0.5\n    return 0",
        "if lo:\n        x = 1\n    else:\n        x = 0.5\n    return x > 0",
        "return min(0.5, 1.5) > 1.0",
        "args[0] = 1\n    return 0",
        "return",
    ],
)
def test_what_it_does_not_know_is_left_to_numba(body: str) -> None:
    context, _ = codegen._lowering()
    with pytest.raises(Unsupported):
        lower(context, f"{HEAD}    {body}\n", "kernel", ENTRY)


OWN = {
    "kernel": texts.AXPY,
    "launch": launch._LAUNCH.format(**launch._CONSTANTS),
    "worker": pool._source(pool._WORKER, " " * 12),
    "run": pool._source(pool._RUN, " " * 4),
    "entry": ENTRY_TEXT,
    "steps": STEPS_TEXT,
    "door": DOOR_TEXT,
}


@pytest.mark.parametrize("name", OWN)
def test_our_own_code_needs_no_compiler_of_numba(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(codegen, "_compile")
    kernel = compile_kernel(OWN[name], name, store=Store(tmp_path / "kernels", 1_000_000), generate=_fresh)
    assert kernel.address


def _fresh(source: str, name: str, fastmath: bool) -> Stored:
    return codegen.generate(source, name, f"<{name}>", fastmath)
