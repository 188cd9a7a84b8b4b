"""Takes a function that NumPy wrote in Python, gives its body for Tensors: ``asarray`` in it leaves them alone."""

from __future__ import annotations

import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from jitmagic.autograd.recorded import Recorded

__all__ = ["body_on_tensors"]


@lru_cache(maxsize=256)
def body_on_tensors(function: Any) -> Callable[..., Any] | None:
    """The function without its dispatcher, over NumPy whose conversions keep Tensors; None if it has no Python body."""
    body = getattr(function, "__wrapped__", None)
    if not isinstance(body, types.FunctionType) or not body.__module__.startswith("numpy"):
        return None
    scope = {name: _replaced(value) for name, value in body.__globals__.items()}
    found = types.FunctionType(body.__code__, scope, body.__name__, body.__defaults__, body.__closure__)
    found.__kwdefaults__ = body.__kwdefaults__
    return found


def _replaced(value: Any) -> Any:
    if isinstance(value, types.ModuleType) and value.__name__ in ("numpy", "numpy._core.numeric"):
        return _NumPy(value)
    return _CONVERSIONS.get(value, value) if isinstance(value, types.BuiltinFunctionType) else value


class _NumPy:
    """A module whose conversions keep Tensors."""

    def __init__(self, module: Any) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return _replaced(getattr(self._module, name))


def _keeping(convert: Callable[..., Any], copies: bool) -> Callable[..., Any]:
    def converted(value: Any, dtype: Any = None, *args: Any, ndmin: int = 0, copy: Any = copies, **options: Any) -> Any:
        if isinstance(value, list | tuple) and value and all(isinstance(v, Recorded) for v in value):
            value = np.stack(value)
        if not isinstance(value, Recorded):
            given = {"ndmin": ndmin, "copy": copy} if convert is np.array else {}
            return convert(value, dtype, *args, **given, **options)
        tensor: Any = value
        if dtype is not None and tensor.dtype != dtype:
            tensor = tensor.astype(dtype)
        elif copy:
            tensor = tensor.copy()
        return tensor.reshape((1,) * (ndmin - tensor.ndim) + tensor.shape) if tensor.ndim < ndmin else tensor

    return converted


_CONVERSIONS: dict[Any, Any] = {
    np.array: _keeping(np.array, True),
    np.asarray: _keeping(np.asarray, False),
    np.asanyarray: _keeping(np.asanyarray, False),
}
