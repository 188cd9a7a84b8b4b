"""Takes the place of a statement that was split at a break, gives names for its parts: in code, and for people.

The third part of the statement at line 4, column 8 is ``_jm_4_8_2`` in code and ``<line 4, part 2>`` in a card; a part
that was split again is ``_jm_4_8_2_4_8_0`` and ``<line 4, part 2.0>``.
"""

from __future__ import annotations

import re

__all__ = ["part_name", "readable"]

_PART = re.compile(r"\b_jm((?:_\d+_\d+_\d+)+)\b")
_STEP = re.compile(r"_(\d+)_\d+_(\d+)")


def part_name(place: str, number: int) -> str:
    """The variable that holds part ``number`` of the statement at ``place`` (``_4_8``)."""
    return f"_jm{place}_{number}"


def readable(text: str) -> str:
    """``text`` with every such variable as a reader would call it."""
    return _PART.sub(_said, text) if "_jm_" in text else text


def _said(found: re.Match[str]) -> str:
    steps = _STEP.findall(found.group(1))
    return f"<line {steps[0][0]}, part {'.'.join(number for _, number in steps)}>"
