"""What the derivative of a loop calls: the loop forwards and backwards, with tapes as long as they have to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.errors import Bail, Unsupported
from jitmagic.graph.region import Region

__all__ = ["RegionAdjoint", "register_region_compiler"]

FIRST_LENGTH = 1024
_compilers: list[Callable[[Region], Any]] = []


def register_region_compiler(compile: Callable[[Region], Any]) -> None:
    """``compile(region)`` gives what runs it. The backends register theirs at import."""
    _compilers[:] = [compile]


@dataclass(slots=True, eq=False)
class RegionAdjoint:
    """``call(*operands, *cotangents)``: cotangents of the arrays named in ``arrays``, then of those in ``scalars``.

    ``operands`` are those of the loop, ``cotangents`` come for its written real arrays, then for its real results.
    ``region`` is what ``reverse_region`` made of the loop ``original``.
    """

    original: Region
    region: Region
    arrays: tuple[str, ...]
    wanted: tuple[str, ...]
    compiled: Callable[..., tuple[Any, ...]] | None = None
    plainly: Callable[[Sequence[Any], Sequence[Any]], tuple[Any, ...]] | None = None
    lengths: list[int] = field(default_factory=lambda: [FIRST_LENGTH, FIRST_LENGTH])
    __name__: str = "loop_adjoint"

    def compile(self) -> None:
        """Make the kernel. Raises Unsupported where there is none."""
        if not _compilers:
            raise Unsupported("no-derivative", "a loop, without a backend that compiles loops")
        self.compiled = _compilers[0](self.region)

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        """Raises Unsupported if there is no kernel for the region."""
        if self.compiled is None:
            self.compile()
        if self.plainly is None:
            return self._by_kernel(operands)
        try:
            return self._by_kernel(operands)
        except Bail:
            count = len(self.original.arrays) + len(self.original.scalars)
            return self.plainly(operands[:count], operands[count:])

    def _by_kernel(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        run = getattr(self.compiled, "run", self.compiled)
        assert run is not None
        count = len(self.original.arrays)
        arrays, scalars = operands[:count], operands[count : count + len(self.original.scalars)]
        given = self._cotangents(operands[count + len(scalars) :])
        while True:
            adjoints = self._adjoints(arrays, given)
            copies = [
                np.array(a, order="C") if p.is_written else a for a, p in zip(arrays, self.original.arrays, strict=True)
            ]
            tapes = [np.empty(self.lengths[0]), np.empty(self.lengths[1], np.int64)]
            with np.errstate(all="ignore"):
                found = run(*copies, *adjoints.values(), *tapes, *scalars, *given["results"])
            if found[0] <= self.lengths[0] and found[1] <= self.lengths[1]:
                return (*self._gradients(arrays, adjoints), *found[2:])
            self.lengths = [max(need, have) for need, have in zip(found[:2], self.lengths, strict=True)]

    def _cotangents(self, given: Sequence[Any]) -> dict[str, Any]:
        written = [p.name for p in self.original.arrays if p.is_written and p.dtype.startswith("float")]
        results = [np.float64(g) for g in given[len(written) :]]
        return {"results": results, **dict(zip(written, given, strict=False))}

    def _adjoints(self, arrays: Sequence[Any], given: dict[str, Any]) -> dict[str, Any]:
        """Fresh ones: the cotangent of what was written, zeros for what was only read."""
        made = {}
        for parameter, array in zip(self.original.arrays, arrays, strict=True):
            if parameter.name in self.arrays:
                known = given.get(parameter.name)
                made[parameter.name] = np.zeros(array.shape) if known is None else np.array(known, float, order="C")
        return made

    def _gradients(self, arrays: Sequence[Any], adjoints: dict[str, Any]) -> list[Any]:
        found = []
        for parameter, array in zip(self.original.arrays, arrays, strict=True):
            if parameter.name in self.wanted:
                found.append(adjoints[parameter.name].astype(array.dtype, copy=False))
        return found
