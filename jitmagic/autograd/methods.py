"""Gives a Tensor class the operators, methods and attributes of ndarray: each is looked up in the op registry."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from jitmagic.autograd.dispatch import call_form
from jitmagic.autograd.recorded import Recorded, raw
from jitmagic.errors import GradientError
from jitmagic.ops import lookup_method
from jitmagic.ops.registry import ATTRIBUTES

__all__ = ["LOST", "install"]

BINARY: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")},
    **{name: getattr(operator, f"{name}_") for name in ("and", "or")},
    **{name: getattr(operator, name) for name in ("xor", "lshift", "rshift")},
    "divmod": divmod,
}
COMPARED = ("eq", "ne", "lt", "le", "gt", "ge")
UNARY: dict[str, Callable[..., Any]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "abs": operator.abs,
    "invert": operator.invert,
}
IN_PLACE = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
METHODS = tuple(
    name
    for line in (
        "all any argmax argmin argpartition argsort astype choose clip compress copy cumprod cumsum",
        "diagonal dot fill flatten max mean min nonzero partition prod put ravel repeat reshape round searchsorted",
        "sort squeeze std sum swapaxes take trace transpose var view getfield byteswap",
    )
    for name in line.split()
)
PLAIN = ["tolist", "tobytes", "tofile", "dump", "dumps"]
READ_ONLY = ["dtype", "ndim", "size", "itemsize", "nbytes", "strides", "flags"]
FIXED = {"dtype": "x.view(dtype) or x.astype(dtype)", "strides": "indices, x.T, or np.broadcast_to"}


def install(kind: Any) -> None:
    """Set them on ``kind``, a subclass of ``Recorded``."""
    for name, function in BINARY.items():
        setattr(kind, f"__{name}__", _operator(f"__{name}__", function))
        setattr(kind, f"__r{name}__", _reflected(f"__r{name}__", function))
    for name in COMPARED:
        setattr(kind, f"__{name}__", _operator(f"__{name}__", getattr(operator, name)))
    for name, function in UNARY.items():
        setattr(kind, f"__{name}__", _operator(f"__{name}__", function))
    for name in IN_PLACE:
        setattr(kind, f"__i{name}__", _in_place(f"__i{name}__"))
    kind.__getitem__ = _operator("__getitem__", operator.getitem)
    for name in METHODS:
        setattr(kind, name, _method(name))
    for name in ("conj", "conjugate"):
        setattr(kind, name, _conjugation(name))
    for name in PLAIN:
        setattr(kind, name, _plain(name))
    for name in READ_ONLY:
        refuse = _refuse_to_set(name) if name in FIXED else None
        setattr(kind, name, property(operator.attrgetter(f"_values.{name}"), refuse, doc=f"As ``ndarray.{name}``."))
    for name in ATTRIBUTES:
        setattr(kind, name, property(_method(name, operator.attrgetter(name)), doc=f"As ``ndarray.{name}``."))
    for name in ("real", "imag"):
        attribute = getattr(kind, name)
        setattr(kind, name, property(attribute.fget, _set_part(name), doc=f"As ``ndarray.{name}``."))
    kind.base = property(_base, doc="As ``ndarray.base``: the Tensor that owns the memory of this view.")
    kind.to_device = _to_device
    kind.shape = property(operator.attrgetter("_values.shape"), _set_shape, doc="As ``ndarray.shape``.")


def _refuse_to_set(name: str) -> Callable[[Any, Any], NoReturn]:
    def refuse(self: Any, value: Any) -> NoReturn:
        raise AttributeError(f"the {name} of a Tensor cannot be set, unlike that of an array: use {FIXED[name]}")

    return refuse


def _base(self: Any) -> Any:
    data = self._values.base if isinstance(self._values, np.ndarray) else None
    owner = self._owner()
    if data is None or data is owner._values:
        return None if data is None else owner
    if self.requires_grad:
        raise GradientError(f"base of a Tensor that requires a gradient became a plain array here, {LOST}")
    return data


def _to_device(self: Any, device: Any, /, **options: Any) -> Any:
    """As ``ndarray.to_device``, which knows one device."""
    self._values.to_device(device, **options)
    return self


LOST = "which would lose its history: use the Tensor itself"


def _named(function: Any, name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    named: Callable[..., Any] = function
    return named


def _operator(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: Any, *others: Any) -> Any:
        if others and _gives_way(others[0]):
            return NotImplemented
        row, form = lookup_method(name)  # type: ignore[misc]  # every one is registered
        return call_form(type(self), function, row, form, (self, *others), {})

    return _named(operate, name)


def _reflected(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def operate(self: Any, other: Any) -> Any:
        row, form = lookup_method(name)  # type: ignore[misc]  # every one is registered
        return call_form(type(self), lambda a, b: function(b, a), row, form, (self, other), {})

    return _named(operate, name)


def _gives_way(other: Any) -> bool:
    """Whether the other operand wants to be asked first (``__array_ufunc__ = None``)."""
    return getattr(type(other), "__array_ufunc__", True) is None


def _in_place(name: str) -> Callable[..., Any]:
    function = getattr(operator, name.strip("_"))

    def operate(self: Any, other: Any) -> Any:
        if isinstance(self._values, np.generic):  # scalars are not written to: a new Tensor comes out
            return NotImplemented
        row, form = lookup_method(name)  # type: ignore[misc]  # every one is registered
        return call_form(type(self), function, row, form, (self, other), {})

    return _named(operate, name)


def _method(name: str, function: Callable[..., Any] | None = None) -> Callable[..., Any]:
    def call(data: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(data, name)(*args, **kwargs)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        row, form = lookup_method(name)  # type: ignore[misc]  # every one is registered
        return call_form(type(self), function or call, row, form, (self, *args), kwargs)

    method.__doc__ = f"As ``ndarray.{name}``."
    return _named(method, name)


def _conjugation(name: str) -> Callable[..., Any]:
    conjugated = _method(name)

    def conjugation(self: Any, *args: Any, **kwargs: Any) -> Any:
        is_itself = self._values.dtype.kind in "biuf" and not (args or kwargs)
        return self if is_itself else conjugated(self, *args, **kwargs)

    conjugation.__doc__ = f"As ``ndarray.{name}``: the array itself unless its numbers are complex."
    return _named(conjugation, name)


def _plain(name: str) -> Callable[..., Any]:
    def method(self: Recorded, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._values, name)(*raw(args), **raw(kwargs))

    method.__doc__ = f"As ``ndarray.{name}``; the result has no history."
    return _named(method, name)


def _set_part(name: str) -> Callable[[Any, Any], None]:
    def set_part(self: Any, value: Any) -> None:
        if self._values.dtype.kind != "c" and name == "imag":
            raise TypeError("array does not have imaginary part to set")
        getattr(self, name)[...] = value

    return set_part


def _set_shape(self: Recorded, shape: Any) -> None:
    """``x.shape = ...``: the Tensor becomes a reshaped view of what it was; its array keeps the shape it had."""
    try:
        data = np.reshape(self._values, shape, copy=False)
    except ValueError as error:
        raise AttributeError(f"the shape cannot become {shape} in place: {error}") from None
    if any(each() is not None for each in self._views):
        raise GradientError("x.shape = ... of a Tensor that other Tensors are views of: use y = x.reshape(...)")
    before = self._history()
    if before is not None and before[0] is not self:
        view = self.reshape(shape)  # type: ignore[attr-defined]  # installed above
        self._edge = view._edge
        if self._root is not None:
            self._path = view._path
    self._values = data
