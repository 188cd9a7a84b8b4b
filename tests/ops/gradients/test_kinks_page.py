"""The page on gradients holds what the records say."""

from __future__ import annotations

from pathlib import Path

from jitmagic.ops.kinks import kinks, reasons


def test_the_page_holds_every_convention() -> None:
    page = (Path(__file__).parents[3] / "docs/gradients.md").read_text(encoding="utf-8")
    for table in (kinks(), reasons()):
        assert table in page
        assert table.count("\n") > 1
