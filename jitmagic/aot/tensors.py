"""Takes a compiled pair, gives a callable on Tensors: forward and backward enter their tape as one node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.aot.joint.joint_graph import memory_of
from jitmagic.aot.plan import Rebuild, Ref
from jitmagic.aot.training import Training, checked
from jitmagic.aot.wrapper import in_layout
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.node import FunctionNode
from jitmagic.autograd.recorded import Recorded, raw
from jitmagic.autograd.tensor import Tensor
from jitmagic.autograd.writing import written
from jitmagic.errors import GradientError
from jitmagic.graph import ArrayMeta, SymInt, map_nodes
from jitmagic.graph.polynomial import evaluate

__all__ = ["TensorRun", "on_tensors"]

TWICE = (
    "the compiled backward of {} cannot be differentiated itself: ask for higher derivatives with jm.grad of jm.grad, "
    "or call the plain function"
)


def on_tensors(run: Any, arguments: list[Any]) -> list[Any]:
    """``run`` without gradients: results are Tensors without history, arguments that come back are themselves."""
    known = {id(a._values): a for a in arguments if isinstance(a, Recorded)}
    if not known:
        return list(run(arguments))
    given = [raw(a) for a in arguments]
    arguments.clear()
    made: dict[int, Any] = dict(known)
    results = run(given)
    for r in results:
        if isinstance(r, np.ndarray | np.generic) and id(r) not in made:
            made[id(r)] = Tensor._made(r)
    return [made.get(id(r), r) for r in results]


@dataclass(slots=True)
class TensorRun:
    """``run(arguments)`` gives the captured graph's outputs as Tensors, writes into arguments, empties the list."""

    training: Training
    copied: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        halves = self.training.halves
        forward = halves.forward
        saved = forward.outputs[len(forward.outputs) - halves.saved :]
        shared = memory_of([*forward.inputs, *forward.outputs[: len(forward.outputs) - halves.saved]])
        arrays = [isinstance(n.meta, ArrayMeta) and not n.meta.scalar for n in saved]
        self.copied = frozenset(i for i, n in enumerate(saved) if arrays[i] and not memory_of([n]).isdisjoint(shared))

    def __call__(self, arguments: list[Any]) -> list[Any]:
        training, plan = self.training, self.training.made.plan
        args = list(arguments)
        arguments.clear()
        for copy in plan.copy_backs:
            if isinstance(args[copy.argument], Recorded) and is_grad_enabled():
                args[copy.argument]._check_may_write()
        data = [raw(a) for a in args]
        passed = [group.base(data) for group in plan.guard.groups] + [data[i] for i in plan.direct]
        wanted = plan.results + training.halves.saved
        name, sources = training.halves.forward.name, dict(enumerate(plan.names))
        found = checked(training.forward, passed, wanted, name, sources)
        results, saved = found[: plan.results], found[plan.results :]
        results = [in_layout(plan.layouts[i], r) if i in plan.layouts else r for i, r in enumerate(results)]
        saved = [v.copy() if i in self.copied else v for i, v in enumerate(saved)]
        node = self._node(args, results, saved)
        self._write_back(args, results, node)
        return self._outputs(args, results, node)

    # -- the tape
    def _node(self, args: list[Any], results: list[Any], saved: list[Any]) -> FunctionNode:
        made = self.training.made
        edges: list[Any] = []
        parts: list[tuple[int, Any]] = []  # for each edge: the gradient it takes, and where in it
        for number, (kind, index) in enumerate(made.gradients):
            windows = [None] if kind == "argument" else list(made.plan.guard.groups[index].windows)
            for window in windows:
                owner = args[index if window is None else window.input]
                edge = owner._history() if isinstance(owner, Recorded) else None
                if edge is not None:
                    edges.append(edge)
                    parts.append((number, window))
        forms = [(np.shape(results[i]), results[i].dtype, isinstance(results[i], np.ndarray)) for i in made.tangents]
        pullback = _Pullback(self.training, tuple(saved), tuple(forms), tuple(parts))
        return FunctionNode(self.training.halves.backward.name, pullback, edges, len(made.tangents))

    def _edge(self, node: FunctionNode, result: int) -> Any:
        """Where the cotangent of a result goes; nowhere if it is called under ``no_grad``."""
        tangents = self.training.made.tangents
        return (node, tangents.index(result)) if result in tangents and is_grad_enabled() else None

    def _write_back(self, args: list[Any], results: list[Any], node: FunctionNode) -> None:
        for copy in self.training.made.plan.copy_backs:
            target = args[copy.argument]
            if isinstance(target, Recorded):
                target._version.before_write(target._values)
            raw(target)[...] = results[copy.result]
            if isinstance(target, Recorded):
                edge = self._edge(node, copy.result)
                written(target, None if edge is None else FunctionNode("write", _pass_on, [edge]))

    # -- what the caller gets
    def _outputs(self, args: list[Any], results: list[Any], node: FunctionNode) -> list[Any]:
        plan = self.training.made.plan
        sizes = {s.symbol: self._size(s, args, results) for s in plan.sizes}
        tensors: dict[int, Any] = {}

        def of(ref: Ref) -> Any:
            if ref.kind == "argument":
                return args[ref.index]
            if ref.kind == "constant":
                return plan.constants[ref.index]
            if ref.index not in tensors:
                value = results[ref.index]
                is_array = isinstance(value, np.ndarray | np.generic)
                tensors[ref.index] = Tensor._made(value, self._edge(node, ref.index)) if is_array else value
            return tensors[ref.index]

        def resolve(leaf: Any) -> Any:
            if isinstance(leaf, Ref):
                return raw(of(leaf))
            return evaluate(leaf.poly, sizes) if isinstance(leaf, SymInt) else leaf

        objects = [_rebuilt(made, of, resolve) for made in plan.objects]
        return [objects[i] for i in plan.returns]

    @staticmethod
    def _size(source: Any, args: list[Any], results: list[Any]) -> int:
        value = raw(args[source.ref.index]) if source.ref.kind == "argument" else results[source.ref.index]
        return int(value) if source.axis is None else int(value.shape[source.axis])


