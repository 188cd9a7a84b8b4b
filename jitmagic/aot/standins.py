"""Descriptions that stand for arrays while something is built: no data is behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import InternalError
from jitmagic.graph import ArrayMeta, ShapeEnv, SymInt
from jitmagic.tracer import marks

__all__ = ["StandIn", "StandInMode", "mode_of", "stand_in_argument", "stand_in_array"]


@dataclass(slots=True, eq=False)
class StandInMode:
    """What stand-ins of one build share: the environment of their symbolic sizes, or None without symbols."""

    env: ShapeEnv | None = None

    def array(self, shape: Sequence[Any], dtype: Any = np.float64, requires_grad: bool = False) -> StandIn:
        """A stand-in of a dense array."""
        return StandIn(ArrayMeta.dense(np.dtype(dtype), tuple(shape)), self, requires_grad)


@dataclass(frozen=True, slots=True, eq=False)
class StandIn:
    """Stands for an array of this description."""

    is_tree_leaf: ClassVar[bool] = True
    meta: ArrayMeta
    mode: StandInMode
    requires_grad: bool = False

    @property
    def shape(self) -> tuple[Any, ...]:
        return self.meta.shape

    @property
    def dtype(self) -> Any:
        return self.meta.dtype


def mode_of(leaves: Sequence[Any]) -> StandInMode | None:
    """The mode of the stand-ins among them (row A31). Raises InternalError for two modes."""
    modes = {id(leaf.mode): leaf.mode for leaf in leaves if isinstance(leaf, StandIn)}
    if len(modes) > 1:
        raise InternalError("stand-ins of two modes are mixed in one build")
    return next(iter(modes.values()), None)


def stand_in_array(leaf: Any) -> Any:
    """An array without data for a stand-in, with its symbolic sizes marked; anything else as it is."""
    if not isinstance(leaf, StandIn):
        return leaf
    array = leaf.meta.standin()
    for axis, n in enumerate(leaf.meta.shape):
        if isinstance(n, SymInt):
            marks.mark(array, "wished", axis)
    return array


def stand_in_argument(arg: Any) -> Any:
    """The same for an argument: a Tensor where the stand-in requires a gradient."""
    if isinstance(arg, StandIn) and arg.requires_grad:
        return Tensor(stand_in_array(arg), requires_grad=True)
    return stand_in_array(arg)
