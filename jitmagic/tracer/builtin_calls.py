"""What calls of Python's own functions mean over trackers; one row per function, in the tables of the families."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.ops import lookup
from jitmagic.tracer import (
    along_calls,
    container_calls,
    contexts,
    conversion_calls,
    copy_calls,
    elementwise_calls,
    function_calls,
    gradient_calls,
    graph_calls,
    hook_calls,
    iteration_calls,
    itertools_calls,
    numpy_calls,
    operator_calls,
    optimizer_calls,
    output_calls,
    report_calls,
    schedules,
    slot_calls,
)
from jitmagic.tracer.call_rows import Handler, row_of
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.callables import CallableTracker, ClassTracker, call_on_numbers
from jitmagic.tracer.variables.classes import DESCRIPTOR_CALLS
from jitmagic.tracer.variables.constant import Constant, is_literal, run
from jitmagic.tracer.variables.construction import construct_plainly
from jitmagic.tracer.variables.enums import EnumMember
from jitmagic.tracer.variables.exceptions import EXCEPTION_CALLS
from jitmagic.tracer.variables.objects import ObjectTracker
from jitmagic.tracer.variables.super import SuperTracker

__all__ = ["BUILTINS", "call_builtin", "call_super"]

Args = Sequence[VariableTracker]


def call_builtin(
    tx: Evaluator, function: CallableTracker, args: Args, kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """Answer by the table, by an op of NumPy, or by running a pure function of constants for real."""
    value = function.value
    try:
        handler = BUILTINS.get(value)
    except TypeError:
        handler = None
    if handler is not None:
        try:
            return handler(tx, *args, **kwargs)
        except TypeError as error:
            raise _argument_error(value, args, kwargs, error) from None
    bound = _unbound_method(tx, value, args, kwargs)
    if bound is not None:
        return bound
    number = call_on_numbers(tx, value, args, kwargs)
    if number is not None:
        return number
    if lookup(value) is not None:
        return tx.call_form(*row_of(value), args, kwargs)
    if _is_pure(value) and all(a.is_constant for a in (*args, *kwargs.values())):
        return _plain(run(lambda: value(*(a.constant() for a in args), **{k: v.constant() for k, v in kwargs.items()})))
    raise Unsupported("random" if _draws(value) else "call", function.describe())


_STREAMS = (random.Random, np.random.RandomState, np.random.Generator)


def _draws(value: Any) -> bool:
    """A function that takes numbers from a random stream."""
    return isinstance(getattr(value, "__self__", None), _STREAMS)


def _argument_error(value: Any, args: Args, kwargs: dict[str, VariableTracker], error: TypeError) -> BaseException:
    """A wrong number of arguments for a builtin: Python words it in the plain run."""
    first = error.__traceback__
    if first is not None and first.tb_next is not None and first.tb_next.tb_next is not None:
        raise error  # not from binding the arguments: a fault of ours
    return Unsupported("call", f"{getattr(value, '__name__', value)}() with these arguments")


_PURE_MODULES = ("builtins", "math", "operator", "cmath", "_operator", "itertools")
_IMPURE = {print, input, open, exec, eval, compile, __import__, globals, locals, vars, id, dir, setattr, delattr}
_IMPURE_NAMES = {f.__name__ for f in _IMPURE} | {"breakpoint", "exit", "quit", "memoryview"}


def _unbound_method(
    tx: Evaluator, value: Any, args: Args, kwargs: dict[str, VariableTracker]
) -> VariableTracker | None:
    """``str.lower(text)``, ``np.ndarray.__add__(a, b)``: the method of an exact instance of that class."""
    owner = getattr(value, "__objclass__", None)
    receiver = tx.realize(args[0]) if owner is np.ndarray and args else None
    if isinstance(receiver, ArrayTracker) and receiver.python_type() is np.ndarray and value.__name__ != "__iter__":
        return receiver.method(tx, value.__name__, args[1:], kwargs)
    member = tx.realize(args[0]) if owner in EXACT and args else None
    if isinstance(member, EnumMember) and member.is_stock and all(a.is_constant for a in (*args, *kwargs.values())):
        return run(lambda: value(*(a.constant() for a in args), **{k: v.constant() for k, v in kwargs.items()}))
    if owner not in EXACT or not args or args[0].python_type() is not owner or value.__name__.startswith("__"):
        return None
    return args[0].method(tx, value.__name__, args[1:], kwargs)


EXACT = (str, bytes, int, float, complex, list, tuple, dict, set, frozenset)


def _plain(result: VariableTracker) -> VariableTracker:
    """Iterators and other changing things must not be shared between calls."""
    if isinstance(result, Constant) and not is_literal(result.value):
        raise Unsupported("call", f"a function that makes a {type(result.value).__name__}")
    return result


def _is_pure(value: Any) -> bool:
    owner = getattr(value, "__self__", None)
    if any(owner is cls for cls in (str, bytes, int, float, complex)):
        return True
    return getattr(value, "__module__", None) in _PURE_MODULES and getattr(value, "__name__", "") not in _IMPURE_NAMES


def call_super(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
    """``super()``: attribute reads start after the defining class in the MRO of the first argument."""
    if len(args) == 2:
        owner, receiver = args
    else:
        cell = tx.cells.get("__class__")
        names = tx.frame.code.co_varnames
        if args or cell is None or cell.content is None or not names:
            raise Unsupported("call", "super()")
        owner, receiver = tx.realize(cell.content), tx.load_name(names[0])
    if not isinstance(owner, ClassTracker) or not isinstance(receiver, ObjectTracker | ClassTracker):
        raise Unsupported("call", "super()")
    cls = receiver.cls if isinstance(receiver, ObjectTracker) else receiver.value
    meta: type = type(cls)
    is_meta = isinstance(receiver, ClassTracker) and owner.value in meta.__mro__
    if owner.value not in cls.__mro__ and not is_meta:
        raise python_error(TypeError, "super(type, obj): obj must be an instance or subtype of type")
    return SuperTracker(owner.value, receiver)


def _construct(
    tx: Evaluator, cls: VariableTracker, *args: VariableTracker, **kwargs: VariableTracker
) -> VariableTracker:
    """``type.__call__``, as ``super().__call__`` of a metaclass."""
    if not isinstance(cls, ClassTracker):
        raise Unsupported("call", "type.__call__()")
    return construct_plainly(tx, cls.value, args, kwargs)


BUILTINS: dict[Any, Handler] = {
    **conversion_calls.ROWS,
    **container_calls.ROWS,
    **iteration_calls.ROWS,
    **operator_calls.ROWS,
    **output_calls.ROWS,
    **report_calls.ROWS,
    **function_calls.ROWS,
    **gradient_calls.ROWS,
    **graph_calls.ROWS,
    **itertools_calls.ROWS,
    super: call_super,
    type.__call__: _construct,
    **EXCEPTION_CALLS,
    **DESCRIPTOR_CALLS,
    **contexts.CALLS,
    **slot_calls.ROWS,
    **numpy_calls.ROWS,
    **optimizer_calls.ROWS,
    **hook_calls.ROWS,
    **schedules.ROWS,
    **elementwise_calls.ROWS,
    **along_calls.ROWS,
    **copy_calls.ROWS,
}
