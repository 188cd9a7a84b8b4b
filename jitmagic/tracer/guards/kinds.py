"""Makers of guards, one per kind; the only place where the text of a test is written.

``NAMES`` are the names, besides builtins, that the tests use. No test runs code of the user.
"""

from __future__ import annotations

import math
import weakref
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.errors import Span
from jitmagic.tracer.guards.arrays import array_guard, dtype_guard, layout, layout_text, writeable_guard
from jitmagic.tracer.guards.errstate import errstate, errstate_text
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.naming import (
    cell_place,
    defaults_now,
    defaults_text,
    dtype_now,
    dtype_text,
    items_now,
    length_now,
    length_text,
    name_now,
    shared,
    value_text,
)
from jitmagic.tracer.guards.source import CellObjectSource, CellSource, ClosureSource, LocalSource, Source
from jitmagic.tracer.reports import is_loud

__all__ = [
    "NAMES",
    "alias_guard",
    "array_guard",
    "constant_guard",
    "dtype_guard",
    "errstate_guard",
    "expression_guard",
    "identity_guard",
    "length_guard",
    "short_text",
    "type_guard",
    "writeable_guard",
]


NAMES: dict[str, Any] = {
    "ndarray": np.ndarray,
    "copysign": math.copysign,
    "layout": layout,
    "layout_text": layout_text,
    "errstate": errstate,
    "is_loud": is_loud,
    "errstate_text": errstate_text,
    "is_grad_enabled": is_grad_enabled,
    "name_now": name_now,
    "defaults_now": defaults_now,
    "dtype_now": dtype_now,
    "dtype_text": dtype_text,
    "items_now": items_now,
    "length_now": length_now,
    "shared": shared,
}


def type_guard(source: Source, kind: type, span: Span | None = None) -> Guard:
    """TYPE_MATCH: exactly this class."""
    return Guard(
        "TYPE_MATCH",
        source,
        "type({v}) is {k}",
        kind.__name__,
        "type({v}).__name__",
        kind,
        about=f"type({source.text})",
        remedy="pass values of one type",
        span=span,
        form=("type",),
    )


def identity_guard(source: Source, value: Any, kind: str = "ID_MATCH", span: Span | None = None) -> Guard:
    """ID_MATCH and its kin: this very object."""
    return Guard(
        kind,
        source,
        "{v} is {k}",
        name_now(value),
        "name_now({v})",
        value,
        remedy=constant_remedy(source)
        if isinstance(source, LocalSource)
        else f"give {source.text} its value once, before the first call",
        span=span,
        form=("is",),
    )


def constant_guard(source: Source, value: Any, span: Span | None = None) -> Guard:
    """CONSTANT_MATCH: exact class first, then value; floats by bits except that any nan matches nan (B21, B22)."""
    kind, remedy = type(value), constant_remedy(source)
    if value is None or value is Ellipsis or kind is bool:
        return Guard(
            "CONSTANT_MATCH", source, "{v} is {k}", repr(value), "{v}", value, remedy=remedy, span=span, form=("is",)
        )
    form: tuple[Any, ...] = ()
    if kind in (int, str, bytes):
        test = f"type({{v}}) is {kind.__name__} and {{v}} == {{k}}"
        form = ("equals",)
    elif kind is float:
        test = f"type({{v}}) is float and {_float_test(value)}"
        form = ("float",)
    else:
        test = "type({v}) is type({k}) and repr({v}) == repr({k})"
    return Guard("CONSTANT_MATCH", source, test, short_text(value), "{v}", value, remedy=remedy, span=span, form=form)


_KEEP = "pass it as an argument, or keep it at one value"


def constant_remedy(source: Source) -> str:
    """What keeps a value from changing; what is passed already cannot be passed instead."""
    if isinstance(source.path[0], LocalSource):
        return f"every value of {source.text} is compiled on its own: call it with few different ones"
    return _KEEP


def _float_test(value: float) -> str:
    if value != value:
        return "{v} != {v}"
    if value == 0.0:
        return "{v} == {k} and copysign(1.0, {v}) == copysign(1.0, {k})"
    return "{v} == {k}"


def short_text(value: Any) -> str:
    """The repr of a value, cut to what a message has room for."""
    text = value_text(value)
    return text if len(text) <= 60 else text[:57] + "..."


def expression_guard(
    kind: str,
    source: Source,
    test: str,
    then: str,
    now: str,
    *,
    constant: Any = None,
    remedy: str = "",
    about: str = "",
) -> Guard:
    """Any other test on one source."""
    return Guard(kind, source, test, then, now, constant, about=about or source.text, remedy=remedy)


def length_guard(source: Source, kind: type, length: int) -> Guard:
    """LIST_LENGTH: exact container class and number of entries."""
    return Guard(
        "LIST_LENGTH",
        source,
        f"type({{v}}) is {{k}} and len({{v}}) == {length}",
        length_text(kind, length),
        "length_now({v})",
        kind,
        about=source.text,
        remedy="pass containers of one length, or one array",
        form=("length", length),
    )


