"""Takes nested containers, gives their leaves and the containers around other leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["leaves_of", "map_leaves"]


def map_leaves(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting of tuples, lists, dicts, named tuples and dataclasses with ``change`` applied to each leaf.

    None stays: it is a container without leaves. Containers are new objects.
    """
    kind = type(tree)
    if tree is None:
        return None
    if kind in (tuple, list):
        return kind(map_leaves(item, change) for item in tree)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return kind(*(map_leaves(item, change) for item in tree))
    if isinstance(tree, dict):
        return _mapped(tree, change)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return _dataclass(tree, change)
    return change(tree)


def _mapped(tree: dict[Any, Any], change: Callable[[Any], Any]) -> dict[Any, Any]:
    made = tree.copy()  # keeps the class and the default factory
    for key, value in tree.items():
        made[key] = map_leaves(value, change)
    return made


def _dataclass(tree: Any, change: Callable[[Any], Any]) -> Any:
    made = object.__new__(type(tree))
    for field in dataclasses.fields(tree):
        object.__setattr__(made, field.name, map_leaves(getattr(tree, field.name), change))
    return made


def leaves_of(tree: Any) -> Iterator[Any]:
    """Every leaf, in order."""
    found: list[Any] = []
    map_leaves(tree, found.append)
    return iter(found)
