"""Max pooling among equal elements, NaN and infinities: the first of the largest, plainly, compiled and backwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.nn import functional as F

# kernel, stride, padding, dilation: with windows side by side, overlapping, of one place, and of too many to compare
SETTINGS = [(2, None, 0, 1), (3, 2, 1, 1), (2, 1, 1, 2), ((1, 3), (2, 1), (0, 1), 1), (1, None, 0, 1), (5, 2, 2, 1)]


def values(dtype: Any) -> Any:
    rng = np.random.default_rng(3)
    x = rng.integers(-2, 3, (3, 2, 9, 8)).astype(dtype)  # most windows have several largest elements
    if np.dtype(dtype).kind == "f":
        x[rng.random(x.shape) < 0.15] = np.nan
        x[rng.random(x.shape) < 0.15] = -np.inf
    return x


def pair(value: Any) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


def reference(x: Any, g: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> tuple[Any, Any]:
    """Results and the derivative by ``x``, one window after the other; padding is never chosen, as in PyTorch."""
    (kh, kw), (sh, sw) = pair(kernel), pair(kernel if stride is None else stride)
    (ph, pw), (dh, dw) = pair(padding), pair(dilation)
    lowest = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    wide = np.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)), constant_values=lowest)
    inner = np.pad(np.ones(x.shape, bool), ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    found, back = np.empty(g.shape, x.dtype), np.zeros(wide.shape, g.dtype)
    for n, c, i, j in np.ndindex(g.shape):
        part = (n, c, slice(i * sh, i * sh + dh * kh, dh), slice(j * sw, j * sw + dw * kw, dw))
        window = wide[part][:kh, :kw]
        inside = np.flatnonzero(inner[part][:kh, :kw])
        best = np.unravel_index(inside[np.argmax(window.ravel()[inside])], window.shape)
        found[n, c, i, j] = window[best]
        back[part][best] += g[n, c, i, j]
    return found, back[:, :, ph : ph + x.shape[2], pw : pw + x.shape[3]]


def pooled(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    return F.max_pool2d(x, kernel, stride, padding, dilation)


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_first_of_the_largest_is_the_result(setting: Any, dtype: Any) -> None:
    x = values(dtype)
    found = pooled(x, *setting)
    wanted, _ = reference(x, np.zeros(found.shape), *setting)
    assert found.dtype == x.dtype
    np.testing.assert_array_equal(found, wanted)
    assert not np.shares_memory(found, x)
    compiled = jm.compile(pooled)
    for _ in range(2):
        again = compiled(x, *setting)
        assert (again.dtype, again.strides) == (found.dtype, found.strides)
        np.testing.assert_array_equal(again, found)
        assert not np.shares_memory(again, x)
    assert not compiled.jit.breaks()


def total(x: Any, g: Any, setting: Any) -> Any:
    return np.sum(pooled(x, *setting) * g)


def backwards(x: Any, g: Any, setting: Any) -> Any:
    return jm.grad(total)(x, g, setting)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_first_of_the_largest_gets_the_gradient(setting: Any) -> None:
    """Whole numbers as cotangents: sums are exact in any order."""
    x = values(np.float64)
    g = np.random.default_rng(4).integers(1, 9, pooled(x, *setting).shape).astype(float)
    _, wanted = reference(x, g, *setting)
    np.testing.assert_array_equal(backwards(x, g, setting), wanted)
    compiled = jm.compile(backwards)
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x, g, setting), wanted)
    assert not compiled.jit.breaks()
