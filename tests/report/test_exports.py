"""A drawing as terminal text, Mermaid and Graphviz."""

from __future__ import annotations

import re

from jitmagic.report.drawing import Box, Drawing
from jitmagic.report.exports import to_dot, to_mermaid, to_text
from jitmagic.report.graphtext import read_graph
from tests.report.golden import assert_golden
from tests.report.scenes import GRAPH

NASTY = 'end"] --> x; <script>\n\\'


def smooth() -> Drawing:
    drawing = read_graph(GRAPH)
    assert drawing is not None
    return drawing


def test_text_has_one_line_for_each_node() -> None:
    assert_golden("smooth_graph.txt", to_text(smooth()))


def test_text_names_breaks_and_says_what_was_left_out() -> None:
    drawing = Drawing.of([Box("b", "print", role="break")], note="folded: 9 nodes drawn as 1 box")
    assert to_text(drawing) == "b = print()  graph break\n(folded: 9 nodes drawn as 1 box)"


def test_mermaid_text() -> None:
    assert_golden("smooth.mmd", to_mermaid(smooth()))


def test_dot_text() -> None:
    assert_golden("smooth.dot", to_dot(smooth()))


def test_mermaid_quotes_what_would_end_a_label() -> None:
    line = to_mermaid(Drawing.of([Box("a", NASTY)])).splitlines()[1]
    assert re.fullmatch(r'  n0\["[\w #;.-]*"\]:::role_op', line)


def test_dot_quotes_what_would_end_a_label() -> None:
    line = to_dot(Drawing.of([Box("a", NASTY)])).splitlines()[2]
    assert re.fullmatch(r'  n0 \[label="([^"\\]|\\.)*" fillcolor="#\w+" color="#\w+"\];', line)
