"""Records programs as the tracer does, and compares a captured graph run plainly with the same graph compiled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.aot import CompiledGraph, aot_eager, compile_inference
from jitmagic.graph import ArrayMeta, Graph, Meta, Node, PyMeta, ShapeEnv, interpret, map_nodes, print_graph
from jitmagic.ops import Op
from tests.aot.rows import ROWS

Inputs = Callable[[], list[Any]]


class Recorder:
    """A captured graph under construction; ``call`` is what the tracer does with one NumPy call.

    With ``symbolic`` every size above 1 of the arguments is a symbol, equal sizes one symbol.
    """

    def __init__(self, arguments: Sequence[Any], symbolic: bool = False) -> None:
        self.graph = Graph("captured")
        self.env = ShapeEnv()
        self.symbols: dict[int, Any] = {}
        self.inputs = [self._input(f"x{i}", a, symbolic) for i, a in enumerate(arguments)]

    def _input(self, source: str, value: Any, symbolic: bool) -> Node:
        meta = _describe(value)
        if not symbolic or not isinstance(meta, ArrayMeta):
            return self.graph.input(source, meta)
        fresh = [n for n in meta.hint_shape if n > 1 and n not in self.symbols]
        self.symbols |= {n: self.env.new_symbol(n) for n in dict.fromkeys(fresh)}
        shape = tuple(self.symbols.get(n, n) for n in meta.hint_shape)
        node = self.graph.input(source, meta.with_shape(shape))
        for n in dict.fromkeys(fresh):
            self.graph.bind(self.symbols[n], node, meta.hint_shape.index(n))
        return node

    def call(self, op: str | Op, *args: Any, **kwargs: Any) -> Any:
        """The node of the result, a tuple of nodes, or None. Raises what NumPy raises."""
        row = ROWS[op] if isinstance(op, str) else op
        found = row.infer(map_nodes(args, _meta), map_nodes(kwargs, _meta), self.env)
        if isinstance(found.same_as, int):
            return args[found.same_as]
        view_of = None if found.view_of is None else args[found.view_of]
        single = found.meta if not isinstance(found.meta, tuple) else None
        node = self.graph.call(row, args, kwargs, single, view_of=view_of)
        if single is not None:
            for _, axis, symbol in found.run_time_sizes:
                self.graph.bind(symbol, node, axis)
        if isinstance(found.meta, tuple):
            return tuple(self.graph.item(node, i, m) for i, m in enumerate(found.meta) if m is not None)
        return node if single is not None else None

    def output(self, *nodes: Node) -> Graph:
        self.graph.outputs = list(nodes)
        return self.graph


def _describe(value: Any) -> Meta:
    return ArrayMeta.of(value) if isinstance(value, np.ndarray | np.generic) else PyMeta(type(value))


def _meta(leaf: Any) -> Any:
    return leaf.meta if isinstance(leaf, Node) else leaf


def assert_same(graph: Graph, inputs: Inputs, backend: Any = aot_eager, **options: Any) -> CompiledGraph:
    """Compiled and plain runs agree in everything that a caller can see. ``inputs()`` makes the arguments anew."""
    with np.errstate(all="ignore"):
        plain_in = inputs()
        plain_out = interpret(graph, plain_in)
        compiled = compile_inference(graph, inputs(), backend, **options)
        compiled_in = inputs()
        assert compiled.plan.guard.holds(compiled_in)
        passed = list(compiled_in)
        compiled_out = compiled.run(passed)
    assert passed == []
    detail = f"{print_graph(compiled.pure_graph)}\n{compiled.plan}"
    plain, ours = [*plain_in, *plain_out], [*compiled_in, *compiled_out]
    assert len(plain) == len(ours), detail
    for position, (p, o) in enumerate(zip(plain, ours, strict=True)):
        assert facts(o) == facts(p), f"value {position}\n{detail}"
    assert relations(ours) == relations(plain), detail
    return compiled


def facts(value: Any) -> Any:
    """What can be seen of one value alone; NaN payloads do not count."""
    if not isinstance(value, np.ndarray | np.generic):
        return type(value), repr(value)
    clean = np.array(value)
    if clean.dtype.kind in "fc":
        clean[np.isnan(clean)] = np.nan
    described = type(value), value.dtype, value.shape, clean.tobytes()
    if isinstance(value, np.generic):
        return described
    layout = value.strides, value.flags.writeable, value.flags.owndata, value.base is None
    base = None if value.base is None else (type(value.base), getattr(value.base, "shape", None))
    return *described, *layout, base


def relations(values: Sequence[Any]) -> Any:
    """Who is who, whose base is whose, and who shares memory with whom."""
    arrays = [(i, v) for i, v in enumerate(values) if isinstance(v, np.ndarray)]
    return [
        (i, j, a is b, a.base is b, b.base is a, a.base is not None and a.base is b.base, np.shares_memory(a, b))
        for i, a in arrays
        for j, b in arrays
        if i < j
    ]
