"""Graph, node, interpreter, printer, verifier: one small program through all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from jitmagic.errors import InternalError, Span
from jitmagic.graph import ArrayMeta, Graph, Node, PyMeta, ShapeEnv, interpret, map_nodes, print_graph, verify
from jitmagic.graph.meta import layout_key
from jitmagic.graph.node import nodes_in
from jitmagic.ops import Arguments, Inferred, Op
from jitmagic.ops.functional import ViewStep

FLOATS = ArrayMeta.dense(np.dtype(float), (4,))


def same_meta(call: Arguments) -> Inferred:
    return Inferred(call.args[0])


def row(name: str, call: Callable[..., Any], **columns: Any) -> Op:
    return Op(name, call, same_meta, **columns)


ADD = row("add", np.add)
MODF = row("modf", np.modf)
PUT = row("put", lambda a, i, v: a.__setitem__(i, v), writes=(0,))
DRAW = row("draw", lambda: 4.0, effects=True)
RESHAPE = row("reshape", np.reshape)


def sample() -> Graph:
    """``part, whole = np.modf(x + n); x[n:] = 0.0; return whole, part``."""
    graph = Graph("sample")
    x, n = graph.input("self.w[0]", FLOATS), graph.input("n", PyMeta(int))
    total = graph.call(ADD, (x, n), {}, FLOATS, span=Span("cell", 2))
    pair = graph.call(MODF, (total,), {}, None)
    part, whole = graph.item(pair, 0, FLOATS), graph.item(pair, 1, FLOATS)
    graph.call(PUT, (x, slice(n, None), 0.0), {}, None)
    graph.outputs = [whole, part]
    return graph


def test_the_interpreter_is_numpy_node_by_node_and_writes_into_its_arguments() -> None:
    x = np.array([0.5, 1.5, 2.5, 3.5])
    whole, part = interpret(sample(), [x, 2])
    assert whole.tolist() == [2, 3, 4, 5]
    assert part.tolist() == [0.5] * 4
    assert x.tolist() == [0.5, 1.5, 0, 0]


def test_the_interpreter_refuses_a_wrong_number_of_arguments() -> None:
    with pytest.raises(InternalError, match="takes 2 arguments, got 1"):
        interpret(sample(), [1])


def test_printing_shows_sources_operands_descriptions_and_lines() -> None:
    graph = sample()
    assert print_graph(graph, {graph.nodes[3]: "kernel 1"}).splitlines() == [
        "%self_w_0 = input self.w[0]      float64[4]",
        "%n = input n                     py int",
        "%add = add(%self_w_0, %n)        float64[4]  line 2",
        "%modf = modf(%add)                           kernel 1",
        "%modf_0 = %modf[0]               float64[4]",
        "%modf_1 = %modf[1]               float64[4]",
        "%put = put(%self_w_0, %n:, 0.0)",
        "return %modf_1, %modf_0",
    ]


def test_a_view_path_prints_as_the_user_would_write_it() -> None:
    graph = Graph()
    x = graph.input("x", FLOATS)
    graph.call(ADD, (x, (ViewStep(RESHAPE, ((2, -1),), {"order": "F"}),)), {}, FLOATS)
    assert "add(%x, (.reshape((2, -1), order='F'),))" in print_graph(graph)


def test_nodes_and_sizes_inside_a_view_path_are_found_and_replaced() -> None:
    graph = Graph()
    x, n = graph.input("x", FLOATS), graph.input("n", PyMeta(int))
    path = (ViewStep(RESHAPE, ((n, -1),)),)
    assert list(nodes_in((x, path))) == [x, n]
    replaced = map_nodes(path, lambda leaf: 2 if leaf is n else leaf)
    assert isinstance(replaced[0], ViewStep)
    assert replaced[0].args == ((2, -1),)


def test_prune_keeps_effects_and_writes_and_drops_the_rest() -> None:
    graph = sample()
    graph.call(ADD, (graph.inputs[0], 1.0), {}, FLOATS)
    graph.call(DRAW, (), {}, PyMeta(float))
    graph.outputs = []
    graph.prune()
    assert [node.name for node in graph.nodes] == ["self_w_0", "n", "put", "draw"]


def test_users_lists_readers_once_in_order() -> None:
    graph = Graph()
    x = graph.input("x", FLOATS)
    twice = graph.call(ADD, (x, x), {}, FLOATS)
    assert graph.users() == {x: [twice], twice: []}


def test_a_sound_graph_passes_and_a_write_makes_it_impure() -> None:
    verify(sample())
    with pytest.raises(InternalError, match="writes into an operand of a pure graph"):
        verify(sample(), pure=True)


def broken(change: Callable[[Graph], None]) -> Graph:
    graph = sample()
    change(graph)
    return graph


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda g: g.nodes.reverse(), "before it is defined"),
        (lambda g: setattr(g.nodes[1], "name", g.nodes[0].name), "a name that is used twice"),
        (lambda g: setattr(g.nodes[1], "kind", "guess"), "unknown kind 'guess'"),
        (lambda g: setattr(g.nodes[2], "op", None), "is a call or has no op"),
        (lambda g: g.outputs.append(Node("lost", "input", FLOATS)), "is an output but not a node"),
        (lambda g: setattr(g.nodes[2], "args", (g.nodes[0], ShapeEnv().new_symbol(5))), "uses the size s0"),
    ],
)
def test_each_broken_rule_is_named_with_the_graph(change: Callable[[Graph], None], problem: str) -> None:
    with pytest.raises(InternalError, match=problem) as caught:
        verify(broken(change))
    assert "graph 'sample'" in str(caught.value)
    assert "return" in str(caught.value)


def test_symbols_get_their_value_from_shapes_and_integers() -> None:
    env = ShapeEnv()
    rows, n = env.new_symbol(4), env.new_symbol(2)
    graph = Graph()
    x, k = graph.input("x", FLOATS.with_shape((rows,))), graph.input("n", PyMeta(int))
    graph.bind(rows, x, 0)
    graph.bind(n, k, None)
    graph.outputs = [graph.call(ADD, (x, rows * n), {}, FLOATS.with_shape((rows,)))]
    verify(graph)
    assert interpret(graph, [np.zeros(6), 5])[0].tolist() == [30.0] * 6


@pytest.mark.parametrize("layout", ["C", "F", "reversed", "gaps", "column", "empty"])
def test_a_standin_has_the_description_it_was_made_from(layout: str) -> None:
    table = np.arange(24.0).reshape(4, 6)
    views = {"C": table, "F": table.T, "reversed": table[::-1], "gaps": table[:, ::2], "column": table[:, 1]}
    array = views.get(layout, table[2:2])
    meta = ArrayMeta.of(array)
    assert ArrayMeta.of(meta.standin()) == meta
    assert meta.contiguous == ("C" if array.flags.c_contiguous else "") + ("F" if array.flags.f_contiguous else "")


def test_layout_keys_are_equal_where_numpy_decides_alike() -> None:
    a, b = np.zeros((4, 6)), np.zeros((2, 9))
    assert layout_key(a.shape, a.strides) == layout_key(b.shape, b.strides)
    assert layout_key(a.T.shape, a.T.strides) != layout_key(b.shape, b.strides)
    assert layout_key(a[::-1].shape, a[::-1].strides) != layout_key(a.shape, a.strides)
    assert layout_key((0, 3), (24, 8)) == layout_key((3, 0), (8, 8))
