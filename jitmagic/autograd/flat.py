"""``x.flat`` of a Tensor: takes numbers of elements in C order, gives and writes these elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from jitmagic.autograd.recorded import Recorded, raw
from jitmagic.errors import GradientError

__all__ = ["FlatTensor"]


class FlatTensor:
    """The elements of ``tensor`` as a vector; reads and writes are recorded."""

    def __init__(self, tensor: Any) -> None:
        self.base = tensor

    def _index(self, key: Any) -> Any:
        """The index of the tensor for a key of the vector."""
        return np.unravel_index(np.arange(self.base.size)[key], self.base.shape)

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        return (self.base[place] for place in np.ndindex(self.base.shape))

    def __getitem__(self, key: Any) -> Any:
        return self.base[self._index(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        """As NumPy does, values that are too few are repeated, and those that are too many are left out."""
        places = np.arange(self.base.size)[key]
        values = raw(value)
        if not np.size(values) or not np.size(places):
            self.base._version.before_write(self.base._values)
            self.base._values.flat[key] = values
            return
        if isinstance(value, Recorded) and np.may_share_memory(values, self.base._values):
            raise GradientError(
                "x.flat[...] = y of one memory: NumPy overwrites elements before it reads them, which has no gradient; "
                "write y.copy()"
            )
        self.base.put(places, value)

    def copy(self) -> Any:
        """The elements as a new vector."""
        return self.base.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.base.flatten().__array__(dtype)
