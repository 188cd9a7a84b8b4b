"""``globals()``: the names of a module as a dict, each read and written as the name itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitmagic.errors import Unsupported
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["GlobalsTracker"]


class GlobalsTracker(VariableTracker):
    """Of the module that ``frame`` belongs to."""

    immutable = False

    def __init__(self, frame: Evaluator) -> None:
        self.frame = frame

    def python_type(self) -> type:
        return dict

    def describe(self) -> str:
        return "globals()"

    def is_same_object(self, other: VariableTracker) -> bool:
        return isinstance(other, GlobalsTracker) and other.frame.globals is self.frame.globals

    def _name(self, key: VariableTracker) -> str:
        name = key.constant() if key.is_constant else None
        if type(name) is not str or name not in self.frame.globals:  # that it stays absent has no guard
            raise Unsupported("subscript", f"globals() by {key.describe()}")
        return name

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        return tx.output.builder.global_name(self.frame, self._name(key))

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        name = key.constant() if key.is_constant else None
        if type(name) is not str:
            raise Unsupported("store", f"globals()[{key.describe()}] = ...")
        tx.output.builder.store_global(self.frame, name, value)

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        self.item(tx, value)
        return Constant(True)

    def reconstruct(self, emit: Emitter) -> str:
        return self.frame.namespace
