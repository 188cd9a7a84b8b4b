"""Takes statements of a region, says what a look at them tells."""

from __future__ import annotations

from collections.abc import Sequence

from jitmagic.graph import region as ir

__all__ = ["leaves", "walk"]


def leaves(block: Sequence[ir.Stmt]) -> bool:
    """Whether what follows the block is never reached."""
    if not block:
        return False
    last = block[-1]
    if isinstance(last, ir.If):
        return leaves(last.body) and leaves(last.orelse)
    return isinstance(last, ir.Break | ir.Continue | ir.Leave)


def walk(block: Sequence[ir.Stmt]) -> list[ir.Stmt]:
    found: list[ir.Stmt] = []
    for each in block:
        found.append(each)
        found += walk(getattr(each, "body", ()))
        found += walk(getattr(each, "orelse", ()))
    return found
