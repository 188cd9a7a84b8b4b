"""The views behind ``f.jit.<verb>()`` and ``%jit <verb>``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jitmagic.errors import Span
from jitmagic.report import (
    Box,
    BreaksView,
    CheckRecord,
    CheckView,
    Difference,
    Drawing,
    EntryGuards,
    FunctionRow,
    FunctionsTable,
    GraphView,
    GuardsView,
    SourceView,
    TimeRecord,
    TimeView,
    WhyView,
    read_graph,
)
from jitmagic.report.view import View
from tests.report.golden import assert_golden
from tests.report.scenes import CELL, GRAPH, GUARDS, SOURCES, broken, kernel, recompiled
from tests.report.strict_html import html_text, read_html

EVIL = "<script>alert(1)</script>"


def drawing(count: int = 0) -> Drawing:
    if count:
        return Drawing.of(Box(f"v{i}", "add", group="k0") for i in range(count))
    found = read_graph(GRAPH)
    assert found is not None
    return found


ROWS = [
    FunctionRow("smooth", "Cell In[4], line 2", 2, 41, 39, 1, 1, 1_250_000_000),
    FunctionRow("main.<locals>.blur", "Cell In[5], line 1", 1, 1000, 999, 0, 0, 480_000_000),
]

VIEWS: dict[str, View] = {
    "functions": FunctionsTable(ROWS),
    "guards": GuardsView(
        "smooth",
        [
            EntryGuards(0, GUARDS, outcomes=("held", "failed", "not reached")),
            EntryGuards(0, (replace(GUARDS[0], category="builtin"),), resume=7),
        ],
    ),
    "why": WhyView(
        "smooth",
        [recompiled(), recompiled("1", "2", 5, "x.ndim")],
        sources=SOURCES,
        entries_left=30,
    ),
    "breaks": BreaksView([*broken(2), replace(broken()[0], function="blur", span=Span(CELL, 11))], sources=SOURCES),
    "source": SourceView(
        "smooth",
        [kernel()],
        definition=Span(CELL, 2),
        lines=((3, "k0"), (4, "k0"), (6, "break")),
        sources=SOURCES,
    ),
    "graph": GraphView(drawing(), title="smooth"),
    "time": TimeView(TimeRecord("smooth", 37_000_000, 3_100_000, 610_000_000, 7)),
    "check": CheckView(CheckRecord("smooth", (Difference("result[0]", "1.0", "nan"),), 3)),
}


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_the_text_of_each_view(name: str) -> None:
    assert_golden(f"view_{name}.txt", str(VIEWS[name]))


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_each_view_is_clean_html(name: str) -> None:
    bundle = VIEWS[name]._repr_mimebundle_()
    assert bundle["text/plain"] == VIEWS[name].text
    assert "could not be drawn" not in html_text(bundle["text/html"])


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (FunctionsTable([]), "no compiled functions yet: put %%compile on top of a cell"),
        (GuardsView("f", []), "f has not been compiled yet: call it once"),
        (WhyView("f", []), "f was never compiled again"),
        (BreaksView([]), "no graph breaks"),
        (SourceView("f", []), "f\nno kernel has been generated: NumPy does all the work"),
        (CheckView(CheckRecord("f", refused="it reads a file")), "f: not checked, it reads a file"),
        (
            CheckView(CheckRecord("f", compared=3)),
            "f: same answer as plain NumPy, 3 values compared bit for bit",
        ),
    ],
)
def test_a_view_with_nothing_to_show_says_so(view: View, said: str) -> None:
    assert view.text == said


def test_names_and_values_are_escaped() -> None:
    views: list[View] = [
        FunctionsTable([replace(ROWS[0], function=EVIL, where=EVIL)]),
        GuardsView(EVIL, [EntryGuards(0, (replace(GUARDS[0], expression=EVIL),))]),
        WhyView(EVIL, [recompiled(EVIL, EVIL, 2, EVIL)]),
        BreaksView([replace(broken()[0], function=EVIL, source_line=EVIL)]),
        SourceView(EVIL, [replace(kernel(EVIL), source=EVIL)]),
        GraphView(Drawing.of([Box(EVIL, EVIL, EVIL)], note=EVIL), title=EVIL),
        TimeView(TimeRecord(EVIL, 1, 1)),
        CheckView(CheckRecord(EVIL, (Difference(EVIL, EVIL, EVIL),))),
    ]
    for view in views:
        assert "<script" not in view.html
        assert EVIL in html_text(view.html)


def test_the_newest_recompile_comes_first() -> None:
    text = VIEWS["why"].text
    assert text.index("call 5") < text.index("call 2")


def test_guards_show_their_category_where_one_is_special() -> None:
    first, second = (s for s in VIEWS["guards"].parts()[:2])
    assert "category" not in first.body[0].heads  # type: ignore[union-attr]  # a section with a table
    assert "category" in second.body[0].heads  # type: ignore[union-attr]  # a section with a table


def test_a_large_graph_is_folded_unless_asked_for_in_full() -> None:
    assert "folded: 80 nodes drawn as 1 box" in html_text(GraphView(drawing(80)).html)
    assert GraphView(drawing(80)).svg().count("<rect") == 1
    assert GraphView(drawing(80), full=True).svg().count("<rect") == 80
    assert len(GraphView(drawing(80)).text.splitlines()) == 80


@pytest.mark.parametrize("ending", ["svg", "html", "txt", "mmd", "dot"])
def test_a_graph_is_saved_in_the_form_its_name_asks_for(ending: str, tmp_path: Path) -> None:
    saved = GraphView(drawing()).save(tmp_path / f"graph.{ending}")
    view = GraphView(drawing())
    form = {"svg": view.svg(), "html": view.html, "txt": view.text}
    form |= {"mmd": view.mermaid(), "dot": view.dot()}
    assert form[ending] in saved.read_text(encoding="utf-8")


def test_a_graph_is_not_saved_in_an_unknown_form(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"end it in \.svg"):
        GraphView(drawing()).save(tmp_path / "graph.png")


def test_compiling_pays_after_the_calls_that_make_up_for_it() -> None:
    assert TimeRecord("f", 37, 3, 340).break_even_calls == 10
    assert TimeRecord("f", 37, 3, 341).break_even_calls == 11
    assert TimeRecord("f", 3, 3, 1).break_even_calls is None
    assert TimeRecord("f", 3, 0).speedup == float("inf")


def test_slower_compiled_code_is_said_to_be_slower() -> None:
    text = TimeView(TimeRecord("f", 8_000, 42_000)).text
    assert text.startswith("f: compiled takes 5.25 times as long here\n")
    demoted = TimeView(TimeRecord("f", 8_000, 42_000, is_demoted=True)).text
    assert "takes 5.25 times as long here; such calls run as plain Python from now on a call" in " ".join(
        demoted.split()
    )


def test_a_check_is_true_only_if_it_was_made_and_found_nothing() -> None:
    assert CheckView(CheckRecord("f"))
    assert not CheckView(CheckRecord("f", refused="it reads a file"))
    assert not VIEWS["check"]


def test_a_picture_in_a_view_has_words_for_it() -> None:
    html = VIEWS["graph"].html
    assert read_html(html).pictures
    assert 'alt="graph with 11 boxes (3 inputs, 1 constant, 5 operations, 1 reduction, 1 output)"' in html
