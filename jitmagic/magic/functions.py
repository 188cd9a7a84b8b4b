"""Takes a function that the cell has just made, gives it compiled, or itself where it must stay plain."""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType, FunctionType, ModuleType
from typing import Any

from IPython.core.error import UsageError

from jitmagic.errors import UserError

__all__ = ["CompileStep", "Made"]

# Packages whose decorators read the code or the source of a function, or compile it themselves: what the
# user chose stays in charge.
_OTHER_COMPILERS = frozenset(
    {
        "numba",
        "cython",
        "Cython",
        "pythran",
        "taichi",
        "jax",
        "torch",
        "dace",
        "line_profiler",
        "memory_profiler",
    }
)
_NOT_CALLED_ONCE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


@dataclass(slots=True)
class Made:
    """What became of the functions of one cell, in the order in which they were made."""

    compiled: list[Any] = field(default_factory=list)
    left_plain: list[tuple[str, str]] = field(default_factory=list)  # qualified name, why


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: constants of code are hashed
class CompileStep:
    """The decorator of one ``def``. ``decorators`` are the user's own on it, which are applied afterwards."""

    compile: Callable[..., Any]
    options: Mapping[str, Any]
    decorators: Sequence[str]
    made: Made

    def __call__(self, function: Any) -> Any:
        """``function`` compiled; UsageError when the options cannot be met."""
        why = self._why_plain(function, sys._getframe(1))
        if why:
            self.made.left_plain.append((getattr(function, "__qualname__", repr(function)), why))
            return function
        try:
            compiled = self.compile(function, **self.options)
        except UserError as error:
            raise UsageError(f"%%compile: {error}") from None
        self.made.compiled.append(compiled)
        return compiled

    def _why_plain(self, function: Any, frame: FrameType) -> str:
        if not isinstance(function, FunctionType) or function.__code__.co_flags & _NOT_CALLED_ONCE:
            return "it is a generator or a coroutine"
        for name in self.decorators:
            decorator = _undone(_look_up(name, frame))
            if decorator is self.compile:
                return f"@{name} compiles it"
            if _package_of(decorator) in _OTHER_COMPILERS:
                return f"@{name} needs the plain function"
        return ""


def _look_up(dotted: str, frame: FrameType) -> Any:
    """What a decorator's name stands for where the ``def`` runs; attributes are followed on modules only."""
    first, *attributes = dotted.split(".")
    scopes = (frame.f_locals, frame.f_globals, vars(builtins))
    value = next((scope[first] for scope in scopes if first in scope), None)
    for attribute in attributes:
        value = getattr(value, attribute, None) if isinstance(value, ModuleType) else value
    return value


def _undone(decorator: Any) -> Any:
    while isinstance(decorator, functools.partial):
        decorator = decorator.func
    return decorator


def _package_of(value: Any) -> str:
    named = value if isinstance(getattr(value, "__module__", None), str) else type(value)
    return str(named.__module__).partition(".")[0]
