"""Takes nothing, gives the values that the texts of ``calls.py`` name: fresh ones at every request."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

__all__ = ["make", "scope"]


def make() -> dict[str, Any]:
    """The operands by name; equal at every call, and sharing no memory."""
    draw = np.random.default_rng(5)
    x, y = draw.uniform(-1, 1, (2, 4, 3))
    values = {
        "x": x,
        "y": y,
        "v": draw.uniform(-1, 1, 6),
        "w": draw.uniform(0, 1, 6),
        "s": draw.random((4, 4)) + 4 * np.eye(4),
        "m": draw.random((4, 3)) < 0.5,
        "k": draw.integers(0, 9, 7),
        "j": np.array([1, 0, 1, 0]),
        "u": draw.integers(0, 255, 3).astype(np.uint8),
        "c": x + 1j * y,
        "d": np.array(["2024-02-28", "2024-03-05", "2024-06-01"], "M8[D]"),
        "n": np.where(x > 0.5, np.nan, x),
        "rng": np.random.default_rng(7),
    }
    values["s"] = values["s"] @ values["s"].T
    return {name: v.copy() if isinstance(v, np.ndarray) else v for name, v in values.items()}


scope = {"np": np, "copy": copy}
