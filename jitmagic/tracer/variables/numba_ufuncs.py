"""``numba.vectorize``: the ufunc behind it fuses like any other, by its inner loop."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.describe import array_meta
from jitmagic.tracer.guards import Source
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import NumpyFunction

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["NumbaUfunc", "is_numba_ufunc"]


def is_numba_ufunc(value: Any) -> bool:
    """An instance of Numba's class, which is not imported for that."""
    kind = type(value)
    return kind.__name__ == "DUFunc" and kind.__module__.startswith("numba.")


class NumbaUfunc(NumpyFunction):
    """Its ``value`` is the ufunc; one without given types compiles its loops at calls, and is asked to do it here."""

    def __init__(self, made: Any, source: Source | None) -> None:
        super().__init__(made.ufunc, source)
        self.made = made

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if len(args) != self.value.nin or kwargs:
            raise Unsupported("call", self.describe())
        dtypes = [array_meta(m).dtype for m in map(_described, (tx.operand(a) for a in args))]
        try:
            self.value.resolve_dtypes((*dtypes, *[None] * self.value.nout))
        except TypeError:
            self._compile(dtypes)
        return super().call(tx, args, kwargs)

    def _compile(self, dtypes: Sequence[np.dtype[Any]]) -> None:
        """As Numba does at a call with such operands, without the call."""
        support = importlib.import_module("numba.np.numpy_support")
        try:
            self.made.add(tuple(map(support.from_dtype, dtypes)))
        except Exception as error:  # whatever Numba says: the plain call says the same
            raise Unsupported("call", self.describe()) from error

    def real_object(self) -> Any:
        return self.made


def _described(value: Any) -> Any:
    meta = getattr(value, "meta", value)
    return meta if isinstance(meta, ArrayMeta) else value
