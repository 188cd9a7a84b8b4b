"""What ``str``, ``repr`` and ``format`` give for trackers: texts that are known, or made after the graph has run."""

from __future__ import annotations

import itertools
import string
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.guards.holding import is_library
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.callables import ClassTracker
from jitmagic.tracer.variables.constant import Constant, register_text_method, run
from jitmagic.tracer.variables.deferred import Deferred, DeferredText, joined, joined_by, text_from
from jitmagic.tracer.variables.descriptors import find_in_class
from jitmagic.tracer.variables.enums import EnumMember
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker, has_stock_text
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.objects import ObjectTracker
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker, SliceTracker, TupleTracker
from jitmagic.tracer.variables.sets import SetTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["ascii_text", "enclosed", "format_text", "repr_text", "str_text"]

RUN_TIME = (RunTimeNumber, SymbolicInt, ArrayTracker, Deferred)  # values whose texts are made after the graph


def str_text(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """``str(value)``."""
    value = _known_member(tx.realize(value))
    if isinstance(value, ObjectTracker):
        own = value.guarded_entry(tx, "__str__")
        return repr_text(tx, value) if own is object.__str__ else _by_method(tx, value, "__str__")
    if isinstance(value, Constant):
        known = value.value
        return value if type(known) is str else _real(lambda: str(known))
    if isinstance(value, DeferredText):
        return value
    return text_from(tx, "str", value) if isinstance(value, RUN_TIME) else repr_text(tx, value)


def repr_text(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """``repr(value)``."""
    value = _known_member(tx.realize(value))
    if isinstance(value, ObjectTracker):
        return _by_method(tx, value, "__repr__")
    write = _REPR.get(type(value))
    if write is not None:
        return write(tx, value)
    if isinstance(value, RUN_TIME):
        return text_from(tx, "repr", value)
    if not value.is_constant:
        raise Unsupported("data-number", f"the text of {value.describe()}")
    known = value.constant()
    return _real(lambda: repr(known))


def ascii_text(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """``ascii(value)``."""
    text = repr_text(tx, value)
    if isinstance(text, Constant):
        return Constant(text.value.encode("ascii", "backslashreplace").decode("ascii"))
    return DeferredText("{0}.encode('ascii', 'backslashreplace').decode('ascii')", [text])


def format_text(tx: Evaluator, value: VariableTracker, spec: str) -> VariableTracker:
    """``format(value, spec)``."""
    value = _known_member(tx.realize(value))
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
    if isinstance(value, RUN_TIME):
        return text_from(tx, "format", value, spec)
    if not value.is_constant:
        raise Unsupported("data-number", f"the text of {value.describe()}")
    known = value.constant()
    return _real(lambda: format(known, spec))


def _known_member(value: VariableTracker) -> VariableTracker:
    """A member of an enum with the texts of Python's own classes is shown as it is."""
    return Constant(value.value) if isinstance(value, EnumMember) and value.is_stock else value


def _by_method(tx: Evaluator, value: ObjectTracker, name: str) -> VariableTracker:
    method = value.class_attribute(tx, name)
    if method is None or value.guarded_entry(tx, name) in (object.__repr__, object.__str__):
        raise Unsupported("call", f"the text of {value.describe()}, which shows its address")
    return _known(tx, method.call(tx, [value], {}), value)


def _known(tx: Evaluator, text: VariableTracker, value: VariableTracker) -> VariableTracker:
    text = tx.realize(text)
    if isinstance(text, DeferredText):
        return text
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        raise Unsupported("call", f"the text of {value.describe()}")
    return Constant(text.value)


def _real(compute: Callable[[], str]) -> VariableTracker:
    try:
        return Constant(compute())
    except Exception as error:
        raise Raised(error) from None


def enclosed(tx: Evaluator, before: str, items: Sequence[str | VariableTracker], after: str) -> VariableTracker:
    """``before``, the parts of the items, and ``after``; a part is text, or a value whose ``repr`` is meant."""
    parts = [Constant(p) if isinstance(p, str) else repr_text(tx, p) for p in (before, *items, after)]
    return joined(parts)


def separated(items: Iterable[VariableTracker]) -> list[str | VariableTracker]:
    """The items with a comma between them."""
    return [part for item in items for part in (", ", item)][1:]


def _tuple(tx: Evaluator, value: TupleTracker) -> VariableTracker:
    return enclosed(tx, "(", separated(value.items), ",)" if len(value.items) == 1 else ")")


def _named_tuple(tx: Evaluator, value: NamedTupleTracker) -> VariableTracker:
    if not has_stock_text(value.cls):
        raise Unsupported("call", f"the text of a {value.cls.__name__}")
    fields: Any = value.cls._fields  # type: ignore[attr-defined] # a named tuple has them
    return enclosed(tx, f"{value.cls.__name__}(", _named(zip(fields, value.items, strict=True)), ")")


def _named(pairs: Iterable[tuple[str, VariableTracker]]) -> list[str | VariableTracker]:
    return [part for n, v in pairs for part in (", ", f"{n}=", v)][1:]


def _dict(tx: Evaluator, value: DictTracker) -> VariableTracker:
    if value.cls is not dict:
        raise Unsupported("call", f"the text of a {value.cls.__name__}")
    value.note_order()
    pairs = [part for k, v in value.items.items() for part in (", ", value.key(k), ": ", v)][1:]
    return enclosed(tx, "{", pairs, "}")


def _set(tx: Evaluator, value: SetTracker) -> VariableTracker:
    if len(value.values) > 1:
        raise Unsupported("call", "the text of a set, whose order differs from run to run")
    return Constant(repr(value.constant()))


def _class(tx: Evaluator, value: ClassTracker) -> VariableTracker:
    if find_in_class(type(value.value), "__repr__") is not type.__repr__ and not is_library(type(value.value)):
        raise Unsupported("call", f"the text of {value.describe()}")
    return Constant(repr(value.value))


_REPR: dict[type, Callable[[Any, Any], VariableTracker]] = {
    TupleTracker: _tuple,
    NamedTupleTracker: _named_tuple,
    ListTracker: lambda tx, value: enclosed(tx, "[", separated(value.items), "]"),
    DictTracker: _dict,
    SetTracker: _set,
    SliceTracker: lambda tx, value: enclosed(tx, "slice(", separated(value.parts), ")"),
    RangeTracker: lambda tx, value: Constant(repr(value.constant())),
    ClassTracker: _class,
}


# -- methods of known texts
def _joined_by(
    tx: Evaluator, text: str, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """``text.join(items)``."""
    if len(args) != 1 or kwargs:
        raise Unsupported("call", "str.join() with these arguments")
    items = tx.unpack(args[0])
    if all(v.is_constant for v in items):
        return run(lambda: text.join([v.constant() for v in items]))
    return joined_by(text, items)


def _filled_in(
    tx: Evaluator, text: str, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """``text.format(...)``."""
    if all(v.is_constant for v in (*args, *kwargs.values())):
        return run(lambda: text.format(*(a.constant() for a in args), **{k: v.constant() for k, v in kwargs.items()}))
    values = {**{str(i): v for i, v in enumerate(args)}, **kwargs}
    places = itertools.count()
    parts: list[VariableTracker] = []
    try:
        fields = list(string.Formatter().parse(text))
    except ValueError as error:
        raise Raised(error) from None
    if len({name == "" for _, name, _, _ in fields if name is not None and (name == "" or name.isdigit())}) > 1:
        raise Unsupported("call", "str.format() that counts in two ways")
    for literal, name, spec, conversion in fields:
        parts.append(Constant(literal))
        if name is None:
            continue
        value = values.get(name or str(next(places)))
        if value is None or "{" in (spec or ""):
            raise Unsupported("call", "str.format() of parts of its arguments")
        if conversion is not None:
            value = _CONVERSIONS[conversion](tx, value)
        parts.append(format_text(tx, value, spec or ""))
    return joined(parts)


_CONVERSIONS = {"s": str_text, "r": repr_text, "a": ascii_text}
register_text_method("join", _joined_by)
register_text_method("format", _filled_in)
