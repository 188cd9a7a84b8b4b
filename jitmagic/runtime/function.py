"""Takes a function and options, gives a real function with its looks whose calls go through a compiled frame."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

import numpy as np

from jitmagic.errors import FullGraphError, UserError
from jitmagic.events import FallbackEvent, emit
from jitmagic.nn.module import Module
from jitmagic.runtime.attributes import hang
from jitmagic.runtime.frame import CompiledFrame, Miss
from jitmagic.runtime.handle import Handle, frame_of
from jitmagic.runtime.modules import CompiledModule, compile_module
from jitmagic.runtime.record import def_span
from jitmagic.runtime.registry import register
from jitmagic.runtime.trampoline import Link, make_trampoline
from jitmagic.tracer.capture import Options
from jitmagic.tracer.looking import looks_at_callers

__all__ = ["compile_callable", "make_compiled", "plain_of"]

_NOT_CALLED_ONCE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def compile_callable(target: Any, options: Options, serve: Miss) -> Any:
    """Compile a function, a bound method, a partial, or what stands in a class body.

    Raises UserError for anything else. Generators, coroutines and what looks at its callers come back as they are,
    with a FallbackEvent; with ``options.fullgraph`` they raise FullGraphError.
    """
    for kinds, make in _MAKERS:
        if isinstance(target, kinds):
            return make(target, options, serve)
    raise UserError(_refusal(target))


def make_compiled(function: FunctionType, options: Options, serve: Miss) -> FunctionType:
    """The compiled form of ``function``: same name, signature, defaults, closure, docstring and attributes."""
    frame = frame_of(function)
    if frame is not None and frame.options == options and frame.serve is serve:
        return function
    plain = _twin(function, function.__code__ if frame is None else frame.plain.__code__)
    frame = CompiledFrame.of(plain, options, serve)
    link = Link(frame)
    frame.trampoline = make_trampoline(plain.__code__, link)
    compiled = _twin(plain, frame.trampoline)
    attach(compiled, Handle(frame, link.token))
    return compiled


def attach(compiled: FunctionType, handle: Handle) -> None:
    """Make ``handle`` (and the frame that it owns) that of ``compiled``."""
    record = handle.frame.record
    record.function = weakref.ref(compiled)
    hang(compiled, handle)
    register(record.owner, compiled)


def plain_of(function: FunctionType) -> FunctionType:
    """The plain function behind a compiled one; any other function is its own."""
    frame = frame_of(function)
    return function if frame is None else frame.plain


def _twin(function: FunctionType, code: Any) -> FunctionType:
    """A function with other code that looks the same and shares the closure cells."""
    twin = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    twin.__kwdefaults__ = dict(function.__kwdefaults__) if function.__kwdefaults__ else None
    twin.__qualname__ = function.__qualname__
    twin.__module__ = function.__module__
    twin.__doc__ = function.__doc__
    twin.__annotations__ = function.__annotations__
    twin.__dict__.update(function.__dict__)
    if hasattr(function, "__type_params__"):  # Python 3.12
        twin.__type_params__ = function.__type_params__  # type: ignore[attr-defined]  # not in 3.11
    return twin


def _function(target: FunctionType, options: Options, serve: Miss) -> FunctionType:
    reason = ""
    if target.__code__.co_flags & _NOT_CALLED_ONCE:
        reason = "it is a generator or a coroutine, which stay plain Python"
    elif looking := looks_at_callers(target):
        reason = f"it looks at its callers ({looking}), between which a compiled function would stand"
    return _left_plain(target, reason, options) if reason else make_compiled(target, options, serve)


def _left_plain(target: FunctionType, reason: str, options: Options) -> FunctionType:
    """The function as it is, which is told; an error where the user wants all of it captured."""
    hint, span = "move the array work into a function of its own", def_span(target.__code__)
    if options.fullgraph:
        cause = f"{span.shown}: {reason}. Try: {hint}"
        text = f"fullgraph=True allows no plain Python, but {target.__qualname__} is left to it at {cause}."
        raise FullGraphError(f"{text} Or compile it without fullgraph=True.", cause)
    emit(FallbackEvent(target.__qualname__, 0, span, reason, hint))
    return target


def _method(target: MethodType, options: Options, serve: Miss) -> MethodType:
    return MethodType(compile_callable(target.__func__, options, serve), target.__self__)


def _wrapper(target: Any, options: Options, serve: Miss) -> Any:
    return type(target)(compile_callable(target.__func__, options, serve))


def _property(target: property, options: Options, serve: Miss) -> property:
    parts = (target.fget, target.fset, target.fdel)
    made = [part and compile_callable(part, options, serve) for part in parts]
    return property(made[0], made[1], made[2], target.__doc__)


def _partial(target: functools.partial[Any], options: Options, serve: Miss) -> functools.partial[Any]:
    inner = compile_callable(target.func, options, serve)
    return functools.partial(inner, *target.args, **target.keywords)


def _module(target: Module, options: Options, serve: Miss) -> CompiledModule:
    return compile_module(target, lambda function: make_compiled(function, options, serve))


_MAKERS: tuple[tuple[Any, Callable[[Any, Options, Miss], Any]], ...] = (
    (FunctionType, _function),
    (MethodType, _method),
    ((staticmethod, classmethod), _wrapper),
    (property, _property),
    (functools.partial, _partial),
    (Module, _module),
)


def _refusal(target: Any) -> str:
    """Why this cannot be compiled, and what can."""
    if isinstance(target, type):
        return (
            f"jitmagic.compile got the class {target.__qualname__}; compile its methods instead "
            "(put @jitmagic.compile on their def)"
        )
    if isinstance(target, BuiltinFunctionType | np.ufunc):
        name = getattr(target, "__name__", repr(target))
        return f"jitmagic.compile got {name}, which is compiled code already; compile the Python function that calls it"
    return (
        f"jitmagic.compile got an object of type {type(target).__qualname__}; "
        "it compiles Python functions, methods and lambdas. For a callable object, compile its class's __call__"
    )
