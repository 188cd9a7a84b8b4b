"""VariableBuilder: a real value and its source become a tracker, with the guards that the trace will rely on.

Dispatch is by exact class, then by a short ordered list of tests; an instance of a subclass of ``list`` or ``int`` is
never treated as its base (row B08).
"""

from __future__ import annotations

import builtins
import collections
import enum
import functools
import sys
import types
from collections.abc import Callable, Mapping
from types import CellType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.autograd.recorded import Recorded
from jitmagic.errors import InternalError
from jitmagic.graph.meta import PyMeta
from jitmagic.nn.module import Module
from jitmagic.ops import lookup
from jitmagic.ops.draws import GENERATORS
from jitmagic.optim.state import State
from jitmagic.own_builtins import builtins_in
from jitmagic.tracer.class_guards import ClassGuards
from jitmagic.tracer.directives import is_substituted, substitutes, traced_form
from jitmagic.tracer.effects import GlobalEffect
from jitmagic.tracer.families import is_a, is_key, is_named_tuple, is_numpy
from jitmagic.tracer.guards import (
    AttributeSource,
    CellSource,
    ClosureSource,
    ConstantSource,
    DictSource,
    EntrySource,
    GlobalSource,
    ItemSource,
    Source,
)
from jitmagic.tracer.guards import kinds as guard
from jitmagic.tracer.guards.caches import cache_wrapper
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.module_kinds import undefined_guard
from jitmagic.tracer.guards.naming import dtype_text, home, own_name
from jitmagic.tracer.guards.orders import key_order_guard, member_order_guard
from jitmagic.tracer.guards.recording import tensor_guards
from jitmagic.tracer.inputs import Inputs, is_held
from jitmagic.tracer.tensors import wrap_tensor
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.caches import wrap_cached
from jitmagic.tracer.variables.callables import CallableTracker, ClassTracker, ModuleTracker, NumpyFunction
from jitmagic.tracer.variables.constant import LITERALS, Constant
from jitmagic.tracer.variables.enums import EnumMember
from jitmagic.tracer.variables.functions import BoundMethod, Cell, FunctionTracker
from jitmagic.tracer.variables.growing import wrap_deque, wrap_list
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.module_wrapping import wrap_module
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker
from jitmagic.tracer.variables.numba_ufuncs import NumbaUfunc, is_numba_ufunc
from jitmagic.tracer.variables.objects import MISSING, ObjectTracker, OpaqueTracker
from jitmagic.tracer.variables.optimizer_state import wrap_state
from jitmagic.tracer.variables.partials import PartialTracker
from jitmagic.tracer.variables.python_ufuncs import is_python_ufunc, wrap_python_ufunc
from jitmagic.tracer.variables.random_generators import GeneratorTracker
from jitmagic.tracer.variables.sequences import RangeTracker, SliceTracker, TupleTracker
from jitmagic.tracer.variables.sets import SetTracker
from jitmagic.tracer.variables.vectorized import is_vectorize, wrap_vectorize

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.output import OutputGraph

__all__ = ["Builder", "plain_function"]


def plain_function(value: Any) -> FunctionType | None:
    """The user's function behind a compiled one; None for anything else.

    A wrapper made with ``functools.wraps`` has the handle of what it wraps among its attributes: it is not meant.
    """
    handle = dict.get(value.__dict__, "jit") if type(value) is FunctionType else None
    serves = getattr(handle, "serves", None)
    plain = getattr(handle, "plain", None) if serves is not None and serves(value) else None
    return plain if type(plain) is FunctionType else None


