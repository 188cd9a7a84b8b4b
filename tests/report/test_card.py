"""The card: a line when all is well, sections where there is something to learn."""

from __future__ import annotations

import linecache
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jitmagic.errors import Span, UserError
from jitmagic.events import (
    BreakEvent,
    CompileEvent,
    DemotionEvent,
    EffectRecord,
    Event,
    FallbackEvent,
    GradientRecord,
    GuardRecord,
    KernelEvent,
    PendingEvent,
    RecompileEvent,
)
from jitmagic.report import Box, Drawing, Report, SourceText
from jitmagic.report.card import GRAPHS, KINDS
from jitmagic.report.terms import TERMS
from tests.report.golden import assert_golden
from tests.report.scenes import (
    CELL,
    GRAPH,
    GUARDS,
    SOURCES,
    blurred,
    broken,
    compiled,
    eventful_cell,
    kernel,
    quiet_cell,
    recompiled,
)
from tests.report.strict_html import html_text, read_html

EVIL = "<script>alert(1)</script>"


def card(events: list[Event], **options: object) -> Report:
    return Report(events, sources=SOURCES, **options)  # type: ignore[arg-type]  # options are passed through


def test_a_function_without_remarks_is_one_line() -> None:
    assert str(card(quiet_cell())) == (
        "smooth: 1 kernel, 0 breaks, 3 guards, compiled in 0.61 s  (%jit smooth for more)"
    )


def test_the_eventful_card() -> None:
    assert_golden("eventful.txt", card(eventful_cell()).text)
    assert_golden("eventful.html", card(eventful_cell()).html)


def test_the_full_card_of_a_quiet_cell() -> None:
    assert_golden("quiet_full.txt", card(quiet_cell(), kind="full").text)


@pytest.mark.parametrize("graph", ["fold", "open", "widget", "text", "none"])
@pytest.mark.parametrize("kind", ["auto", "full", "line"])
def test_every_card_is_clean_html(kind: str, graph: str) -> None:
    read_html(card(eventful_cell(), kind=kind, graph=graph).html)


def test_words_are_the_same_without_any_style() -> None:
    html = card(eventful_cell()).html
    assert html_text(re.sub(r' style="[^"]*"', "", html)) == html_text(html)


def test_our_own_words_are_ascii_in_the_text_form() -> None:
    assert card(eventful_cell(), kind="full", graph="text").text.isascii()


def test_the_same_events_give_the_same_card() -> None:
    assert card(eventful_cell()).html == card(eventful_cell()).html


def test_kind_line_gives_one_line_for_each_function() -> None:
    lines = card(eventful_cell(), kind="line").text.splitlines()
    assert [line.split(":")[0] for line in lines if not line.startswith(" ")] == ["smooth", "blur", "Model.forward"]
    assert max(map(len, lines)) <= 80


def test_kind_none_and_no_events_show_nothing() -> None:
    for report in (card(eventful_cell(), kind="none"), card([])):
        assert not report.is_worth_showing
        assert report._repr_mimebundle_() == {}
        assert (report.text, report.html) == ("", "")


def test_quiet_leaves_out_functions_without_remarks() -> None:
    assert card(eventful_cell(), quiet=True).functions == ("smooth", "Model.forward")
    assert not card(quiet_cell(), quiet=True).is_worth_showing


@pytest.mark.parametrize("options", [{"kind": "long"}, {"graph": "big"}])
def test_an_unknown_kind_is_refused_with_the_known_ones(options: dict[str, str]) -> None:
    with pytest.raises(UserError, match=r"not one of (auto|fold), "):
        card([], **options)


def test_a_break_shows_line_reason_caret_and_remedy() -> None:
    text = card([compiled(), *broken()]).text
    assert (
        "graph break (JM102) at Cell In[4], line 6: print to an open file cannot be\n"
        "  kept in order\n"
        '    print("sum", s, file=log)\n'
        "    ^^^^^^^^^^^^^^^^^^^^^^^^^\n"
        "  try: print after the call, or without file=\n"
    ) in text
    assert '  6  !!      print("sum", s, file=log)' in text


def test_a_recompile_shows_guard_then_now_caller_and_cost() -> None:
    text = card([recompiled()]).text
    assert (
        "recompiled at call 2 (Cell In[7], line 3): x.dtype was float64, is float32\n"
        "  (+0.41 s)\n"
        "  from: argument x\n"
        "  try: cast once where the data comes in\n"
    ) in text


def test_identical_recompiles_are_folded_with_a_count() -> None:
    text = card([recompiled(call=n) for n in range(2, 7)]).text
    assert "recompiled x 5 at calls 2, 3, 4, 5, 6" in text
    assert text.count("cast once") == 1


