"""Takes statements of a loop and sizes, gives units of work, and the parts that a sum is cut into."""

from __future__ import annotations

from jitmagic.backends.loops.ir import Apply, Fold, Statement, Strided
from jitmagic.backends.loops.recipes import FAST

__all__ = ["SCAN_COST", "cost_of", "parts"]


def cost_of(statement: Statement) -> int:
    is_fast = isinstance(statement, Apply) and statement.expression.startswith(FAST)
    return COSTS[Strided] if is_fast else COSTS.get(type(statement), 0)


# Units of work of one element: about the time of an addition
COSTS: dict[type, int] = {Apply: 1, Strided: 12, Fold: 1}
SCAN_COST = 2  # of one element
PART = 1 << 14  # elements of a part of a sum, at least half of it
MOST_PARTS = 6  # as a power of two: enough for the threads of a large machine to share


def parts(total: int) -> int:
    """Into how many parts, a power of two, the sum of ``total`` elements is cut."""
    return 1 << min(MOST_PARTS, max(0, (total // PART).bit_length() - 1))
