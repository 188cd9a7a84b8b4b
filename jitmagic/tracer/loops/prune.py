"""Takes the statements of a region, gives them without the assignments whose value nobody reads.

Only what cannot leave the region is taken away: the bookkeeping of tags and shared places.

    s_tag = 3; s_float64 = s_float64 + x; s_tag = 3     =>     s_float64 = s_float64 + x
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from jitmagic.graph import region as ir

__all__ = ["prune"]

_FREE = (ir.Const, ir.Var)


def prune(body: tuple[ir.Stmt, ...], results: tuple[ir.Var, ...]) -> tuple[ir.Stmt, ...]:
    live = {v.name for v in results}
    assigns: dict[str, set[str]] = {}
    _gather(body, live, assigns)
    pending = list(live)
    while pending:
        for name in assigns.pop(pending.pop(), set()):
            if name not in live:
                live.add(name)
                pending.append(name)
    return _kept(body, live)


def _is_free(value: ir.Expr) -> bool:
    return isinstance(value, _FREE) or (isinstance(value, ir.Cast) and isinstance(value.operand, _FREE))


def _gather(body: tuple[ir.Stmt, ...], live: set[str], assigns: dict[str, set[str]]) -> None:
    """Names that are read whatever happens go to ``live``; those that a free assignment reads, to its target."""
    for each in body:
        if isinstance(each, ir.Assign) and _is_free(each.value):
            assigns.setdefault(each.variable.name, set()).update(_names(each.value))
            continue
        if isinstance(each, ir.If) and _is_bookkeeping(each):
            for inner in (*each.body, *each.orelse):
                assert isinstance(inner, ir.Assign)
                assigns.setdefault(inner.variable.name, set()).update((*_names(inner.value), *_names(each.test)))
            continue
        for name in getattr(each, "__dataclass_fields__", ()):
            if name not in ("body", "orelse", "variable"):
                live.update(_names(getattr(each, name)))
        _gather(getattr(each, "body", ()), live, assigns)
        _gather(getattr(each, "orelse", ()), live, assigns)


def _is_bookkeeping(node: ir.If) -> bool:
    """A look at tags that only decides about free assignments."""
    free = all(isinstance(s, ir.Assign) and _is_free(s.value) for s in (*node.body, *node.orelse))
    return free and all(name.endswith("_tag") for name in _names(node.test))


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, ir.Var):
        yield value.name
    elif isinstance(value, tuple):
        for each in value:
            yield from _names(each)
    elif hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from _names(getattr(value, name))


def _kept(body: tuple[ir.Stmt, ...], live: set[str]) -> tuple[ir.Stmt, ...]:
    made: list[ir.Stmt] = []
    for each in body:
        if isinstance(each, ir.Assign):
            if each.variable.name in live or not _is_free(each.value):
                made.append(each)
        elif isinstance(each, ir.If):
            kept = replace(each, body=_kept(each.body, live), orelse=_kept(each.orelse, live))
            if kept.body or kept.orelse or not _is_bookkeeping(each):
                made.append(kept)
        elif isinstance(each, ir.For | ir.While):
            made.append(replace(each, body=_kept(each.body, live), orelse=_kept(each.orelse, live)))
        else:
            made.append(each)
    return tuple(made)
