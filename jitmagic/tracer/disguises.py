"""Takes a call, tells whether it is a loop in disguise, and gives what the captured loop gives.

``sum`` and its kin of a comprehension, ``np.array`` of one, ``list`` of ``map``. The argument is evaluated as Python
does it; where no region can be made the call goes on with what was evaluated.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeAlias

import numpy as np

from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.loops.disguised import capture_array, capture_fold, capture_list, stream_of
from jitmagic.tracer.loops.folds import is_fold
from jitmagic.tracer.loops.surroundings import known_function
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.sequences import ListTracker

__all__ = ["undisguised"]

Make: TypeAlias = Callable[[ast.expr, VariableTracker], VariableTracker]
Capture: TypeAlias = Callable[[Evaluator, ast.Call, VariableTracker, Make], VariableTracker | None]


def undisguised(tx: Evaluator, node: ast.Call, function: VariableTracker, make: Make) -> VariableTracker | None:
    """The value of the call, or None, with nothing evaluated, if it is like any other.

    ``make(node, first)`` gives the tracker of a comprehension whose outermost iterable is ``first``.
    """
    known = _known(function)
    capture = _CAPTURES.get(known) if known is not None else None
    return None if capture is None else capture(tx, node, function, make)


def _known(function: VariableTracker) -> Any:
    """A function that may be looked up in a table. Its class is asked for, not itself: that may run the user's code."""
    value = getattr(function, "value", None)
    return value if issubclass(type(value), type | BuiltinFunctionType | FunctionType) else None


def _folded(tx: Evaluator, node: ast.Call, function: VariableTracker, make: Make) -> VariableTracker | None:
    """``sum`` and its kin of something that a loop can run over."""
    if not is_fold(known_function(tx, node.func), node):
        return None
    position = len(node.args) > 1 and _known(function) is functools.reduce
    before = [tx.eval(a) for a in node.args[:position]]
    stream = stream_of(tx, node.args[position], make)
    found = capture_fold(tx, node, stream, position)
    if found is not None:
        return found
    after = [tx.eval(a) for a in node.args[position + 1 :]]
    return function.call(tx, [*before, stream.fallback(), *after], {})


def _listed(tx: Evaluator, node: ast.Call, function: VariableTracker, make: Make) -> VariableTracker | None:
    """``list(map(f, x))``."""
    if len(node.args) != 1 or node.keywords or not _is_stream(node.args[0]):
        return None
    stream = stream_of(tx, node.args[0], make)
    found = capture_list(tx, stream)
    return found if found is not None else function.call(tx, [stream.fallback()], {})


def _array(tx: Evaluator, node: ast.Call, function: VariableTracker, make: Make) -> VariableTracker | None:
    """``np.array([f(v) for v in x])``: no list is made."""
    if len(node.args) not in (1, 2) or any(k.arg != "dtype" for k in node.keywords):
        return None
    inner = node.args[0]
    if isinstance(inner, ast.Call) and len(inner.args) == 1 and known_function(tx, inner.func) == "builtins.list":
        inner = inner.args[0]
    if not isinstance(inner, ast.ListComp) and (inner is node.args[0] or not _is_stream(inner)):
        return None
    stream = stream_of(tx, inner, make)
    given = [*node.args[1:], *(k.value for k in node.keywords)]
    if len(given) > 1:
        return None
    rest = {} if not given else {"dtype": tx.eval(given[0])}
    found = capture_array(tx, stream, _dtype_of(rest.get("dtype")))
    if found is not None:
        return found
    value = stream.fallback()
    items = value if isinstance(value, ListTracker) else ListTracker(tx.unpack(value))
    return function.call(tx, [items], rest)


def _dtype_of(value: VariableTracker | None) -> np.dtype[Any] | None:
    if value is None or (isinstance(value, Constant) and value.value is None):
        return None
    made: np.dtype[Any] = np.dtype(value.value if isinstance(value, ClassTracker) else value.constant())
    return made


def _from_iterable(tx: Evaluator, node: ast.Call, function: VariableTracker, make: Make) -> VariableTracker | None:
    """``np.fromiter(stream, dtype)``."""
    if len(node.args) not in (1, 2) or any(k.arg != "dtype" for k in node.keywords) or not node.args:
        return None
    if not _is_stream(node.args[0]) and not isinstance(node.args[0], ast.ListComp):
        return None
    stream = stream_of(tx, node.args[0], make)
    rest = [tx.eval(k.value) for k in node.keywords] + [tx.eval(a) for a in node.args[1:]]
    found = capture_array(tx, stream, _dtype_of(rest[0])) if len(rest) == 1 else None
    return found if found is not None else function.call(tx, [stream.fallback(), *rest], {})


def _is_stream(node: ast.expr) -> bool:
    is_map = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "map"
    return is_map or isinstance(node, ast.GeneratorExp)


_CAPTURES: Mapping[Any, Capture] = {
    **dict.fromkeys((sum, any, all, max, min, functools.reduce), _folded),
    **dict.fromkeys((np.array, np.asarray, np.asanyarray), _array),
    list: _listed,
    np.fromiter: _from_iterable,
}
