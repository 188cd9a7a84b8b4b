"""Exceptions raised and caught inside the traced program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitmagic.errors import Unsupported
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant, is_literal
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["ExceptionTracker"]


class ExceptionTracker(VariableTracker):
    """A real exception object that the trace made; it never leaves the trace."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def python_type(self) -> type:
        return type(self.error)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name == "args" and all(is_literal(a) for a in self.error.args):
            return TupleTracker([Constant(a) for a in self.error.args])
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def truth(self, tx: Evaluator) -> bool:
        return True

    def reconstruct(self, emit: Emitter) -> str:
        raise Unsupported("call", f"passing on the exception {type(self.error).__name__}")
