"""What calls of Python's own functions mean over trackers; one row per function, in the tables of the families."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.ops import lookup
from jitmagic.tracer import container_calls, contexts, conversion_calls, iteration_calls, operator_calls, output_calls, slot_calls
from jitmagic.tracer.call_rows import Handler, row_of
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import CallableTracker, ClassTracker, call_on_numbers
from jitmagic.tracer.variables.classes import DESCRIPTOR_CALLS
from jitmagic.tracer.variables.constant import run
from jitmagic.tracer.variables.exceptions import EXCEPTION_CALLS, construct_exception, is_exception_class

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
    number = call_on_numbers(tx, value, args, kwargs)
    if number is not None:
        return number
    if lookup(value) is not None:
        return tx.call_form(*row_of(value), args, kwargs)
    if is_exception_class(value):
        return construct_exception(tx, value, args, kwargs)
    if _is_pure(value) and all(a.is_constant for a in (*args, *kwargs.values())):
        return run(lambda: value(*(a.constant() for a in args), **{k: v.constant() for k, v in kwargs.items()}))
    raise Unsupported("call", function.describe())


def _argument_error(value: Any, args: Args, kwargs: dict[str, VariableTracker], error: TypeError) -> BaseException:
    """A wrong number of arguments for a builtin: Python words it in the plain run."""
    first = error.__traceback__
    if first is not None and first.tb_next is not None and first.tb_next.tb_next is not None:
        raise error  # not from binding the arguments: a fault of ours
    return Unsupported("call", f"{getattr(value, '__name__', value)}() with these arguments")


_PURE_MODULES = ("builtins", "math", "operator", "cmath", "_operator", "itertools")
_IMPURE = {print, input, open, exec, eval, compile, __import__, globals, locals, vars, id, dir, setattr, delattr}
_IMPURE_NAMES = {f.__name__ for f in _IMPURE} | {"breakpoint", "exit", "quit", "memoryview"}


def _is_pure(value: Any) -> bool:
    return getattr(value, "__module__", None) in _PURE_MODULES and getattr(value, "__name__", "") not in _IMPURE_NAMES


def call_super(tx: Evaluator) -> VariableTracker:
    """``super()`` without arguments: attribute reads start after the defining class in the MRO."""
    from jitmagic.tracer.variables.super import SuperTracker

    cell = tx.cells.get("__class__")
    names = tx.frame.code.co_varnames
    if cell is None or cell.content is None or not names:
        raise Unsupported("call", "super()")
    owner = tx.realize(cell.content)
    receiver = tx.load_name(names[0])
    if not isinstance(owner, ClassTracker):
        raise Unsupported("call", "super()")
    return SuperTracker(owner.value, receiver)


BUILTINS: dict[Any, Handler] = {
    **conversion_calls.ROWS,
    **container_calls.ROWS,
    **iteration_calls.ROWS,
    **operator_calls.ROWS,
    **output_calls.ROWS,
    **EXCEPTION_CALLS,
    **DESCRIPTOR_CALLS,
    **contexts.CALLS,
    **slot_calls.ROWS,
}
