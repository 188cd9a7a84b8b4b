"""Text becomes code once: live, then stored, then compiled; errors show the text."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jitmagic.backends.native import Status, Store, compile_kernel, load_kernel, make_launcher
from jitmagic.errors import InternalError


def text(number: int) -> str:
    return f"def kernel(args, lo, hi):\n    return {number}\n"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "kernels", 1_000_000)


def value(kernel: object) -> int:
    return make_launcher("")(kernel.address, 0, 1, 0)  # type: ignore[attr-defined]  # a Kernel


def test_the_second_time_it_comes_from_the_store(store: Store) -> None:
    kernel = compile_kernel(text(5), "kernel", store=store)
    assert not kernel.cached
    assert kernel.elapsed_ns > 0
    assert kernel.source == text(5)
    del kernel
    gc.collect()
    again = compile_kernel(text(5), "kernel", store=store)
    assert again.cached
    assert value(again) == 5


def test_load_never_compiles(store: Store) -> None:
    assert load_kernel(text(6), "kernel", store=store) is None
    live = compile_kernel(text(6), "kernel", store=store)
    assert load_kernel(text(6), "kernel", store=store) is live
    del live
    gc.collect()
    stored = load_kernel(text(6), "kernel", store=store)
    assert stored is not None
    assert stored.cached
    assert value(stored) == 6


def test_object_code_that_does_not_link_is_made_again(store: Store) -> None:
    key = store.key(text(7), "kernel", False)
    kernel = compile_kernel(text(7), "kernel", store=store)
    good = store.get(key)
    assert good is not None
    del kernel
    gc.collect()
    for bad in (b"", b"not an object", good.object_code[: len(good.object_code) // 2]):
        assert store.put(key, type(good)(good.symbol, bad))
        kernel = compile_kernel(text(7), "kernel", store=store)
        assert not kernel.cached
        assert value(kernel) == 7
        assert store.get(key) == good or store.get(key) is not None
        del kernel
        gc.collect()


def test_no_store_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    kernel = compile_kernel(text(8), "kernel", store=Store(tmp_path / "file" / "kernels", 1000))
    assert value(kernel) == 8


def test_an_address_alone_keeps_the_code(store: Store) -> None:
    addresses = [compile_kernel(text(100 + k), "kernel", store=store).address for k in range(5)]
    gc.collect()
    launch = make_launcher("")
    assert [launch(address, 0, 1, 0) for address in addresses] == [100, 101, 102, 103, 104]


def test_an_error_of_numba_names_the_kernel_and_shows_its_text(store: Store) -> None:
    bad = "def kernel(args, lo, hi):\n    return undefined_name + lo\n"
    with pytest.raises(InternalError, match=r"(?s)kernel kernel does not compile.*undefined_name"):
        compile_kernel(bad, "kernel", store=store)


def test_a_kernel_that_allocates_does_not_compile(store: Store) -> None:
    bad = "def kernel(args, lo, hi):\n    return np.zeros(hi).size\n"
    with pytest.raises(InternalError):
        compile_kernel(bad, "kernel", store=store)


def test_a_kernel_that_raises_gives_a_status(store: Store) -> None:
    kernel = compile_kernel(
        "def kernel(args, lo, hi):\n    if hi > 0:\n        raise ValueError\n    return 0\n",
        "kernel",
        store=store,
    )
    launch = make_launcher("")
    assert launch(kernel.address, 0, 1, 0) == Status.RAISED
    assert launch(kernel.address, 0, 0, 0) == Status.OK


def test_only_allowed_symbols_are_linked(store: Store) -> None:
    """``time`` is in the C library, but no business of a kernel."""
    from numba import types

    from jitmagic.backends.native.intrinsics import NAMESPACE

    NAMESPACE["time"] = types.ExternalFunction("time", types.int64(types.int64))
    try:
        with pytest.raises(InternalError, match="cannot be linked: it needs time"):
            compile_kernel("def kernel(args, lo, hi):\n    return time(0)\n", "kernel", store=store)
    finally:
        del NAMESPACE["time"]


@pytest.mark.parametrize("name", ["exp", "log", "sin", "tanh", "atan", "expm1"])
def test_scalar_functions_are_those_of_the_c_library(store: Store, name: str) -> None:
    import math

    import numpy as np

    body = f"store_float64(arg(args, 1), 0, math.{name}(arg_float64(args, 0)))"
    kernel = compile_kernel(f"def kernel(args, lo, hi):\n    {body}\n    return 0\n", "kernel", store=store)
    launch = make_launcher("da1")
    out = np.zeros(1)
    for x in np.random.default_rng(0).uniform(0.01, 20, 200).tolist():
        assert launch(kernel.address, 0, 1, 0, x, out) & 0xFF == 0
        assert out[0] == getattr(math, name)(x)


def test_a_warm_process_never_imports_numba(tmp_path: Path) -> None:
    """Kernel, launcher and pool all come from the store."""
    program = """
import sys
import numpy as np
from jitmagic.backends.native import compile_kernel, make_launcher
from jitmagic.config import configure
configure(threads=2)
kernel = compile_kernel('''
def kernel(args, lo, hi):
    for i in range(lo, hi):
        store_float64(arg(args, 0), i * 8, math.exp(i * 1e-3))
    return 0
''', "kernel")
out = np.zeros(1000)
launch = make_launcher("a1")
assert launch(kernel.address, 0, 1000, 10_000, out) & 0xFF == 0
assert launch(kernel.address, 0, 1000, 0, out) & 0xFF == 0
print(kernel.cached, "numba" in sys.modules, out[999])
"""
    env = {
        **os.environ,
        "JITMAGIC_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
    }
    command = [sys.executable, "-c", program]
    printed = [subprocess.run(command, env=env, capture_output=True, text=True, check=True) for _ in range(2)]
    cold, warm = (done.stdout.split() for done in printed)
    assert cold[:2] == ["False", "True"]
    assert warm[:2] == ["True", "False"]
    assert cold[2] == warm[2]