class Builder(Inputs, ClassGuards):
    """Wraps values for one trace."""

    def __init__(self, output: OutputGraph) -> None:
        super().__init__(output)
        self.by_source: dict[Source, tuple[Any, VariableTracker]] = {}  # one tracker per source (B03)
        self.closures: dict[int, Cell] = {}
        self.function_writes: dict[tuple[FunctionType, str], VariableTracker] = {}
        self.class_writes: dict[tuple[type, str], VariableTracker] = {}
        self.stand_ins: dict[int, tuple[Any, VariableTracker]] = {}
        self.pending_globals: dict[tuple[str, str], VariableTracker | None] = {}

    # -- entry points
    def lazy(self, value: Any, source: Source) -> Lazy:
        return Lazy(value, source, lambda v, s: self.wrap(None, v, s))

    def wrap(self, tx: Evaluator | None, value: Any, source: Source | None) -> VariableTracker:
        """The tracker of ``value`` read from ``source``; for values without one there is ``constant_object``."""
        known = self.stand_ins.get(id(value))
        if known is not None:
            return known[1]
        if source is None:
            raise InternalError(f"a {type(value).__name__} without a source reached the builder")
        if self.output.is_finished:
            raise InternalError(f"{source.text} was read when no trace is active")
        known = self.by_source.get(source)
        if known is not None and known[0] is value:
            return known[1]
        tracker = self._made(value, source)
        self.by_source[source] = (value, tracker)
        return tracker

    def _made(self, value: Any, source: Source) -> VariableTracker:
        make = _BY_TYPE.get(type(value))
        if make is not None:
            return make(self, value, source)
        for applies, make in _BY_TEST:
            if applies(value):
                return make(self, value, source)
        return self._object(value, source)

    def constant_object(self, tx: Evaluator | None, value: Any) -> VariableTracker:
        """The tracker of an object that the entry itself holds (a class's method, an imported module)."""
        if type(value) in LITERALS or (isinstance(value, np.dtype) and value.metadata is None):
            return Constant(value)
        return self.wrap(tx, value, self.output.constant_source(value, own_name(value)))

    def class_entry(self, tx: Evaluator, cls: type, name: str, entry: Any) -> VariableTracker:
        """What the dict of a class of ``cls``'s MRO holds under ``name``; the caller has guarded the lookup."""
        if type(entry) in LITERALS:
            return Constant(entry)
        if type(entry) is FunctionType:
            return self.constant_object(tx, entry)
        owner = next(base for base in cls.__mro__ if name in base.__dict__)
        held = self.output.constant_source(owner, owner.__name__)
        return self.wrap(tx, entry, EntrySource(held, name))

    def pending_in_class(self, cls: type, name: str) -> VariableTracker | None:
        """What this trace has set as ``cls.name``, on ``cls`` itself or the base that is asked first."""
        for base in cls.__mro__ if self.class_writes else ():
            if (base, name) in self.class_writes:
                return self.class_writes[base, name]
            if name in base.__dict__:
                return None
        return None

    # -- names
    def global_name(self, tx: Evaluator, name: str) -> VariableTracker:
        """A global or builtin; the absence of a global that would hide a builtin is guarded (B46)."""
        pending = self.pending_globals.get((tx.namespace, name), MISSING)
        if isinstance(pending, VariableTracker):
            return tx.realize(pending)
        if pending is MISSING and name in tx.globals:
            return self.wrap(tx, tx.globals[name], GlobalSource(name, tx.namespace))
        scope = builtins_in(tx.globals)
        found = scope.get(name, MISSING)
        if found is MISSING:
            self.guard_undefined(name, tx.globals if pending is MISSING else None, scope)
            raise python_error(NameError, f"name {name!r} is not defined", name=name)
        source = GlobalSource(name, "B" if scope is vars(builtins) else self.namespace(scope))
        self.output.guards.add(_not_hidden(source, name, tx.namespace))
        return self.wrap(tx, found, source)

    def guard_undefined(self, name: str, globals_: dict[str, Any] | None, scope: dict[str, Any]) -> None:
        """A name that nothing has: neither the globals (None if the trace itself deleted it there) nor the builtins."""
        for what, label, held in (("global", "globals()", globals_), ("builtin", "builtins", scope)):
            if held is not None:
                source = self.output.constant_source(held, label)
                self.output.guards.add(undefined_guard(source, name, what))

    def store_global(self, tx: Evaluator, name: str, value: VariableTracker | None) -> None:
        self.pending_globals[tx.namespace, name] = value
        self.output.add_effect(GlobalEffect(tx.namespace, name, value, span=tx.span))

    def namespace(self, globals_: dict[str, Any]) -> str:
        """The generated program's name for another module's globals."""
        return self.output.constant_source(globals_).code("")

    # -- functions
    def defaults_of(
        self, tx: Evaluator, tracker: FunctionTracker
    ) -> tuple[list[VariableTracker], dict[str, VariableTracker]]:
        """Defaults read through their own sources, so that a new default is noticed (B45)."""
        function = tracker.face
        source = tracker.source or self.output.constant_source(function)
        defaults = function.__defaults__ or ()
        kwdefaults = function.__kwdefaults__ or {}
        if tracker.source is not None:
            self.output.guards.add(
                guard.defaults_guard(source, function.__qualname__, len(defaults), tuple(kwdefaults))
            )
        positional = AttributeSource(source, "__defaults__")
        named = AttributeSource(source, "__kwdefaults__")
        return (
            [self.lazy(v, ItemSource(positional, i)) for i, v in enumerate(defaults)],
            {k: self.lazy(v, ItemSource(named, k)) for k, v in kwdefaults.items()},
        )

    def closure_of(self, tx: Evaluator, tracker: FunctionTracker) -> dict[str, Cell]:
        """The cells of a function, shared between everything that closes over them."""
        function = tracker.function
        source = tracker.source or self.output.constant_source(function)
        names = function.__code__.co_freevars
        cells = function.__closure__ or ()
        return {
            name: self.real_cell(cell, CellSource(source, index, name), f"{source.expression}.__closure__[{index}]")
            for index, (name, cell) in enumerate(zip(names, cells, strict=True))
        }

    def real_cell(self, cell: CellType, source: ClosureSource | CellSource, code: str) -> Cell:
        """The tracker of a cell that existed before the call."""
        known = self.closures.get(id(cell))
        if known is not None:
            return known
        try:
            content: VariableTracker | None = self.lazy(cell.cell_contents, source)
        except ValueError:
            content = None
            self.output.guards.add(guard.empty_cell_guard(source))
        tracker = Cell(getattr(source, "name", "cell"), content, cell)
        tracker.code = code
        self.closures[id(cell)] = tracker
        return tracker

    def tensor(self, value: Recorded, source: Source) -> VariableTracker:
        """A Tensor: an array, if whoever runs the graph looks after its history."""
        if not self.output.options.tensors or not isinstance(value._values, np.ndarray):
            return wrap_tensor(self, value, source)
        for each in (guard.type_guard(source, type(value)), *tensor_guards(source, value)):
            self.output.guards.add(each)
        array = self.output.known(value._values, source)
        array = array or self.free_array(value._values, source, DictSource(source, "_values"))
        if isinstance(array, ArrayTracker):
            self.output.counted_tensors.add(array.node)
        return array

    # -- families
    def sequence(self, value: tuple[Any, ...], source: Source) -> VariableTracker:
        kind = type(value)
        if not is_held(source):
            self.output.guards.add(guard.length_guard(source, kind, len(value)))
        items = [self.lazy(v, ItemSource(source, i)) for i, v in enumerate(value)]
        if kind is tuple:
            return TupleTracker(items, source)
        self.guard_special_methods(kind)
        return NamedTupleTracker(kind, items, source)

    def mapping(self, value: dict[Any, Any], source: Source) -> VariableTracker:
        known = self.output.known(value, source)
        if known is not None:
            return known
        keys = tuple(value)
        if not all(is_key(k) for k in keys):
            return self._opaque(value, source, "subscript", f"{source.text}, whose keys are no plain values")
        self.output.guards.add(guard.keys_guard(source, type(value), keys))
        items = {k: self._entry(source, k, v) for k, v in value.items()}
        factory = getattr(value, "default_factory", None)
        wrapped = self.lazy(factory, AttributeSource(source, "default_factory")) if factory is not None else None
        tracker = DictTracker(items, source, type(value), wrapped)
        tracker.order_read = lambda: self.output.guards.add(key_order_guard(source, keys))
        self.output.track(value, tracker)
        return tracker

    def _entry(self, source: Source, key: Any, value: Any) -> VariableTracker:
        if type(key) in LITERALS:
            return self.lazy(value, ItemSource(source, key))
        return self.lazy(value, ItemSource(source, self.output.named_constant(key)))

    def set(self, value: Any, source: Source) -> VariableTracker:
        if not all(is_key(v) for v in value):
            return self._opaque(value, source, "subscript", f"{source.text}, whose members are no plain values")
        known = self.output.known(value, source)
        if known is not None:
            return known
        self.output.guards.add(guard.set_guard(source, value))
        tracker = SetTracker(value, source, type(value))
        members = tuple(value)
        tracker.order_read = lambda: self.output.guards.add(member_order_guard(source, members))
        self.output.track(value, tracker)
        return tracker

    def slice(self, value: slice, source: Source) -> VariableTracker:
        self.output.guards.add(guard.type_guard(source, slice))
        parts = [self.lazy(getattr(value, n), AttributeSource(source, n)) for n in ("start", "stop", "step")]
        return SliceTracker(parts, source)

    def range(self, value: range, source: Source) -> VariableTracker:
        self.output.guards.add(guard.type_guard(source, range))
        parts = [self.wrap(None, getattr(value, n), AttributeSource(source, n)) for n in ("start", "stop", "step")]
        tracker = RangeTracker(*parts)
        tracker.source = source
        return tracker

    def function(self, value: FunctionType, source: Source) -> VariableTracker:
        """A Python function: its code and globals are guarded, defaults and cells when they are read."""
        plain = plain_function(value)
        if plain is not None:
            for each in guard.function_guards(source, value):  # its code is the way to the handle
                self.output.guards.add(each)
            self.function(plain, AttributeSource(AttributeSource(source, "jit"), "plain"))
            return FunctionTracker(plain, source, face=value)
        if is_numpy(value) or lookup(value) is not None:  # a row of NumPy's, or one of our own
            self.output.guards.add(guard.identity_guard(source, value, "FUNCTION_MATCH"))
            return NumpyFunction(value, source)
        for each in guard.function_guards(source, value):
            self.output.guards.add(each)
        if is_substituted(value):
            return self._substitute(value)
        meant = traced_form(value)
        return FunctionTracker(value, source) if meant is value else FunctionTracker(meant, None)

    def _substitute(self, value: Any) -> VariableTracker:
        """What the user wants traced in place of a function; that it still is so is guarded (B50)."""
        by, name = substitutes[value], getattr(value, "__name__", "a function")
        self.output.guards.add(
            guard.expression_guard(
                "FUNCTION_MATCH",
                self.output.constant_source(substitutes, "substitutes"),
                "{v}.get({k}[0]) is {k}[1]",
                getattr(by, "__name__", "a function"),
                "{v}.get({k}[0])",
                constant=(value, by),
                about=f"what stands for {name}",
            )
        )
        return self.constant_object(None, by)

    def method(self, value: MethodType, source: Source) -> VariableTracker:
        self.output.guards.add(guard.type_guard(source, MethodType))
        function = self.wrap(None, value.__func__, AttributeSource(source, "__func__"))
        return BoundMethod(function, self.wrap(None, value.__self__, AttributeSource(source, "__self__")), source)

    def partial(self, value: functools.partial[Any], source: Source) -> VariableTracker:
        self.output.guards.add(guard.type_guard(source, functools.partial))
        function = self.wrap(None, value.func, AttributeSource(source, "func"))
        args = self.wrap(None, value.args, AttributeSource(source, "args"))
        named = self.wrap(None, value.keywords, AttributeSource(source, "keywords"))
        if not isinstance(args, TupleTracker) or not isinstance(named, DictTracker):
            raise InternalError("functools.partial holds neither a tuple nor a dict")
        return PartialTracker(function, args.items, dict(named.items), source)

    def generator(self, value: Any, source: Source) -> VariableTracker:
        """A random generator: an input of the graph, whichever it is."""
        known = self.output.known(value, source)
        if known is not None:
            return known
        kind = type(value)
        self.output.guards.add(guard.type_guard(source, kind))
        tracker = GeneratorTracker(self.output.add_input(source, PyMeta(kind), value), kind, source, value)
        self.output.track(value, tracker)
        return tracker

    def numba_ufunc(self, value: Any, source: Source) -> VariableTracker:
        """What ``numba.vectorize`` made."""
        if not is_held(source):
            self.output.guards.add(guard.identity_guard(source, value, "FUNCTION_MATCH"))
        return NumbaUfunc(value, source)

    def callable(self, value: Any, source: Source) -> VariableTracker:
        if not is_held(source):
            self.output.guards.add(guard.identity_guard(source, value, "BUILTIN_MATCH"))
        if is_substituted(value):
            return self._substitute(value)
        return NumpyFunction(value, source) if is_numpy(value) else CallableTracker(value, source)

    def ufunc(self, value: Any, source: Source) -> VariableTracker:
        return (wrap_python_ufunc if is_python_ufunc(value) else Builder.callable)(self, value, source)

    def module(self, value: ModuleType, source: Source) -> VariableTracker:
        if not is_held(source):
            self.output.guards.add(guard.identity_guard(source, value, "PYMODULE_MATCH"))
        if value.__name__.partition(".")[0] not in _LASTING_MODULES:
            self.output.guards.add(guard.type_guard(source, ModuleType))
        return ModuleTracker(value, source)

    def cls(self, value: type, source: Source) -> VariableTracker:
        if not is_held(source):
            self.output.guards.add(guard.identity_guard(source, value))
        self.guard_special_methods(type(value))
        return ClassTracker(value, source)

    def identical(self, value: Any, source: Source) -> VariableTracker:
        """Enum members, dtypes and the like: constants by identity."""
        if not is_held(source):
            self.output.guards.add(guard.identity_guard(source, value))
        if issubclass(type(value), enum.Enum):
            self.guard_special_methods(type(value))
            return EnumMember(type(value), value, source)
        return Constant(value, source)

    def dtype(self, value: np.dtype[Any], source: Source) -> VariableTracker:
        if not is_held(source):
            self.output.guards.add(guard.dtype_value_guard(source, value))
        if value.metadata is not None:
            return OpaqueTracker(value, source, "dtype", dtype_text(value))
        return Constant(value, source)

    def iterator(self, value: Any, source: Source) -> VariableTracker:
        return self._opaque(value, source, "iterate", source.text)

    def _object(self, value: Any, source: Source) -> VariableTracker:
        known = self.output.known(value, source)
        if known is not None:
            return known
        cls = type(value)
        if issubclass(cls, np.ndarray):
            return self._opaque(value, source, "array-subclass", cls.__name__)
        if home(cls) in ("builtins", "_thread", "_io") or issubclass(cls, LITERALS + _CONTAINERS):
            return self._opaque(value, source, "attribute", f"{source.text} (a {cls.__name__})")
        self.output.guards.add(guard.type_guard(source, cls))
        tracker = ObjectTracker(cls, value, source)
        self.output.track(value, tracker)
        return tracker

    def _opaque(self, value: Any, source: Source, code: str, detail: str) -> VariableTracker:
        self.output.guards.add(guard.type_guard(source, type(value)))
        return OpaqueTracker(value, source, code, detail)


