"""How an operation becomes a loop: the small vocabulary that op rows use and that every backend reads.

An op without a lowering runs as an *extern* call to NumPy inside the compiled graph; it is not a graph break.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["Cast", "Fill", "InnerLoop", "Lowering", "Pointwise", "Reduction", "Scan", "Select", "View"]


@dataclass(frozen=True, slots=True)
class Pointwise:
    """One output element from the elements at the same place.

    ``expression`` is Python over the operand names ``a``, ``b``, ``c`` (already cast to the loop's dtypes, which
    NumPy's own ufunc type resolution gives) that every target can compile with NumPy's exact bits: ``"a + b"``,
    ``"sqrt(a)"``. ``kinds`` lists the dtype kinds (``"b"``, ``"i"``, ``"u"``, ``"f"``, ``"c"``) for which that is
    so; for others the op falls back to its inner loop.
    """

    expression: str
    kinds: str = "iuf"


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """A ufunc whose bits come from NumPy's own SIMD loop, called on tiles with the strides NumPy would use."""


@dataclass(frozen=True, slots=True)
class Cast:
    """``astype``: NumPy's conversion of one dtype to another, element by element."""


@dataclass(frozen=True, slots=True)
class Select:
    """``np.where(condition, a, b)`` with three operands."""


@dataclass(frozen=True, slots=True)
class Fill:
    """A new array of one value (``zeros``, ``ones``, ``full``), or of none (``empty``: value None)."""

    value: float | None


@dataclass(frozen=True, slots=True)
class View:
    """The result shares the operand's memory: an index map, no work."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """``kind`` is ``sum``, ``prod``, ``max``, ``min``, ``any``, ``all``, ``mean``, ``argmax`` or ``argmin``.

    Sums of floats follow NumPy's pairwise order; where NumPy's bits depend on more, backends leave it extern.
    """

    kind: str


@dataclass(frozen=True, slots=True)
class Scan:
    """``cumsum`` and ``cumprod``: each element from the one before, in order."""

    kind: str


Lowering: TypeAlias = Pointwise | InnerLoop | Cast | Select | Fill | View | Reduction | Scan
