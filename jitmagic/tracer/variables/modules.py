"""Modules of ``jitmagic.nn``: objects whose tables of parameters, buffers and children are read directly.

A *specialised* module (the default, row N01) ties the entry to that one object: its arrays are held by reference and
read at each call, replacing one is noticed by identity. A module that has hooks, whose class is marked dynamic, that
was made in the trace, or in whose place another one was seen before, is *unspecialised*: an object like any other,
whose arrays are inputs read from where they are. So is a *managed* one, whose owner exchanges them, and all below it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jitmagic.config import current
from jitmagic.errors import InternalError, Unsupported
from jitmagic.graph.node import ModuleCall
from jitmagic.nn import hooks
from jitmagic.nn.containers import Sequential
from jitmagic.nn.module import Module
from jitmagic.nn.parameter import Parameter
from jitmagic.nn.recurrent import GRU, LSTM, RNN
from jitmagic.tracer.guards import DictSource, GlobalSource, MemberSource, Source, inside
from jitmagic.tracer.guards.module_kinds import no_key_guard
from jitmagic.tracer.guards.naming import home
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.functions import BoundMethod
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.module_walks import WALKS, WalkMethod
from jitmagic.tracer.variables.objects import ObjectTracker, find_in_class
from jitmagic.tracer.variables.stock_methods import are_stock, is_plain_module_class

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["HOOKS", "TABLES", "NNModuleTracker", "is_builtin_class"]

RECURRENT = (RNN, LSTM, GRU)
PACKAGE = Module.__module__.rpartition(".")[0]
TABLES = ("_parameters", "_buffers", "_modules")  # in the order in which Module.__getattr__ asks them
HOOKS = (*hooks.FORWARD_TABLES, *hooks.BACKWARD_TABLES)
# Methods of the base class that walk and rewrite whole trees: they run as plain Python (row N47).
PLAIN = frozenset(
    {"apply", "double", "float", "half", "load_state_dict", "numpy", "requires_grad_", "state_dict", "to", "type"}
)


def is_builtin_class(cls: type) -> bool:
    """Whether the class itself is defined in ``jitmagic.nn``; a subclass elsewhere is the user's."""
    return home(cls) == PACKAGE or home(cls).startswith(PACKAGE + ".")


def is_layer_class(cls: type) -> bool:
    """Whether a call is one layer to people: of a class of the library as it stands there, and not a row of others."""
    if not is_builtin_class(cls) or find_in_class(cls, "forward") is Sequential.__dict__["forward"]:
        return False
    return getattr(sys.modules.get(cls.__module__), cls.__name__, None) is cls


