"""Reports quote the user's lines and name places as the notebook does."""

from __future__ import annotations

import linecache

import pytest

from jitmagic.errors import Span
from jitmagic.report.parts import Excerpt
from jitmagic.report.sources import Sources, SourceText
from tests.report.scenes import CELL, SOURCES


def one(line: str) -> Sources:
    return Sources({"c": SourceText.of("Cell In[1]", line)})


def test_a_place_is_named_by_the_cell() -> None:
    assert Sources(SOURCES).place(Span(CELL, 6)) == "Cell In[4], line 6"


def test_an_unknown_file_is_named_by_its_last_part() -> None:
    assert Sources().place(Span("some/where/tool.py", 3)) == "tool.py, line 3"
    assert Sources().place(Span("<stdin>", 3)) == "<stdin>, line 3"


def test_source_that_is_not_given_comes_from_linecache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "<made>", (4, None, ["a = 1\n"], "<made>"))
    assert Sources().line(Span("<made>", 1)) == "a = 1"


def test_a_name_alone_goes_with_the_lines_of_linecache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "<made>", (4, None, ["a = 1\n"], "<made>"))
    sources = Sources({"<made>": "Cell In[9]"})
    assert sources.place(Span("<made>", 1)) == "Cell In[9], line 1"
    assert sources.line(Span("<made>", 1)) == "a = 1"


@pytest.mark.parametrize("number", [0, -1, 99])
def test_a_line_out_of_range_is_empty(number: int) -> None:
    assert Sources(SOURCES).line(Span(CELL, number)) == ""
    assert Sources(SOURCES).excerpt(Span(CELL, number)) is None
    assert Sources(SOURCES).block(Span(CELL, number)) == ()


def test_a_block_ends_where_the_function_ends() -> None:
    assert [n for n, _ in Sources(SOURCES).block(Span(CELL, 2))] == [2, 3, 4, 5, 6, 7]
    assert [n for n, _ in Sources(SOURCES).block(Span(CELL, 15))] == [15, 16]


def test_a_block_with_a_known_end_is_taken_as_it_is() -> None:
    assert [n for n, _ in Sources(SOURCES).block(Span(CELL, 2, 0, 4))] == [2, 3, 4]


def test_a_block_that_python_cannot_read_has_its_first_line() -> None:
    assert one("def f(:\n  '''\n").block(Span("c", 1))[0] == (1, "def f(:")


def test_columns_count_bytes() -> None:
    line = "    größe = f(x)"
    start = line.encode().index(b"f(x)")
    excerpt = one(line).excerpt(Span("c", 1, start, 1, start + 4))
    assert excerpt == Excerpt("größe = f(x)", 8, 12)


@pytest.mark.parametrize("span", [Span("c", 1), Span("c", 1, 90, 1, 95), Span("c", 1, 6, 1, 2)])
def test_without_usable_columns_the_whole_line_is_meant(span: Span) -> None:
    assert one("    a = b").excerpt(span) == Excerpt("a = b", 0, 5)


def test_an_expression_over_several_lines_is_underlined_to_the_end_of_the_first() -> None:
    assert one("a = f(\n1)").excerpt(Span("c", 1, 4, 2, 2)) == Excerpt("a = f(", 4, 6)


def test_the_line_of_the_event_stands_in_for_a_file_that_is_gone() -> None:
    assert Sources().excerpt(Span("gone.py", 5), "  print(x)") == Excerpt("print(x)", 0, 8)
