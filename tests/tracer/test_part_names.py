"""Names of the parts of a statement: valid in code, and in a card what the user wrote."""

from __future__ import annotations

import ast

import pytest

from jitmagic.tracer.part_names import part_name, readable

WRITTEN = ["random.random()", "a + b", "f('é_2e', x[0])", "x._y", "[1, 2]"]


@pytest.mark.parametrize("text", WRITTEN)
def test_a_part_is_called_what_was_written(text: str) -> None:
    name = part_name("_4_8", 2, ast.parse(text, mode="eval").body)
    assert name.isidentifier()
    assert readable(f"type({name}) is int") == f"type({text}) is int"
    assert readable(f"{name}.shape") == (f"({text}).shape" if "+" in text else f"{text}.shape")


def test_a_part_of_a_part_says_what_the_part_was() -> None:
    inner = part_name("_4_8", 0, ast.parse("g(x)", mode="eval").body)
    outer = part_name("_4_8_0_4_8", 1, ast.parse(f"h({inner}, 1)", mode="eval").body)
    assert readable(outer) == "h(g(x), 1)"


def test_what_is_too_long_is_called_by_its_line() -> None:
    name = part_name("_12_8", 0, ast.parse(f"f({'x, ' * 40})", mode="eval").body)
    assert readable(f"type({name})") == "type(a value made on line 12)"
    assert readable(f"{name}.dtype") == "(a value made on line 12).dtype"
