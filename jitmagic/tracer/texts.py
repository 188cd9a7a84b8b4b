"""What ``str``, ``repr`` and ``format`` give for trackers; refused where the text depends on the data of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards.holding import is_library
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.descriptors import find_in_class
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker, has_stock_text
from jitmagic.tracer.variables.number import RunTimeNumber
from jitmagic.tracer.variables.objects import ObjectTracker
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker, SliceTracker, TupleTracker
from jitmagic.tracer.variables.sets import SetTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["format_text", "repr_text", "str_text"]


def str_text(tx: Evaluator, value: VariableTracker) -> str:
    """``str(value)``."""
    value = tx.realize(value)
    if isinstance(value, ObjectTracker):
        own = value.guarded_entry(tx, "__str__")
        return repr_text(tx, value) if own is object.__str__ else _by_method(tx, value, "__str__")
    if isinstance(value, Constant) and not isinstance(value.value, str | bytes):
        return _real(lambda: str(value.value))
    return value.value if isinstance(value, Constant) and type(value.value) is str else repr_text(tx, value)


def repr_text(tx: Evaluator, value: VariableTracker) -> str:
    """``repr(value)``."""
    value = tx.realize(value)
    if isinstance(value, ObjectTracker):
        return _by_method(tx, value, "__repr__")
    write = _REPR.get(type(value))
    if write is not None:
        return write(tx, value)
    if isinstance(value, RunTimeNumber) or not value.is_constant:
        raise Unsupported("data-number", f"the text of {value.describe()}")
    known = value.constant()
    return _real(lambda: repr(known))


def format_text(tx: Evaluator, value: VariableTracker, spec: str) -> str:
    """``format(value, spec)``."""
    value = tx.realize(value)
    if isinstance(value, ObjectTracker):
        method = value.class_attribute(tx, "__format__")
        if value.guarded_entry(tx, "__format__") is not object.__format__ and method is not None:
            return _known(tx, method.call(tx, [value, Constant(spec)], {}), value)
        if not spec:
            return str_text(tx, value)
        raise python_error(TypeError, f"unsupported format string passed to {value.cls.__name__}.__format__")
    if isinstance(value, ListTracker | TupleTracker | DictTracker | SetTracker):
        if spec:
            name = value.python_type().__name__
            raise python_error(TypeError, f"unsupported format string passed to {name}.__format__")
        return str_text(tx, value)
    if isinstance(value, RunTimeNumber) or not value.is_constant:
        raise Unsupported("data-number", f"the text of {value.describe()}")
    known = value.constant()
    return _real(lambda: format(known, spec))


def _by_method(tx: Evaluator, value: ObjectTracker, name: str) -> str:
    method = value.class_attribute(tx, name)
    if method is None or value.guarded_entry(tx, name) in (object.__repr__, object.__str__):
        raise Unsupported("call", f"the text of {value.describe()}, which shows its address")
    return _known(tx, method.call(tx, [value], {}), value)


def _known(tx: Evaluator, text: VariableTracker, value: VariableTracker) -> str:
    text = tx.realize(text)
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        raise Unsupported("call", f"the text of {value.describe()}")
    return text.value


def _real(compute: Callable[[], str]) -> str:
    try:
        return compute()
    except Exception as error:
        raise Raised(error) from None


def _tuple(tx: Evaluator, value: TupleTracker) -> str:
    inner = ", ".join(repr_text(tx, v) for v in value.items)
    return f"({inner},)" if len(value.items) == 1 else f"({inner})"


def _named_tuple(tx: Evaluator, value: NamedTupleTracker) -> str:
    if not has_stock_text(value.cls):
        raise Unsupported("call", f"the text of a {value.cls.__name__}")
    fields: Any = value.cls._fields  # type: ignore[attr-defined] # a named tuple has them
    inner = ", ".join(f"{n}={repr_text(tx, v)}" for n, v in zip(fields, value.items, strict=True))
    return f"{value.cls.__name__}({inner})"


def _dict(tx: Evaluator, value: DictTracker) -> str:
    if value.cls is not dict:
        raise Unsupported("call", f"the text of a {value.cls.__name__}")
    value.note_order()
    inner = ", ".join(f"{repr_text(tx, value.key(k))}: {repr_text(tx, v)}" for k, v in value.items.items())
    return f"{{{inner}}}"


def _set(tx: Evaluator, value: SetTracker) -> str:
    if len(value.values) > 1:
        raise Unsupported("call", "the text of a set, whose order differs from run to run")
    return repr(value.constant())


def _class(tx: Evaluator, value: ClassTracker) -> str:
    if find_in_class(type(value.value), "__repr__") is not type.__repr__ and not is_library(type(value.value)):
        raise Unsupported("call", f"the text of {value.describe()}")
    return repr(value.value)


_REPR: dict[type, Callable[[Any, Any], str]] = {
    TupleTracker: _tuple,
    NamedTupleTracker: _named_tuple,
    ListTracker: lambda tx, value: f"[{', '.join(repr_text(tx, v) for v in value.items)}]",
    DictTracker: _dict,
    SetTracker: _set,
    SliceTracker: lambda tx, value: f"slice({', '.join(repr_text(tx, v) for v in value.parts)})",
    RangeTracker: lambda tx, value: repr(value.constant()),
    ClassTracker: _class,
}
