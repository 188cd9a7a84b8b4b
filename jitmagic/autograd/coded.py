"""Takes results that hold the bits or the text of recorded numbers, gives them a history that refuses gradients.

``x.view("i8")`` and ``x.astype(str)`` hold the same numbers in another code, and ``.view("f8")``, ``.astype(float)``
bring them back: a result that forgot where it came from would have the gradient 0. So codes keep a history, and so does
what is computed of them, except conditions. The way back from a view is exact: it is the array that was viewed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from jitmagic.autograd.node import Edge, ErrorNode
from jitmagic.ops.view_steps import RETYPING

__all__ = ["CodedNode", "is_smooth", "is_text", "keeps_code", "seen_again", "viewed_code"]

LOST = (
    "{} has no gradient here: the bits or the text of a number are no smooth function of it, and this was computed "
    "from such. View them back unchanged (x.view(int).view(float)), round with np.round, or jm.detach what goes in"
)


class Origin(NamedTuple):
    """What was viewed: where it came from, and its form."""

    edge: Edge
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class CodedNode(ErrorNode):
    """Bits or text of numbers, or what was computed of them; of a plain view the ``origin`` is known."""

    __slots__ = ("origin",)

    def __init__(self, name: str, edges: Sequence[Edge], outputs: int = 1, origin: Origin | None = None) -> None:
        super().__init__(name, LOST.format(name), edges, outputs)
        self.origin = origin


def is_smooth(data: Any) -> bool:
    """Whether gradients of such an array make sense: real or complex numbers."""
    return isinstance(data, np.ndarray | np.generic) and data.dtype.kind in "fc"


def is_text(data: Any) -> bool:
    """Whether it is an array of strings or bytes."""
    return isinstance(data, np.ndarray | np.generic) and data.dtype.kind in "SUT"


def keeps_code(name: str, result: Any) -> bool:
    """Whether ``result`` of the operation ``name`` on recorded numbers holds them in another code."""
    return is_text(result) or (name in RETYPING and isinstance(result, np.ndarray) and not is_smooth(result))


def viewed_code(name: str, data: Any, edge: Edge) -> Edge:
    """The history of a view of the recorded ``data`` as another code."""
    form = Origin(edge, data.dtype, data.shape, data.strides) if isinstance(data, np.ndarray) else None
    return CodedNode(f"np.{name}", [edge], 1, form), 0


def seen_again(name: str, edge: Edge, result: Any) -> Edge | None:
    """The history of the numbers themselves, if ``result`` is the view back of the code with history ``edge``."""
    origin = getattr(edge[0], "origin", None)
    if name not in RETYPING or origin is None or not isinstance(result, np.ndarray):
        return None
    form = (result.dtype, result.shape, result.strides)
    return origin.edge if form == (origin.dtype, origin.shape, origin.strides) else None
