"""The table of operations is complete."""

from __future__ import annotations

from jitmagic.ops import all_ops
from jitmagic.ops.table import markdown


def test_every_row_is_in_the_table() -> None:
    lines = markdown().splitlines()
    names = {line.split("|")[1].strip() for line in lines[2:]}
    assert names == {f"`{row.name}`" for row in all_ops()}
    assert len(lines) == len(names) + 2


def test_every_line_has_all_columns() -> None:
    assert {line.replace("\\|", "").count("|") for line in markdown().splitlines()} == {7}
