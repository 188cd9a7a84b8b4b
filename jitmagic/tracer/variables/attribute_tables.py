"""``obj.__dict__``: the attributes of an instance as a dict, each read and written as the attribute itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards import DictSource
from jitmagic.tracer.guards.contents import attribute_names_guard
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.descriptors import is_data
from jitmagic.tracer.variables.mappings import DictTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.variables.objects import ObjectTracker

__all__ = ["AttributesTracker"]


class AttributesTracker(DictTracker):
    """A view of the attributes of an instance. Which there are is guarded once they are gone through."""

    def __init__(self, tx: Evaluator, owner: ObjectTracker) -> None:
        self.owner = owner
        self.output = tx.output
        super().__init__({})

    def is_same_object(self, other: VariableTracker) -> bool:
        return isinstance(other, AttributesTracker) and other.owner is self.owner

    @property
    def items(self) -> dict[Any, VariableTracker]:  # as they are when asked
        owner = self.owner
        found: dict[Any, VariableTracker] = {}
        for name in self._names():
            kept = owner.pending.get(name)
            if name not in owner.reinserted and (kept is not None or name not in owner.pending):
                found[name] = self._held(name) if kept is None else kept
        return found | {name: value for name, value in owner.pending.items() if value is not None}

    @items.setter
    def items(self, items: dict[Any, VariableTracker]) -> None:
        """They are the owner's."""

    def _names(self) -> tuple[Any, ...]:
        """Of the attributes that the instance had before the call."""
        owner = self.owner
        if owner.value is None:
            return ()
        names = tuple(owner.value.__dict__)
        if owner.source is None or not owner.has_plain_table or not all(type(n) is str for n in names):
            raise Unsupported("attribute", f"{owner.describe()}.__dict__")
        self.output.guards.add(attribute_names_guard(owner.contents, names))
        return names

    def _held(self, name: str) -> VariableTracker:
        return self.output.builder.lazy(self.owner.value.__dict__[name], DictSource(self.owner.contents, name))

    def will_change(self, tx: Evaluator) -> None:
        raise Unsupported("store", f"{self.owner.describe()}.__dict__")

    # -- one attribute by its name
    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        found = self.owner.own(tx, key.constant())
        if found is None:
            raise python_error(KeyError, key.constant())
        return found

    def set_item(self, tx: Evaluator, key: VariableTracker, value: VariableTracker) -> None:
        if is_data(self.owner.guarded_entry(tx, key.constant())):
            raise Unsupported("store", f"{self.owner.describe()}.__dict__[...]")
        self.owner.store(tx, key.constant(), value)

    def delete_item(self, tx: Evaluator, key: VariableTracker) -> None:
        if is_data(self.owner.guarded_entry(tx, key.constant())):
            raise Unsupported("store", f"del {self.owner.describe()}.__dict__[...]")
        self.item(tx, key)
        self.owner.remove(tx, key.constant())

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        return Constant(self.owner.own(tx, value.constant()) is not None)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in _METHODS:
            return AttributesMethod(self, name)
        if name in ("keys", "values", "items", "copy"):
            return super().attribute(tx, name)
        raise Unsupported("attribute", f"{self.owner.describe()}.__dict__.{name}")

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.owner)}.__dict__"


class AttributesMethod(VariableTracker):
    """A method of ``obj.__dict__``, not called yet."""

    def __init__(self, attributes: AttributesTracker, name: str) -> None:
        self.attributes = attributes
        self.name = name

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return _METHODS[self.name](tx, self.attributes, *args, **kwargs)


def _update(
    tx: Evaluator, attributes: AttributesTracker, *args: VariableTracker, **kwargs: VariableTracker
) -> VariableTracker:
    new = DictTracker({})
    new.method(tx, "update", args, kwargs)
    for name, value in new.items.items():
        attributes.set_item(tx, Constant(name), value)
    return Constant(None)


def _get(
    tx: Evaluator, attributes: AttributesTracker, key: VariableTracker, default: VariableTracker | None = None
) -> VariableTracker:
    found = attributes.owner.own(tx, key.constant())
    return (default or Constant(None)) if found is None else found


def _pop(
    tx: Evaluator, attributes: AttributesTracker, key: VariableTracker, default: VariableTracker | None = None
) -> VariableTracker:
    found = attributes.owner.own(tx, key.constant())
    if found is None and default is not None:
        return default
    attributes.delete_item(tx, key)
    assert found is not None  # deleting has raised
    return found


def _setdefault(
    tx: Evaluator, attributes: AttributesTracker, key: VariableTracker, default: VariableTracker | None = None
) -> VariableTracker:
    found = attributes.owner.own(tx, key.constant())
    if found is None:
        found = default or Constant(None)
        attributes.set_item(tx, key, found)
    return found


_METHODS: dict[str, Callable[..., VariableTracker]] = {
    "update": _update,
    "get": _get,
    "pop": _pop,
    "setdefault": _setdefault,
}
