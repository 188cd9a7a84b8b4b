"""Complex numbers in loops: the kernel's bits are those of Python's numbers and of NumPy's, which differ."""

from __future__ import annotations

import cmath
import math
import sys
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

SPECIAL = (0.0, -0.0, 1.0, -1.0, 1e-320, -1e-160, 3e200, 1e308, float("inf"), float("nan"))
SCOPE: dict[str, Any] = {"np": np, "math": math, "cmath": cmath}


def _numbers(seed: int, count: int, *, special: bool) -> Any:
    """Random floats of many sizes; the middle one may be special."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(count) * 10.0 ** rng.integers(-3, 4, count)
    if special:
        values[count // 2] = rng.choice(SPECIAL)
    return values


def _complexes(seed: int, count: int, *, special: bool) -> Any:
    return _numbers(seed, count, special=special) + 1j * _numbers(seed + 1, count, special=False)


def _kernels(compiled: Any) -> bool:
    calls = loop_calls(compiled)
    return bool(calls) and all(getattr(c, "compiled", None) is not None for c in calls) and not compiled.jit.breaks()


ON_EACH = "def f(x, y, r, k):\n    out = np.zeros(len(x), {dtype})\n    for i in range(len(x)):\n{body}\n    return out"
PYTHONS = (
    *(
        "z + w",
        "z - w",
        "z * w",
        "z / w",
        "z + a",
        "a - z",
        "a * z",
        "z * a",
        "a / z",
        "z / a",
        "z + k",
        "k - z",
        "z * k",
    ),
    *(
        "z ** 2",
        "z ** 3",
        "z ** 7",
        "z ** -2",
        "z ** 1",
        "z ** 5.0",
        "z ** k",
        "-z",
        "+z",
        "z.conjugate()",
        "complex(a, k)",
    ),
    *(
        "z.real * 1j - z.imag",
        "abs(z) * 2j",
        "z if z != w else w",
        "z if abs(z) > 1 else w",
        "complex(z)",
        "complex(a)",
    ),
    *("z / r[i]", "r[i] / z", "r[i] + z", "z - r[i]", "x[i] * z", "z / y[i]"),
    *("cmath.exp(z)", "cmath.sqrt(z)", "cmath.phase(z) + 0j", "cmath.rect(a, z.real)", "np.exp(z)", "np.sqrt(z)"),
    *("np.abs(z) + 1j", "z == w", "z != z", "1j * k", "z * 2", "True + z", "not z", "z and w"),
)
NUMPYS = (
    *(
        "z + w",
        "z - w",
        "z * w",
        "z / w",
        "z + a",
        "a - z",
        "a * z",
        "z * a",
        "a / z",
        "z / a",
        "z + k",
        "k - z",
        "z * k",
    ),
    *(
        "z ** 2",
        "z ** 3",
        "z ** 1",
        "z ** 9",
        "z ** -3",
        "z ** k",
        "z ** (k + i % 9 - 2)",
        "z ** 2.0",
        "-z",
        "z.conjugate()",
        "z.conj()",
        "abs(z) + 1j",
    ),
    *("z.real + z.imag * 1j", "np.abs(z) + 1j", "np.exp(z)", "np.sin(z)", "np.sqrt(z)", "np.log(z)", "np.square(z)"),
    *(
        "np.conj(z)",
        "r[i] / z",
        "z / r[i]",
        "z * r[i]",
        "z.item() * w",
        "z == w",
        "z if z == z else w",
        "1j * z",
        "2 * z",
    ),
    *("np.isnan(z)", "np.isfinite(z)", "np.isinf(z)"),
)


def _on_each(expression: str, setting: str, tail: str) -> str:
    body = f"        z = x[i]{tail}\n        w = y[i]{tail}\n        a = {setting}\n        out[i] = {expression}"
    return ON_EACH.format(body=body, dtype="complex")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="complex numbers stay plain: Python computes them otherwise")
@pytest.mark.parametrize(
    ("expression", "setting", "tail"),
    [(e, "r[i].item()", ".item()") for e in PYTHONS] + [(e, "r[i]", "") for e in NUMPYS],
    ids=[f"python {e}" for e in PYTHONS] + [f"numpy {e}" for e in NUMPYS],
)
def test_an_operation_gives_the_bits_of_plain_python(expression: str, setting: str, tail: str) -> None:
    """On numbers of many sizes; then on zeros, infinities, nan and what overflows, with its errors and warnings."""
    plain = define(_on_each(expression, setting, tail), "loop complex", **SCOPE)
    compiled = jm.compile(define(_on_each(expression, setting, tail), "loop complex", **SCOPE))
    calls = [(0, 300, False), (5, 300, False), *((seed, 9, True) for seed in range(20))]
    for seed, count, special in calls:
        given = [_complexes(seed, count, special=special), _complexes(seed + 7, count, special=False)]
        given += [_numbers(seed + 9, count, special=special), 3]
        assert outcome(compiled, given) == outcome(plain, given)
    assert _kernels(compiled)


@pytest.mark.parametrize(
    "expression",
    ["z < w", "max(z, w)", "int(z)", "float(z)", "z % w", "z // w", "math.sqrt(z)", "z & w", "x[z]", "complex(z, w)"],
)
def test_what_complex_numbers_have_not_raises_as_in_plain_python(expression: str) -> None:
    """A TypeError from the same line, or the value that Python gives."""
    text = _on_each(expression, "0.5", ".item()")
    given = [_complexes(0, 5, special=False), _complexes(1, 5, special=False), _numbers(0, 5, special=False), 2]
    compiled = jm.compile(define(text, "loop complex", **SCOPE))
    for _ in range(2):
        assert outcome(compiled, given) == outcome(define(text, "loop complex", **SCOPE), given)


MANDELBROT = """
def escape(c, most):
    z = 0
    for n in range(most):
        if abs(z) > 2:
            return n
        z = z * z + c
    return most