def test_a_demotion_shows_both_times() -> None:
    assert "compiled 42 us, plain Python 8 us a call" in card(eventful_cell()).text


def test_a_function_that_only_fell_back_says_so() -> None:
    fallback = FallbackEvent("f", 5, Span(CELL, 2), "its source was not found", "save the file")
    lines = card([fallback, fallback]).text.splitlines()
    assert lines[0] == "f: runs as plain Python"
    assert lines[1].startswith("runs as plain Python x 2 at Cell In[4], line 2: its source")


@pytest.mark.parametrize("term", sorted(TERMS))
def test_each_term_is_defined_at_most_once_in_a_card(term: str) -> None:
    events = [*eventful_cell(), *(replace(e, owner=7) for e in eventful_cell() if e.owner == 1)]
    assert card(events).text.count(TERMS[term][:40]) <= 1
    assert html_text(card(events).html).count(TERMS[term]) <= 1


def test_the_terms_used_are_defined() -> None:
    shown = html_text(card(eventful_cell()).html)
    for term in ("graph break", "kernel", "guard", "recompile", "entry", "plain Python"):
        assert f"{term}: {TERMS[term]}" in shown


def test_whatever_the_user_wrote_is_escaped() -> None:
    guard = GuardRecord(f"{EVIL} == 1", EVIL, EVIL, EVIL, Span(CELL, 2))
    events: list[Event] = [
        replace(compiled(guards=(guard,), graph=f"%x = input {EVIL}  {EVIL}"), function=EVIL),
        replace(broken()[0], reason=EVIL, hint=EVIL, code=EVIL),
        replace(recompiled(EVIL, EVIL, 2, EVIL), source=EVIL, remedy=EVIL),
        replace(kernel(EVIL), source=EVIL),
    ]
    text = SourceText.of(EVIL, f"\ndef smooth():\n    {EVIL}\n\n\n    {EVIL}\n")
    html = Report(events, sources={CELL: text}, kind="full").html
    assert "<script" not in html
    (picture,) = read_html(html).pictures
    assert "<script" not in picture


WORD = st.text(st.characters(codec=None), max_size=8)
SPAN = st.builds(Span, st.sampled_from([CELL, "gone.py", ""]), *[st.integers(-1, 20)] * 4)
HEAD = {"function": WORD, "owner": st.integers(1, 3), "span": SPAN}
COUNT = st.integers(0, 10**10)
GUARD = st.builds(GuardRecord, WORD, WORD, WORD, WORD, st.none() | SPAN, WORD)
EVENT: st.SearchStrategy[Event] = st.one_of(
    st.builds(
        CompileEvent,
        **HEAD,
        **dict.fromkeys(("entry", "call", "resume", "node_count", "kernel_count", "extern_count", "elapsed_ns"), COUNT),
        guards=st.lists(GUARD, max_size=3).map(tuple),
        effects=st.lists(st.builds(EffectRecord, WORD, st.none() | SPAN), max_size=2).map(tuple),
        graph_text=WORD | st.just(GRAPH) | WORD.map(lambda w: f"%x = {w}  {w}\nreturn %x"),
        lines=st.lists(st.tuples(st.integers(1, 20), st.sampled_from(["k0", "extern", "python"]) | WORD)).map(tuple),
        backend=WORD,
    ),
    st.builds(RecompileEvent, **HEAD, call=COUNT, cost_ns=COUNT, caller=st.none() | SPAN),
    st.builds(BreakEvent, **HEAD),
    st.builds(FallbackEvent, **HEAD),
    st.builds(PendingEvent, **HEAD),
    st.builds(DemotionEvent, **HEAD, entry=COUNT, compiled_ns=COUNT, plain_ns=COUNT),
    st.builds(KernelEvent, **HEAD, elapsed_ns=COUNT, source=WORD),
)


@settings(max_examples=80)
@given(st.lists(EVENT, max_size=12), st.sampled_from(KINDS), st.sampled_from(GRAPHS), st.booleans())
def test_any_events_give_a_card(events: list[Event], kind: str, graph: str, quiet: bool) -> None:
    report = card(events, kind=kind, graph=graph, quiet=quiet)
    assert "could not be drawn" not in report.text
    assert "could not be drawn" not in html_text(report.html)
    assert bool(report.text) == bool(report.html) == report.is_worth_showing


def test_the_source_is_remembered_when_the_cell_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["\n", "def smooth(x):\n", "    return old(x)\n"]
    monkeypatch.setitem(linecache.cache, CELL, (9, None, lines, CELL))
    report = Report([compiled()], kind="full")
    monkeypatch.setitem(linecache.cache, CELL, (9, None, ["\n", "def other(): pass\n"], CELL))
    assert "return old(x)" in report.text


