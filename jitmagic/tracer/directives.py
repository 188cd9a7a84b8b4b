"""What the user says about single functions: leave it plain, take it as one opaque operation, break here.

The tracer asks ``is_disabled`` and ``is_opaque`` about every callee.
"""

from __future__ import annotations

import weakref
from types import FunctionType, MethodType
from typing import Any

__all__ = [
    "allow_in_graph",
    "disable",
    "graph_break",
    "is_disabled",
    "is_opaque",
    "substitute",
    "substitutes",
    "traced_as",
    "traced_form",
]

_disabled: dict[int, weakref.ref[Any]] = {}
_opaque: dict[int, weakref.ref[Any]] = {}
_traced: dict[Any, Any] = {}
substitutes: dict[Any, Any] = {}  # what the user says; entries that relied on it are guarded


def disable(function: Any) -> Any:
    """Leave ``function`` plain: it is not compiled and not looked into when others call it."""
    handle = getattr(function, "jit", None) if isinstance(function, FunctionType | MethodType) else None
    function = getattr(handle, "plain", function)
    _note(_disabled, function)
    return function


def allow_in_graph(function: Any) -> Any:
    """Make ``function`` one node of the graph: it gets arrays, gives new arrays, and has no effects.

    It is run on small made-up arrays once for each form, to see what its results look like."""
    _note(_opaque, function)
    return function


def traced_as(function: Any, plain: Any) -> None:
    """Where ``function``, which compiles something, is called in a trace, ``plain`` is meant: the trace compiles it."""
    _traced[function] = plain


def substitute(function: Any, by: Any = None) -> None:
    """Trace ``by`` wherever ``function`` is used; without ``by`` it is traced as itself again."""
    if by is None:
        substitutes.pop(function, None)
    else:
        substitutes[function] = by


def is_substituted(function: Any) -> bool:
    """Whether another function is traced in its place. Whatever is callable may be asked for."""
    try:
        return bool(substitutes) and function in substitutes
    except TypeError:  # not hashable
        return False


def traced_form(function: Any) -> Any:
    """What stands for ``function`` in a trace: itself, if nothing else was said."""
    return _traced.get(function, function)


def is_disabled(function: Any) -> bool:
    return _has(_disabled, function)


def is_opaque(function: Any) -> bool:
    return _has(_opaque, function)


def _note(table: dict[int, weakref.ref[Any]], function: Any) -> None:
    key = id(function)
    table[key] = weakref.ref(function, lambda _: table.pop(key, None))


def _has(table: dict[int, weakref.ref[Any]], function: Any) -> bool:
    found = table.get(id(function))
    return found is not None and found() is function


@disable
def graph_break() -> None:
    """Break the graph here; in plain Python it does nothing."""
