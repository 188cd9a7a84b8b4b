"""Takes a function, tells whether calls of it may call it again, by the names that it and its callees use."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

__all__ = ["may_recur"]

_LOOKED_AT = 200  # functions; a program that reaches more of them from one is not looked through


def may_recur(function: FunctionType) -> bool:
    """Whether the function is reached from itself: by its name, or as a method by that of an attribute."""
    own = function.__code__.co_name
    seen: set[int] = set()
    waiting = [function]
    while waiting and len(seen) < _LOOKED_AT:
        looked = waiting.pop()
        if id(looked.__code__) in seen:
            continue
        seen.add(id(looked.__code__))
        names = set(_names(looked.__code__))
        if own in names:
            return True
        waiting += [value for value in _values(looked, names) if type(value) is FunctionType]
    return bool(waiting)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    yield from code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _values(function: FunctionType, names: set[str]) -> Iterator[Any]:
    """What the names stand for; of a compiled function, its plain one."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=False))
    for name in names:
        found = function.__globals__.get(name)
        if name in cells:
            try:
                found = cells[name].cell_contents
            except ValueError:  # not bound yet
                continue
        yield getattr(getattr(found, "jit", None), "plain", found)
