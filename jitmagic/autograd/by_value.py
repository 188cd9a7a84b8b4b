"""Takes nothing, gives the functions of ``np.emath`` (complex where the values need it) made of others with rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.autograd.recorded import raw

__all__ = ["BY_VALUE"]

SMALL = (np.float32, np.int8, np.int16, np.uint8, np.uint16)  # what NumPy makes complex64
Condition = Callable[[Any], Any]


def _negative(x: Any) -> Any:
    return np.isreal(x) & (np.real(x) < 0)


def _beyond_one(x: Any) -> Any:
    return np.isreal(x) & (np.abs(x) > 1)


def _widened(x: Any, condition: Condition) -> Any:
    """``x`` as complex numbers if one of its elements needs them."""
    data = np.asarray(raw(x))
    if data.dtype.kind == "c" or not np.any(condition(data)):
        return x
    return x.astype(np.complex64 if data.dtype in SMALL else np.complex128)


def _of_one(function: Callable[[Any], Any], condition: Condition) -> Callable[[Any], Any]:
    return lambda x: function(_widened(x, condition))


def _array(x: Any) -> Any:
    return x if hasattr(x, "astype") else np.asarray(x)


def _logn(n: Any, x: Any) -> Any:
    return np.log(_widened(_array(x), _negative)) / np.log(_widened(_array(n), _negative))


def _power(x: Any, p: Any) -> Any:
    """Exponents that are negative integers become real ones."""
    exponents = _array(p)
    if np.any(_negative(raw(exponents))):
        exponents = exponents * 1.0
    return np.power(_widened(_array(x), _negative), exponents)


BY_VALUE: dict[Any, Callable[..., Any]] = {
    np.emath.sqrt: _of_one(np.sqrt, _negative),
    np.emath.log: _of_one(np.log, _negative),
    np.emath.log2: _of_one(np.log2, _negative),
    np.emath.log10: _of_one(np.log10, _negative),
    np.emath.arccos: _of_one(np.arccos, _beyond_one),
    np.emath.arcsin: _of_one(np.arcsin, _beyond_one),
    np.emath.arctanh: _of_one(np.arctanh, _beyond_one),
    np.emath.logn: _logn,
    np.emath.power: _power,
}