def scalar_guard(source: Source, value: np.generic) -> Guard:
    """A NumPy scalar that is a run-time input: only its type counts (B12)."""
    return Guard(
        "TYPE_MATCH",
        source,
        "type({v}) is {k}",
        type(value).__name__,
        "type({v}).__name__",
        type(value),
        about=f"type({source.text})",
        form=("type",),
    )


def alias_guard(source: Source, other: Source) -> Guard:
    """Two sources that gave one object still do (B04)."""
    return Guard(
        "ALIAS",
        source,
        "{v} is {v1}",
        "True (one object)",
        "'True (one object)' if {v} is {v1} else 'False (two objects)'",
        others=(other,),
        about=f"{source.text} is {other.text}",
        form=("same",),
    )


def no_alias_guard(sources: tuple[Source, ...]) -> Guard:
    """NO_ALIASING: distinct inputs are still distinct objects (B05); cost linear in the inputs."""
    names = ["{v}", *(f"{{v{i}}}" for i in range(1, len(sources)))]
    if len(sources) == 2:
        test = "{v} is not {v1}"
    else:
        test = f"len({{{{{', '.join(f'id({n})' for n in names)}}}}}) == {len(sources)}"
    shown = [s.text for s in sources]
    is_pair = len(sources) == 2
    return Guard(
        "NO_ALIASING",
        sources[0],
        test,
        "False (two objects)" if is_pair else str(len(sources)),
        "'True (the same object)'" if is_pair else f"shared({shown!r}, ({', '.join(names)}))",
        others=sources[1:],
        about=" is ".join(shown) if is_pair else f"number of objects among {', '.join(shown)}",
        form=("distinct",),
    )


def errstate_guard(source: Source) -> Guard:
    """NumPy's handling of floating-point errors is as it was (G05)."""
    state = errstate()
    return Guard(
        "ERRSTATE",
        source,
        "errstate() == {k}",
        errstate_text(state),
        "errstate_text(errstate())",
        state,
        about="np.geterr()",
        remedy="call the function under one np.errstate",
        form=("errstate",),
    )


def can_be_weak(value: Any) -> bool:
    """Whether an identity guard may hold ``value`` weakly."""
    try:
        weakref.ref(value)
    except TypeError:
        return False
    return True


_MISSING: Any = object()


def _class_entry(cls: type, name: str) -> Any:
    for base in cls.__mro__:
        entry = base.__dict__.get(name, _MISSING)
        if entry is not _MISSING:
            return entry
    return None


NAMES["class_entry"] = _class_entry


def _entry_text(entry: Any) -> str:
    """What a class holds under a name."""
    return "absent" if entry is None else short_text(entry)


NAMES["entry_text"] = _entry_text


def _entry_remedy(entry: Any) -> str:
    """Data of a class change because a program sets them, methods because the class is defined again."""
    is_data = entry is not None and not callable(entry) and not hasattr(type(entry), "__get__")
    return _KEEP if is_data else "define the class once"


def class_attribute_guard(source: Source, cls: type, name: str, entry: Any) -> Guard:
    """The class's MRO still gives this entry (or none) for ``name``; edits of any base count (G08)."""
    found = _class_entry(cls, name)
    return Guard(
        "CLASS_ATTRIBUTE",
        source,
        f"class_entry(type({{v}}), {name!r}) is {{k}}",
        _entry_text(found),
        f"entry_text(class_entry(type({{v}}), {name!r}))",
        found,
        about=f"{cls.__name__}.{name}",
        remedy=_entry_remedy(found),
        form=("class entry", name, False),
    )


def missing_key_guard(source: Source, name: str) -> Guard:
    """NOT_PRESENT_IN_GENERIC_DICT: the instance's own dict still has no such entry."""
    return Guard(
        "NOT_PRESENT_IN_GENERIC_DICT",
        source,
        f"{name!r} not in {{v}}.__dict__",
        "absent",
        f"{{v}}.__dict__[{name!r}]",
        about=f"{source.text}.{name}",
        remedy="set attributes in __init__",
        form=("absent", name),
    )


def keys_guard(source: Source, kind: type, keys: tuple[Any, ...]) -> Guard:
    """DICT_KEYS: exact class and the same keys, in any order."""
    return Guard(
        "DICT_KEYS",
        source,
        f"type({{v}}) is {kind.__name__ if kind is dict else 'type({k}[1])'} and {{v}}.keys() == {{k}}[0]",
        short_text(list(keys)),
        "items_now({v})",
        (dict.fromkeys(keys).keys(), kind()),
        about=f"keys of {source.text}",
        remedy="keep the same keys",
        form=("keys", keys) if kind is dict else (),
    )


def set_guard(source: Source, value: Any) -> Guard:
    """The same members (B44)."""
    return Guard(
        "EQUALS_MATCH",
        source,
        "type({v}) is type({k}) and {v} == {k}",
        short_text(value),
        "{v}",
        type(value)(value),
        about=source.text,
        remedy="keep the set as it is",
    )


