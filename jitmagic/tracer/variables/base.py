"""VariableTracker: the evaluator's stand-in for one Python value, with its source and its pending changes.

Every operation that the evaluator needs is a method here whose default is a graph break; a family overrides what it
can answer. Trackers of mutable objects are mutable themselves, and identity of trackers is identity of objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards import Source
from jitmagic.tracer.guards.naming import one_of
from jitmagic.tracer.signals import NotConstant, Raised

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["NO_OBJECT", "VariableTracker", "python_error", "read_attribute"]

NO_OBJECT: Any = object()  # the value is no object that existed before the call


def python_error(kind: type[BaseException], *args: Any, **details: Any) -> Raised:
    """The signal that the traced program raised ``kind(*args, **details)``."""
    return Raised(kind(*args, **details))


def read_attribute(tx: Evaluator, owner: VariableTracker, name: str) -> VariableTracker:
    """``owner.name``; an AttributeError on the way is told what it is about, as Python does it."""
    try:
        return tx.realize(owner.attribute(tx, name))
    except Raised as raised:
        if isinstance(raised.error, AttributeError) and raised.missed is None:
            raised.missed = owner, name
        raise


HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class made by a class statement
IMMUTABLE_TYPE = 1 << 8  # Py_TPFLAGS_IMMUTABLETYPE: a class made in C, on the heap or not


def type_name(kind: type) -> str:
    """What messages of Python's own call a class: those made in C say their module."""
    is_made_in_c = kind.__flags__ & IMMUTABLE_TYPE or not kind.__flags__ & HEAP_TYPE
    is_plain = not is_made_in_c or kind.__module__ == "builtins"
    return kind.__name__ if is_plain else f"{kind.__module__}.{kind.__name__}"


class VariableTracker:
    """Base. ``source`` says where the value came from; None for a value made during the trace."""

    source: Source | None = None
    immutable: ClassVar[bool] = True

    # -- what it is
    def python_type(self) -> type:
        """The class of the value."""
        raise Unsupported("operator", "type(...) of a value")

    def constant(self) -> Any:
        """The value itself, if it is known now. Raises NotConstant."""
        raise NotConstant

    def hashed(self) -> Any:
        """What a dict finds it by. Raises NotConstant."""
        return self.constant()

    @property
    def is_constant(self) -> bool:
        try:
            self.constant()
        except NotConstant:
            return False
        return True

    def describe(self) -> str:
        """What a message calls it."""
        if self.source is not None and self.source.has_name:
            return self.source.text
        try:
            return one_of(self.python_type())
        except Unsupported:
            return "a value"

    def real_object(self) -> Any:
        """The object that existed before the call, for questions of identity; NO_OBJECT if there is none."""
        return NO_OBJECT

    def is_same_object(self, other: VariableTracker) -> bool:
        """Whether both surely stand for one object; what ``is`` means stands in ``tracer.identity``."""
        return self is other

    # -- operations
    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def class_attribute(self, tx: Evaluator, name: str) -> VariableTracker | None:
        """What the value's class holds under ``name``, unbound; None if nothing is known of it."""
        return None

    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        raise Unsupported("store", f"{self.describe()}.{name} = ...")

    def delete_attribute(self, tx: Evaluator, name: str) -> None:
        raise Unsupported("store", f"del {self.describe()}.{name}")

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        raise Unsupported("call", self.describe())

    def method(
        self, tx: Evaluator, name: str, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        """``self.name(*args, **kwargs)``."""
        return read_attribute(tx, self, name).call(tx, args, kwargs)

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        raise Unsupported("subscript", self.describe())

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        raise Unsupported("store", f"{self.describe()}[...] = ...")

    def delete_item(self, tx: Evaluator, key: VariableTracker) -> None:
        raise Unsupported("store", f"del {self.describe()}[...]")

    def truth(self, tx: Evaluator) -> bool:
        raise Unsupported("data-branch", self.describe())

    def length(self, tx: Evaluator) -> VariableTracker:
        raise Unsupported("call", f"len({self.describe()})")

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        raise Unsupported("operator", f"the test whether a value is in {self.describe()}")

    def iterate(self, tx: Evaluator) -> VariableTracker:
        """``iter(self)``: a tracker with ``next_item``."""
        raise Unsupported("iterate", self.describe())

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        """``next(self)``, or None when the iterator is exhausted."""
        raise Unsupported("iterate", self.describe())

    def new_places(self) -> Iterable[str]:
        """The texts of the sources of items that the trace has put into a container from outside."""
        return ()

    # -- leaving the trace
    def reconstruct(self, emit: Emitter) -> str:
        """Python text that makes the value in the generated program (no source: it was made in the trace)."""
        raise Unsupported("call", f"passing on {self.describe()}")
