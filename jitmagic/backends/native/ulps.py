"""How far the functions of ``fastmath`` are from the right result, in units in the last place; tests measure it.

Read without Numba: what the scheduler may approximate is what has a row here.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

__all__ = ["ERRORS_ULP", "worth_approximating"]

# name of the ufunc -> error at most, over the range that the test draws from (all of float64 for most)
ERRORS_ULP: dict[str, float] = {
    "exp": 1.5,
    "exp2": 1.5,
    "expm1": 2.0,
    "log": 2.0,
    "log1p": 2.5,
    "log2": 2.0,
    "log10": 3.0,
    "power": 2.0,
    "sin": 2.0,
    "cos": 2.0,
    "tan": 4.0,
    "tanh": 3.0,
}

# Where NumPy has vector loops (AVX-512), its own are as fast, but for these: 1.1 ns an element against 7, and 1.3
# against 2.0 (tanh); exp takes as long.
_ALWAYS = frozenset({"sin", "cos", "tan", "tanh"})


@cache
def worth_approximating() -> frozenset[str]:
    """The functions that are faster here than NumPy's loops."""
    features: dict[str, bool] = getattr(import_module("numpy._core._multiarray_umath"), "__cpu_features__", {})
    return _ALWAYS if features.get("AVX512_SKX") else frozenset(ERRORS_ULP)