def _rebuilt(made: Rebuild, of: Any, resolve: Any) -> Any:
    """The object, or the view of it that the operations on Tensors make again."""
    value = of(made.base)
    for step in made.path:
        args, kwargs = map_nodes(step.args, resolve), map_nodes(step.kwargs, resolve)
        value = type(step)(step.op, args, kwargs, step.position, step.item).apply(value)
    return value


def _pass_on(cotangents: Sequence[Any], as_tensors: bool) -> Sequence[Any]:
    return cotangents


@dataclass(frozen=True, slots=True)
class _Pullback:
    """What the node of the tape calls with one cotangent, or None, for each tangent."""

    training: Training
    saved: tuple[Any, ...]
    forms: tuple[tuple[tuple[int, ...], Any, bool], ...]
    parts: tuple[tuple[int, Any], ...]

    def __call__(self, cotangents: Sequence[Any], as_tensors: bool) -> list[Any]:
        backward = self.training.halves.backward
        if as_tensors:
            raise GradientError(TWICE.format(self.training.halves.forward.name))
        given = [_fitted(raw(g), *form) for g, form in zip(cotangents, self.forms, strict=True)]
        names = {i: p.source for i, p in enumerate(backward.placeholders)}
        count = len(self.training.made.gradients)
        found = checked(self.training.backward, [*self.saved, *given], count, backward.name, names)
        return [found[number] if window is None else _share(found[number], window) for number, window in self.parts]


def _fitted(g: Any, shape: tuple[int, ...], dtype: Any, is_array: bool) -> Any:
    if g is None:
        g = np.zeros(shape, dtype)
    return np.require(g, dtype, ["C", "A"]).reshape(shape) if is_array else dtype.type(np.asarray(g)[()])


def _share(base: Any, window: Any) -> Any:
    """The part of a base's gradient that goes to one of the arguments which share it.

    Each element goes to the first argument that shows it: all of them lead to the same memory in the end (row A20).
    """
    step = tuple(s * base.itemsize for s in window.strides)
    start = base[window.offset : window.offset + 1] if base.size else base
    part = np.lib.stride_tricks.as_strided(start, window.shape, step)
    copy = part.copy()
    part[...] = 0
    return copy
