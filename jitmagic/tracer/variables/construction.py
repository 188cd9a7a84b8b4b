"""Takes a class and arguments, gives what the call gives: an instance, an exception, a named tuple, an enum member."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards.naming import home
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import run
from jitmagic.tracer.variables.descriptors import find_in_class
from jitmagic.tracer.variables.exceptions import construct_exception, is_exception_class
from jitmagic.tracer.variables.functions import FunctionTracker
from jitmagic.tracer.variables.modules import NNModuleTracker
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker, is_named_tuple_class, is_stock
from jitmagic.tracer.variables.objects import ObjectTracker
from jitmagic.tracer.variables.stock_methods import is_plain_module_class

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["bare_instance", "construct", "construct_plainly"]

Args = Sequence[VariableTracker]
Named = dict[str, VariableTracker]


def construct(tx: Evaluator, cls: type, args: Args, kwargs: Named) -> VariableTracker:
    """``cls(*args, **kwargs)``."""
    for applies, make in _FAMILIES:
        if applies(cls):
            return make(tx, cls, args, kwargs)
    rule = find_in_class(type(cls), "__call__")
    tx.output.builder.guard_metaclass(cls, "__call__")
    if isinstance(rule, FunctionType):
        held = tx.output.builder.constant_object
        return held(tx, rule).call(tx, [held(tx, cls), *args], kwargs)
    if rule is not type.__dict__["__call__"]:
        raise Unsupported("call", f"{cls.__name__}()")
    return construct_plainly(tx, cls, args, kwargs)


def construct_plainly(tx: Evaluator, cls: type, args: Args, kwargs: Named) -> VariableTracker:
    """``type.__call__(cls, *args, **kwargs)``: by ``__new__`` and ``__init__``."""
    if getattr(cls, "__abstractmethods__", None):
        return _refuse_abstract(tx, cls, is_bare=not args and not kwargs)
    new = find_in_class(cls, "__new__")
    for name in ("__new__", "__init__"):
        tx.output.builder.guard_held_class(cls, name)
    if new is object.__new__:
        made: VariableTracker = bare_instance(tx, cls)
    elif is_plain_module_class(cls):
        made = NNModuleTracker(cls, None, None)
    elif isinstance(new, staticmethod) and isinstance(new.__func__, FunctionType):
        builder = tx.output.builder
        made = tx.realize(
            builder.constant_object(tx, new.__func__).call(tx, [builder.constant_object(tx, cls), *args], kwargs)
        )
        if not issubclass(made.python_type(), cls):
            return made
    else:
        raise Unsupported("call", f"{cls.__name__}()")
    _initialise(tx, cls, made, args, kwargs, has_own_new=new is not object.__new__)
    return made


def _refuse_abstract(tx: Evaluator, cls: Any, *, is_bare: bool) -> VariableTracker:
    """The error of a class with methods that are only declared."""
    for name in ("__new__", "__init__", "__abstractmethods__"):
        tx.output.builder.guard_held_class(cls, name)
    if find_in_class(cls, "__new__") is not object.__new__ or (cls.__init__ is object.__init__ and not is_bare):
        raise Unsupported("call", f"{cls.__name__}()")
    return run(lambda: object.__new__(cls))


def bare_instance(tx: Evaluator, cls: type) -> ObjectTracker:
    """``object.__new__(cls)``."""
    tx.output.builder.guard_held_class(cls, "__del__")
    if home(cls) == "builtins" or hasattr(cls, "__del__") or issubclass(type(cls), enum.EnumType):
        raise Unsupported("call", f"{cls.__name__}()")
    return ObjectTracker(cls, None, None)


def _initialise(
    tx: Evaluator, cls: type, made: VariableTracker, args: Args, kwargs: Named, *, has_own_new: bool
) -> None:
    init = find_in_class(cls, "__init__")
    if init is object.__init__:
        if (args or kwargs) and not has_own_new:
            raise python_error(TypeError, f"{cls.__name__}() takes no arguments")
        return
    if not isinstance(init, FunctionType):
        raise Unsupported("call", f"{cls.__name__}()")
    result = tx.output.builder.class_entry(tx, cls, "__init__", init).call(tx, [made, *args], kwargs)
    if not (result.is_constant and result.constant() is None):
        raise python_error(TypeError, f"__init__() should return None, not {result.python_type().__name__!r}")


def _named_tuple(tx: Evaluator, cls: Any, args: Args, kwargs: Named) -> VariableTracker:
    builder = tx.output.builder
    builder.guard_special_methods(cls)
    builder.guard_held_class(cls, "_fields")
    fields: tuple[str, ...] = cls._fields
    values = dict(zip(fields, args, strict=False))
    wrong = len(args) > len(fields) or any(k in values or k not in fields for k in kwargs)
    values.update(kwargs)
    defaults, _ = builder.defaults_of(tx, FunctionTracker(cls.__new__, builder.output.constant_source(cls.__new__)))
    for name, default in zip(reversed(fields), reversed(defaults), strict=False):
        values.setdefault(name, tx.realize(default))
    if wrong or len(values) < len(fields):
        raise Unsupported("call", f"{cls.__name__}() with these arguments")
    return NamedTupleTracker(cls, [values[name] for name in fields])


def _is_plain_named_tuple(cls: Any) -> bool:
    return is_named_tuple_class(cls) and is_stock(cls)


def _enum(tx: Evaluator, cls: Any, args: Args, kwargs: Named) -> VariableTracker:
    """A member by its value."""
    tx.output.builder.guard_special_methods(cls)
    if len(args) == 1 and not kwargs and args[0].is_constant:
        found = next((m for m in cls.__members__.values() if m is args[0].constant() or _is_value(m, args[0])), None)
        if found is not None:
            return tx.output.builder.constant_object(tx, found)
        if getattr(cls._missing_, "__func__", None) in _STOCK_MISSING:  # an error, or several flags together
            return run(lambda: cls(args[0].constant()))
    raise Unsupported("call", f"{cls.__name__}()")


_STOCK_MISSING = tuple(vars(kind)["_missing_"].__func__ for kind in (enum.Enum, enum.Flag))


def _is_value(member: Any, value: VariableTracker) -> bool:
    known = value.constant()
    return type(member._value_) is type(known) and bool(member._value_ == known)


def _namespace(tx: Evaluator, cls: type, args: Args, kwargs: Named) -> VariableTracker:
    if args:
        raise Unsupported("call", "SimpleNamespace() with positional arguments")
    made = ObjectTracker(cls, None, None)
    made.pending.update(kwargs)
    return made


_FAMILIES: tuple[tuple[Callable[[type], bool], Callable[[Evaluator, Any, Args, Named], VariableTracker]], ...] = (
    (is_exception_class, construct_exception),
    (_is_plain_named_tuple, _named_tuple),
    (lambda cls: issubclass(cls, enum.Enum), _enum),
    (lambda cls: cls is SimpleNamespace, _namespace),
)
