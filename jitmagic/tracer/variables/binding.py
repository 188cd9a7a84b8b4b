"""Takes the arguments of a call, gives the values of the callee's parameters, as Python binds them."""

from __future__ import annotations

from collections.abc import Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.sequences import TupleTracker

__all__ = ["bind_arguments"]


def bind_arguments(
    name: str,
    code: CodeType,
    args: Sequence[VariableTracker],
    kwargs: dict[str, VariableTracker],
    defaults: Sequence[VariableTracker],
    kwdefaults: dict[str, VariableTracker],
) -> dict[str, VariableTracker]:
    """Python's argument binding over trackers. Raises TypeError in the traced program as Python does."""
    names = code.co_varnames
    count, posonly, kwonly = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    bound: dict[str, VariableTracker] = dict(zip(names[:count], args, strict=False))
    named = dict(kwargs)
    for key in list(named):
        if key in names[posonly : count + kwonly]:
            if key in bound:
                raise python_error(TypeError, f"{name}() got multiple values for argument {key!r}")
            bound[key] = named.pop(key)
    by_default = dict(zip(names[count - len(defaults) : count], defaults, strict=True)) | kwdefaults
    for key, value in by_default.items():
        bound.setdefault(key, value)
    extra = code.co_flags
    position = count + kwonly
    if extra & 0x04:
        bound[names[position]] = TupleTracker(args[count:])
        position += 1
    if extra & 0x08:
        bound[names[position]] = DictTracker(named)
    missing = [n for n in names[: count + kwonly] if n not in bound]
    if missing or (named and not extra & 0x08) or (len(args) > count and not extra & 0x04):
        raise _binding_error(name, code, args, kwargs, defaults, kwdefaults)
    return bound


def _binding_error(name: str, code: CodeType, args: Any, kwargs: Any, defaults: Any, kwdefaults: Any) -> BaseException:
    """Let Python itself word the error, with a function of the same parameters."""
    empty: tuple[CellType, ...] = tuple(CellType() for _ in code.co_freevars)
    probe = FunctionType(code, {}, name, tuple(None for _ in defaults), empty)
    probe.__qualname__ = name
    probe.__kwdefaults__ = dict.fromkeys(kwdefaults)
    try:
        probe(*(None for _ in args), **dict.fromkeys(kwargs))
    except TypeError as error:
        return python_error(TypeError, *error.args)
    return python_error(TypeError, f"{name}() got wrong arguments")
