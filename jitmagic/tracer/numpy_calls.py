"""What functions mean that ask about dtypes, or copy an array by Python's protocol: answers from descriptions."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.registry import by_name
from jitmagic.tracer.call_rows import Handler, row_of
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant, is_literal, run, wrap_constant
from jitmagic.tracer.variables.deferred import text_by
from jitmagic.tracer.variables.functions import FunctionTracker
from jitmagic.tracer.variables.number import RunTimeNumber, wrap_size
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

__all__ = ["ROWS"]


def _asked(function: Callable[..., Any]) -> Handler:
    """``function`` of arrays without elements: only their dtypes count."""

    def call(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
        try:
            found = function(*map(_without_data, args), **{k: _without_data(v) for k, v in kwargs.items()})
        except (TypeError, ValueError) as error:
            raise Raised(error) from None
        if is_literal(found) or isinstance(found, tuple):
            return wrap_constant(found)
        return tx.output.builder.constant_object(tx, found)

    return call


def _without_data(value: VariableTracker) -> Any:
    if isinstance(value, RunTimeNumber):
        return value.kind(1)
    if not isinstance(value, ArrayTracker):
        return value.constant()
    meta = value.meta
    return np.ones((), meta.dtype)[()] if meta.scalar else np.empty((0,) * meta.ndim, meta.dtype)


def _min_scalar_type(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """Of an array its dtype; of a number what holds that number."""
    if isinstance(value, RunTimeNumber) or (isinstance(value, ArrayTracker) and not value.meta.ndim):
        raise Unsupported("data-number", f"np.min_scalar_type({value.describe()})")
    return _asked(np.min_scalar_type)(tx, value)


def _text_of(function: Any) -> Handler:
    """Text for a number that is known."""

    def call(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
        return run(lambda: function(*(a.constant() for a in args), **{k: v.constant() for k, v in kwargs.items()}))

    return call


def _text_of_array(function: Any) -> Handler:
    """``np.array_str`` and its kin, made after the graph has run."""

    def call(tx: Evaluator, value: VariableTracker, *rest: VariableTracker, **kwargs: VariableTracker) -> Any:
        if tx.output.differentiating or tx.output.options.tensors:
            raise Unsupported("call", f"np.{function.__name__} of a Tensor")
        known = [a.constant() for a in rest], {k: v.constant() for k, v in kwargs.items()}
        return text_by(tx, functools.partial(_call_on, function, *known), value)

    return call


def _call_on(function: Any, rest: list[Any], kwargs: dict[str, Any], array: Any) -> Any:
    return function(array, *rest, **kwargs)


def _einsum_path(tx: Evaluator, subscripts: VariableTracker, *operands: VariableTracker, **kwargs: Any) -> Any:
    """The order of contractions depends on the sizes alone."""
    arrays = [v.meta.standin() for v in operands if isinstance(v, ArrayTracker) and not v.meta.is_symbolic]
    if len(arrays) < len(operands):
        raise Unsupported("call", "np.einsum_path of sizes that change")
    named = {k: v.constant() for k, v in kwargs.items()}
    return run(lambda: np.einsum_path(subscripts.constant(), *arrays, **named))


def _array(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
    """``np.array``; more axes before those of an array that is not copied are a view."""
    lead = _axes_before(args, kwargs)
    if not lead:
        return tx.call_form(*row_of(np.array), args, kwargs)
    shape = [*([1] * lead), *args[0].meta.shape]  # type: ignore[attr-defined]  # an ArrayTracker
    return args[0].method(tx, "reshape", [TupleTracker(list(map(wrap_size, shape)))], {})


def _axes_before(args: tuple[VariableTracker, ...], kwargs: dict[str, VariableTracker]) -> int:
    """How many axes ``ndmin`` adds, where ``reshape`` gives the same view: base, strides and all; else 0."""
    if len(args) != 1 or not isinstance(args[0], ArrayTracker) or args[0].meta.scalar:
        return 0
    if "copy" not in kwargs or not all(isinstance(v, Constant) for v in kwargs.values()):
        return 0
    known = {k: v.constant() for k, v in kwargs.items()}
    small = args[0].meta.standin()
    with Quiet():
        try:
            found = np.array(small, **known)
        except (TypeError, ValueError):
            return 0  # NumPy's own words, where it is called
    like = small.reshape((1,) * (found.ndim - small.ndim) + small.shape)
    is_view = np.may_share_memory(found, small) and found.dtype is small.dtype and found.strides == like.strides
    return found.ndim - small.ndim if is_view else 0


def _copied(function: Any) -> Handler:
    def call(tx: Evaluator, value: VariableTracker, *rest: VariableTracker) -> VariableTracker:
        if isinstance(value, ArrayTracker) and not value.meta.scalar and not rest:
            return value.method(tx, "copy", [Constant("K")], {})
        return tx.inline(FunctionTracker(function, None), [value, *rest], {})

    return call


def _from_iterator(
    tx: Evaluator, iterable: VariableTracker, dtype: VariableTracker, count: VariableTracker | None = None
) -> VariableTracker:
    """``np.fromiter`` of numbers, each asked for now."""
    wanted = -1 if count is None else count.constant()
    items = tx.unpack(iterable) if wanted < 0 else tx.taken(iterable, wanted)
    items = [tx.realize(item) for item in items]
    known = np.dtype(dtype.constant())
    is_short = len(items) < wanted  # NumPy says so
    if is_short or known.kind not in "biufc" or not all(map(_is_number, items)):
        raise Unsupported("call", f"np.fromiter({iterable.describe()})")
    return tx.call_op(by_name("array"), [ListTracker(items)], {"dtype": Constant(known)})


def _is_number(item: VariableTracker) -> bool:
    if isinstance(item, ArrayTracker):
        return item.meta.scalar
    return isinstance(item, RunTimeNumber) or (isinstance(item, Constant) and type(item.value) in (bool, int, float))


ROWS: dict[Any, Handler] = {
    **{f: _asked(f) for f in (np.result_type, np.promote_types, np.common_type, np.datetime_data)},
    **{f: _text_of(f) for f in (np.format_float_positional, np.format_float_scientific)},
    **{f: _text_of_array(f) for f in (np.array_str, np.array_repr, np.array2string)},
    np.einsum_path: _einsum_path,
    np.min_scalar_type: _min_scalar_type,
    np.fromiter: _from_iterator,
    np.array: _array,
    copy.copy: _copied(copy.copy),
    copy.deepcopy: _copied(copy.deepcopy),
}