def own_class_attribute_guard(source: Source, cls: type, name: str) -> Guard:
    """The same for an attribute read from the class itself."""
    found = _class_entry(cls, name)
    return Guard(
        "CLASS_ATTRIBUTE",
        source,
        f"class_entry({{v}}, {name!r}) is {{k}}",
        _entry_text(found),
        f"entry_text(class_entry({{v}}, {name!r}))",
        found,
        about=f"{source.text}.{name}",
        remedy=_entry_remedy(found),
        form=("class entry", name, True),
    )


def function_guards(source: Source, function: Any) -> list[Guard]:
    """FUNCTION_MATCH: equal code over the same globals; a cell that is run again unchanged keeps its entries.

    A compiled function has code of ours or its own, as it is served: both mean the same.
    """
    held = (type(function), function.__code__, function.__globals__, meant_code(function))
    return [
        Guard(
            "FUNCTION_MATCH",
            source,
            "type({v}) is {k}[0] and ({v}.__code__ is {k}[1] or meant_code({v}) == {k}[3])"
            " and {v}.__globals__ is {k}[2]",
            _function_then(function, held[3]),
            "function_now({v}, {k})",
            held,
            about=source.text,
            remedy=f"define {source.text} once, before the first call",
            form=("function",),
        )
    ]


def meant_code(function: Any) -> Any:
    """The code of the user's function behind a compiled one; of any other function its own."""
    handle: Any = dict.get(function.__dict__, "jit")  # which the dict itself does not show
    serves = getattr(type(handle), "serves", None)
    is_ours = type(serves) is FunctionType and serves.__module__.startswith("jitmagic.") and serves(handle, function)
    return handle.plain.__code__ if is_ours else function.__code__


def _function_then(function: Any, code: CodeType) -> str:
    """Which function was compiled along: where its cell is, if it has one."""
    place = cell_place(code)
    return f"the {function.__qualname__} of {place}" if place else f"{function.__qualname__} as compiled"


def _function_now(value: Any, held: tuple[Any, ...]) -> str:
    """What is there instead, and what is other about it where the name is the same."""
    name = name_now(value)
    if type(value) is not held[0] or value.__qualname__ != held[3].co_qualname:
        return name
    place = cell_place(meant_code(value))
    if value.__globals__ is not held[2]:
        return f"{name} of another namespace{f' ({place})' if place else ''}"
    return f"the other {name} of {place}" if place else f"{name} with other code"


NAMES |= {"meant_code": meant_code, "function_now": _function_now}


def defaults_guard(source: Source, label: str, count: int, names: tuple[str, ...]) -> Guard:
    """A function still has as many defaults, under the same names."""
    return Guard(
        "FUNCTION_MATCH",
        source,
        f"len({{v}}.__defaults__ or ()) == {count} and tuple({{v}}.__kwdefaults__ or ()) == {names!r}",
        defaults_text(count, names),
        "defaults_now({v})",
        about=f"defaults of {label}",
        remedy="define the function once",
        form=("defaults", count, names),
    )


def empty_cell_guard(source: ClosureSource | CellSource) -> Guard:
    """A variable of an enclosing function that is still unset."""
    return Guard(
        "CLOSURE_MATCH",
        CellObjectSource(source),
        "not cell_is_set({v})",
        "unset",
        "'set'",
        about=source.text,
        remedy="set the variable before the first call",
        form=("unset cell",),
    )


def _cell_is_set(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - asking is the point
    except ValueError:
        return False
    return True


NAMES["cell_is_set"] = _cell_is_set


def dtype_value_guard(source: Source, dtype: Any) -> Guard:
    """CONSTANT_MATCH of a dtype object."""
    return Guard(
        "CONSTANT_MATCH",
        source,
        "{v} is {k} or (type({v}) is type({k}) and {v} == {k} and ({v}.metadata is None) == ({k}.metadata is None))",
        str(dtype),
        "{v}",
        dtype,
        remedy=constant_remedy(source),
        form=("is",),
    )


def integer_guard(source: Source) -> Guard:
    """TYPE_MATCH of an int that is a symbol: any int that fits a machine word."""
    return Guard(
        "TYPE_MATCH",
        source,
        f"type({{v}}) is int and {-(2**63)} <= {{v}} < {2**63}",
        "int",
        "'an int of more than 64 bits' if type({v}) is int else type({v}).__name__",
        about=f"type({source.text})",
        form=("int64",),
    )


def _super_entry(cls: type, owner: type, name: str) -> Any:
    mro = cls.__mro__
    for base in mro[mro.index(owner) + 1 :]:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


NAMES["super_entry"] = _super_entry


def super_attribute_guard(source: Source, owner: type, name: str, entry: Any) -> Guard:
    """What ``super().name`` finds for this receiver."""
    found = _super_entry_or_none(entry)
    return Guard(
        "CLASS_ATTRIBUTE",
        source,
        f"super_entry(type({{v}}), {{k}}[0], {name!r}) is {{k}}[1]",
        _entry_text(found),
        f"entry_text(super_entry(type({{v}}), {{k}}[0], {name!r}))",
        (owner, found),
        about=f"super().{name}",
        remedy=_entry_remedy(found),
    )


def _super_entry_or_none(entry: Any) -> Any:
    return None if type(entry) is object else entry