# Whose modules stay plain modules: others may be given a class with properties.
_LASTING_MODULES = sys.stdlib_module_names | {"numpy", "scipy"}
_CONTAINERS: tuple[type, ...] = (list, tuple, dict, set, frozenset, collections.deque)


def _not_hidden(source: GlobalSource, name: str, namespace: str) -> Guard:
    """``namespace`` is ``G`` or, for a function of another module, a constant of the entry."""
    others = () if namespace == "G" else (ConstantSource(int(namespace[1:])),)
    return Guard(
        "BUILTIN_MATCH",
        source,
        f"{name!r} not in {'{v1}' if others else namespace}",
        "absent",
        f"{namespace}[{name!r}]",
        about=f"a global named {name}",
        others=others,
        remedy=f"do not define a global called {name}",
        form=("not in", name, namespace),
    )


Make = Callable[[Builder, Any, Source], VariableTracker]
_BY_TYPE: Mapping[type, Make] = {
    np.ndarray: Builder.array,
    type(None): Builder.literal,
    bool: Builder.literal,
    complex: Builder.complex_number,
    str: Builder.literal,
    bytes: Builder.literal,
    type(Ellipsis): Builder.literal,
    type(NotImplemented): Builder.literal,
    int: Builder.integer,
    float: Builder.floating,
    tuple: Builder.sequence,
    list: wrap_list,
    dict: Builder.mapping,
    collections.OrderedDict: Builder.mapping,
    collections.defaultdict: Builder.mapping,
    collections.Counter: Builder.mapping,
    State: wrap_state,
    collections.deque: wrap_deque,
    set: Builder.set,
    frozenset: Builder.set,
    slice: Builder.slice,
    range: Builder.range,
    FunctionType: Builder.function,
    MethodType: Builder.method,
    functools.partial: Builder.partial,
    cache_wrapper: wrap_cached,
    types.BuiltinFunctionType: Builder.callable,
    types.MethodDescriptorType: Builder.callable,
    types.WrapperDescriptorType: Builder.callable,
    ModuleType: Builder.module,
    types.UnionType: Builder.identical,
    np.ufunc: Builder.ufunc,
    **dict.fromkeys(GENERATORS, Builder.generator),
}
_BY_TEST: tuple[tuple[Callable[[Any], bool], Make], ...] = (
    (is_a(Module), wrap_module),
    (is_a(Recorded), Builder.tensor),
    (is_a(type), Builder.cls),
    (is_a(np.generic), Builder.scalar),
    (is_a(np.dtype), Builder.dtype),
    (is_a(enum.Enum), Builder.identical),
    (is_named_tuple, Builder.sequence),
    (is_vectorize, wrap_vectorize),
    (is_numpy, Builder.callable),
    (is_numba_ufunc, Builder.numba_ufunc),
)
