"""Takes a function and arguments, gives all that a call shows: result, exception, warnings, arguments afterwards."""

from __future__ import annotations

import copy
import linecache
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["define", "loop_calls", "outcome", "outcome_on", "seen"]


def define(text: str, name: str, **scope: Any) -> Callable[..., Any]:
    """The function ``f`` that ``text`` defines; its source can be found."""
    filename = f"<{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    exec(compile(text, filename, "exec"), scope)
    return scope["f"]


def seen(value: Any) -> Any:
    """``value`` as something that ``==`` compares by type, dtype, shape, strides and bits."""
    if isinstance(value, np.ndarray):
        return (np.ndarray, value.dtype, value.shape, _bits(value))
    if isinstance(value, np.generic):
        return (type(value), _bits(np.asarray(value)))
    if isinstance(value, float | complex):
        return (type(value), _bits(np.asarray(value)))
    if isinstance(value, tuple | list):
        return (type(value), [seen(v) for v in value])
    return (type(value), value)


def _bits(value: Any) -> Any:
    if value.dtype.hasobject:
        return [seen(v) for v in value.ravel().tolist()]
    if value.dtype.kind == "c":
        return _bits(value.real), _bits(value.imag)
    if value.dtype.kind == "f":  # the payload and sign of a NaN are excepted
        value = np.where(np.isnan(value), np.array(np.nan, value.dtype), value)
    return value.tobytes()


def outcome(function: Callable[..., Any], arguments: Sequence[Any]) -> dict[str, Any]:
    """What a call with a copy of the arguments shows."""
    return outcome_on(function, copy.deepcopy(list(arguments)))


def outcome_on(function: Callable[..., Any], given: list[Any]) -> dict[str, Any]:
    """What a call with these very arguments shows: memory layout and flags are not always copied."""
    shown: dict[str, Any] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            shown["result"] = seen(function(*given))
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            shown["error"] = (
                type(error),
                str(error),
                [f.lineno for f in frames if f.filename.startswith("<loop")][-1:],
            )
    shown["warnings"] = [(w.category, str(w.message), w.lineno) for w in caught]
    shown["arguments"] = seen(given)
    return shown


def loop_calls(compiled: Any) -> list[Any]:
    """The loops that the entries of a compiled function hold as one node each."""
    graphs = [entry.capture.graph for entry in compiled.jit.frame.entries if entry.capture.graph is not None]
    return [n.op.call for g in graphs for n in g.calls() if n.op is not None and n.op.name == "loop"]
