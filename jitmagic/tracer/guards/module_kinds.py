"""Makers of the guards on what modules, of either sort, do not have, besides those of ``kinds``."""

from __future__ import annotations

from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.source import ConstantSource, Source

__all__ = ["no_key_guard", "not_held_guard", "undefined_guard"]


def no_key_guard(source: Source, key: str) -> Guard:
    """NOT_PRESENT: a dict still has no such entry."""
    return Guard(
        "NOT_PRESENT_IN_GENERIC_DICT",
        source,
        f"{key!r} not in {{v}}",
        "absent",
        f"{{v}}[{key!r}]",
        about=f"{key!r} in {source.text}",
        remedy="register everything in __init__",
    )


def undefined_guard(namespace: ConstantSource, name: str, what: str) -> Guard:
    """NOT_PRESENT_IN_GENERIC_DICT: ``namespace``, a dict that the entry holds, still has no such name."""
    return Guard(
        "NOT_PRESENT_IN_GENERIC_DICT",
        namespace,
        f"{name!r} not in {{v}}",
        "absent",
        f"{{v}}[{name!r}]",
        about=f"a {what} named {name}",
        remedy=f"define {name} before the first call",
        form=("not in", name, namespace.code("")),
    )


def not_held_guard(source: Source, held: frozenset[int]) -> Guard:
    """NO_ALIASING with the arrays that the entry holds, by their addresses: it keeps them alive."""
    return Guard(
        "NO_ALIASING",
        source,
        "id({v}) not in {k}",
        f"{source.text} is no array of a module",
        "'it is one of them'",
        held,
        about=f"{source.text} is none of the modules' arrays",
        form=("not among",),
    )
