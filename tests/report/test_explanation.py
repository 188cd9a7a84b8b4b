"""``explain`` gives counts first, then breaks, graphs, guards, effects and constants."""

from __future__ import annotations

import numpy as np

from jitmagic.errors import Span
from jitmagic.events import EffectRecord
from jitmagic.graph import ArrayMeta, Graph
from jitmagic.report import Explanation, FrozenRecord
from tests.report.golden import assert_golden
from tests.report.scenes import CELL, GRAPH, GUARDS, SOURCES, broken
from tests.report.strict_html import html_text, read_html


class Printed:
    """A graph of which only the printed form is known here."""

    def __str__(self) -> str:
        return GRAPH


def explained() -> Explanation:
    return Explanation(
        "main.<locals>.smooth",
        graphs=[Printed(), "%x = input x"],
        breaks=broken(),
        guards=GUARDS,
        effects=[EffectRecord("log.append(...)", Span(CELL, 5))],
        frozen=[FrozenRecord("SCALE", "2.5", "global read as a number", Span(CELL, 3))],
        flags=["depends on allowed functions"],
        sources=SOURCES,
    )


def test_the_text_of_an_explanation() -> None:
    assert_golden("explanation.txt", str(explained()))


def test_an_explanation_has_its_lists_and_counts() -> None:
    found = explained()
    assert (found.graph_count, found.break_count) == (2, 1)
    assert isinstance(found.graphs[0], Printed)
    assert found.breaks == broken()
    assert found.guards == list(GUARDS)
    assert [e.text for e in found.effects] == ["log.append(...)"]
    assert [f.expression for f in found.frozen] == ["SCALE"]


def test_an_explanation_is_clean_html_with_a_picture_for_each_graph() -> None:
    html = explained().html
    assert len(read_html(html).pictures) == 2
    assert "could not be drawn" not in html_text(html)


def test_a_graph_is_shown_in_its_printed_form() -> None:
    graph = Graph()
    graph.outputs = [graph.input("x", ArrayMeta.dense(np.dtype("f4"), (3,)))]
    found = Explanation("f", graphs=[graph])
    assert found.graphs == [graph]
    assert "%x = input x  float32[3]\n    return %x" in found.text


def test_the_explanation_of_nothing_still_says_what_was_found() -> None:
    assert Explanation("f").text == "f: 0 graphs, 0 graph breaks, 0 guards"


def test_printed_graphs_and_names_are_escaped() -> None:
    html = Explanation("<script>", graphs=["<script>"], frozen=[FrozenRecord("<script>", "1")]).html
    assert "<script" not in html
