"""Passes: the graph means the same, and what somebody could notice is left alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from jitmagic.errors import InternalError
from jitmagic.graph import ArrayMeta, Graph, Node, ShapeEnv, interpret
from jitmagic.graph.passes import CommonSubexpressions, DeadCode, run_passes
from jitmagic.graph.passes.rewrite import copied
from tests.graph.test_graph import ADD, DRAW, FLOATS, PUT, row

COPY = row("copy", np.copy)


def start() -> tuple[Graph, Node]:
    graph = Graph()
    return graph, graph.input("x", FLOATS)


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def add(graph: Graph, *operands: Any) -> Node:
    return graph.call(ADD, operands, {}, FLOATS)


def everything(node: Node) -> bool:
    return True


def test_equal_nodes_become_one() -> None:
    graph, x = start()
    graph.outputs = [add(graph, add(graph, x, 1.0), add(graph, x, 1.0))]
    result = CommonSubexpressions().run(graph)
    assert names(result) == ["x", "add", "add_2"]
    assert interpret(result, [np.ones(4)])[0].tolist() == [4.0] * 4
    assert names(graph) == ["x", "add", "add_1", "add_2"]


@pytest.mark.parametrize(("first", "second"), [(1, 1.0), (1, True), (0.0, -0.0), (1.0, 1 + 0j), ("C", "F")])
def test_operands_that_are_equal_but_not_the_same_keep_nodes_apart(first: Any, second: Any) -> None:
    graph, x = start()
    graph.outputs = [add(graph, add(graph, x, first), add(graph, x, second))]
    assert len(CommonSubexpressions().run(graph).nodes) == len(graph.nodes)


def test_two_outputs_stay_two_arrays_and_one_output_twice_stays_one() -> None:
    graph, x = start()
    a, b, inner = add(graph, x, 1.0), add(graph, x, 1.0), add(graph, x, 1.0)
    graph.outputs = [a, b, a, add(graph, inner, 2.0)]
    result = CommonSubexpressions().run(graph)
    first, second, again, _ = result.outputs
    assert first is again
    assert first is not second
    assert len(result.nodes) == 4


def test_effects_are_not_merged() -> None:
    graph, _ = start()
    graph.outputs = [graph.call(DRAW, (), {}, FLOATS), graph.call(DRAW, (), {}, FLOATS)]
    inner = [graph.call(DRAW, (), {}, FLOATS) for _ in range(2)]
    graph.outputs = [add(graph, *inner)]
    assert names(CommonSubexpressions().run(graph)) == names(graph)


def test_nothing_is_merged_across_a_write() -> None:
    graph, x = start()
    before = add(graph, x, 1.0)
    graph.call(PUT, (x, 0, 9.0), {}, None)
    graph.outputs = [add(graph, before, add(graph, x, 1.0))]
    result = CommonSubexpressions().run(graph)
    assert interpret(result, [np.zeros(4)])[0].tolist() == interpret(graph, [np.zeros(4)])[0].tolist()


def test_arrays_held_by_the_graph_are_compared_by_identity() -> None:
    graph, x = start()
    one, other = np.ones(4), np.ones(4)
    parts = [add(graph, x, one), add(graph, x, one), add(graph, x, other)]
    graph.outputs = [add(graph, add(graph, *parts[:2]), parts[2])]
    assert names(CommonSubexpressions().run(graph)) == ["x", "add", "add_2", "add_3", "add_4"]


def test_dead_nodes_go_but_inputs_stay() -> None:
    graph, x = start()
    graph.input("unused", FLOATS)
    add(graph, add(graph, x, 1.0), 2.0)
    graph.outputs = [graph.call(COPY, (x,), {}, FLOATS)]
    assert names(DeadCode(everything).run(graph)) == ["x", "unused", "copy"]


def test_what_may_not_be_dropped_keeps_its_operands() -> None:
    graph, x = start()
    kept = graph.call(COPY, (add(graph, x, 1.0),), {}, FLOATS)
    graph.call(DRAW, (), {}, FLOATS)
    result = DeadCode(lambda node: node is not kept).run(graph)
    assert names(result) == ["x", "add", "copy", "draw"]


def test_a_graph_with_nothing_to_change_stays_as_it_is() -> None:
    graph, x = start()
    graph.outputs = [add(graph, x, 1.0)]
    assert DeadCode(everything).run(graph) is graph
    assert CommonSubexpressions().run(graph) is graph


def test_what_a_size_is_read_from_stays() -> None:
    graph, x = start()
    n = ShapeEnv().new_run_time_symbol()
    source = graph.call(COPY, (x,), {}, ArrayMeta.dense(np.dtype(float), (n,)))
    graph.bind(n, source, 0)
    assert names(DeadCode(everything).run(graph)) == ["x", "copy"]


@dataclass(frozen=True)
class Spoil:
    """A pass that breaks the graph in one of two ways."""

    outputs: bool

    def run(self, graph: Graph) -> Graph:
        result = copied(graph)
        if self.outputs:
            result.outputs = []
        else:
            result.nodes.reverse()
        return result


def test_a_pass_that_breaks_the_graph_is_named() -> None:
    graph, x = start()
    graph.outputs = [add(graph, x, 1.0)]
    with pytest.raises(InternalError, match=r"after pass Spoil: .*before it is defined"):
        run_passes(graph, [Spoil(outputs=False)])
    with pytest.raises(InternalError, match="pass Spoil changed the number of inputs or outputs"):
        run_passes(graph, [Spoil(outputs=True)])


def test_a_graph_that_must_be_pure_is_checked_before_the_first_pass() -> None:
    graph, x = start()
    graph.call(PUT, (x, 0, 1.0), {}, None)
    with pytest.raises(InternalError, match="writes into an operand"):
        run_passes(graph, [], pure=True)
