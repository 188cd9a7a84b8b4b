"""Takes a function and arguments, gives everything that a call shows as plain data; says what differs.

Results with type, dtype, shape, all strides, flags and bits (but for the payload of a NaN); the arguments afterwards;
which arrays are one or share memory; warnings with category, text, file and line; what is printed; exceptions with
lines.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["define", "differing", "outcome"]

FILTERS: tuple[Any, ...] = ("always", "always", "always", "error", "default")


def define(text: str, name: str) -> Callable[..., Any]:
    """The function ``f`` that ``text`` defines; its source can be found."""
    filename = f"<array program {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope: dict[str, Any] = {"np": np, "warnings": warnings}
    exec(compile(text, filename, "exec"), scope)
    function: Callable[..., Any] = scope["f"]
    return function


def outcome(function: Callable[..., Any], arguments: list[Any], filters: Any = "always") -> dict[str, Any]:
    """What a call shows."""
    shown: dict[str, Any] = {"error": None}
    result, printed = None, io.StringIO()
    np.random.seed(3)
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(printed):
        warnings.simplefilter(filters)
        try:
            result = function(*arguments)
        except Exception as error:
            shown["error"] = _error(error)
    shown["warnings"] = [(w.category.__name__, str(w.message), w.filename, w.lineno) for w in caught]
    shown["printed"] = printed.getvalue()
    arrays: list[Any] = []
    shown["result"] = _seen(result, arrays)
    shown["arguments"] = _seen(arguments, arrays)
    shown["sharing"] = [
        (i, j, arrays[i] is arrays[j]) for i in range(len(arrays)) for j in range(i) if _share(arrays[i], arrays[j])
    ]
    shown["errstate"] = np.geterr()
    return shown


def differing(plain: dict[str, Any], compiled: dict[str, Any]) -> list[str]:
    """One line for each thing that is not the same."""
    return [f"{key}: {plain[key]} -> {compiled[key]}" for key in plain if not _alike(plain[key], compiled[key])]


def _alike(plain: Any, compiled: Any) -> bool:
    """Equal; where plain Python gives a view of memory that nobody else sees, an array that owns its data will do."""
    if type(plain) is type(compiled) and isinstance(plain, tuple | list):
        return len(plain) == len(compiled) and all(map(_alike, plain, compiled))
    return bool(plain == compiled or (isinstance(plain, _Owner) and compiled.owns))


@dataclass(frozen=True)
class _Owner:
    owns: bool


def _share(a: Any, b: Any) -> bool:
    return a is b or bool(a.size and b.size and np.shares_memory(a, b))


def _error(error: BaseException | None) -> Any:
    if error is None:
        return None
    frames = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith("<array program")]
    return type(error).__name__, str(error), frames, _error(error.__cause__), _error(error.__context__)


def _seen(value: Any, arrays: list[Any]) -> Any:
    if isinstance(value, np.ndarray):
        arrays.append(value)
        flags = value.flags
        about = (flags.writeable, flags.c_contiguous, flags.f_contiguous, _Owner(flags.owndata), flags.aligned)
        head = type(value).__name__, value.dtype.str, value.shape, value.strides, about
        return (*head, _bits(value))
    if isinstance(value, np.generic):
        return type(value).__name__, value.dtype.str, _bits(np.asarray(value))
    if isinstance(value, float):
        return "float", _bits(np.asarray(value))
    if isinstance(value, tuple | list):
        return type(value).__name__, [_seen(v, arrays) for v in value]
    return type(value).__name__, repr(value)


def _bits(value: Any) -> Any:
    if value.dtype.hasobject:
        return repr(value.tolist())
    if value.dtype.kind == "c":
        return _bits(value.real), _bits(value.imag)
    if value.dtype.kind == "f":
        value = np.where(np.isnan(value), np.array(np.nan, value.dtype), value)
        if value.dtype.itemsize > 8:  # its last bytes are padding
            return repr(value.tolist())
    return str(value.tolist()), value.tobytes()
