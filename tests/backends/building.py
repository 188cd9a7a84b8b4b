"""What backend tests share: rows of their own, a recorder of graphs, and comparison by bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.graph import ArrayMeta, Graph, Node, PyMeta, interpret, verify
from jitmagic.ops import by_name
from jitmagic.ops.lowering import Cast, Lowering, Select, View
from jitmagic.ops.record import Inferred, Op


def row(name: str, call: Callable[..., Any], lower: Lowering | None = None, effects: bool = False) -> Op:
    """A row of the test's own, not registered."""
    return Op(name, call, lambda call: Inferred(None), lower=lower, effects=effects)


def _astype(x: Any, dtype: Any) -> Any:
    return x.astype(dtype)


# what the registry calls otherwise, or spells in many ways
ROWS = {"astype": row("astype", _astype, Cast()), "where": row("where", np.where, Select())}


class Recorder:
    """Builds a graph from real arrays: every call runs in NumPy at once, and its result describes the node."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.values: dict[Node, Any] = {}

    def input(self, value: Any, name: str = "x") -> Node:
        meta = ArrayMeta.of(value) if isinstance(value, np.ndarray | np.generic) else PyMeta(type(value))
        return self._keep(self.graph.input(name, meta), value)

    def call(self, name: str | Op, *args: Any, **kwargs: Any) -> Node:
        op = ROWS.get(name) or by_name(name) if isinstance(name, str) else name

        def real(value: Any) -> Any:
            if type(value) in (list, tuple):
                return type(value)(real(item) for item in value)
            return self.values[value] if isinstance(value, Node) else value

        with np.errstate(all="ignore"):
            result = op.call(*map(real, args), **{k: real(v) for k, v in kwargs.items()})
        shares = isinstance(op.lower, View) and np.may_share_memory(result, real(args[0]))
        source = args[0] if shares else None
        return self._keep(self.graph.call(op, args, kwargs, ArrayMeta.of(result), view_of=source), result)

    def _keep(self, node: Node, value: Any) -> Node:
        self.values[node] = value
        return node

    def finish(self, *outputs: Node) -> Graph:
        self.graph.outputs = list(outputs)
        verify(self.graph, pure=True)
        return self.graph

    @property
    def inputs(self) -> list[Any]:
        return [self.values[n] for n in self.graph.inputs]


def assert_same(found: Any, wanted: Any, what: str = "") -> None:
    """Same type, dtype, shape, strides and bits; NaNs are equal whatever their payload."""
    assert type(found) is type(wanted), (what, type(found), type(wanted))
    assert found.dtype == wanted.dtype, (what, found.dtype, wanted.dtype)
    assert found.shape == wanted.shape, (what, found.shape, wanted.shape)
    both_nan = (found != found) & (wanted != wanted)
    assert np.all(_same_bits(found, wanted) | both_nan), (what, found, wanted)
    if isinstance(found, np.ndarray):
        assert found.strides == wanted.strides, (what, found.strides, wanted.strides)


def _same_bits(one: Any, other: Any) -> Any:
    """Equal and of equal sign: -0.0 is not 0.0."""
    if one.dtype.kind != "c":
        return (one == other) & (np.signbit(one) == np.signbit(other) if one.dtype.kind == "f" else True)
    return _same_bits(one.real, other.real) & _same_bits(one.imag, other.imag)


def assert_agrees(program: Callable[[Sequence[Any]], list[Any]], graph: Graph, inputs: Sequence[Any]) -> None:
    """``program`` gives what the interpreter gives, and changes no input."""
    before = [x.copy() if isinstance(x, np.ndarray) else x for x in inputs]
    with np.errstate(all="ignore"):
        wanted = interpret(graph, inputs)
        found = program(inputs)
    assert len(found) == len(wanted)
    for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
        assert_same(one, other, f"output {k}")
    for x, old in zip(inputs, before, strict=True):
        if isinstance(x, np.ndarray):
            assert_same(x.copy(), old)
