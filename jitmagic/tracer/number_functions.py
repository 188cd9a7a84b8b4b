"""Takes a function of the user, says whether it only computes numbers from numbers: then it may as well run later.

Judged by its bytecode and by what its names mean now: numbers and containers of numbers, ``math``, ufuncs, and
functions of the same kind. It writes nothing, and reads no array that a graph may have written meanwhile.
"""

from __future__ import annotations

import dis
import inspect
import math
from collections.abc import Iterable
from types import CodeType, FunctionType
from typing import Any

import numpy as np

__all__ = ["computes_numbers"]

DEEPEST = 3  # functions that call functions
BUILTINS = frozenset((abs, bool, divmod, float, int, len, max, min, pow, range, round, sum))
WRITING = (
    "STORE_GLOBAL",
    "STORE_NAME",
    "STORE_ATTR",
    "STORE_SUBSCR",
    "STORE_DEREF",
    "STORE_SLICE",
    "IMPORT",
    "DELETE_",
)
SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def computes_numbers(function: Any, depth: int = DEEPEST) -> bool:
    """Whether ``function(number)`` gives a number and does nothing else."""
    if type(function) is not FunctionType or depth < 0:
        return False
    code = function.__code__
    if code.co_flags & SUSPENDED or any(isinstance(c, CodeType) for c in code.co_consts):
        return False
    if any(step.opname.startswith(WRITING) for step in dis.get_instructions(code)):
        return False
    try:
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
    except ValueError:  # a variable that is not bound yet
        return False
    defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    named = [_meaning(function, name) for name in code.co_names]
    return all(_is_harmless(value, depth) for value in (*cells, *defaults, *named))


def _meaning(function: FunctionType, name: str) -> Any:
    """What a name of the code stands for: a global, a builtin, or else an attribute of a module of functions."""
    scope = function.__globals__
    for place in (scope, scope.get("__builtins__")):
        found = vars(place) if inspect.ismodule(place) else place
        if isinstance(found, dict) and name in found:
            return found[name]
    return getattr(math, name, getattr(np, name, object))


def _is_harmless(value: Any, depth: int) -> bool:
    if _is_number(value) or value is math or value is np or value is None:
        return True
    if type(value) in (list, tuple, dict):
        members: Iterable[Any] = value.values() if type(value) is dict else value
        return all(map(_is_number, members))
    if isinstance(value, np.ufunc) or (inspect.isbuiltin(value) and value.__module__ == "math"):
        return True
    if value.__hash__ is not None and type(value) in (type, type(abs)) and value in BUILTINS:
        return True
    return computes_numbers(value, depth - 1)


def _is_number(value: Any) -> bool:
    return type(value) in (bool, int, float, str) or isinstance(value, np.number)
