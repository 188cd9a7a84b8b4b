"""The CUDA emitter: its kernels agree with NumPy on Numba's simulator, and compile to PTX where there is a toolkit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.aot.eager import aot_eager
from jitmagic.backends.numba_cuda import device
from jitmagic.backends.numba_cuda.program import CudaKernel, compile_graph, ptx
from jitmagic.errors import UserError
from jitmagic.graph import Graph
from tests.backends.numba_cuda.programs import PROGRAMS
from tests.benchmarks.programs import PROGRAMS as BENCHMARKS

ROOT = Path(__file__).parents[3]
SMALL = {case.function.__name__: case for case in reversed(BENCHMARKS)}  # each at its smallest size


def test_programs_agree_with_numpy_on_the_simulator() -> None:
    """In a process of its own: Numba takes the simulator for the GPU only if it is told so from the start."""
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'widgets'}"}
    done = subprocess.run(
        [sys.executable, "-m", "tests.backends.numba_cuda.programs"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(PROGRAMS) + 1} of {len(PROGRAMS) + 1} programs agree" in done.stdout


def has_toolkit() -> bool:
    """Whether there is a compiler for the device."""
    from numba import cuda, int64

    try:
        cuda.compile_ptx(lambda x: None, (int64,), cc=(8, 0))
    except Exception:  # whatever is missing
        return False
    return True


def kernels_of(function: Any, arguments: Sequence[Any]) -> list[CudaKernel]:
    """The kernels for the device of every piece of a function; NumPy computes in their place."""
    found: list[CudaKernel] = []

    def backend(graph: Graph, examples: Sequence[Any] | None = None) -> Any:
        found.extend(compile_graph(graph, examples).kernels)
        return aot_eager(graph, examples)

    jm.register_backend("for the device", backend)
    jm.compile(function, backend="for the device")(*arguments)
    return found


@pytest.mark.slow  # NVVM takes a tenth of a second for each kernel
def test_kernels_of_the_benchmark_programs_compile_to_ptx() -> None:
    if not has_toolkit():
        pytest.skip("there is no CUDA toolkit (NVVM) here")
    counts = {}
    for name, case in SMALL.items():
        kernels = kernels_of(case.function, case.arguments(np.random.default_rng(0)))
        counts[name] = len(kernels)
        for kernel in kernels:
            assert ".visible .entry" in ptx(kernel), kernel.source
    assert len(counts) >= 24
    assert sum(count > 0 for count in counts.values()) >= 20, counts


@pytest.mark.parametrize("name", ["pointwise", "by axis", "whole sum", "stencil", "integers"])
def test_kernels_of_each_kind_compile_to_ptx(name: str) -> None:
    if not has_toolkit():
        pytest.skip("there is no CUDA toolkit (NVVM) here")
    function, operands, _ = PROGRAMS[name]
    kernels = kernels_of(function, operands)
    assert kernels
    for kernel in kernels:
        assert ".visible .entry" in ptx(kernel)


def test_without_a_gpu_the_remedy_is_named_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    class Nothing:
        @staticmethod
        def is_available() -> bool:
            return False

    monkeypatch.setattr(device, "cuda", Nothing)
    with pytest.raises(UserError, match=r'pip install "jitmagic\[cuda\]"') as found:
        jm.compile(lambda x: x + 1, target="cuda")
    assert "\n" not in str(found.value)
    assert ". " not in str(found.value)


def test_a_broken_driver_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Any:
        raise OSError("libcuda.so")

    monkeypatch.setattr(device, "cuda", broken)
    with pytest.raises(UserError, match="NVIDIA GPU"):
        device.require()
