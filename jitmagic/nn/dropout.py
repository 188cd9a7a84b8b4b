"""Layers that set values to 0 in training, drawn from ``rng``, a ``np.random.Generator``, or from ``np.random``."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.nn import functional as F
from jitmagic.nn.module import Module

__all__ = ["Dropout", "Dropout1d", "Dropout2d"]


class _Dropout(Module):
    """Raises ValueError for a probability outside 0 to 1; ``inplace``, which PyTorch has, changes nothing here."""

    def __init__(self, p: float = 0.5, inplace: bool = False, *, rng: np.random.Generator | None = None) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace
        self.rng = rng

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_Dropout):
    """In training, sets elements to 0 with probability ``p`` and divides the others by ``1 - p``."""

    def forward(self, input: Any) -> Any:
        return F.dropout(input, self.p, self.training, rng=self.rng)


class Dropout1d(_Dropout):
    """The same for whole channels of (n, c, l) or (c, l)."""

    def forward(self, input: Any) -> Any:
        return F.dropout1d(input, self.p, self.training, rng=self.rng)


class Dropout2d(_Dropout):
    """The same for whole channels of (n, c, h, w) or (c, h, w)."""

    def forward(self, input: Any) -> Any:
        return F.dropout2d(input, self.p, self.training, rng=self.rng)
