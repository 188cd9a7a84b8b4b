"""Guards on the order in which a dict or a set gives what it holds; for traces that looped over it (B40)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.kinds import NAMES, short_text
from jitmagic.tracer.guards.source import Source

__all__ = ["key_order_guard", "member_order_guard"]


def _exactly(keys: Iterable[Any]) -> tuple[Any, ...]:
    """Equal only for keys that are the same by class, value and sign: 1, 1.0 and True are three."""
    return tuple(_exactly(k) if type(k) is tuple else (type(k), k, repr(k) if type(k) in _SIGNED else "") for k in keys)


_SIGNED = (float, complex)
NAMES["exactly"] = _exactly


def _exact_test(keys: tuple[Any, ...]) -> tuple[str, Any]:
    """The test, and its constant, that ``{v}`` gives exactly these keys in this order."""
    if keys and {type(k) for k in keys} <= {str, int}:
        return f"tuple({{v}}) == {{k}} and [*map(type, {{v}})] == [{', '.join(type(k).__name__ for k in keys)}]", keys
    return "exactly({v}) == {k}", _exactly(keys)


def key_order_guard(source: Source, keys: tuple[Any, ...]) -> Guard:
    """DICT_KEYS in order: for traces that looped over the dict (B40)."""
    test, held = _exact_test(keys)
    return Guard(
        "DICT_KEYS",
        source,
        test,
        short_text(list(keys)),
        "items_now({v})",
        held,
        about=f"order of the keys of {source.text}",
        remedy="fill the dict in one order",
    )


def member_order_guard(source: Source, members: tuple[Any, ...]) -> Guard:
    """The same members in the order in which the set gives them: for traces that looped over it."""
    test, held = _exact_test(members)
    return Guard(
        "EQUALS_MATCH", source, test, short_text(list(members)), "items_now({v})", held, about=f"order of {source.text}"
    )
