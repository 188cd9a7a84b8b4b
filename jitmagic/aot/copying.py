"""Takes a copy within one memory as paths of views, tells whether NumPy's order of copying shows in what comes out."""

from __future__ import annotations

from typing import Any

from jitmagic.graph import Node, map_nodes
from jitmagic.graph.shapes import SymInt, hint_of
from jitmagic.ops.copying import may_show_order, shows_order
from jitmagic.ops.functional import ViewStep, follow

__all__ = ["order_shows"]


def order_shows(whole: Any, target: tuple[ViewStep, ...], source: tuple[ViewStep, ...]) -> bool:
    """Whether copying the part ``source`` of an array like ``whole`` into its part ``target`` depends on the order.

    The paths may hold sizes and places that are known at run time only: then True wherever it can.
    """
    if _holds(Node, target) or _holds(Node, source):
        return True
    a, b = follow(whole, _with_hints(target)), follow(whole, _with_hints(source))
    if _holds(SymInt, target) or _holds(SymInt, source):
        return may_show_order(a, b)
    return shows_order(a, b)


def _holds(kind: type, path: tuple[ViewStep, ...]) -> bool:
    found: list[Any] = []
    for step in path:
        map_nodes((step.args, step.kwargs), lambda leaf: found.append(leaf) if isinstance(leaf, kind) else leaf)
    return bool(found)


def _with_hints(path: tuple[ViewStep, ...]) -> tuple[ViewStep, ...]:
    def hint(leaf: Any) -> Any:
        return hint_of(leaf) if isinstance(leaf, SymInt) else leaf

    return tuple(step._replace(args=map_nodes(step.args, hint), kwargs=map_nodes(step.kwargs, hint)) for step in path)
