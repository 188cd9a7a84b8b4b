"""Takes a capture and the values of its call, tells whether arrays take any part: else plain Python is the best."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.tracer.capture import Capture

__all__ = ["may_touch_arrays", "touches_arrays"]

_ARRAYS = (np.ndarray, np.generic)


def touches_arrays(capture: Capture, values: tuple[Any, ...]) -> bool:
    """Whether the graph computes anything, or an array went in."""
    graph = capture.graph
    if next(graph.calls(), None) is not None or any(isinstance(v, _ARRAYS) for v in values):
        return True
    return any(isinstance(node.meta, ArrayMeta) for node in graph.nodes)


def may_touch_arrays(function: FunctionType) -> bool:
    """Whether another call of ``function`` might meet arrays: it names NumPy, or functions that could use it."""
    scope = {**function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            scope[name] = cell.cell_contents
        except ValueError:  # not bound yet
            return True
    return any(_could(scope[name]) for name in _names(function.__code__) if name in scope)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _could(value: Any) -> bool:
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] not in _SCALAR_MODULES
    return isinstance(value, (FunctionType, np.ufunc, *_ARRAYS)) or _comes_from_numpy(value)


_SCALAR_MODULES = frozenset({"builtins", "math", "cmath", "os", "sys", "time", "re", "json", "itertools", "operator"})


def _comes_from_numpy(value: Any) -> bool:
    module = getattr(type(value), "__module__", None)
    own = value.__module__ if isinstance(value, type) else module
    return isinstance(own, str) and own.partition(".")[0] == "numpy"
