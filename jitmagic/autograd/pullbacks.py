"""Takes a raw backward program on flat lists, gives the pullback that a user calls with nested containers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from jitmagic.autograd.trees import leaves_of, map_leaves, paired_leaves
from jitmagic.errors import UserError

__all__ = ["Pullback", "PullbackForm"]

Raw = Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Slot:
    """What the cotangent of one number or array of the value must be."""

    is_tree_leaf: ClassVar[bool] = True
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_scalar: bool

    def fitted(self, cotangent: Any) -> Any:
        """``cotangent`` as the backward program takes it. Raises UserError."""
        given = np.asarray(cotangent)
        if given.shape != self.shape:
            raise UserError(f"the pullback got a cotangent of shape {given.shape} for a value of shape {self.shape}")
        if not np.can_cast(given.dtype, self.dtype, "same_kind"):
            raise UserError(f"the pullback got a cotangent of dtype {given.dtype} for a value of dtype {self.dtype}")
        return self.dtype.type(given[()]) if self.is_scalar else np.require(given, self.dtype, ["C", "A"])


def _slot(value: Any) -> Slot:
    dtype = np.asarray(value).dtype
    if dtype.kind not in "fc":  # nothing flows back from it
        dtype = np.dtype(np.float64)
    return Slot(np.shape(value), dtype.newbyteorder("="), not isinstance(value, np.ndarray))


@dataclass(frozen=True, slots=True)
class Pullback:
    """``pullback(cotangent)``: the gradients of the function's arguments, for a cotangent of its value.

    The cotangent has the structure, shapes and dtypes of the value. It may be called any number of times.
    """

    raw: Raw = field(repr=False)
    slots: Any
    gradients: Any = field(repr=False)

    def __call__(self, cotangent: Any) -> Any:
        flat = [slot.fitted(each) for slot, each in paired_leaves(self.slots, cotangent, "the cotangent")]
        found = self.raw(flat)
        return map_leaves(self.gradients, lambda place: found[place])


@dataclass(frozen=True, slots=True)
class PullbackForm:
    """``gradients`` is a tree with the place of each gradient among those of the raw program."""

    gradients: Any

    def bind(self, raw: Raw, value: Any) -> Pullback:
        """The pullback of a computation that gave ``value``."""
        return Pullback(raw, map_leaves(value, _slot), self.gradients)

    @property
    def count(self) -> int:
        return sum(1 for _ in leaves_of(self.gradients))
