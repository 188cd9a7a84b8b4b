"""The printed form of a graph is read back into a drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from jitmagic.errors import Span
from jitmagic.graph import ArrayMeta, Graph, print_graph
from jitmagic.report.drawing import Box
from jitmagic.report.graphtext import read_graph
from tests.report.scenes import GRAPH


@dataclass(frozen=True)
class Named:
    """An operation of which only the name matters here."""

    name: str
    call: Callable[..., Any] = np.add
    writes: tuple[int, ...] = ()
    effects: bool = False


def box(line: str) -> Box:
    drawing = read_graph(line)
    assert drawing is not None
    return drawing.nodes[-1]


def test_every_line_is_a_box_and_every_operand_an_arrow() -> None:
    drawing = read_graph(GRAPH)
    assert drawing is not None
    assert len(drawing.nodes) == len(GRAPH.splitlines())
    assert ("%gt", "%where") in drawing.edges
    assert ("%sum", "return") in drawing.edges
    assert len(drawing.edges) == 12


@pytest.mark.parametrize(
    ("line", "role", "label", "sub", "group"),
    [
        ("%x = input x    float64[8]", "input", "x", "float64[8]", ""),
        ("%c = constant 2.0", "constant", "2.0", "", ""),
        ("%3 = add(%1, %2)  f64[1000]  k0  line 3", "op", "add", "f64[1000]", "k0"),
        ("%s = sum(%x, axis=0)  float64[]  k1", "reduction", "sum", "float64[]", "k1"),
        ("%d = dot(%x, %y)  float64[]  extern  line 4", "extern", "dot", "float64[]", ""),
        ("%i = %t[1]  int64[8]", "op", "item [1]", "int64[8]", ""),
        ("return %x", "output", "return", "", ""),
    ],
)
def test_the_kinds_of_lines(line: str, role: str, label: str, sub: str, group: str) -> None:
    found = box(line)
    assert (found.role, found.label, found.sub, found.group) == (role, label, sub, group)


def test_what_the_printer_prints_is_read_back() -> None:
    graph = Graph()
    x = graph.input("x", ArrayMeta.dense(np.dtype("f8"), (2, 3)), Span("c", 1))
    c = graph.constant(2.0, None)
    made = graph.call(Named("multiply"), (x, c), {}, ArrayMeta.dense(np.dtype("f8"), (2, 3)), span=Span("c", 2))
    total = graph.call(Named("sum"), (made,), {"axis": 0}, ArrayMeta.dense(np.dtype("f8"), (3,)))
    graph.outputs = [total, x]
    drawing = read_graph(print_graph(graph, {made: "k0", total: "extern"}))
    assert drawing is not None
    assert [(b.label, b.sub, b.role, b.group) for b in drawing.nodes] == [
        ("x", "float64[2, 3]", "input", ""),
        ("2.0", "", "constant", ""),
        ("multiply", "float64[2, 3]", "op", "k0"),
        ("sum", "float64[3]", "extern", ""),
        ("return", "", "output", ""),
    ]
    assert len(drawing.edges) == 5


def test_what_is_no_graph_gives_no_drawing() -> None:
    assert read_graph("") is None
    assert read_graph("some remark\nanother") is None
