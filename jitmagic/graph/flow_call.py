"""What a node of a flow calls: the driver over the flow's pieces, each compiled when it runs first."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.flow import MISSING, Flow
from jitmagic.graph.flow_text import DriverText
from jitmagic.graph.graph import Graph
from jitmagic.graph.interpreter import interpret
from jitmagic.graph.meta import ArrayMeta, Meta, layout_key

__all__ = ["FlowCall", "PieceCall", "owner_of"]

Run: TypeAlias = Callable[..., Sequence[Any]]
Lower: TypeAlias = Callable[[Graph, Sequence[Any]], Run]


class Left(Unsupported):
    """The flow came to a place that only plain Python has a form for."""


class PieceCall:
    """One straight piece: ``piece(*arguments)`` gives its outputs. ``lower`` compiles it at its first call.

    ``put(run)`` is told what runs from then on, so that nothing stands between the driver and it.
    """

    def __init__(self, graph: Graph, put: Callable[[Run], None]) -> None:
        self.graph = graph
        self.lower: Lower | None = None
        self._put = put

    def __call__(self, *arguments: Any) -> Sequence[Any]:
        run = self._make(arguments)
        self._put(run)
        return run(*arguments)

    def like(self, graph: Graph) -> Run:
        """Another graph, compiled at its first call as this one is."""
        made: list[Run] = []
        piece = PieceCall(graph, made.append)
        piece.lower = self.lower
        return lambda *arguments: (made[-1] if made else piece)(*arguments)

    def _make(self, arguments: Sequence[Any]) -> Run:
        if self.lower is not None:
            try:
                return self.lower(self.graph, arguments)
            except Unsupported:  # arguments that share memory in a way without a form
                pass
        return lambda *given: interpret(self.graph, given)


class FlowCall:
    """``call(*operands)`` runs the flow on real arrays and numbers and gives the tuple of its results.

    Raises Unsupported if the flow leaves, or if a result is not what the graph goes on with; nothing is changed then.
    ``on_copies`` is the same for operands that nobody else knows: it may leave the written ones half done.
    """

    mark = "flow"  # what a card calls its lines

    def __init__(self, flow: Flow, name: str) -> None:
        self.flow = flow
        text = DriverText(flow, name)
        self.__name__ = name
        self.text = text.text
        scope: dict[str, Any] = {"missing": MISSING, "Left": Left("region", "a place that raises an exception")}
        scope["gathered"] = _gathered
        names = [f"piece{i}" for i in range(len(text.pieces))]
        self.pieces = [
            PieceCall(piece.graph, functools.partial(scope.__setitem__, name))
            for name, piece in zip(names, text.pieces, strict=True)
        ]
        scope |= dict(zip(names, self.pieces, strict=True))
        scope |= {f"k{i}": value for i, value in enumerate(text.constants)}
        exec(compile(text.text, f"<jitmagic {name}>", "exec"), scope)
        self.scope = scope
        self._drive: Callable[..., tuple[Any, ...]] = scope[name]

    def lower(self, lower: Lower) -> None:
        """Have the pieces compiled by ``lower``, each when it runs first."""
        for piece in self.pieces:
            piece.lower = lower

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        copies = {i: operands[i].copy(order="K") for i in self.flow.written}
        results = self.on_copies(*(copies.get(i, o) for i, o in enumerate(operands)))
        for i, copy in copies.items():
            operands[i][...] = copy
        return results

    def on_copies(self, *operands: Any) -> tuple[Any, ...]:
        return self.checked(self._drive(*operands), operands)

    def checked(self, given: Sequence[Any], operands: Sequence[Any]) -> tuple[Any, ...]:
        """The results that a run gave, as the graph goes on with them. Raises Unsupported if that cannot be."""
        results = list(given)
        if self.flow.ends:
            return tuple(None if r is MISSING else r for r in results)
        arrays = [o for o in operands if isinstance(o, np.ndarray)]
        for i, (result, node) in enumerate(zip(given, self.flow.results, strict=True)):
            if node.meta is None or not _fits(result, node.meta):
                raise Unsupported("region", "a variable that is of another kind this time")
            if isinstance(result, np.ndarray):
                results[i] = self._apart(i, result, arrays, given[:i])
        return tuple(results)

    def _apart(self, index: int, result: Any, operands: Sequence[Any], before: Sequence[Any]) -> Any:
        """The result as an array of its own; Raises Unsupported where others would notice."""
        if any(isinstance(b, np.ndarray) and _related(result, b) for b in before):
            raise Unsupported("aliased-inputs", "two results of a loop")
        if any(_related(result, o) for o in operands):
            if index not in self.flow.loose:
                raise Unsupported("aliased-inputs", "a result of a loop and what it works on")
            return result.copy(order="K")
        return result


def _gathered(values: Sequence[Any], meta: ArrayMeta) -> Any:
    """What ``np.array(values)`` gives. Raises Left if it is of another kind than ``meta``."""
    if not values and (meta.ndim > 1 or meta.dtype != np.float64):
        raise Left("region", "a list without elements")
    try:
        return np.array(values, meta.dtype)
    except OverflowError:
        raise Left("region", "a list of numbers that no integer of NumPy's holds") from None


def _related(a: Any, b: Any) -> bool:
    """Whether two arrays are one, or share memory; without elements they share none, but may have one owner."""
    return a is b or bool(np.may_share_memory(a, b)) or (not (a.size and b.size) and owner_of(a) is owner_of(b))


def owner_of(array: Any) -> Any:
    """The array that owns the memory, or leads to who does."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _fits(value: Any, meta: Meta) -> bool:
    """Whether a value is of the kind that ``meta`` describes."""
    if not isinstance(meta, ArrayMeta):
        return type(value) is meta.type
    if meta.scalar:
        return type(value) is meta.dtype.type
    if type(value) is not np.ndarray or value.dtype != meta.dtype or value.ndim != meta.ndim:
        return False
    if any(isinstance(n, int) and n != m for n, m in zip(meta.shape, value.shape, strict=True)):
        return False
    flags = ("C" if value.flags.c_contiguous else "") + ("F" if value.flags.f_contiguous else "")
    if value.flags.writeable != meta.writeable:
        return False
    same = layout_key(value.shape, value.strides) == layout_key(meta.hint_shape, meta.strides)
    return meta.is_symbolic or (same and flags == meta.contiguous)
