"""The methods that ``@dataclass`` generates: they have no source text, their meaning stands in the fields."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.binding import bind_arguments
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.deferred import joined
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["generated_method", "refuse_frozen"]

Method = Callable[..., VariableTracker]


def is_generated(cls: Any, name: str) -> bool:
    """Whether the entry ``name`` of this very class was written by ``@dataclass``."""
    entry = cls.__dict__.get(name)
    plain = getattr(entry, "__wrapped__", entry)  # __repr__ is wrapped against recursion
    if not dataclasses.is_dataclass(cls) or not isinstance(plain, FunctionType):
        return False
    return plain.__code__.co_qualname == f"__create_fn__.<locals>.{name}"


def refuse_frozen(cls: type, name: str, verb: str) -> bool:
    """Raise what a frozen dataclass raises for a write; False if the class has rules of its own."""
    what = "__delattr__" if verb == "delete" else "__setattr__"
    owner = next(base for base in cls.__mro__ if what in base.__dict__)
    if not is_generated(owner, what):
        return False
    fields = {f.name for f in dataclasses.fields(owner)}
    if cls is owner or name in fields:
        raise python_error(dataclasses.FrozenInstanceError, f"cannot {verb} field {name!r}")
    raise Unsupported("store", f"{name} of a {cls.__name__}")


def generated_method(
    tx: Evaluator, function: Any, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker | None:
    """A call of a function that ``@dataclass`` has written; None if ``function`` is another one."""
    plain: FunctionType = function.function
    inner: Any = getattr(plain, "__wrapped__", plain)  # __repr__ is wrapped against recursion
    if not args or not isinstance(inner, FunctionType):
        return None
    if not inner.__code__.co_qualname.startswith("__create_fn__."):
        return None
    for cls in args[0].python_type().__mro__:
        for name, method in _METHODS.items():
            if cls.__dict__.get(name) is plain and is_generated(cls, name):
                return method(tx, cls, function, args, kwargs)
    return None


def _init(
    tx: Evaluator, cls: Any, function: Any, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """Fields in order, each from its argument, its default or its factory; then ``__post_init__``."""

    plain = function.function
    defaults, kwdefaults = tx.output.builder.defaults_of(tx, function)
    bound = bind_arguments(plain.__qualname__, plain.__code__, args, kwargs, defaults, kwdefaults)
    passed_on: list[VariableTracker] = []
    for field in cls.__dataclass_fields__.values():
        kind = field._field_type.name
        if kind == "_FIELD_INITVAR":
            passed_on.append(bound[field.name])
        elif kind == "_FIELD":
            value = _value_of(tx, field, bound)
            if value is not None:
                _set(tx, cls, args[0], field.name, value)
    if hasattr(cls, "__post_init__"):
        tx.realize(args[0].attribute(tx, "__post_init__")).call(tx, passed_on, {})
    return Constant(None)


def _value_of(
    tx: Evaluator, field: dataclasses.Field[Any], bound: dict[str, VariableTracker]
) -> VariableTracker | None:
    has_factory = field.default_factory is not dataclasses.MISSING
    given = bound.get(field.name) if field.init else None
    if given is not None and not (has_factory and getattr(given, "value", None) is _NOT_GIVEN):
        return given
    if has_factory:
        return tx.realize(tx.output.builder.constant_object(tx, field.default_factory).call(tx, [], {}))
    return None


_NOT_GIVEN: Any = dataclasses._HAS_DEFAULT_FACTORY  # type: ignore[attr-defined] # the default of such parameters


def _set(tx: Evaluator, cls: Any, receiver: Any, name: str, value: VariableTracker) -> None:
    if cls.__dataclass_params__.frozen:
        receiver.store(tx, name, value)
    else:
        receiver.set_attribute(tx, name, value)


def _compared(tx: Evaluator, cls: Any, value: VariableTracker) -> list[VariableTracker]:
    names = [f.name for f in dataclasses.fields(cls) if f.compare]
    return [tx.realize(value.attribute(tx, n)) for n in names]


def _eq(
    tx: Evaluator, cls: Any, function: Any, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """Fields one by one from Python 3.13 on, as two tuples before."""

    left, right = args
    if left.python_type() is not right.python_type():
        return Constant(NotImplemented)
    pairs = _compared(tx, cls, left), _compared(tx, cls, right)
    if sys.version_info < (3, 13):
        return tx.language.compare(tx, "eq", TupleTracker(pairs[0]), TupleTracker(pairs[1]))
    if left is right:
        return Constant(True)
    result: VariableTracker = Constant(True)
    for a, b in zip(*pairs, strict=True):
        result = tx.language.compare(tx, "eq", a, b)
        if not tx.truth(result):
            return result
    return result


def _order(name: str) -> Method:
    def method(
        tx: Evaluator, cls: Any, function: Any, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:

        left, right = args
        if left.python_type() is not right.python_type():
            return Constant(NotImplemented)
        return tx.language.compare(
            tx, name, TupleTracker(_compared(tx, cls, left)), TupleTracker(_compared(tx, cls, right))
        )

    return method


def _repr(
    tx: Evaluator, cls: Any, function: Any, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:

    names = [f.name for f in dataclasses.fields(cls) if f.repr]
    texts = [tx.language.repr_text(tx, tx.realize(args[0].attribute(tx, n))) for n in names]
    pairs = [part for n, text in zip(names, texts, strict=True) for part in (Constant(f", {n}="), text)]
    first = [Constant(f"{names[0]}=")] if names else []
    return joined([Constant(f"{args[0].python_type().__qualname__}("), *first, *pairs[1:], Constant(")")])


def _hash(
    tx: Evaluator, cls: Any, function: Any, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    names = [f.name for f in dataclasses.fields(cls) if (f.compare if f.hash is None else f.hash)]
    return Constant(hash(tuple(tx.realize(args[0].attribute(tx, n)).constant() for n in names)))


_METHODS: dict[str, Method] = {
    "__init__": _init,
    "__eq__": _eq,
    "__repr__": _repr,
    "__hash__": _hash,
    **{f"__{name}__": _order(name) for name in ("lt", "le", "gt", "ge")},
}
