"""Takes nested containers, gives their leaves and the containers around other leaves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from jitmagic.errors import UserError

__all__ = ["children_of", "is_registered", "leaves_of", "map_leaves", "paired_leaves", "register_container"]

_registered: dict[type, tuple[Callable[..., Any], Callable[..., Any]]] = {}  # classes of the user: flatten, unflatten


def register_container(
    cls: type, flatten: Callable[[Any], tuple[Any, Any]], unflatten: Callable[[Any, tuple[Any, ...]], Any]
) -> None:
    """Make instances of exactly ``cls`` containers: ``flatten(x)`` gives their parts and what else there is to know,
    ``unflatten(rest, parts)`` an instance of the same kind around other parts.
    """
    _registered[cls] = flatten, unflatten


def is_registered(cls: type) -> bool:
    """Whether the user said how instances of ``cls`` are taken apart."""
    return cls in _registered


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
    if kind in _registered:
        flatten, unflatten = _registered[kind]
        parts, rest = flatten(tree)
        return unflatten(rest, tuple(map_leaves(part, change) for part in parts))
    if is_record(tree):
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


def paired_leaves(tree: Any, other: Any, name: str) -> Iterator[tuple[Any, Any]]:
    """The leaves of ``tree`` with those of ``other`` at the same places. Raises UserError for another structure."""
    kind = type(tree)
    if tree is None and other is None:
        return
    parts, others = children_of(tree), children_of(other)
    if parts is None:
        yield tree, other
        return
    if type(other) is not kind or others is None or list(parts) != list(others):
        raise UserError(f"{name} is built otherwise than what it belongs to: {_outline(other)}, not {_outline(tree)}")
    for key, part in parts.items():
        yield from paired_leaves(part, others[key], name)


def children_of(tree: Any) -> dict[Any, Any] | None:
    """What a container holds, by key; None for a leaf."""
    if tree is None:
        return {}
    if type(tree) in (tuple, list) or (isinstance(tree, tuple) and hasattr(tree, "_fields")):
        return dict(enumerate(tree))
    if isinstance(tree, dict):
        return dict(tree)
    if type(tree) in _registered:
        return dict(enumerate(_registered[type(tree)][0](tree)[0]))
    if is_record(tree):
        return {f.name: getattr(tree, f.name) for f in dataclasses.fields(tree)}
    return None


def is_record(tree: Any) -> bool:
    """An instance of a dataclass that is a container of arrays; our own leaves are none."""
    return dataclasses.is_dataclass(tree) and not isinstance(tree, type) and not hasattr(tree, "is_tree_leaf")


def _outline(tree: Any) -> str:
    parts = children_of(tree)
    if parts is None or tree is None:
        return type(tree).__name__
    return f"{type(tree).__name__} of {len(parts)}"