def f(x, y, most):
    out = np.empty((len(y), len(x)), dtype=int)
    for i in range(len(y)):
        for j in range(len(x)):
            out[i, j] = escape(complex(x[j], y[i]), most)
    return out
"""
JULIA = """
def f(grid, c, most):
    out = np.zeros(grid.shape, dtype=np.int32)
    for i in range(grid.shape[0]):
        for j in range(grid.shape[1]):
            z = grid[i, j]
            k = 0
            while k < most and z.real * z.real + z.imag * z.imag < 4:
                z = z * z + c
                k += 1
            out[i, j] = k
    return out
"""
NEWTON = """
def f(n, most):
    roots = np.zeros((n, n), dtype=complex)
    count = np.zeros((n, n), dtype=int)
    for i in range(n):
        for j in range(n):
            z = complex(-1.5 + 3 * j / n, -1.5 + 3 * i / n)
            for k in range(most):
                slope = 3 * z ** 2
                if slope == 0:
                    break
                step = (z ** 3 - 1) / slope
                z -= step
                if abs(step) < 1e-9:
                    break
            roots[i, j] = z
            count[i, j] = k
    return roots, count
"""
FOURIER = """
def f(x):
    n = len(x)
    out = np.zeros(n, dtype=complex)
    for k in range(n):
        total = 0
        for j in range(n):
            total += x[j] * cmath.exp(-2j * cmath.pi * k * j / n)
        out[k] = total
    return out, total
"""
DAMPED = """
def f(steps, dt):
    a = 1 + 0j
    rate = -0.1 + 2j
    path = []
    for _ in range(steps):
        k1 = rate * a
        k2 = rate * (a + dt / 2 * k1)
        a = a + dt * k2
        path.append(a)
    return path, a, abs(a), np.array(path)
"""
FILTER = """
def f(x, b):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, len(x)):
        y[i] = x[i] * b + y[i - 1].conjugate() / 2 - y[i - 1].imag
    return y[-1], y
"""
GRID = np.linspace(-2, 1, 19)
WAVE = _complexes(3, 40, special=False)
PROGRAMS = {
    "mandelbrot": (MANDELBROT, (GRID, GRID[:11] / 2, 30), (GRID[:0], GRID, 3)),
    "julia": (JULIA, (GRID + 1j * GRID[:, None], -0.4 + 0.6j, 25), (GRID[None, ::2] + 0j, np.complex128(0.3j), 9)),
    "newton": (NEWTON, (11, 20), (6, 2)),
    "fourier": (FOURIER, (WAVE.real.copy(),), (GRID[:5],)),
    "damped": (DAMPED, (200, 0.01), (7, 2.0)),
    "filter": (FILTER, (WAVE, 0.3 - 0.2j), (WAVE[::-2], 2), (WAVE[:3], np.complex128(1j))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_kernels_with_the_bits_of_plain_python(name: str) -> None:
    """Fractals with an early exit, a Fourier transform by hand, an oscillation, a filter."""
    text, *calls = PROGRAMS[name]
    plain, compiled = (define(text, "loop complex", **SCOPE) for _ in range(2))
    compiled = jm.compile(compiled)
    for given in (*calls, *calls):
        assert outcome(compiled, list(given)) == outcome(plain, list(given))
    assert _kernels(compiled)


def test_an_index_out_of_range_leaves_what_plain_python_has_written() -> None:
    """The error has the same text and line."""
    text = (
        "def f(x, out):\n    z = 1j\n    for i in range(len(x)):\n        z *= x[i]\n        out[i] = z\n    return z"
    )
    plain, compiled = (define(text, "loop complex", **SCOPE) for _ in range(2))
    compiled = jm.compile(compiled)
    for room in (40, 17, 0):
        given = [WAVE / abs(WAVE), np.zeros(room, complex)]
        assert outcome(compiled, given) == outcome(plain, given)


def test_what_overflows_raises_python_s_error() -> None:
    """``abs`` and ``**`` of Python's numbers raise, products do not."""
    text = "def f(z, n):\n    s = 0.0\n    for i in range(n):\n        z = z * z\n        s += abs({})\n    return s, z"
    for term in ("z", "z ** 3", "z ** -1"):
        plain, compiled = (define(text.format(term), "loop complex", **SCOPE) for _ in range(2))
        compiled = jm.compile(compiled)
        for rounds in (3, 8, 9, 10, 11, 12):
            given = [1.5 + 0.5j, rounds]
            assert outcome(compiled, given) == outcome(plain, given)
