"""Takes the place of a statement that was split at a break, gives names for its parts: in code, and for people.

The third part of the statement at line 4, column 8 is ``_jm_4_8_2`` in code, ``_jm_4_8_2_4_8_0`` a part of that part;
both are ``(a value from line 4)`` in a card.
"""

from __future__ import annotations

import re

__all__ = ["part_name", "readable"]

_PART = re.compile(r"\b_jm((?:_\d+_\d+_\d+)+)\b")


def part_name(place: str, number: int) -> str:
    """The variable that holds part ``number`` of the statement at ``place`` (``_4_8``)."""
    return f"_jm{place}_{number}"


def readable(text: str) -> str:
    """``text`` with every such variable as a reader would call it."""
    return _PART.sub(_said, text) if "_jm_" in text else text


def _said(found: re.Match[str]) -> str:
    return f"(a value from line {found.group(1).split('_')[1]})"