def test_a_long_function_is_folded() -> None:
    text = SourceText.of("Cell In[1]", "\ndef smooth(x):\n" + "    x = x + 1\n" * 60)
    report = Report([compiled()], sources={CELL: text}, kind="full")
    assert "<summary" in report.html
    assert "Source (61 lines)" in html_text(report.html)
    assert "x = x + 1" not in report.text


def test_many_guards_are_cut_in_the_text_form() -> None:
    many = tuple(replace(g, expression=f"{g.expression}{k}") for k in range(10) for g in GUARDS)
    text = card([compiled(guards=many)], kind="full").text
    assert "22 more (%jit guards smooth)" in text.replace("\n ", "")


def test_the_graph_is_a_picture_in_html_and_text_on_request() -> None:
    assert len(read_html(card(quiet_cell(), kind="full").html).pictures) == 1
    assert not read_html(card(quiet_cell(), kind="full", graph="none").html).pictures
    assert "%mul = multiply(%a, %x)  float64[1000]  k0" in card(quiet_cell(), kind="full", graph="text").text.replace(
        "    ", " "
    ).replace("   ", " ")


def test_a_graph_may_be_drawn_by_the_caller() -> None:
    def draw(event: CompileEvent) -> Drawing:
        return Drawing.of([Box("a", f"mine {event.entry}")])

    (picture,) = read_html(card([compiled()], kind="full", draw=draw).html).pictures
    assert "mine 0" in picture


def test_a_picture_that_cannot_be_drawn_leaves_the_text() -> None:
    def draw(event: CompileEvent) -> Drawing:
        raise RuntimeError("no ink")

    bundle = card([compiled(), *broken()], draw=draw)._repr_mimebundle_()
    for shown in (bundle["text/plain"], html_text(bundle["text/html"])):
        assert "the graph could not be drawn (RuntimeError: no ink)" in " ".join(shown.split())
        assert "graph break (JM102)" in shown
        assert "guards" in shown.lower()


def test_a_picture_is_drawn_only_where_it_is_shown() -> None:
    names = [Box("a", "a"), Box("b", "b")]
    drawing = Drawing.of(names)
    object.__setattr__(drawing, "edges", (("a", "gone"),))  # cannot be laid out
    report = card([compiled()], kind="full", draw=lambda event: drawing)
    assert "could not be drawn" not in report.text
    assert "the HTML could not be drawn" in html_text(report.html)
    assert "smooth: 1 kernel" in html_text(report.html)


def test_a_function_that_touches_no_array_is_not_mentioned() -> None:
    plain = replace(compiled(), node_count=0, kernel_count=0, guards=())
    assert not card([plain], kind="full").is_worth_showing
    assert card([plain, *broken()]).is_worth_showing


def test_a_backend_without_kernels_is_named() -> None:
    eager = replace(compiled(), kernel_count=0, backend="eager")
    assert card([eager]).text.startswith("smooth: 7 operations on backend eager, 0 breaks")


def test_very_many_breaks_and_causes_are_cut() -> None:
    breaks = [replace(broken()[0], span=Span(CELL, n)) for n in range(1, 31)]
    causes = [recompiled(call=n, guard=f"g{n}") for n in range(2, 20)]
    text = card([*breaks, *causes]).text
    assert text.count("graph break (JM102)") == 12
    assert "(18 more: %jit breaks smooth)" in text
    assert "(6 more: %jit why smooth)" in text


def test_very_many_kernels_are_cut() -> None:
    shown = html_text(card([compiled(), *(kernel(f"k{n}") for n in range(20))], kind="full").html)
    assert "8 more: %jit source smooth" in shown


def test_several_functions_are_told_in_one_card() -> None:
    text = card([*quiet_cell(), blurred()]).text
    assert [line.split(":")[0] for line in text.splitlines()] == ["smooth", "blur"]


def test_the_card_of_a_large_model_stays_small() -> None:
    """Thousands of guards and of operations would be megabytes in the notebook file."""
    guards = tuple(
        GuardRecord(f"m.layer{i}.weight.dtype", "ARRAY_MATCH", f"m.layer{i}.weight", "f8") for i in range(900)
    )
    graphs = "\n".join(f"%v{i} = multiply(%v{i - 1}, %x)" for i in range(900))
    event = replace(compiled(), guards=guards, gradient=GradientRecord(graphs, graphs))
    html = Report([event], sources=SOURCES, kind="full").html
    assert len(html) < 150_000
    assert "860 more" in html
    assert "%jit guards" in html
    assert "840 more lines of the graphs" in html
    assert "m.layer39.weight.dtype" in html
    assert "m.layer40.weight.dtype" not in html
