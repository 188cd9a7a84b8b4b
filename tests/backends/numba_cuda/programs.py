"""Programs that run on the simulator: ``python -m tests.backends.numba_cuda.programs`` compares each with NumPy.

The simulator runs a kernel's text as Python, one thread of it for each of the GPU's, so that arrays are small.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

import jitmagic as jm

X, Y = np.random.default_rng(0).random((2, 6, 5))
V = np.linspace(-1, 1, 40)
K = np.arange(-5, 5)

# name -> function, operands, nodes that NumPy runs
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "pointwise": (lambda x, y: np.exp(-x * x) * 2 + np.arctan2(x, y) ** 1.5, (X, Y), 0),
    "stencil": (lambda v: v[1:-1] * 0.5 + 0.25 * (v[:-2] + v[2:]), (V,), 0),
    "backwards": (lambda v: v[::-1] - v[::1] * 2, (V,), 0),
    "negative start": (lambda v: v[-3:] * 2 + v[:3], (V,), 0),
    "whole sum": (lambda x: (x * x).sum(), (X,), 0),
    "whole mean": (lambda x: (x - 1).mean(), (X,), 0),
    "many elements": (lambda v: (v * 2).max() - (v + 1).min(), (np.linspace(0, 9, 300),), 1),
    "by axis": (lambda x: ((x * x).sum(axis=0), (x * 2).mean(axis=1), x.min(axis=0)), (X,), 0),
    "middle axis": (lambda x: (x * 2).sum(axis=1), (np.random.default_rng(1).random((3, 4, 2)),), 0),
    "transposed": (lambda x, y: np.where(x > y, x, y * 2).T + 1, (X, Y), 0),
    "fortran": (lambda x: x * 2 + 1, (np.asfortranarray(X),), 0),
    "strided": (lambda x: x * 2 + 1, (X[::2, ::-1],), 0),
    "broadcast": (lambda x: x * x[0] + x[:, :1], (X,), 0),
    "float32": (lambda x: np.sqrt(x.astype(np.float32)) * np.float32(2) + 1, (X,), 0),
    "integers": (lambda k: (k * k - 3, k.sum(), (k > 2).any(), (k > -9).all()), (K,), 0),
    "int8 wraps": (lambda k: k.astype(np.int8) * np.int8(100), (K,), 0),
    "nan": (lambda v: np.where(v > 0, v, np.nan).max(), (V,), 0),
    "softmax": (lambda x: np.exp(x - x.max(axis=1, keepdims=True)) / np.exp(x).sum(axis=1, keepdims=True), (X,), 0),
    "scalar operands": (lambda x, a: x * a + np.float32(a), (X, 2.5), 0),
    "gather on the host": (lambda v, i: v[i] * 2 + 1, (V, np.array([3, 1, 3])), 1),
    "product on the host": (lambda x, y: x @ y.T + 1, (X, Y), 1),
    "empty": (lambda x: x * 2 + 1, (X[:0],), 0),
}


def difference(name: str) -> str:
    """Empty if the compiled function gives what NumPy gives, in two calls, and runs where it should."""
    function, operands, extern_count = PROGRAMS[name]
    compiled = jm.compile(function, target="cuda")
    expected = function(*operands)
    for _ in range(2):
        found = compiled(*operands)
        pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
        for a, b in pairs:
            if type(a) is not type(b) or (a.dtype, a.shape, a.strides) != (b.dtype, b.shape, b.strides):
                return f"{type(a)} {a.dtype} {a.shape} {a.strides} / {type(b)} {b.dtype} {b.shape} {b.strides}"
            if not np.allclose(a, b, rtol=1e-6 if a.dtype == np.float32 else 1e-13, atol=0, equal_nan=True):
                return f"{a} / {b}"
    lowered = compiled.jit.frame.entries[-1].lowered
    if compiled.jit.record.fallbacks or lowered.extern_count != extern_count:
        return f"{lowered.extern_count} nodes on the host, {compiled.jit.record.fallbacks}"
    return "" if lowered.kernels else "no kernel"


def on_device() -> str:
    """An input on the device keeps the results there."""
    from numba import cuda

    from jitmagic.backends import get_backend
    from tests.backends.building import Recorder

    recorder = Recorder()
    graph = recorder.finish(recorder.call("add", recorder.call("multiply", recorder.input(X), 2.0), 1.0))
    program: Any = get_backend("numba_cuda").compile(graph, None)
    (found,) = program([cuda.to_device(X)])
    if not hasattr(found, "copy_to_host"):
        return f"a {type(found)} came back"
    return "" if np.array_equal(found.copy_to_host(), X * 2 + 1) else "wrong result"


if __name__ == "__main__":
    failed = {name: text for name in PROGRAMS if (text := difference(name))}
    failed |= {"on the device": text} if (text := on_device()) else {}
    for name, text in failed.items():
        print(f"{name}: {text}")
    print(f"{len(PROGRAMS) + 1 - len(failed)} of {len(PROGRAMS) + 1} programs agree")
    sys.exit(bool(failed))
