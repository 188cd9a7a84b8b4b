"""Takes a function and its arguments, gives its value and pullback by running it on Tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from jitmagic.autograd.backward import walk
from jitmagic.autograd.modes import enable_grad
from jitmagic.autograd.node import Edge, FunctionNode
from jitmagic.autograd.recorded import Recorded, is_smooth, tensors_in
from jitmagic.autograd.tensor import Tensor
from jitmagic.autograd.watched import Watched, WatchedNumber
from jitmagic.errors import GradientError

__all__ = ["TapePullback", "gradients", "tape_vjp"]

ARGUMENT = "argument"  # the node of an argument that is differentiated by


def gradients(
    outputs: Sequence[Any],
    inputs: Sequence[Any],
    cotangents: Sequence[Any],
    *,
    retain_graph: bool = True,
    create_graph: bool = False,
) -> list[Any]:
    """The cotangents of ``inputs`` for those of ``outputs``, all Tensors; nothing is added to ``grad``.

    Inputs that do not matter get zeros.
    """
    targets = [_entry(x) for x in inputs]
    roots = [
        (edge, g if create_graph or not isinstance(g, Recorded) else g._values)
        for out, g in zip(outputs, cotangents, strict=True)
        if isinstance(out, Recorded) and (edge := out._history()) is not None
    ]
    stops = frozenset(id(t) for t in targets)
    found = walk(roots, retain=retain_graph, as_tensors=create_graph, stop_at=stops)
    return [_found(found.get(id(t)), x._values) for t, x in zip(targets, inputs, strict=True)]


def _entry(x: Any) -> Any:
    edge = x._history()
    if edge is None:
        raise GradientError("a gradient by a Tensor that requires none")
    return edge[0]


def _found(entry: Any, data: Any) -> Any:
    return np.zeros_like(data) if entry is None else entry[1]


def tape_vjp(function: Callable[..., Any], primals: Sequence[Any]) -> tuple[Any, TapePullback]:
    """``(value, pullback)`` of ``function(*primals)``; primals are arrays, numbers or Tensors.

    ``value`` is what the function gives for Tensors, containers included. ``pullback(cotangent)`` takes one cotangent
    for each number or array of the value, in the order in which ``tensors_in`` finds them, or one alone; it gives a
    tuple of arrays, one for each primal, or Tensors if a primal or cotangent is a Tensor (for higher derivatives). It
    may be called more than once. Arrays that the function writes to are written for real.
    """
    watched = [_watched(p) for p in primals]
    marks = [_mark(w) for w in watched]
    with enable_grad():
        try:
            value = _called(function, watched)
        finally:
            for primal, stand_in in zip(primals, watched, strict=True):
                _describe_alike(primal, stand_in)
    arrays, ends = [w._values for w in watched], [_End(t._history(), t._values) for t in tensors_in(value)]
    nested = any(isinstance(p, Recorded) for p in primals) or _lead_elsewhere(ends, marks)
    return value, TapePullback(ends, marks, arrays, nested)


class _End(NamedTuple):
    """What a pullback keeps of a result, which may be given another shape later."""

    edge: Edge | None
    data: Any


@dataclass(frozen=True, slots=True)
class TapePullback:
    """``is_nested``: a Tensor from outside is differentiated by, or used, so that gradients are Tensors too."""

    ends: list[_End]
    marks: list[Any]
    arrays: list[Any]
    is_nested: bool

    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        given = cotangent if isinstance(cotangent, tuple | list) else [cotangent]
        create = self.is_nested or any(isinstance(g, Recorded) for g in given)
        roots = [
            (end.edge, _started(g, end.data, create))
            for end, g in zip(self.ends, given, strict=True)
            if end.edge is not None
        ]
        found = walk(roots, retain=True, as_tensors=create, stop_at=frozenset(map(id, self.marks)))
        return tuple(_found(found.get(id(mark)), a) for mark, a in zip(self.marks, self.arrays, strict=True))


def _lead_elsewhere(ends: list[_End], marks: list[Any]) -> bool:
    """Whether results depend on a Tensor that requires a gradient besides the arguments, such as one of a closure."""
    own = set(map(id, marks))
    seen: set[int] = set()
    waiting = [end.edge[0] for end in ends if end.edge is not None]
    while waiting:
        node = waiting.pop()
        if id(node) in own or id(node) in seen:
            continue
        seen.add(id(node))
        edges = [edge for edge in getattr(node, "edges", ()) if edge is not None]
        if isinstance(node, Recorded) or (not edges and getattr(node, "name", "") == ARGUMENT):
            return True
        waiting += [edge[0] for edge in edges]
    return False


def _called(function: Callable[..., Any], watched: list[Tensor]) -> Any:
    try:
        return function(*watched)
    except ValueError as error:
        if isinstance(error.__cause__, GradientError):  # NumPy's words hide ours
            raise error.__cause__ from None
        raise


def _describe_alike(primal: Any, watched: Tensor) -> None:
    """The caller's array gets the shape and the flag that the function assigned to what stood for it."""
    if type(primal) is not np.ndarray:
        return
    if primal.shape != watched.shape:
        primal.shape = watched.shape
    if primal.flags.writeable and not watched._values.flags.writeable:
        primal.flags.writeable = False


def _watched(primal: Any) -> Tensor:
    """A Tensor over the same memory that is computed from nothing but a mark; it may be written in place."""
    data = primal._values if isinstance(primal, Recorded) else _as_data(primal)
    if not is_smooth(data):
        raise GradientError(f"a gradient by an argument of dtype {data.dtype}: only real and complex numbers have one")
    edges = [edge] if isinstance(primal, Recorded) and (edge := primal._history()) is not None else []
    node = FunctionNode(ARGUMENT, lambda gs, as_tensors: gs[: len(edges)], edges)
    if type(primal) in (float, complex) or isinstance(primal, WatchedNumber):
        return WatchedNumber.of(data, (node, 0))
    found: Tensor = Watched._made(data, (node, 0), primal._version if isinstance(primal, Recorded) else None)
    if type(primal) is np.ndarray:
        found._primal = primal  # type: ignore[attr-defined]  # a Tensor takes any; plain_of asks for it
    return found


def _as_data(primal: Any) -> Any:
    """NumPy scalars stay what they are; Python numbers become such; of an array a view, whose shape is its own."""
    return primal if isinstance(primal, np.generic) else np.asarray(primal)[() if np.isscalar(primal) else ...]


def _mark(watched: Tensor) -> Any:
    edge = watched._edge
    assert edge is not None
    return edge[0]


def _started(g: Any, out: Any, create: bool) -> Any:
    data = g._values if isinstance(g, Recorded) else np.asarray(g)
    if data.shape != out.shape:
        raise GradientError(f"a cotangent of shape {data.shape} for a value of shape {out.shape}")
    if create:
        return g if isinstance(g, Recorded) else Tensor._made(data.astype(out.dtype))
    return data.astype(out.dtype)
