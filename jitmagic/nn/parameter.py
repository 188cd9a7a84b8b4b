"""``Parameter``: the mark by which an array becomes a parameter of the module that it is assigned to.

What makes an array a parameter is the table of the module that holds it, not the class of the array: ``self.w =
Parameter(a)`` puts the plain array ``a`` into the table, and ``self.w`` gives that array back. So everything computed
from a parameter is what NumPy computes from a plain array, with its dtype, class, aliasing and speed; a subclass of
ndarray would spread to every view and result, and a wrapper would have to imitate ndarray.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["Parameter", "array_of"]


class Parameter:
    """``data`` is the array itself, not a copy: one array in two parameters is one tied weight."""

    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data: np.ndarray[Any, Any] = np.asarray(array_of(data))

    @property
    def shape(self) -> Any:
        return self.data.shape

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.data, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"Parameter({self.data!r})"


def array_of(value: Any) -> Any:
    """The array behind a Parameter; anything else as it is."""
    return value.data if type(value) is Parameter else value
