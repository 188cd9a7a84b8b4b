"""What a person reads in the HTML of a widget."""

from __future__ import annotations

import html
import re


def words(text: str) -> str:
    """The text without tags, cells and blocks one space apart."""
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())
