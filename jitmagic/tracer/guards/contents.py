"""Makers of guards on what containers, functions and slots hold beyond their keys and lengths."""

from __future__ import annotations

import operator
from typing import Any

from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.kinds import NAMES, short_text
from jitmagic.tracer.guards.source import Source

__all__ = [
    "attribute_names_guard",
    "bases_guard",
    "class_owner_guard",
    "described_guard",
    "empty_slot_guard",
    "first_item_guard",
    "maxlen_guard",
    "owner_of",
    "registry_guard",
    "special_methods_guard",
]


def bases_guard(source: Source, cls: type) -> Guard:
    """CLASS_ATTRIBUTE: the class at ``source`` still has these bases, and they theirs (``__mro__`` is made anew)."""
    return Guard(
        "CLASS_ATTRIBUTE",
        source,
        "type.__dict__['__mro__'].__get__({v}) is {k}",
        ", ".join(base.__name__ for base in cls.__mro__),
        "', '.join(base.__name__ for base in {v}.__mro__)",
        cls.__mro__,
        about=f"bases of {cls.__name__}",
        remedy="define the class once",
        form=("bases", type(cls)),
    )


_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: a class whose entries can be changed
_MRO: Any = type.__dict__["__mro__"]
_DICT: Any = type.__dict__["__dict__"]
_DESCRIPTIVE = frozenset(
    f"__{name}__"
    for name in (
        *("annotate", "annotate_func", "annotations", "annotations_cache", "abstractmethods", "dict", "doc"),
        *(
            "firstlineno",
            "module",
            "orig_bases",
            "parameters",
            "qualname",
            "slotnames",
            "static_attributes",
            "type_params",
            "weakref",
        ),
    )
)  # special names that change nothing in what instances do


def _special_entries(cls: type) -> dict[tuple[int, str], Any]:
    """Special methods and the like of all classes in the MRO, by class and name."""
    found: dict[tuple[int, str], Any] = {}
    for place, base in enumerate(_MRO.__get__(cls)):
        found[place, ""] = base
        if base.__flags__ & _HEAP_TYPE:
            found |= {(place, name): entry for name, entry in _DICT.__get__(base).items() if _is_special(name)}
    return found


def _is_special(name: str) -> bool:
    return name.startswith("__") and name not in _DESCRIPTIVE


def _has_special_entries(cls: type, then: dict[tuple[int, str], Any]) -> bool:
    now = _special_entries(cls)
    return now.keys() == then.keys() and all(map(operator.is_, now.values(), map(then.__getitem__, now)))


def _special_changes(cls: type, then: dict[tuple[int, str], Any]) -> str:
    now = _special_entries(cls)
    names = [
        name or "bases" for place, name in {**then, **now} if then.get((place, name)) is not now.get((place, name))
    ]
    return f"other {', '.join(dict.fromkeys(names))}"


NAMES["has_special_entries"] = _has_special_entries
NAMES["special_changes"] = _special_changes


def owner_of(cls: type, name: str) -> type | None:
    """The class in whose dict an attribute of ``cls`` is found."""
    return next((base for base in _MRO.__get__(cls) if name in _DICT.__get__(base)), None)


NAMES["owner_of"] = owner_of


def class_owner_guard(source: Source, owner: type, name: str) -> Guard:
    """CLASS_ATTRIBUTE: the attribute of the class at ``source`` is still found in the dict of ``owner``."""
    return Guard(
        "CLASS_ATTRIBUTE",
        source,
        f"owner_of({{v}}, {name!r}) is {{k}}",
        short_text(owner),
        f"entry_text(owner_of({{v}}, {name!r}))",
        owner,
        about=f"the class that {source.text}.{name} is found in",
        remedy=f"give {name} to one class only",
    )


def special_methods_guard(source: Source, cls: type) -> Guard:
    """CLASS_ATTRIBUTE: no special method of the class at ``source`` came, went or changed, nor one of its bases."""
    return Guard(
        "CLASS_ATTRIBUTE",
        source,
        "has_special_entries({v}, {k})",
        "as compiled",
        "special_changes({v}, {k})",
        _special_entries(cls),
        about=f"special methods of {cls.__name__}",
        remedy="define the class once",
    )


def described_guard(source: Source, cls: type, name: str) -> Guard:
    """CONSTANT_MATCH: what a class tells of itself (``__name__``, ``__doc__``), which a program may change."""
    text, now = getattr(cls, name), f"type.__getattribute__({{v}}, {name!r})"
    return Guard(
        "CONSTANT_MATCH",
        source,
        f"{now} == {{k}}",
        short_text(text),
        now,
        text,
        about=f"{source.text}.{name}",
        remedy="define the class once",
    )


def first_item_guard(source: Source, kind: type) -> Guard:
    """TYPE_MATCH of the first item of a list: the others are looked at when they are read."""
    return Guard(
        "TYPE_MATCH",
        source,
        "len({v}) and type({v}[0]) is {k}",
        kind.__name__,
        "type({v}[0]).__name__ if len({v}) else 'nothing'",
        kind,
        about=f"type({source.text}[0])",
        remedy="pass lists of one type of numbers",
    )


def maxlen_guard(source: Source, limit: int | None) -> Guard:
    """LIST_LENGTH of a deque: its limit."""
    test = "{v}.maxlen is None" if limit is None else f"{{v}}.maxlen == {limit}"
    return Guard("LIST_LENGTH", source, test, str(limit), "{v}.maxlen", about=f"{source.text}.maxlen")


def attribute_names_guard(source: Source, names: tuple[str, ...]) -> Guard:
    """DICT_KEYS of the attributes that a program has set on a function."""
    return Guard(
        "DICT_KEYS", source, f"tuple({{v}}.__dict__) == {names!r}", str(names), "tuple({v}.__dict__)", about=source.text
    )


def empty_slot_guard(source: Source, name: str) -> Guard:
    """NOT_PRESENT_IN_GENERIC_DICT for a class with ``__slots__``; its class has no ``__getattr__``."""
    test = f"not hasattr({{v}}, {name!r})"
    return Guard("NOT_PRESENT_IN_GENERIC_DICT", source, test, "absent", "'present'", about=f"{source.text}.{name}")


def registry_guard(source: Source, registered: dict[Any, Any]) -> Guard:
    """FUNCTION_MATCH of a function with ``functools.singledispatch``: what is registered for which class."""
    test = "dict({v}.registry) == {k}"
    return Guard("FUNCTION_MATCH", source, test, "as registered", "len({v}.registry)", registered, about=source.text)
