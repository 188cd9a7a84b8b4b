"""Takes the stand-ins that a program has kept somewhere when its run ends, puts what they stand for in their places."""

from __future__ import annotations

import gc
import types
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import numpy as np

from jitmagic.autograd.node import like_sequence
from jitmagic.autograd.recorded import Recorded, raw

__all__ = ["StandIns", "note", "note_text", "plain_of", "texts_in"]

DEPTH = 4  # how many tuples may be around a stand-in, one in the other
NEAR = 5000  # containers that are looked into before the whole heap is
SHORT, MANY, FEW = 1024, 1024, 4  # of texts up to this length the last many are remembered, of longer ones the last few


class StandIns:
    """Those of one run that are still in use, and the texts and bytes that were last made of their numbers."""

    def __init__(self) -> None:
        self.alive: weakref.WeakValueDictionary[int, Recorded] = weakref.WeakValueDictionary()
        self.texts: tuple[deque[Any], deque[Any]] = (deque(maxlen=MANY), deque(maxlen=FEW))

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Stand-ins that are made inside belong to this run."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def let_go(self, *roots: Any) -> None:
        """Lists, dicts, attributes and closures of the program hold plain arrays and numbers from now on.

        What can be reached from the ``roots`` is looked through first: mostly nothing is left for the whole heap then.
        """
        if self._kept():
            _put_near(roots, {id(one): plain_of(one) for one in self._kept()})
        kept = self._kept()
        if kept:
            _put(kept, [plain_of(one) for one in kept])

    def _kept(self) -> list[Recorded]:
        return [one for one in map(self.alive.get, list(self.alive)) if one is not None]


def plain_of(one: Any) -> Any:
    """What a stand-in stands for: an argument's is the caller's array itself."""
    attributes = getattr(one, "__dict__", {}) if isinstance(one, Recorded) else {}
    return attributes["_primal"] if "_primal" in attributes else raw(one)


_current: ContextVar[Any] = ContextVar("jitmagic_stand_ins", default=None)


def note(stand_in: Any) -> Any:
    """``stand_in``, which is new."""
    run = _current.get()
    if run is not None:
        run.alive[id(stand_in)] = stand_in
    return stand_in


def note_text(text: Any) -> Any:
    """``text``, a string or bytes made of the numbers of a stand-in."""
    run = _current.get()
    if run is not None:
        run.texts[len(text) > SHORT].append(text)
    return text


def texts_in(value: Any) -> bool:
    """Whether ``value`` is such a text, the very object, or a list or tuple with one in it."""
    run = _current.get()
    if run is None:
        return False
    if isinstance(value, list | tuple):
        return bool(value) and isinstance(value[0], str | bytes) and any(map(texts_in, value))
    return isinstance(value, str | bytes) and any(each is value for each in run.texts[len(value) > SHORT])


def _put_near(roots: Iterable[Any], new: dict[int, Any]) -> None:
    """Put new values in the places of the objects with these ids, in the first containers that ``roots`` lead to."""
    waiting, seen = deque(roots), {id(new)}
    while waiting and len(seen) < NEAR:
        holder = waiting.popleft()
        if id(holder) in seen or type(holder) in _OPAQUE or isinstance(holder, type | Recorded):
            continue
        seen.add(id(holder))
        inside = gc.get_referents(holder)
        if len(inside) > NEAR:  # asking each item takes longer than the heap does
            continue
        if type(holder) is not tuple and any(id(each) in new for each in inside):
            _CHANGES.get(type(holder), _change_attributes)(holder, new)
        waiting += (each for each in inside if gc.is_tracked(each) and id(each) not in new)
        if not isinstance(holder, dict | list | tuple):
            waiting.append(getattr(holder, "__dict__", None))


def _put(ones: list[Any], values: list[Any], depth: int = 0) -> None:
    """Put each of ``values`` where its one of ``ones`` is.

    One look at everything that Python keeps (25 ms in a process with a million objects) serves for all of them. (No
    closure of ours may hold one: it would be taken for the program's.)
    """
    new = {id(one): value for one, value in zip(ones, values, strict=True)}
    holders = [holder for holder in gc.get_referrers(*ones) if holder is not ones]
    ours = _ours([holder for holder in holders if type(holder) is types.CellType])
    tuples: list[Any] = []
    for holder in holders:
        if isinstance(holder, tuple):
            tuples.append(holder)
        elif id(holder) not in ours and not isinstance(
            holder, Recorded | types.FrameType | types.ModuleType | StandIns
        ):
            _CHANGES.get(type(holder), _change_attributes)(holder, new)
    holders.clear()
    if tuples and depth < DEPTH:
        _put(tuples, [like_sequence(each, [new.get(id(item), item) for item in each]) for each in tuples], depth + 1)


def _ours(cells: list[Any]) -> set[int]:
    """Which of the variables are not the program's: what a pullback of ours holds on to stays."""
    closures = [each for each in gc.get_referrers(*cells) if type(each) is tuple] if cells else []
    functions = [each for each in gc.get_referrers(*closures) if type(each) is types.FunctionType] if closures else []
    ours = (f for f in functions if str(f.__globals__.get("__name__", "")).partition(".")[0] == "jitmagic")
    return {id(cell) for function in ours for cell in function.__closure__ or ()}


def _change_items(holder: Any, new: dict[int, Any]) -> None:
    for place, item in enumerate(holder):
        if id(item) in new:
            holder[place] = new[id(item)]


def _change_members(holder: set[Any], new: dict[int, Any]) -> None:
    for item in [each for each in holder if id(each) in new]:
        with suppress(TypeError):  # an array, which no set of a plain run holds
            holder.add(new[id(item)])
        holder.discard(item)


def _change_values(holder: dict[Any, Any], new: dict[int, Any]) -> None:
    if "_values" in holder and "_version" in holder:  # the attributes of a view
        return
    for key, item in list(holder.items()):
        if id(item) in new:
            holder[key] = new[id(item)]


def _change_cell(holder: types.CellType, new: dict[int, Any]) -> None:
    holder.cell_contents = new[id(holder.cell_contents)]


def _change_attributes(holder: Any, new: dict[int, Any]) -> None:
    for name, item in list(getattr(holder, "__dict__", {}).items()):
        if id(item) in new:
            object.__setattr__(holder, name, new[id(item)])


_OPAQUE = (types.ModuleType, types.CodeType, types.FrameType, types.BuiltinFunctionType, np.ndarray, StandIns)
_CHANGES: dict[type, Any] = {
    list: _change_items,
    deque: _change_items,
    set: _change_members,
    dict: _change_values,
    types.CellType: _change_cell,
}
