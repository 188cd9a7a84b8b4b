"""``Parameter``: the mark by which an array becomes a parameter of the module that it is assigned to.

What makes an array a parameter is the table of the module that holds it, not the class of the array: ``self.w =
Parameter(a)`` puts the plain array ``a`` into the table, and ``self.w`` gives that array back. So everything computed
from a parameter is what NumPy computes from a plain array, with its dtype, class, aliasing and speed; a subclass of
ndarray would spread to every view and result.

For gradients by ``backward()`` a table holds a Tensor over the array instead: ``Parameter(a, requires_grad=True)``, or
``module.requires_grad_()`` for a whole tree.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import UserError

__all__ = ["Parameter", "UninitializedBuffer", "UninitializedParameter", "array_of", "is_array", "is_uninitialized"]


class Parameter:
    """``data`` is the array itself, not a copy: one array in two parameters is one tied weight.

    With ``requires_grad`` it is a Tensor over the array, for real and complex dtypes; GradientError for others.
    """

    __slots__ = ("data",)

    data: Any

    def __init__(self, data: Any, requires_grad: bool = False) -> None:
        held = array_of(data)
        if not isinstance(held, Tensor):
            held = np.asarray(held)
        if requires_grad:
            held = held.requires_grad_() if isinstance(held, Tensor) else Tensor(held, requires_grad=True)
        self.data = held

    @property
    def shape(self) -> Any:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def requires_grad(self) -> bool:
        return isinstance(self.data, Tensor) and self.data.requires_grad

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.data, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"Parameter({self.data!r})"


class UninitializedParameter(Parameter):
    """The place of a parameter whose shape is not known yet: it holds a dtype, and no array."""

    __slots__ = ("_dtype", "_requires_grad")

    def __init__(self, requires_grad: bool = False, dtype: Any = None) -> None:
        self._requires_grad = requires_grad
        self._dtype = np.dtype(np.float64 if dtype is None else dtype)

    @property
    def dtype(self) -> Any:
        return self._dtype

    @property
    def shape(self) -> NoReturn:
        raise UserError(
            "this parameter has no shape yet: its lazy module makes it at the first call. Call the module once first"
        )

    @property
    def requires_grad(self) -> bool:
        return self._requires_grad

    def requires_grad_(self, requires_grad: bool = True) -> UninitializedParameter:
        """Whether the array that takes its place will be a Tensor."""
        self._requires_grad = requires_grad
        return self

    def astype(self, dtype: Any) -> UninitializedParameter:
        """The same place for an array of another dtype."""
        return type(self)(self._requires_grad, dtype)

    def materialize(self, shape: Any, dtype: Any = None) -> Any:
        """An array of zeros of that shape, or a Tensor over one, to put in its place."""
        array = np.zeros(shape, self._dtype if dtype is None else dtype)
        return Tensor(array, requires_grad=True) if self._requires_grad else array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.empty(self.shape)  # which raises

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._dtype}>"


class UninitializedBuffer(UninitializedParameter):
    """The place of a buffer whose shape is not known yet."""

    __slots__ = ()


def array_of(value: Any) -> Any:
    """What a Parameter holds; anything else as it is."""
    return value.data if type(value) is Parameter else value


def is_uninitialized(value: Any) -> bool:
    return isinstance(value, UninitializedParameter)


def is_array(value: Any) -> bool:
    """Whether a table of parameters or buffers takes it: an array, a Tensor, or the place of one."""
    return isinstance(value, _ARRAYS)


_ARRAYS = (np.ndarray, Tensor, UninitializedParameter)
