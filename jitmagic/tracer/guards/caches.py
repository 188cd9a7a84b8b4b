"""Takes a function of ``functools.lru_cache``, says what its cache holds without asking it: a question would count.

What a garbage collector sees of such a function are, in CPython, its dict and, for a cache with a limit, the entries in
the order of their use: key, value and their class each.
"""

from __future__ import annotations

import functools
import gc
import itertools
from typing import Any

from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.kinds import NAMES
from jitmagic.tracer.guards.source import Source

__all__ = ["MISSED", "CacheView", "absent_guard", "cache_wrapper", "result_guard"]

cache_wrapper: Any = type(functools.lru_cache(lambda: None))
MISSED: Any = object()


class CacheView:
    """The cache of ``function``. ``table`` is its dict, or None where there is none or it cannot be told."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.parameters: dict[str, Any] = function.cache_parameters()
        inside = gc.get_referents(function)
        own = function.__dict__
        tables = [part for part in inside if type(part) is dict and part is not own]
        self.table: dict[Any, Any] | None = tables[-1] if len(tables) == 1 or self._is_last(inside, tables) else None
        marks = [part for part in inside if type(part) is object]
        self.mark: Any = marks[0] if len(marks) == 1 else MISSED
        self._inside = inside

    def _is_last(self, inside: list[Any], tables: list[Any]) -> bool:
        """Results may be dicts as well: the table comes last, right before the function."""
        wrapped = self.function.__wrapped__
        return bool(tables) and any(a is tables[-1] and b is wrapped for a, b in itertools.pairwise(inside))

    def key(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """What the dict finds a call by."""
        if not named and not self.parameters["typed"]:
            return args[0] if len(args) == 1 and type(args[0]) in (int, str) else args
        key: tuple[Any, ...] = args
        if named:
            key += (self.mark, *(part for pair in named.items() for part in pair))
        if self.parameters["typed"]:
            key += tuple(map(type, args)) + tuple(map(type, named.values()))
        return key

    def found(self, key: Any) -> tuple[Any, Any]:
        """The entry and the value that the next call with this key gets, or MISSED for both."""
        entry = MISSED if self.table is None else self.table.get(key, MISSED)
        if entry is MISSED or self.parameters["maxsize"] is None:
            return entry, entry
        stored = next(k for k, e in self.table.items() if e is entry)  # type: ignore[union-attr]  # it has an entry
        for place, part in enumerate(self._inside[2:], 2):
            if part is type(entry) and self._inside[place - 2] is stored:
                return entry, self._inside[place - 1]
        return MISSED, MISSED

    def is_new(self) -> bool:
        """Whether no entry has ever been given to another key: one that still is there has its first value."""
        limit = self.parameters["maxsize"]
        return limit is None or self.function.cache_info().misses <= limit


def _is_fresh(function: Any) -> bool:
    info = function.cache_info()
    return info.maxsize is None or info.misses <= info.maxsize


NAMES["is_fresh_cache"] = _is_fresh
NAMES["missed"] = MISSED


def result_guard(table: Source, name: str, view: CacheView, key: Any, entry: Any) -> Guard:
    """CACHE_MATCH: the cache still has the result for these arguments that it had."""
    limited = view.parameters["maxsize"] is not None
    fresh = " and is_fresh_cache({k}[2])" if limited else ""
    return Guard(
        "CACHE_MATCH",
        table,
        "{v}.get({k}[0], missed) is {k}[1]" + fresh,
        "as cached",
        "'another result' if {k}[0] in {v} else 'no result'",
        (key, entry, view.function),
        about=f"cached result of {name}",
        remedy="do not clear the cache between calls",
    )


def absent_guard(table: Source, name: str, key: Any) -> Guard:
    """CACHE_MATCH: the cache still has no result for these arguments."""
    return Guard(
        "CACHE_MATCH",
        table,
        "{k} not in {v}",
        "not cached",
        "'cached' if {k} in {v} else 'not cached'",
        key,
        about=f"cached result of {name}",
        remedy="call it once before: the next call finds the result in the cache",
    )
