"""Functions of ``functools.lru_cache``: of the caller, whose cache is looked into, and made in the trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.effects import CallEffect, MethodEffect
from jitmagic.tracer.guards import DictSource, ItemSource, Source
from jitmagic.tracer.guards.caches import MISSED, CacheView, absent_guard, result_guard
from jitmagic.tracer.guards.kinds import identity_guard, type_guard
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import NestedFunction
from jitmagic.tracer.variables.mappings import key_of
from jitmagic.tracer.variables.objects import ObjectTracker

if TYPE_CHECKING:
    from jitmagic.tracer.builder import Builder
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["CachedFunction", "LocalCache", "wrap_cached"]

Named = dict[str, VariableTracker]


class CachedFunction(VariableTracker):
    """A function with a cache that existed before the call.

    A call whose result is in the cache gives that and is made again after the graph, which counts it; any other call
    is made by Python, and only as long as the result is not there.
    """

    immutable = False

    def __init__(self, value: Any, source: Source) -> None:
        self.value = value
        self.source = source
        self.is_cleared = False

    def python_type(self) -> type:
        return type(self.value)

    def describe(self) -> str:
        return f"{getattr(self.value, '__qualname__', 'a cached function')}()"

    def real_object(self) -> Any:
        return self.value

    def truth(self, tx: Evaluator) -> bool:
        return True

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in self.value.__dict__ and name != "cache_parameters":
            assert self.source is not None
            return tx.output.builder.wrap(tx, self.value.__dict__[name], DictSource(self.source, name))
        if name not in ("cache_clear", "cache_info", "cache_parameters"):
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        return CacheMethod(self, name)

    def call(self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: Named) -> VariableTracker:
        source = self.source
        assert source is not None
        known = tuple(_known(tx, a) for a in args)
        named = {k: _known(tx, v) for k, v in kwargs.items()}
        tx.output.guards.add(identity_guard(source, self.value, "FUNCTION_MATCH"))
        view = CacheView(self.value)
        key = view.key(known, named)
        entry, value = (MISSED, MISSED) if self.is_cleared or not view.is_new() else view.found(key)
        given = [*(a.describe() for a in args), *(f"{k}={v.describe()}" for k, v in kwargs.items())]
        name = f"{self.value.__qualname__}({', '.join(given)})"
        table = view.table
        if entry is MISSED or table is None:
            if table is not None and not self.is_cleared and view.is_new():
                tx.output.policy.made.append(lambda output: absent_guard(output.constant_source(table), name, key))
            raise Unsupported("cache", name)
        place = tx.output.constant_source(table, f"the cache of {self.value.__qualname__}")
        tx.output.guards.add(result_guard(place, name, view, key, entry))
        tx.output.add_effect(HitEffect("", args, kwargs, target=self, span=tx.span))
        held = tx.output.constant_source(_kept(tx, entry, value), name)
        return tx.output.builder.wrap(tx, value, ItemSource(held, 0))


def wrap_cached(builder: Builder, value: Any, source: Source) -> VariableTracker:
    known = builder.output.known(value, source)
    if known is None:
        builder.output.guards.add(type_guard(source, type(value)))
        known = CachedFunction(value, source)
        builder.output.track(value, known)
    return known


def _kept(tx: Evaluator, entry: Any, value: Any) -> tuple[Any, ...]:
    """A tuple that holds the result; one for each entry of a cache, so that each result has one place."""
    return tx.output.cached.setdefault(id(entry), (value, entry))


def _known(tx: Evaluator, value: VariableTracker) -> Any:
    """An argument as the object that it is; instances that compare by identity are looked for themselves."""
    value = tx.realize(value)
    if type(value) is ObjectTracker and value.value is not None and value.source is not None:
        plain = all(value.guarded_entry(tx, name) is vars(object)[name] for name in ("__eq__", "__hash__"))
        if plain:
            tx.output.guards.add(identity_guard(value.source, value.value))
            return value.value
    return key_of(value)


class HitEffect(CallEffect):
    """A cached function finds a result: it counts that, and which one was used last."""

    def __init__(self, function: str, args: Any, kwargs: Any, *, target: CachedFunction, span: Any) -> None:
        super().__init__(function, args, kwargs, span=span)
        self.target = target

    def describe(self) -> str:
        return f"counts a hit in the cache of {self.target.describe()}"

    def replay(self, emit: Emitter) -> None:
        self.function = emit.value(self.target)
        super().replay(emit)


class CacheMethod(VariableTracker):
    """A method of a function with a cache, not called yet."""

    def __init__(self, function: CachedFunction, name: str) -> None:
        self.function = function
        self.name = name

    def call(self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: Named) -> VariableTracker:
        if self.name != "cache_clear" or args or kwargs:
            raise Unsupported("call", f"{self.function.describe()}.{self.name}")
        tx.output.add_effect(MethodEffect(self.function, "cache_clear", (), span=tx.span))
        self.function.is_cleared = True
        return Constant(None)


class LocalCache(VariableTracker):
    """A function that the trace gives a cache: results by key, the least recently used first."""

    immutable = False

    def __init__(self, function: NestedFunction, limit: int | None, is_typed: bool, info: Any) -> None:
        self.function = function
        self.limit = limit
        self.is_typed = is_typed
        self.info = info
        self.results: dict[Any, VariableTracker] = {}
        self.attributes: dict[str, VariableTracker] = {}
        self.hits = self.misses = 0

    def describe(self) -> str:
        return self.function.describe()

    def truth(self, tx: Evaluator) -> bool:
        return True

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in self.attributes:
            return self.attributes[name]
        if name in _LOCAL_METHODS:
            return LocalCacheMethod(self, name)
        raise Unsupported("attribute", f"{self.describe()}.{name}")

    def set_attribute(self, tx: Evaluator, name: str, value: VariableTracker) -> None:
        self.attributes[name] = value

    def own_attributes(self, tx: Evaluator) -> dict[str, VariableTracker]:
        return dict(self.attributes)

    def call(self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: Named) -> VariableTracker:
        key = self._key(tx, args, kwargs)
        found = None if self.limit == 0 else self.results.get(key)
        if found is not None:
            self.hits += 1
            if self.limit is not None:
                self.results[key] = self.results.pop(key)
            return tx.realize(found)
        self.misses += 1
        result = tx.realize(self.function.call(tx, args, kwargs))
        if self.limit != 0 and not (self.limit is not None and key in self.results):
            if self.limit is not None and len(self.results) >= self.limit:
                del self.results[next(iter(self.results))]
            self.results[key] = result
        return result

    def _key(self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: Named) -> Any:
        if self.limit == 0:
            return ()
        values = [key_of(tx.realize(v)) for v in (*args, *kwargs.values())]
        kinds = tuple(map(type, values)) if self.is_typed else ()
        return len(args), tuple(kwargs), tuple(values), kinds

    def reconstruct(self, emit: Emitter) -> str:
        raise Unsupported("call", f"passing on {self.describe()}, which has a cache")


class LocalCacheMethod(VariableTracker):
    """``cache_info`` or ``cache_clear``, not called yet."""

    def __init__(self, cache: LocalCache, name: str) -> None:
        self.cache = cache
        self.name = name

    def call(self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: Named) -> VariableTracker:
        return _LOCAL_METHODS[self.name](tx, self.cache, *args, **kwargs)


def _clear(tx: Evaluator, cache: LocalCache) -> VariableTracker:
    cache.results.clear()
    cache.hits = cache.misses = 0
    return Constant(None)


def _info(tx: Evaluator, cache: LocalCache) -> VariableTracker:
    parts = (cache.hits, cache.misses, cache.limit, len(cache.results))
    made: VariableTracker = cache.info.call(tx, [Constant(part) for part in parts], {})
    return made


_LOCAL_METHODS: dict[str, Callable[..., VariableTracker]] = {"cache_clear": _clear, "cache_info": _info}
