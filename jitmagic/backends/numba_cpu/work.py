"""Takes statements of a loop and sizes, gives units of work, and the parts that a sum is cut into."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jitmagic.backends.loops.ir import Apply, Fold, Statement, Strided
from jitmagic.backends.loops.recipes import FAST

__all__ = ["SCAN_COST", "beside_products", "calls_products", "cost_of", "parts"]


def cost_of(statement: Statement) -> int:
    is_fast = isinstance(statement, Apply) and statement.expression.startswith(FAST)
    return COSTS[Strided] if is_fast else COSTS.get(type(statement), 0)


# Units of work of one element: about the time of an addition
COSTS: dict[type, int] = {Apply: 1, Strided: 12, Fold: 1}
SCAN_COST = 2  # of one element
PART = 1 << 14  # elements of a part of a sum, at least half of it
MOST_PARTS = 6  # as a power of two: enough for the threads of a large machine to share


# What BLAS runs. Its threads go on asking for work after a product, on the cores that the pool would have to share with
# them: with two of each on two cores, a step of training whose loops took 10 to 30 us apiece was a fifth to a half
# slower than with one thread for the loops.
PRODUCTS = frozenset(
    ("matmul", "dot", "inner", "tensordot", "einsum", "convolution", "convolution_input", "convolution_weight")
)
BESIDE_PRODUCTS = 16  # as many times longer are the loops that threads share there


def calls_products(steps: Iterable[Any]) -> bool:
    """Whether some step of a program is a product of matrices."""
    return any(not hasattr(step, "built") and getattr(step.node.op, "name", "") in PRODUCTS for step in steps)


def beside_products(units: Any) -> Any:
    """The work of one turn, as the launcher is told it in a program with products."""
    if type(units) is not int or units == 0:
        return units
    return max(1, abs(units) // BESIDE_PRODUCTS) * (1 if units > 0 else -1)


def parts(total: int) -> int:
    """Into how many parts, a power of two, the sum of ``total`` elements is cut."""
    return 1 << min(MOST_PARTS, max(0, (total // PART).bit_length() - 1))
