"""Makers of guards on what containers, functions and slots hold beyond their keys and lengths."""

from __future__ import annotations

from typing import Any

from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.kinds import short_text
from jitmagic.tracer.guards.source import Source

__all__ = [
    "attribute_names_guard",
    "bases_guard",
    "described_guard",
    "empty_slot_guard",
    "maxlen_guard",
    "registry_guard",
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
