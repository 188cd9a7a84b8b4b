"""The printed form of a graph is read back into a drawing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pytest

from jitmagic import explain
from jitmagic.errors import Span
from jitmagic.graph import ArrayMeta, Graph, print_graph
from jitmagic.report.drawing import Box
from jitmagic.report.exports import to_text
from jitmagic.report.graphtext import read_graph
from jitmagic.report.svg import to_svg
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
        ("%s = sum(%x, axis=0)  float64[]  k1", "reduction", "sum(•, axis=0)", "float64[]", "k1"),
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
        ("sum(•, axis=0)", "float64[3]", "extern", ""),
        ("return", "", "output", ""),
    ]
    assert len(drawing.edges) == 5


def test_what_is_no_graph_gives_no_drawing() -> None:
    assert read_graph("") is None
    assert read_graph("some remark\nanother") is None


@pytest.mark.parametrize(
    ("expression", "label"),
    [
        ("getitem(%z, (1:-1, ::2, None))", "getitem(•, (1:-1, ::2, None))"),
        ("true_divide(%add_1, 3)", "true_divide(•, 3)"),
        ("subtract(1, %x)", "subtract(1, •)"),
        ("where(%c, %x, -0.5)", "where(•, •, -0.5)"),
        ("sum(%x, axis=(0, 1))", "sum(•, axis=(0, 1))"),
        ("concatenate([%a, %b])", "concatenate"),
        ("zeros((3, 4))", "zeros((3, 4))"),
        ("add(%a, %b)", "add"),
    ],
)
def test_no_operand_is_lost_in_text_or_picture(expression: str, label: str) -> None:
    """An arrow shows an operand that was computed; slices and numbers have no arrow."""
    names = sorted(set(re.findall(r"%\w+", expression)))
    lines = [f"{name} = input {name[1:]}" for name in names]
    drawing = read_graph("\n".join([*lines, f"%out = {expression}  float64[8]", "return %out"]))
    assert drawing is not None
    assert drawing.nodes[-2].label == label
    assert to_text(drawing).splitlines()[-2:] == [f"%out = {expression}  float64[8]", "return %out"]
    assert escape(label) in to_svg(drawing)


def test_views_and_constants_of_a_real_function_are_told_apart() -> None:
    def shades(z: Any) -> Any:
        return (z[1:] + z[:-1] + z[::2][:1]) / 3

    graph = explain(shades)(np.ones(4)).graphs[0]
    drawing = read_graph(str(graph) if isinstance(graph, str) else print_graph(graph))
    assert drawing is not None
    said = [line.partition(" = ")[2].split("  ")[0] for line in to_text(drawing).splitlines()]
    views = [line for line in said if line.startswith("getitem")]
    assert len(set(views)) == len(views) == 4
    assert any(line.startswith("true_divide(") and line.endswith(", 3)") for line in said)