class NNModuleTracker(ObjectTracker):
    """A module. Guards on its class are shared by all instances: the class of each is guarded by itself."""

    def __init__(
        self, cls: type, value: Any, source: Source | None, *, category: str = "", is_specialised: bool = False
    ) -> None:
        if source is None and (is_specialised or category == "managed"):
            kind = "managed" if category else "specialised"
            raise InternalError(f"a {kind} {cls.__name__} was met without the place where it came from")
        super().__init__(cls, value, source)
        self.category = category
        self.is_specialised = is_specialised

    @property
    def contents(self) -> Source:
        """The source of the module with the category of what is read from it, whichever source it has by now."""
        assert self.source is not None
        inherited = self.source.category in ("builtin", "unspecialised")
        category = self.category or ("unspecialised" if inherited else "")
        return inside(self.source, category) if category else self.source

    def guarded_entry(self, tx: Evaluator, name: str) -> Any:
        tx.output.builder.guard_held_class(self.cls, name)
        return find_in_class(self.cls, name)

    # -- reads
    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in WALKS and are_stock(tx, self, name):
            return WalkMethod(self, name)
        found = super().attribute(tx, name)
        if name in PLAIN and isinstance(found, BoundMethod) and self._is_stock(tx, name):
            return PlainCall(found, self, name)
        if name in ("__call__", "forward") and isinstance(found, BoundMethod) and found.receiver is self:
            return NamedCall(found, self, name)
        return found

    def _is_stock(self, tx: Evaluator, name: str) -> bool:
        return are_stock(tx, self, name)

    def fall_back(self, tx: Evaluator, name: str, raised: Raised) -> VariableTracker:
        """The stock ``Module.__getattr__`` is answered from the tables; others are traced."""
        if not are_stock(tx, self, "__getattr__"):
            return super().fall_back(tx, name, raised)
        found = self.registered(tx, name)
        if found is None:
            raise self.absent(name)
        return found

    def registered(self, tx: Evaluator, name: str) -> VariableTracker | None:
        """From the parameters, buffers or children; only this name is guarded (row N51)."""
        for table in TABLES:
            found = self._entry(tx, table, name)
            if found is not None:
                found = tx.realize(found)
                return found.attribute(tx, "data") if _is_parameter(found) else found
        return None

    def _entry(self, tx: Evaluator, table: str, name: str) -> VariableTracker | None:
        real = self._untouched(tx, table)
        if real is None:
            tracker = self.own(tx, table)
            return tracker.items.get(name) if isinstance(tracker, DictTracker) else None
        assert self.source is not None
        place = DictSource(self.contents, table)
        if name in real:
            return tx.output.builder.wrap(tx, real[name], self._member(place, name))
        tx.output.guards.add(no_key_guard(place, name))
        return None

    def _untouched(self, tx: Evaluator, table: str) -> dict[str, Any] | None:
        """The real table, if nothing in this trace can have changed it."""
        if self.value is None or self.source is None or table in self.pending:
            return None
        real = self.value.__dict__.get(table)
        return real if type(real) is dict and id(real) not in tx.output.tracked else None

    def _member(self, place: Source, name: str) -> MemberSource:
        return MemberSource(place, name, self.is_specialised)

    def own(self, tx: Evaluator, name: str) -> VariableTracker | None:
        """From the instance's dict; tables know what their entries are called."""
        real = self._untouched(tx, name) if name in TABLES else None
        if real is None:
            return super().own(tx, name)
        assert self.source is not None
        place, builder = DictSource(self.contents, name), tx.output.builder
        found = builder.mapping(real, place)
        if isinstance(found, DictTracker):
            found.items = {key: builder.lazy(v, self._member(place, key)) for key, v in real.items()}
        return found

    # -- calls
    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if issubclass(self.cls, RECURRENT) and is_builtin_class(self.cls) and not current().allow_rnn:
            raise Unsupported("recurrent", f"{self.describe()} ({self.cls.__name__})")
        if not self._goes_straight(tx):
            with named(tx, self):
                return super().call(tx, args, kwargs)
        with named(tx, self, is_layer=is_layer_class(self.cls)):
            return self.attribute(tx, "forward").call(tx, args, kwargs)

    def _goes_straight(self, tx: Evaluator) -> bool:
        """Whether nothing but ``forward`` happens: stock call protocol, no hooks here or for all modules (row N45)."""
        if not are_stock(tx, self, "__call__", "_call_impl"):
            return False
        if self.own(tx, "_call_impl") is not None or not self._has_call_protocol(tx):
            return False
        return not any(tx.truth(table) for table in self._hook_tables(tx))

    def _has_call_protocol(self, tx: Evaluator) -> bool:
        return all(self.own(tx, name) is not None for name in HOOKS)

    def _hook_tables(self, tx: Evaluator) -> Iterator[VariableTracker]:
        for name in HOOKS:
            yield self.attribute(tx, name)
        names = tx.output.constant_source(vars(hooks)).code("")
        for name in ("BEFORE_ANY", "AFTER_ANY", "BEFORE_ANY_BACKWARD", "AFTER_ANY_BACKWARD"):
            yield tx.output.builder.wrap(tx, getattr(hooks, name), GlobalSource(name, names))

    def reconstruct(self, emit: Emitter) -> str:
        """A module made in the trace begins as its class makes it: with a plain dict of its own."""
        if not is_plain_module_class(self.cls):
            return super().reconstruct(emit)
        name = emit.temporary()
        emit.remember(self, name)
        cls = emit.constant(self.cls)
        emit.line(f"{name} = {cls}.__new__({cls})")
        for key, value in self.pending.items():
            if value is not None:
                emit.line(f"object.__setattr__({name}, {key!r}, {emit.value(value)})")
        return name


class NamedCall(BoundMethod):
    """``m.forward``, not called yet: what it computes carries the name of the module (rows N11, N56)."""

    def __init__(self, method: BoundMethod, module: NNModuleTracker, name: str) -> None:
        super().__init__(method.function, method.receiver, method.source)
        self.module, self.name = module, name

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        is_layer = self.name == "forward" and is_layer_class(self.module.cls)
        with named(tx, self.module, is_layer=is_layer):
            return super().call(tx, args, kwargs)


class PlainCall(BoundMethod):
    """A method that walks or rewrites the whole tree, not called yet: plain Python does that."""

    def __init__(self, method: BoundMethod, module: NNModuleTracker, name: str) -> None:
        super().__init__(method.function, method.receiver, method.source)
        self.module, self.name = module, name

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        raise Unsupported("call", f"{self.module.describe()}.{self.name}()")


@contextmanager
def named(tx: Evaluator, module: NNModuleTracker, *, is_layer: bool = False) -> Iterator[None]:
    """Nodes made inside carry the module's name and class, after those of the modules around it.

    ``is_layer`` counts in the function's own graph only: the body of a loop or of a gradient shows its arrays (N06).
    """
    output, name, kind = tx.output, module.describe(), module.cls.__name__
    stack = output.modules
    if stack and stack[-1][:2] == (name, kind):
        yield
        return
    output.module_calls += 1
    inside = output.graph is not output.root or output.differentiating > 0
    stack.append(ModuleCall(name, kind, output.module_calls, is_layer and not inside))
    try:
        yield
    finally:
        stack.pop()


def _is_parameter(found: VariableTracker) -> bool:
    """A Parameter that was written into a table by hand."""
    return isinstance(found, ObjectTracker) and found.cls is Parameter
