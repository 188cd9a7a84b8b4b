"""Makers of guards on what containers, functions and slots hold beyond their keys and lengths."""

from __future__ import annotations

from typing import Any

from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.source import Source

__all__ = ["attribute_names_guard", "empty_slot_guard", "maxlen_guard", "registry_guard"]


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
