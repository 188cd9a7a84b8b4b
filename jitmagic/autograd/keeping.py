"""Takes the stand-ins that a program has kept somewhere when its run ends, puts what they stand for in their places."""

from __future__ import annotations

import gc
import types
import weakref
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from jitmagic.autograd.node import like_sequence
from jitmagic.autograd.recorded import Recorded, raw

__all__ = ["StandIns", "note", "plain_of"]

DEPTH = 4  # how many tuples may be around a stand-in, one in the other


class StandIns:
    """Those of one run that are still in use."""

    def __init__(self) -> None:
        self._alive: weakref.WeakValueDictionary[int, Recorded] = weakref.WeakValueDictionary()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Stand-ins that are made inside belong to this run."""
        token = _current.set(self._alive)
        try:
            yield
        finally:
            _current.reset(token)

    def let_go(self) -> None:
        """Lists, dicts, attributes and closures of the program hold plain arrays and numbers from now on."""
        for number in list(self._alive):
            one = self._alive.get(number)
            if one is not None:
                _put(one, plain_of(one))


def plain_of(one: Any) -> Any:
    """What a stand-in stands for: an argument's is the caller's array itself."""
    attributes = getattr(one, "__dict__", {}) if isinstance(one, Recorded) else {}
    return attributes["_primal"] if "_primal" in attributes else raw(one)


_current: ContextVar[Any] = ContextVar("jitmagic_stand_ins", default=None)


def note(stand_in: Any) -> Any:
    """``stand_in``, which is new."""
    alive = _current.get()
    if alive is not None:
        alive[id(stand_in)] = stand_in
    return stand_in


def _put(one: Any, value: Any, depth: int = 0) -> None:
    """Put ``value`` where ``one`` is. (No closure of ours may hold ``one``: it would be taken for the program's.)"""
    for holder in gc.get_referrers(one):
        change = _CHANGES.get(type(holder), _change_attributes)
        if isinstance(holder, tuple):
            if depth < DEPTH:
                items = list(holder)
                _change_items(items, one, value)
                _put(holder, like_sequence(holder, items), depth + 1)
        elif not isinstance(holder, Recorded | types.FrameType | types.ModuleType | StandIns):
            change(holder, one, value)


def _change_items(holder: Any, one: Any, value: Any) -> None:
    for place, item in enumerate(holder):
        if item is one:
            holder[place] = value


def _change_values(holder: dict[Any, Any], one: Any, value: Any) -> None:
    if "_values" in holder and "_version" in holder:  # the attributes of a view
        return
    for key, item in list(holder.items()):
        if item is one:
            holder[key] = value


def _change_cell(holder: types.CellType, one: Any, value: Any) -> None:
    """A variable of the program; what a pullback of ours holds on to stays."""
    closures = (each for each in gc.get_referrers(holder) if type(each) is tuple)
    functions = (each for closure in closures for each in gc.get_referrers(closure))
    names = (each.__globals__.get("__name__", "") for each in functions if type(each) is types.FunctionType)
    if not any(str(name).partition(".")[0] == "jitmagic" for name in names):
        holder.cell_contents = value


def _change_attributes(holder: Any, one: Any, value: Any) -> None:
    for name, item in list(getattr(holder, "__dict__", {}).items()):
        if item is one:
            object.__setattr__(holder, name, value)


_CHANGES: dict[type, Any] = {
    list: _change_items,
    deque: _change_items,
    dict: _change_values,
    types.CellType: _change_cell,
}
