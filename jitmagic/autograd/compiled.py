"""Takes what one run of a compiled forward half gave, makes Tensors of it that share one node of the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.autograd.node import FunctionNode
from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import GradientError

__all__ = ["CompiledRun", "plain_tensor", "released_tensor"]

Raw = Callable[[Sequence[Any]], Sequence[Any]]


def plain_tensor(data: Any) -> Tensor:
    """A Tensor without history."""
    made: Tensor = Tensor._made(data)
    return made


def released_tensor(data: Any) -> Tensor:
    """A Tensor whose history a backward pass has let go of."""
    made: Tensor = Tensor._made(data, (_RELEASED, 0))
    return made


_RELEASED = FunctionNode("a compiled function", lambda cotangents, as_tensors: [], [])
_RELEASED.release()


class CompiledRun:
    """One call: ``raw`` gives the cotangents of ``inputs`` for those of all results, in order."""

    def __init__(self, raw: Raw, inputs: Sequence[Tensor]) -> None:
        edges = [edge for t in inputs if (edge := t._history()) is not None]
        self.backward = _Backward(raw, [])
        self.node = FunctionNode("a compiled function", self.backward, edges, 0)

    def result(self, data: Any) -> Tensor:
        """The next result as a Tensor."""
        results = self.backward.results
        made: Tensor = Tensor._made(data, (self.node, len(results)))
        results.append((data.shape, data.dtype.newbyteorder("="), isinstance(data, np.generic)))
        self.node.outputs = len(results)
        return made


@dataclass(frozen=True, slots=True)
class _Backward:
    """The pullback of the node; it does not know the node, so that both die when nobody needs them."""

    raw: Raw
    results: list[tuple[tuple[int, ...], np.dtype[Any], bool]]

    def __call__(self, cotangents: list[Any], as_tensors: bool) -> Sequence[Any]:
        if as_tensors:
            raise GradientError(
                "the gradient of a compiled function's gradient: its backward half is compiled and keeps no record. "
                "Differentiate twice with jm.grad, or call f.jit.plain"
            )
        return self.raw([_fitted(g, *each) for g, each in zip(cotangents, self.results, strict=True)])


def _fitted(g: Any, shape: tuple[int, ...], dtype: np.dtype[Any], is_scalar: bool) -> Any:
    """A cotangent as the backward half takes it; zeros where none arrived."""
    found = np.zeros(shape, dtype) if g is None else np.require(g, dtype, ["C", "A"])
    return dtype.type(found[()]) if is_scalar else found
