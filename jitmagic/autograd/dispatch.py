"""Takes a function, method or operator called with Tensors, runs it on their data, records what it means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jitmagic.autograd.bodies import body_on_tensors
from jitmagic.autograd.coded import is_text
from jitmagic.autograd.composed import COMPOSED
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.node import Edge, ErrorNode, like_sequence
from jitmagic.autograd.record import recorded, with_inner_lists_joined
from jitmagic.autograd.recorded import (
    Recorded,
    check_dtypes,
    is_smooth,
    needs_gradient,
    python_number,
    raw,
    tensors_in,
)
from jitmagic.autograd.writing import write, write_into
from jitmagic.errors import GradientError
from jitmagic.ops import Form, Op, lookup
from jitmagic.ops.extern import differentiable_row, extern
from jitmagic.ops.functional import ADD_AT
from jitmagic.ops.gradients.repeated import AT_COTANGENTS, at_cotangents
from jitmagic.ops.registry import by_name

__all__ = ["call_form", "call_function", "call_ufunc"]

Call = Callable[..., Any]

# Operations of our own that are made of others, which have rules
BODIES: dict[Op, Call] = {AT_COTANGENTS: at_cotangents}


def call_form(kind: Any, function: Call, row: Op, form: Form, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """``function(*args, **kwargs)`` on the data, which is ``form``, a way to write ``row``."""
    canonical, options = form.adapt(*args, **kwargs) if form.adapt is not None else (args, dict(kwargs))
    canonical = tuple(map(with_inner_lists_joined, canonical))
    options = {name: with_inner_lists_joined(value) for name, value in options.items()}
    out = options.get("out")
    if out is not None:
        rest = {k: v for k, v in options.items() if k != "out"}
        return write_into(kind, out, lambda: function(*raw(args), **raw(kwargs)), row, canonical, rest)
    if row.writes and not isinstance(getattr(canonical[0], "_values", None), np.generic):
        result = write(canonical[0], row.call, row, canonical, options)
        return result if result is None else canonical[0]
    return recorded(kind, row, canonical, options, function(*raw(args), **raw(kwargs)))


def call_function(kind: Any, function: Call, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """A function of NumPy, SciPy or our own (``__array_function__``)."""
    found = lookup(function)
    if found is not None and found[0] in BODIES:
        return BODIES[found[0]](*args, **kwargs)
    if found is not None:
        return call_form(kind, function, *found, args, kwargs)
    row = None if function in COMPOSED else differentiable_row(function)
    if row is not None:
        return call_form(kind, function, row, Form(function), args, kwargs)
    if not (is_grad_enabled() and needs_gradient((args, kwargs))):
        return _wrapped(kind, function(*raw(args), **raw(kwargs)))
    body = COMPOSED.get(function) or body_on_tensors(function)
    if body is not None:
        try:
            return body(*args, **kwargs)
        except (GradientError, TypeError, AttributeError):  # it asks for what only an array has
            pass
    return _refusing(kind, function, args, kwargs)


def _wrapped(kind: Any, result: Any) -> Any:
    """Arrays in a result as Tensors without history."""
    if isinstance(result, np.ndarray | np.generic):
        return kind._made(result)
    if isinstance(result, tuple | list):
        return like_sequence(result, (_wrapped(kind, item) for item in result))
    return result


def _refusing(kind: Any, function: Any, args: Any, kwargs: Any) -> Any:
    """The result of a function without rules: asking for a gradient through it is an error."""
    name = getattr(function, "__name__", str(function))
    edges = [e for t in tensors_in((args, kwargs)) if (e := t._history()) is not None]
    result = _wrapped(kind, function(*raw(args), **raw(kwargs)))
    entries = result if isinstance(result, tuple | list) else (result,)
    check_dtypes(name, raw(entries))
    node = ErrorNode(name, f"{name} has no gradient here; detach what goes into it", edges, len(entries))
    made = [_with_history(entry, (node, i)) for i, entry in enumerate(entries)]
    return like_sequence(result, made) if isinstance(result, tuple | list) else made[0]


def _with_history(result: Any, edge: Edge) -> Any:
    if isinstance(result, Recorded) and (is_smooth(result._values) or is_text(result._values)):
        result._edge = edge
    elif type(result) in (float, complex):  # an object ufunc of one number
        return python_number(np.asarray(result)[()], edge)
    return result


def call_ufunc(kind: Any, ufunc: np.ufunc, method: str, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """A call of a ufunc or of one of its methods (``__array_ufunc__``)."""
    out = kwargs.get("out")
    if isinstance(out, tuple) and len(out) == 1:
        kwargs = {**kwargs, "out": out[0]}
    if method == "__call__":
        return call_function(kind, ufunc, inputs, kwargs)
    special = _METHODS.get(method)
    if special is not None and (found := special(kind, ufunc, inputs, kwargs)) is not NotImplemented:
        return found
    row = extern(getattr(ufunc, method))
    if row.vjp is not None and out is None:
        return call_form(kind, row.call, row, Form(row.call), inputs, kwargs)
    return _without_row(kind, getattr(ufunc, method), inputs, kwargs)


def _without_row(kind: Any, function: Call, inputs: Any, kwargs: dict[str, Any]) -> Any:
    if is_grad_enabled() and needs_gradient((inputs, kwargs)):
        return _refusing(kind, function, inputs, kwargs)
    return _wrapped(kind, function(*raw(inputs), **raw(kwargs)))


_FOLDS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}
_SCANS = {"add": "cumsum", "multiply": "cumprod"}


def _reduce(kind: Any, ufunc: np.ufunc, inputs: Any, kwargs: dict[str, Any]) -> Any:
    if ufunc.__name__ not in _FOLDS or len(inputs) > 1 or kwargs.get("out") is not None:
        return NotImplemented
    options = {"axis": 0, **kwargs}
    if ufunc.__name__ in ("maximum", "minimum"):
        options.pop("dtype", None)
    result = ufunc.reduce(*raw(inputs), **raw(kwargs))
    return recorded(kind, by_name(_FOLDS[ufunc.__name__]), inputs, options, result)


def _accumulate(kind: Any, ufunc: np.ufunc, inputs: Any, kwargs: dict[str, Any]) -> Any:
    if ufunc.__name__ not in _SCANS or len(inputs) > 1 or kwargs.get("out") is not None:
        return NotImplemented
    result = ufunc.accumulate(*raw(inputs), **raw(kwargs))
    return recorded(kind, by_name(_SCANS[ufunc.__name__]), inputs, {"axis": 0, **kwargs}, result)


def _outer(kind: Any, ufunc: np.ufunc, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """Each element of the first with each of the second: the ufunc of operands with more axes."""
    a, b = inputs
    return ufunc(np.reshape(a, np.shape(a) + (1,) * np.ndim(b)), b, **kwargs)


def _at(kind: Any, ufunc: np.ufunc, inputs: Any, kwargs: dict[str, Any]) -> Any:
    """``np.add.at(a, index, b)``: the ufunc at one place after the other, in place."""
    target, index, *values = inputs
    if ufunc is np.add:
        return write(target, _add_at, ADD_AT, (target, values[0], index), {})
    return write(target, ufunc.at, extern(ufunc.at), (target, raw(index), *values), {})


def _add_at(data: Any, value: Any, index: Any) -> None:
    np.add.at(data, index, value)


_METHODS: dict[str, Callable[..., Any]] = {
    "reduce": _reduce,
    "accumulate": _accumulate,
    "outer": _outer,
    "at": _at,
}
