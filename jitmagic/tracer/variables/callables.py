"""Callables that are not functions of the user: builtins, NumPy functions, classes; and Python modules."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    FunctionType,
    MappingProxyType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.ops import lookup
from jitmagic.ops.differentiable import has_own_rules
from jitmagic.ops.draws import OF_THE_GLOBAL
from jitmagic.ops.extern import extern
from jitmagic.ops.python_numbers import COMPLEX_FUNCTIONS, NUMBER_FUNCTIONS
from jitmagic.ops.quiet import outspoken
from jitmagic.tracer.bodies import BODIES
from jitmagic.tracer.effects import AttributeEffect
from jitmagic.tracer.guards import AttributeSource, DictSource, Source
from jitmagic.tracer.guards.contents import described_guard
from jitmagic.tracer.guards.holding import is_library
from jitmagic.tracer.guards.kinds import missing_key_guard, own_class_attribute_guard
from jitmagic.tracer.guards.naming import home
from jitmagic.tracer.signals import NotConstant, Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error, type_name
from jitmagic.tracer.variables.constant import Constant, run
from jitmagic.tracer.variables.construction import bare_instance, construct
from jitmagic.tracer.variables.counts import with_sizes
from jitmagic.tracer.variables.descriptors import HEAP_TYPE, guard_protocol, is_data
from jitmagic.tracer.variables.functions import BoundMethod, FunctionTracker
from jitmagic.tracer.variables.iterators import SequenceIterator
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt, number_call
from jitmagic.tracer.variables.objects import MISSING, ObjectTracker, find_in_class
from jitmagic.tracer.variables.random_generators import GeneratorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["CallableTracker", "ClassTracker", "ModuleTracker", "NumpyFunction"]


DIRECT = (FunctionType, WrapperDescriptorType, MethodDescriptorType)  # read from a class they are themselves


class CallableTracker(VariableTracker):
    """A builtin or C function, answered by the table in ``tracer.builtin_calls``, or run on constants if pure."""

    def __init__(self, value: Any, source: Source | None) -> None:
        self.value = value
        self.source = source

    def python_type(self) -> type:
        return type(self.value)

    def describe(self) -> str:
        return self.source.text if self.source is not None else getattr(self.value, "__name__", repr(self.value))

    def real_object(self) -> Any:
        return self.value

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in ("__name__", "__qualname__", "__module__", "__doc__"):
            return Constant(getattr(self.value, name))
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def truth(self, tx: Evaluator) -> bool:
        return True

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        return tx.language.call_builtin(tx, self, args, kwargs)

    def reconstruct(self, emit: Emitter) -> str:
        return emit.constant(self.value)


class NumpyFunction(CallableTracker):
    """A function or ufunc of NumPy or SciPy: an op row, or its Python body traced through, or an extern node."""

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if self.value in tx.language.builtins:
            return tx.language.call_builtin(tx, self, args, kwargs)
        found = lookup(self.value)
        if found is not None:
            args, kwargs = with_sizes(tx, self.value, args, kwargs)
            return tx.call_form(*found, args, kwargs)
        if self.value in OF_THE_GLOBAL:
            generator = tx.output.builder.constant_object(tx, OF_THE_GLOBAL[self.value].__self__)
            return generator.method(tx, OF_THE_GLOBAL[self.value].__name__, args, kwargs)
        if args and isinstance(args[0], GeneratorTracker) and args[0].has(self.value):  # np.random.normal
            return args[0].method(tx, self.value.__name__, args[1:], kwargs)
        return self.by_its_body(tx, args, kwargs)

    def by_its_body(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        """The call as NumPy's own Python code makes it, or as a node if it has none that can be traced."""
        body = BODIES.get(self.value) or getattr(self.value, "__wrapped__", self.value)
        has_rule = tx.output.needs_rules and has_own_rules(self.value)
        if isinstance(body, FunctionType) and not has_rule:
            traced = self._trace_through(tx, body, args, kwargs)
            if traced is not None:
                return traced
        return tx.call_op(extern(self.value), args, kwargs)

    def _trace_through(
        self, tx: Evaluator, body: FunctionType, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker | None:
        place = tx.place(tx.node)
        if place in tx.output.policy.no_inline:
            return None
        return FunctionTracker(body, None).call(tx, args, kwargs)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        value = getattr(self.value, name, MISSING)
        if name in ("reduce", "accumulate", "outer", "at", "reduceat"):
            return NumpyFunction(value, None)
        return super().attribute(tx, name)


class ModuleTracker(VariableTracker):
    """A Python module; attributes are read from its dict, through its source."""

    def __init__(self, value: ModuleType, source: Source | None) -> None:
        self.value = value
        self.source = source

    def python_type(self) -> type:
        return ModuleType

    def describe(self) -> str:
        return self.value.__name__

    def real_object(self) -> Any:
        return self.value

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        own = vars(self.value)
        source = self.source or tx.output.constant_source(self.value)
        late = None if name in own else self._made_when_asked(name)
        if name in own:
            return tx.output.builder.wrap(tx, own[name], DictSource(source, name))
        if late is not None:
            return tx.output.builder.wrap(tx, late, AttributeSource(source, name))
        raise self._absent(tx, name)

    def _absent(self, tx: Evaluator, name: str) -> Raised:
        """The error of Python, or of NumPy's own ``__getattr__``; that of another module is not run here."""
        if "__getattr__" in vars(self.value) and not self._asks_numpy():
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        try:
            getattr(self.value, name)
        except AttributeError as error:
            if self.source is not None:
                for each in (e for e in (name, "__getattr__") if e not in vars(self.value)):
                    tx.output.guards.add(missing_key_guard(self.source, each))
            raised = python_error(AttributeError, *error.args)
            raised.missed = None if error.name else ()  # NumPy's own error may say that it has no name
            return raised
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def _asks_numpy(self) -> bool:
        getter = vars(self.value).get("__getattr__")
        return getter is not None and home(getter).partition(".")[0] == "numpy" and is_library(getter)

    def _made_when_asked(self, name: str) -> Any:
        """What NumPy's own ``__getattr__`` gives without a warning; None for other modules."""
        if not self._asks_numpy():
            return None
        try:
            return outspoken(getattr)(self.value, name, None)
        except Warning:
            raise Unsupported("attribute", f"{self.describe()}.{name}") from None

    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        raise Unsupported("store", f"{self.describe()}.{name} = ...")

    def reconstruct(self, emit: Emitter) -> str:
        return emit.constant(self.value)


class ClassTracker(CallableTracker):
    """A class. Calling one of the user's makes an instance whose ``__init__`` is traced."""

    def truth(self, tx: Evaluator) -> bool:
        methods = (find_in_class(type(self.value), name) for name in ("__bool__", "__len__"))
        if any(method is not MISSING for method in methods) and not self._is_enum():
            raise Unsupported("data-branch", self.describe())
        return True

    def _is_enum(self) -> bool:
        return type(self.value) is enum.EnumType

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        cls: type = self.value
        if not is_library(type(cls)) and find_in_class(type(cls), "__getattribute__") is not type.__getattribute__:
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        if issubclass(cls, enum.Enum) and name in cls.__members__:
            return tx.output.builder.constant_object(tx, cls.__members__[name])
        if name == "__members__" and self._is_enum():
            return EnumMembers(self, self._all_named(tx))
        if name in ("__name__", "__qualname__", "__module__", "__doc__"):
            return self._described(tx, name)
        return self._from_dicts(tx, name)

    def _from_dicts(self, tx: Evaluator, name: str) -> VariableTracker:
        """What the classes of the MRO hold, as reading it from the class gives it."""
        cls: type = self.value
        if self._is_of_metaclass(tx, name):
            return self._from_metaclass(tx, name)
        entry = self._entry(tx, name)
        builder = tx.output.builder
        if isinstance(entry, VariableTracker):
            return entry
        if isinstance(entry, staticmethod):
            return builder.constant_object(tx, entry.__func__)
        if isinstance(entry, classmethod):
            return BoundMethod(builder.constant_object(tx, entry.__func__), self)
        if isinstance(entry, ClassMethodDescriptorType) and type(cls) is type:
            return CallableTracker(getattr(cls, name), None)
        if isinstance(entry, staticmethod | BuiltinFunctionType) and type(cls) is type:
            return builder.constant_object(tx, getattr(cls, name))
        source = None if self.source is None else builder.data_source(cls, name, entry, self.source)
        if source is not None:
            return builder.wrap(tx, entry, source)
        if isinstance(entry, DIRECT) or not hasattr(type(entry), "__get__"):
            return builder.class_entry(tx, cls, name, entry)
        if isinstance(find_in_class(type(entry), "__get__"), FunctionType):
            descriptor = builder.class_entry(tx, cls, name, entry)
            getter = builder.constant_object(tx, type(entry).__get__)
            return getter.call(tx, [descriptor, Constant(None), self], {})
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def _is_of_metaclass(self, tx: Evaluator, name: str) -> bool:
        """Whether a metaclass of the user's answers, by a method or by data, since no class of the MRO does."""
        meta = type(self.value)
        if is_library(meta) or tx.output.builder.pending_in_class(self.value, name) is not None:
            return False
        entry = find_in_class(meta, name)
        known = isinstance(entry, FunctionType) or (entry is not MISSING and not hasattr(type(entry), "__get__"))
        return known and find_in_class(self.value, name) is MISSING

    def _from_metaclass(self, tx: Evaluator, name: str) -> VariableTracker:
        cls, builder = self.value, tx.output.builder
        if self.source is not None:
            tx.output.guards.add(own_class_attribute_guard(self.source, cls, name))
        builder.guard_metaclass(cls, name)
        pending = builder.pending_in_class(type(cls), name)
        found = pending or builder.class_entry(tx, type(cls), name, find_in_class(type(cls), name))
        return BoundMethod(found, self) if isinstance(found, FunctionTracker) else found

    def _described(self, tx: Evaluator, name: str) -> VariableTracker:
        """What a class tells of itself, which a program may change."""
        if self.source is not None and self.value.__flags__ & HEAP_TYPE:
            tx.output.guards.add(described_guard(self.source, self.value, name))
        return Constant(getattr(self.value, name))

    def _entry(self, tx: Evaluator, name: str) -> Any:
        """What the MRO holds under ``name``, guarded; a tracker if this trace has set it."""
        cls: type = self.value
        pending = tx.output.builder.pending_in_class(cls, name)
        if pending is not None:
            return pending
        entry = find_in_class(cls, name)
        if entry is MISSING and self.source is not None:
            tx.output.guards.add(own_class_attribute_guard(self.source, cls, name))
        tx.output.builder.guard_metaclass(cls, name)
        if entry is MISSING and find_in_class(type(cls), "__getattr__") is not MISSING:
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        of_metaclass = find_in_class(type(cls), name)
        if entry is MISSING or is_data(of_metaclass):
            in_metaclass = of_metaclass is not MISSING  # where asking may run a property
            if not in_metaclass and not (is_library(type(cls)) and hasattr(cls, name)):
                text = f"type object {type_name(cls)!r} has no attribute {name!r}"
                raise python_error(AttributeError, text)
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        if self.source is not None and tx.output.builder.data_source(cls, name, entry, self.source) is None:
            tx.output.guards.add(own_class_attribute_guard(self.source, cls, name))
        guard_protocol(tx, entry)
        return entry

    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        """``cls.name = value`` for plain data; methods and descriptors change what instances do."""
        cls: type = self.value
        plain = type(cls) is type and not name.startswith("__") and home(cls) != "builtins"
        value = tx.realize(value)
        if not plain or is_data(find_in_class(cls, name)) or hasattr(value.python_type(), "__get__"):
            raise Unsupported("store", f"{self.describe()}.{name} = ...")
        tx.output.builder.class_writes[cls, name] = value
        tx.output.add_effect(AttributeEffect(self, name, value, span=tx.span))

    def constant(self) -> Any:
        """Classes compare by identity, unless their metaclass has other ideas."""
        if find_in_class(type(self.value), "__eq__") is not object.__eq__:
            raise NotConstant
        return self.value

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if self.value in tx.language.builtins:
            return tx.language.call_builtin(tx, self, args, kwargs)
        found = lookup(self.value)
        if found is not None:
            return tx.call_form(*found, args, kwargs)
        return construct(tx, self.value, args, kwargs)

    def bare_instance(self, tx: Evaluator) -> VariableTracker:
        """``object.__new__(cls)``."""
        return bare_instance(tx, self.value)

    def iterate(self, tx: Evaluator) -> VariableTracker:
        if not issubclass(self.value, enum.Enum):
            return super().iterate(tx)
        return SequenceIterator(self._members(tx))

    def length(self, tx: Evaluator) -> VariableTracker:
        return Constant(len(self._members(tx))) if issubclass(self.value, enum.Enum) else super().length(tx)

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        if not issubclass(self.value, enum.Enum):
            return super().item(tx, key)
        members: Any = self.value.__members__
        if key.constant() not in members:
            raise python_error(KeyError, key.constant())
        return tx.output.builder.constant_object(tx, members[key.constant()])

    def contains(self, tx: Evaluator, value: VariableTracker) -> VariableTracker:
        if isinstance(value, ObjectTracker) and issubclass(self.value, enum.Enum):
            return Constant(issubclass(value.cls, self.value))
        return super().contains(tx, value)

    def _all_named(self, tx: Evaluator) -> dict[str, VariableTracker]:
        members: Any = self.value.__members__
        return {name: tx.output.builder.constant_object(tx, member) for name, member in members.items()}

    def _members(self, tx: Evaluator) -> list[VariableTracker]:
        if type(self.value) is not enum.EnumType:
            raise Unsupported("iterate", self.describe())
        cls: Any = self.value
        found: list[Any] = list(enum.EnumType.__iter__(cls))
        return [tx.output.builder.constant_object(tx, member) for member in found]


class EnumMembers(DictTracker):
    """``cls.__members__`` of an enum: names and members, aliases as well; nobody can change it."""

    def __init__(self, owner: ClassTracker, items: dict[str, VariableTracker]) -> None:
        super().__init__(items)
        self.owner = owner

    def python_type(self) -> type:
        return MappingProxyType

    def will_change(self, tx: Evaluator) -> None:
        raise Unsupported("store", f"{self.owner.describe()}.__members__[...] = ...")

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name not in ("get", "keys", "values", "items", "copy"):
            raise Unsupported("attribute", f"{self.owner.describe()}.__members__.{name}")
        return super().attribute(tx, name)

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.owner)}.__members__"


def call_on_numbers(
    tx: Evaluator, function: Any, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker | None:
    """``math.sqrt`` and its kin: on constants at once, on run-time numbers as a node."""
    row = NUMBER_FUNCTIONS.get(function) or (None if tx.output.needs_rules else COMPLEX_FUNCTIONS.get(function))
    if row is None or kwargs:
        return None
    if all(a.is_constant for a in args):
        return run(lambda: function(*(a.constant() for a in args)))
    numbers = [a for a in args if isinstance(a, RunTimeNumber | SymbolicInt | Constant)]
    scalars = [a for a in args if isinstance(a, ArrayTracker) and a.meta.scalar and a.meta.dtype.kind in "fiu"]
    if len(numbers) + len(scalars) != len(args):
        raise NotConstant
    return number_call(tx, row, args)
