"""A program over modules, as a row of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Program"]


class Program(NamedTuple):
    """``text`` defines ``f``; ``calls`` are made one after the other, with at most ``most`` compiles in all."""

    name: str
    text: str
    calls: Sequence[str]
    most: int
