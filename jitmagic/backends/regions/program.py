"""Takes a region, gives a callable over its operands: packs them, launches the kernel, hands back the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.backends.base import Bail
from jitmagic.backends.native import FloatFlag, Kernel, compile_kernel, make_launcher, split_result
from jitmagic.backends.regions.emit import emit
from jitmagic.backends.regions.machine import generate
from jitmagic.graph import region as ir

__all__ = ["RegionProgram", "compile_region"]

RELEASE = 10_000_000  # units of work that make the launcher release the GIL; a region is one indivisible piece
_FLOATS = ("pyfloat", "float64", "float32")
_WARNING_FLAGS = {
    "divide": FloatFlag.DIVIDE,
    "over": FloatFlag.OVER,
    "under": FloatFlag.UNDER,
    "invalid": FloatFlag.INVALID,
}


def compile_region(region: ir.Region) -> RegionProgram:
    """Compile the kernel. Raises Unsupported where no kernel can be exact."""
    made = emit(region)
    return RegionProgram(region, compile_kernel(made.text, "loop", generate=generate), made.constants)


class RegionProgram:
    """``program(*operands)`` changes the written arrays and gives the tuple of results.

    Raises Bail if the loop must run as plain Python; written arrays may then hold anything.
    """

    def __init__(self, region: ir.Region, kernel: Kernel, constants: Sequence[float]) -> None:
        self.region = region
        self.kernel = kernel
        form = "".join(f"a{a.ndim}" for a in region.arrays)
        form += "".join("d" if s.type in _FLOATS else "i" for s in region.scalars)
        form += "d" * len(constants) + "a1"
        self._launch = make_launcher(form)
        self._constants = tuple(constants)
        self._convert = [_READ[v.type] if v.type in _READ else _scalar_type(v.type) for v in region.results]
        self._is_float = [v.type in _FLOATS for v in region.results]
        self._scalars = slice(len(region.arrays), None)

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        out = np.empty(max(1, len(self._convert)))
        arrays, numbers = operands[: len(self.region.arrays)], operands[self._scalars]
        plain = [_number(n) for n in numbers]
        try:
            result = self._launch(self.kernel.address, 0, 1, RELEASE, *arrays, *plain, *self._constants, out)
        except (OverflowError, TypeError) as error:
            raise Bail from error
        if result:
            self._check(result)
        ints = out.view(np.int64)
        return tuple(
            convert(out[i] if is_float else ints[i])
            for i, (convert, is_float) in enumerate(zip(self._convert, self._is_float, strict=True))
        )

    def _check(self, result: int) -> None:
        """Any status but OK, and any floating-point condition that somebody listens to, means: run it plainly."""
        status, flags = split_result(result)
        if status:
            raise Bail
        for name, action in np.geterr().items():
            if action != "ignore" and flags & _WARNING_FLAGS[name]:
                raise Bail


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, bool | np.bool_) else value


def _scalar_type(name: str) -> Callable[[Any], Any]:
    kind: Callable[[Any], Any] = np.dtype(name).type
    return kind


_READ: dict[str, Callable[[Any], Any]] = {"pyint": int, "pyfloat": float, "pybool": bool}
