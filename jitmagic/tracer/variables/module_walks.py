"""What ``named_parameters`` and its kin give over trackers: pending changes are seen, order is guarded where walked.

The methods themselves tell objects apart by ``id``, which no trace may see; here one object is one tracker.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards import ConstantSource, Source
from jitmagic.tracer.guards.kinds import no_alias_guard
from jitmagic.tracer.signals import NotConstant, Raised
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.iterators import IteratorTracker
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.sequences import TupleTracker
from jitmagic.tracer.variables.stock_methods import STOCK, are_stock

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.variables.objects import ObjectTracker

__all__ = ["WALKS", "WalkMethod"]

Pairs = Iterator[tuple[str, VariableTracker]]


class WalkMethod(VariableTracker):
    """A walk of a module, not called yet."""

    def __init__(self, module: ObjectTracker, name: str) -> None:
        self.module = module
        self.name = name

    def describe(self) -> str:
        return f"{self.module.describe()}.{self.name}()"

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        try:
            plain = [a.constant() for a in args]
            named = {k: v.constant() for k, v in kwargs.items()}
        except NotConstant:
            raise Unsupported("module-method", self.describe()) from None
        if not are_stock(tx, self.module, *_BELOW[self.name]):
            raise Unsupported("module-method", self.describe())
        signature = inspect.signature(STOCK[self.name])
        try:
            bound = signature.bind(None, *plain, **named)
        except TypeError as error:
            raise Raised(TypeError(f"Module.{self.name}() {error}")) from None
        bound.apply_defaults()
        _, *values = bound.args
        return WALKS[self.name](tx, self.module, *values)


class Walk(IteratorTracker):
    """The pairs of a walk, found one by one as they are asked for, so that changes on the way are seen."""

    def __init__(self, pairs: Pairs, *, is_named: bool) -> None:
        self.pairs = pairs
        self.is_named = is_named

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        found = next(self.pairs, None)
        if found is None:
            return None
        name, value = found
        return TupleTracker([Constant(name), value]) if self.is_named else value


def _table(tx: Evaluator, module: ObjectTracker, name: str) -> list[tuple[str, VariableTracker]]:
    found = module.attribute(tx, name)
    if not isinstance(found, DictTracker):
        raise Unsupported("iterate", f"{module.describe()}.{name}")
    found.note_order()
    return [(key, tx.realize(value)) for key, value in found.items.items()]


def _children(tx: Evaluator, module: ObjectTracker) -> Iterator[tuple[str, ObjectTracker]]:
    from jitmagic.tracer.variables.objects import ObjectTracker

    for name, child in _table(tx, module, "_modules"):
        if isinstance(child, ObjectTracker):
            yield name, child
        elif not (child.is_constant and child.constant() is None):
            raise Unsupported("iterate", f"{module.describe()}.{name}")


def _modules(
    tx: Evaluator, module: ObjectTracker, prefix: str, unique: bool, seen: list[ObjectTracker]
) -> Iterator[tuple[str, ObjectTracker]]:
    if not are_stock(tx, module, "named_modules"):
        raise Unsupported("call", f"{module.describe()}.named_modules()")
    if any(module is other for other in seen):
        return
    if unique:
        seen.append(module)
    yield prefix, module
    for name, child in _children(tx, module):
        yield from _modules(tx, child, f"{prefix}.{name}" if prefix else name, unique, seen)


def _stay_apart(tx: Evaluator, seen: Sequence[VariableTracker]) -> None:
    """Objects that were told apart must be different ones at the next call too."""
    sources: list[Source] = [v.source for v in seen if v.source is not None]
    outside = [s for s in sources if not isinstance(s, ConstantSource)]
    if len(outside) > 1:
        tx.output.guards.add(no_alias_guard(tuple(outside)))


def _members(tx: Evaluator, module: ObjectTracker, table: str, prefix: str, recurse: bool, unique: bool) -> Pairs:
    seen: list[VariableTracker] = []
    modules = _all_modules(tx, module, prefix, unique) if recurse else iter([(prefix, module)])
    for place, each in modules:
        for name, entry in _table(tx, each, table):
            value = tx.realize(each.attribute(tx, name)) if _is_marked(entry) else entry
            if (value.is_constant and value.constant() is None) or (unique and any(value is o for o in seen)):
                continue
            seen.append(value)
            yield (f"{place}.{name}" if place else name), value
    if unique:
        _stay_apart(tx, seen)


def _is_marked(entry: VariableTracker) -> bool:
    """A Parameter that was written into the table by hand."""
    from jitmagic.nn.parameter import Parameter
    from jitmagic.tracer.variables.objects import ObjectTracker

    return isinstance(entry, ObjectTracker) and entry.cls is Parameter


def _all_modules(tx: Evaluator, module: ObjectTracker, prefix: str, unique: bool) -> Iterator[tuple[str, Any]]:
    seen: list[ObjectTracker] = []
    yield from _modules(tx, module, prefix, unique, seen)
    if unique:
        _stay_apart(tx, seen)


def _unique_children(tx: Evaluator, module: ObjectTracker) -> Pairs:
    seen: list[VariableTracker] = []
    for name, child in _children(tx, module):
        if not any(child is other for other in seen):
            seen.append(child)
            yield name, child
    _stay_apart(tx, seen)


def _named_modules(
    tx: Evaluator, module: ObjectTracker, memo: Any = None, prefix: str = "", remove_duplicate: bool = True
) -> VariableTracker:
    if memo is not None:
        raise Unsupported("module-method", f"{module.describe()}.named_modules(memo)")
    return Walk(_all_modules(tx, module, prefix, remove_duplicate), is_named=True)


def _named(table: str) -> Callable[..., VariableTracker]:
    def walk(
        tx: Evaluator, module: ObjectTracker, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> VariableTracker:
        return Walk(_members(tx, module, table, prefix, recurse, remove_duplicate), is_named=True)

    return walk


def _values(table: str) -> Callable[..., VariableTracker]:
    def walk(tx: Evaluator, module: ObjectTracker, recurse: bool) -> VariableTracker:
        return Walk(_members(tx, module, table, "", recurse, True), is_named=False)

    return walk


WALKS: dict[str, Callable[..., VariableTracker]] = {
    "named_modules": _named_modules,
    "modules": lambda tx, module, unique: Walk(_all_modules(tx, module, "", unique), is_named=False),
    "named_children": lambda tx, module: Walk(_unique_children(tx, module), is_named=True),
    "children": lambda tx, module: Walk(_unique_children(tx, module), is_named=False),
    "named_parameters": _named("_parameters"),
    "parameters": _values("_parameters"),
    "named_buffers": _named("_buffers"),
    "buffers": _values("_buffers"),
}
# The methods that each of them asks on the way.
_MEMBERS = ("_named_members", "named_modules")
_BELOW: dict[str, tuple[str, ...]] = {
    "named_modules": (),
    "modules": ("named_modules",),
    "named_children": (),
    "children": ("named_children",),
    "named_parameters": _MEMBERS,
    "parameters": ("named_parameters", *_MEMBERS),
    "named_buffers": _MEMBERS,
    "buffers": ("named_buffers", *_MEMBERS),
}
