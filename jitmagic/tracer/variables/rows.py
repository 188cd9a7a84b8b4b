"""Lists of arrays that a loop has put together: they lie in one array of the graph, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import row_of
from jitmagic.tracer.variables.number import wrap_size
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.variables.array import ArrayTracker
    from jitmagic.tracer.variables.base import VariableTracker

__all__ = ["Rows"]


@dataclass(slots=True)
class Rows:
    """A list of arrays: ``before``, then copies of the rows of ``rows``, which nobody else has."""

    tx: Evaluator
    before: Sequence[VariableTracker]
    rows: ArrayTracker

    is_python = False

    @property
    def array(self) -> VariableTracker:
        """What ``np.array`` makes of the list."""
        if not self.before:
            return self.rows
        first = self.tx.call_form(*row_of(np.stack), [TupleTracker(self.before)], {})
        return self.tx.call_form(*row_of(np.concatenate), [TupleTracker([first, self.rows])], {})

    def length(self) -> VariableTracker:
        return wrap_size(self.rows.meta.shape[0] + len(self.before))

    def item(self, index: VariableTracker) -> VariableTracker:
        raise Unsupported("long-loop", "the arrays that a loop has put into a list")

    def items(self, nested: Any) -> list[VariableTracker]:
        raise Unsupported("long-loop", "the arrays that a loop has put into a list")

    def reconstruct(self, emit: Emitter) -> str:
        first = "".join(f"{emit.value(v)}, " for v in self.before)
        rows = emit.value(self.rows)
        return f"[{first}*(r.copy() for r in {rows})]"
