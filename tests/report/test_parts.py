"""Every part has an HTML form and a text form; nothing that the user wrote becomes markup."""

from __future__ import annotations

import re
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitmagic.report.html import render_html
from jitmagic.report.parts import (
    Code,
    Details,
    Excerpt,
    Headline,
    Legend,
    Mono,
    Note,
    Paragraph,
    Part,
    Picture,
    Rule,
    SourceLine,
    SourceTable,
    Strong,
    Table,
)
from jitmagic.report.text import render_text
from tests.report.strict_html import html_text, read_html

SVG = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def all_parts(word: str) -> list[Part]:
    """Every kind of part with ``word`` wherever text goes."""
    flat: list[Part] = [
        Headline(word, (word, Strong(word, "bad"), Mono(word)), more=word),
        Paragraph((word, Strong(word, "good"))),
        Note((word,)),
        SourceTable((SourceLine(1, word, "k0"), SourceLine(2, word, word), SourceLine(3, "", "break"))),
        Excerpt(word, 1, 3),
        Table((word, "n"), ((Mono(word), "1"),), right=frozenset({"n"})),
        Code(word),
        Picture(lambda: SVG, f"alt {word}"),
        Rule(),
        Legend((("#fff", "#000", word),)),
    ]
    return [*flat, Details((word,), flat, open=True), Details((word,), flat, text=(word,))]


def test_the_examples_cover_every_kind_of_part() -> None:
    assert {type(p) for p in all_parts("x")} == set(get_args(Part))


@settings(max_examples=60)
@given(st.text(st.characters(codec=None), max_size=12))
def test_any_text_renders_to_clean_html_and_text(word: str) -> None:
    read_html(render_html(all_parts(word)))
    text = render_text(all_parts(word))
    assert "\x1b" not in text
    text.encode()


def test_markup_stays_text_in_every_part() -> None:
    word = "<script>alert('x')</script>\"><img src=x onerror=y>"
    html = render_html(all_parts(word))
    assert "<script" not in html
    assert "<img src=x" not in html
    assert html.count("&lt;script&gt;") >= 15
    assert word in html_text(html)


@pytest.mark.parametrize("cell", re.findall(r"<t[hd][^>]*>", render_html(all_parts("x"))))
def test_every_table_cell_states_its_alignment(cell: str) -> None:
    assert "text-align:left" in cell or "text-align:right" in cell


def test_without_styles_the_words_are_the_same() -> None:
    html = render_html(all_parts("word"))
    assert html_text(re.sub(r' style="[^"]*"', "", html)) == html_text(html)


def test_code_keeps_its_line_feeds_and_spaces() -> None:
    html = render_html([Code("\n  a  b\n")])
    assert re.search(r"<pre[^>]*>\n\n  a  b\n</pre>", html)


def test_a_closed_section_has_its_short_text_only() -> None:
    section = Details(("Guards",), [Code("long")], text=("guards: 3",))
    assert render_text([section]) == "guards: 3"


def test_an_open_section_is_indented_below_its_summary() -> None:
    assert render_text([Details(("why",), [Paragraph(("because",))], open=True)]) == "why\n  because"


def test_table_columns_line_up_also_with_wide_characters() -> None:
    table = Table(("name", "n"), (("日本", "1"), ("abcdef", "100")), right=frozenset({"n"}))
    assert render_text([table]).splitlines() == ["name      n", "日本      1", "abcdef  100"]


def test_carets_stand_under_what_they_mean() -> None:
    assert render_text([Excerpt("日 = f(x)", 4, 8)]).splitlines() == ["  日 = f(x)", "       ^^^^"]


def test_long_sentences_are_wrapped() -> None:
    lines = render_text([Paragraph(("word " * 60,))]).splitlines()
    assert len(lines) == 4
    assert max(map(len, lines)) <= 100
