"""Takes a straight piece of a flow, gives it as a function of values with a derivative: the two halves, compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.aot.aliases import find_aliases
from jitmagic.aot.inference import purify
from jitmagic.aot.joint.partitioners import default_partition
from jitmagic.aot.simplify import simplify_pure
from jitmagic.aot.training import make_joint
from jitmagic.graph import ArrayMeta, Graph
from jitmagic.graph.flow_call import PieceCall
from jitmagic.graph.meta import Meta

__all__ = ["PieceHalves"]

Program = Callable[..., Sequence[Any]]


class PieceHalves:
    """See ``jitmagic.graph.flow_tape.TapedPiece``; ``active`` are the inputs that a derivative may be needed of.

    Raises Unsupported ``no-derivative`` for an operation without a rule.
    """

    def __init__(self, piece: PieceCall, active: Sequence[int]) -> None:
        graph = piece.graph
        storages = [s for s in find_aliases(graph).written_storages(graph) if s.kind == "input"]
        self.written = tuple(graph.inputs.index(s) for s in storages)
        self.wanted: tuple[int, ...] = ()
        purified = purify(graph, [_stand_in(node.meta) for node in graph.inputs], flat=True)
        self._direct = purified.plan.direct
        self._results = len(purified.pure.outputs)
        self._tangents: tuple[int, ...] = ()
        self._pull: Program | None = None
        joint = make_joint(purified, [i in active for i in range(len(graph.inputs))]) if active else None
        if joint is None:
            forward = simplify_pure(purified.pure)
        else:
            halves = default_partition(joint.joint)
            forward = halves.forward
            self.wanted = tuple(place for _, place in joint.gradients)
            self._tangents = joint.tangents
            self._pull = piece.like(halves.backward)
        self._forms = [forward.outputs[i].meta for i in self._tangents]
        self._handed = _take_inputs_out(forward, self._results)
        self._run = piece.like(forward)

    def forward(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any] | None]:
        passed = [inputs[i] for i in self._direct]
        found = self._run(*passed)
        results, made = found[: self._results], iter(found[self._results :])
        count = len(self.written)
        if self._pull is None:
            return results[:count], results[count:], None
        saved = [next(made) if place is None else passed[place] for place in self._handed]
        shapes = tuple(np.shape(results[i]) for i in self._tangents)
        return results[:count], results[count:], [*saved, shapes]

    def backward(self, saved: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]:
        assert self._pull is not None
        *values, shapes = saved
        tangents = [
            _fitted(cotangents[i], shape, meta)
            for i, shape, meta in zip(self._tangents, shapes, self._forms, strict=True)
        ]
        return self._pull(*values, *tangents)


def _take_inputs_out(forward: Graph, results: int) -> list[int | None]:
    """Let a forward half not give back what it was given; tells for each saved value which input it is, if any."""
    inputs = {node: place for place, node in enumerate(forward.inputs)}
    saved = forward.outputs[results:]
    handed = [inputs.get(node) for node in saved]
    forward.outputs = [*forward.outputs[:results], *(n for n in saved if n not in inputs)]
    return handed


def _stand_in(meta: Meta | None) -> Any:
    """An example for the analysis of overlap: arrays that share no memory."""
    if isinstance(meta, ArrayMeta) and not meta.scalar:
        return np.empty(meta.hint_shape, meta.dtype)
    return None


def _fitted(cotangent: Any, shape: tuple[int, ...], meta: Any) -> Any:
    """The cotangent as the backward half takes it; zeros where none arrived."""
    if isinstance(meta, ArrayMeta) and not meta.scalar:
        dtype = meta.dtype.newbyteorder("=")
        return np.zeros(shape, dtype) if cotangent is None else np.require(cotangent, dtype, ["C", "A"])
    number = np.dtype(meta.type).type if not isinstance(meta, ArrayMeta) else meta.dtype.type
    return number(0 if cotangent is None else np.asarray(cotangent)[()])
