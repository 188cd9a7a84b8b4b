"""Takes the loops of a region, gives which of them count rounds, and how many may pass between two looks for Ctrl-C.

An innermost loop counts all of its rounds before it runs; loops around one need not count.
"""

from __future__ import annotations

from jitmagic.backends.regions.ranges import statements
from jitmagic.graph import region as ir

__all__ = ["budget", "counts", "is_innermost", "is_short", "largest"]

_STATEMENTS = 1 << 19  # between two looks at the clock: 0.2 to 5 ms
_SHORT = 16  # rounds of a loop that counts as straight-line code


def is_short(loop: ir.For) -> bool:
    """Whether a loop has few rounds, known from its text."""
    bounds = [b.value for b in (loop.start, loop.stop, loop.step) if isinstance(b, ir.Const)]
    if len(bounds) < 3 or not bounds[2]:
        return False
    return len(range(*map(int, bounds))) <= _SHORT and is_innermost(loop)


def is_innermost(loop: ir.For) -> bool:
    """Whether all loops inside are short."""
    inner = (s for s in statements(loop.body) if isinstance(s, ir.For | ir.While))
    return all(isinstance(s, ir.For) and is_short(s) for s in inner)


def counts(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a round of a loop with this body surely counts and looks: a loop in it does."""
    loops = [s for s in body if isinstance(s, ir.For | ir.While)]
    return any(isinstance(s, ir.While) or not (s.is_whole or is_short(s)) for s in loops)


def budget(region: ir.Region) -> int:
    """Rounds of the largest loop body that are about as much work as may pass unseen."""
    return _STATEMENTS // largest(region)


def largest(region: ir.Region) -> int:
    """Statements in a round of the largest loop body that counts."""
    loops = [s for s in statements(region.body) if isinstance(s, ir.For | ir.While)]
    bodies = [s.body for s in loops if isinstance(s, ir.While) or (is_innermost(s) and not is_short(s))]
    return max([1, *map(_work, bodies)])


def _work(body: tuple[ir.Stmt, ...]) -> int:
    """Statements in one round."""
    total = 1
    for each in body:
        rounds = _SHORT if isinstance(each, ir.For) else 1
        total += 1 + rounds * sum(_work(getattr(each, name, ())) - 1 for name in ("body", "orelse"))
    return total
