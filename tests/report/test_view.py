"""A view that fails never breaks the cell."""

from __future__ import annotations

from collections.abc import Sequence

from jitmagic.report.parts import Code, Paragraph, Part, Picture
from jitmagic.report.view import RecordsView, View
from tests.report.strict_html import html_text


class Said(View):
    """Shows the parts it was given."""

    def __init__(self, *parts: Part) -> None:
        self._parts = parts

    def parts(self) -> Sequence[Part]:
        return self._parts


class Failing(View):
    """Cannot say its parts."""

    def parts(self) -> Sequence[Part]:
        raise ValueError("<b>\n\x1b")


class Halfway(Said):
    """Has a text form, but its picture cannot be put into HTML."""

    def __init__(self) -> None:
        super().__init__(Code("still readable"), Picture(lambda: "\ud800", "x"))


def test_a_view_shows_both_forms_and_prints_as_text() -> None:
    view = Said(Paragraph(("hello",)))
    assert set(view._repr_mimebundle_()) == {"text/html", "text/plain"}
    assert str(view) == repr(view) == view.text == "hello"
    assert html_text(view.html) == "hello"


def test_a_view_without_parts_shows_nothing() -> None:
    assert Said()._repr_mimebundle_() == {}


def test_failing_html_falls_back_to_text_and_says_so() -> None:
    shown = html_text(Halfway().html)
    assert "HTML could not be drawn (UnicodeEncodeError" in shown
    assert "still readable" in shown


def test_a_view_that_fails_altogether_says_so_in_one_line() -> None:
    bundle = Failing()._repr_mimebundle_()
    assert "could not be drawn (ValueError: <b> \ufffd)" in bundle["text/plain"]
    assert "\n" not in bundle["text/plain"]
    assert "could not be drawn" in html_text(bundle["text/html"])


def test_records_can_be_counted_indexed_and_looped_over() -> None:
    view: RecordsView[str] = RecordsView(["a", "b"])
    assert (len(view), view[-1], list(view)) == (2, "b", ["a", "b"])
