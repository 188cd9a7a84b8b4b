"""Times, counts and names read as a person would say them; foreign text is made harmless."""

from __future__ import annotations

import unicodedata
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jitmagic.report.words import clean, columns, duration, plural, ratio, short_name, shorten


@pytest.mark.parametrize(
    ("elapsed_ns", "said"),
    [
        (0, "0 ns"),
        (64, "64 ns"),
        (999, "999 ns"),
        (4_200, "4.2 us"),
        (64_000, "64 us"),
        (850_400, "850 us"),
        (4_800_000, "4.8 ms"),
        (61_000_000, "61 ms"),
        (410_000_000, "0.41 s"),
        (1_250_000_000, "1.25 s"),
        (12_340_000_000, "12.3 s"),
        (119_000_000_000, "119 s"),
        (125_000_000_000, "2 min 5 s"),
    ],
)
def test_times_have_the_unit_a_person_would_choose(elapsed_ns: int, said: str) -> None:
    assert duration(elapsed_ns) == said


@given(st.integers(0, 10**13))
def test_every_time_is_short_ascii(elapsed_ns: int) -> None:
    assert duration(elapsed_ns).isascii()
    assert len(duration(elapsed_ns)) <= 14


def test_a_count_agrees_with_its_noun() -> None:
    assert [plural(n, "kernel") for n in (0, 1, 2)] == ["0 kernels", "1 kernel", "2 kernels"]
    assert plural(2, "entry", "entries") == "2 entries"


def test_a_ratio_survives_a_time_of_zero() -> None:
    assert ratio(42_000, 8_000) == "5.25 times"
    assert ratio(1, 0) == "many times"


@given(st.text(st.characters(codec=None)))
def test_clean_text_can_be_encoded_and_put_into_xml(text: str) -> None:
    shown = clean(text)
    assert len(shown) == len(text)
    assert not [c for c in shown if unicodedata.category(c) == "Cc" and c not in "\t\n"]
    node = ElementTree.Element("t")
    node.text = shown
    assert ElementTree.fromstring(ElementTree.tostring(node)).text in (shown, shown or None)


def test_terminal_commands_and_reordering_marks_are_replaced() -> None:
    assert clean("a\x1b[31mb\u202ec\n") == "a\ufffd[31mb\ufffdc\n"


def test_wide_and_combining_characters_count_as_columns() -> None:
    assert columns("ab") == 2
    assert columns("日本") == 4
    assert columns("e\u0301") == 1


def test_long_text_is_cut_to_one_line() -> None:
    assert shorten("a\n b", 10) == "a b"
    assert shorten("abcdefghijkl", 8) == "abcde..."


def test_names_lose_what_encloses_them() -> None:
    assert short_name("main.<locals>.smooth") == "smooth"
    assert short_name("value_and_grad(main.<locals>.Model.<locals>.loss)") == "value_and_grad(loss)"
    assert short_name("Model.forward") == "Model.forward"
    assert short_name("<module>") == "this cell"
