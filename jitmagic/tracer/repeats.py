"""Takes a list and how often it is to be repeated, gives the list of one number that is as long as a size says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jitmagic.tracer.call_rows import row_of
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.held import Repeated
from jitmagic.tracer.variables.number import SymbolicInt, is_measured
from jitmagic.tracer.variables.number_kinds import number_kind
from jitmagic.tracer.variables.sequences import ListTracker, SequenceTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["repeated"]


def repeated(tx: Evaluator, seq: SequenceTracker, count: VariableTracker) -> VariableTracker | None:
    """``[number] * n`` for a size that may differ from call to call."""
    if type(seq) is not ListTracker or not isinstance(count, SymbolicInt) or seq.held is not None or is_measured(count):
        return None
    kind = number_kind(seq.items[0]) if len(seq.items) == 1 and isinstance(seq.items[0], Constant) else None
    if kind is None or tx.output.differentiating:
        return None
    made = tx.call_form(*row_of(np.full), [count, seq.items[0]], {})
    return ListTracker.holding(Repeated(tx, made, kind, seq.items[0]))  # type: ignore[arg-type]  # an array
