"""Takes a convolution whose sizes are known but for the batch, gives forms that ask nothing of shapes again.

The same products and moves as in ``jitmagic.ops.convolution``, for a batch that is one part there: to ask takes longer
than the columns of a small picture.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.ops.convolution import Moves

__all__ = ["Batch"]


@dataclass(frozen=True, slots=True)
class Batch:
    """A convolution whose sizes are known but for the batch; ``whole`` is what it does where one part is not enough."""

    dtype: np.dtype[Any]
    moves: Moves
    whole: Callable[..., Any]
    groups: int
    rows: int  # output channels of a group
    inner: int  # input channels of a group, for each place of the kernel
    positions: int  # of the kernel
    shape: tuple[int, ...]  # of the result, without its first axis
    most: int  # samples of one part

    def forwards(self, x: Any, weight: Any, *settings: Any) -> Any:
        if not 0 < len(x) <= self.most:
            return self.whole(x, weight, *settings)
        groups, rows, positions = self.groups, self.rows, self.positions
        found = np.empty((len(x), *self.shape), self.dtype)
        columns = self.moves.columns(x).reshape(-1, groups, self.inner, positions)
        weight = weight.reshape(groups, rows, self.inner)
        np.matmul(weight, columns, out=found.reshape(-1, groups, rows, positions))
        return found

    def backwards(self, g: Any, weight: Any, *settings: Any) -> Any:
        if not 0 < len(g) <= self.most:
            return self.whole(g, weight, *settings)
        found = np.empty((len(g), *self.shape), self.dtype)
        sent = np.ascontiguousarray(g).reshape(-1, self.groups, self.rows, self.positions)
        weight = weight.reshape(self.groups, self.rows, self.inner).transpose(0, 2, 1)
        self.moves.spread(np.matmul(weight, sent), found)
        return found

    def weights(self, g: Any, x: Any, *settings: Any) -> Any:
        if not 0 < len(x) <= self.most:
            return self.whole(g, x, *settings)
        groups, rows, inner = self.groups, self.rows, self.inner
        columns = self.moves.of_all(x).reshape(groups, inner, -1)
        sent = np.ascontiguousarray(g.swapaxes(0, 1)).reshape(groups, rows, -1).transpose(0, 2, 1)
        found = np.empty((groups * rows, *self.shape), self.dtype)
        found.reshape(groups, rows, inner)[...] = np.matmul(columns, sent).transpose(0, 2, 1)
        return found
