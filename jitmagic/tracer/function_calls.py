"""What the functions of ``functools`` and ``operator`` that make or change functions mean over trackers."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.guards.caches import cache_wrapper
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.base import VariableTracker, read_attribute
from jitmagic.tracer.variables.caches import LocalCache
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import FunctionTracker, NestedFunction
from jitmagic.tracer.variables.namespaces import GlobalsTracker
from jitmagic.tracer.variables.partials import PartialTracker
from jitmagic.tracer.variables.sequences import TupleTracker

__all__ = ["ROWS"]


class Computed(VariableTracker):
    """A callable that the trace made, with the meaning of ``apply``."""

    def __init__(self, kind: type, apply: Callable[[Evaluator, VariableTracker], VariableTracker]) -> None:
        self.kind = kind
        self.apply = apply

    def python_type(self) -> type:
        return self.kind

    def truth(self, tx: Evaluator) -> bool:
        return True

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if len(args) != 1 or kwargs:
            raise Unsupported("call", self.describe())
        return self.apply(tx, args[0])


def _itemgetter(tx: Evaluator, *keys: VariableTracker) -> VariableTracker:
    def apply(tx: Evaluator, value: VariableTracker) -> VariableTracker:
        found = [tx.realize(value.item(tx, key)) for key in keys]
        return found[0] if len(found) == 1 else TupleTracker(found)

    return Computed(operator.itemgetter, apply)


def _attrgetter(tx: Evaluator, *names: VariableTracker) -> VariableTracker:
    paths = [name.constant().split(".") for name in names]

    def follow(tx: Evaluator, value: VariableTracker, path: Sequence[str]) -> VariableTracker:
        for name in path:
            value = read_attribute(tx, value, name)
        return value

    def apply(tx: Evaluator, value: VariableTracker) -> VariableTracker:
        found = [follow(tx, value, path) for path in paths]
        return found[0] if len(found) == 1 else TupleTracker(found)

    return Computed(operator.attrgetter, apply)


def _methodcaller(
    tx: Evaluator, name: VariableTracker, *args: VariableTracker, **kwargs: VariableTracker
) -> VariableTracker:
    def apply(tx: Evaluator, value: VariableTracker) -> VariableTracker:
        return value.method(tx, name.constant(), args, kwargs)

    return Computed(operator.methodcaller, apply)


def _update_wrapper(tx: Evaluator, wrapper: VariableTracker, wrapped: VariableTracker) -> VariableTracker:
    """``functools.update_wrapper`` with its default lists of attributes."""
    own = isinstance(wrapper, NestedFunction | LocalCache)
    if not own or not isinstance(wrapped, FunctionTracker | NestedFunction | LocalCache):
        raise Unsupported("call", "functools.update_wrapper()")
    for name in ("__module__", "__name__", "__qualname__", "__doc__"):
        try:
            wrapper.set_attribute(tx, name, tx.realize(wrapped.attribute(tx, name)))
        except Raised as raised:
            if not isinstance(raised.error, AttributeError):
                raise
    for name, value in wrapped.own_attributes(tx).items():
        wrapper.set_attribute(tx, name, value)
    wrapper.set_attribute(tx, "__wrapped__", wrapped)
    return wrapper


def _wraps(tx: Evaluator, wrapped: VariableTracker) -> VariableTracker:
    return Computed(functools.partial, lambda tx, wrapper: _update_wrapper(tx, wrapper, wrapped))


def _partial(
    tx: Evaluator, function: VariableTracker, *args: VariableTracker, **kwargs: VariableTracker
) -> VariableTracker:
    """A partial of a partial is flattened, as in Python."""
    if isinstance(function, PartialTracker):
        return PartialTracker(function.function, [*function.args, *args], {**function.kwargs, **kwargs})
    return PartialTracker(function, args, kwargs)


def _set_item(tx: Evaluator, owner: VariableTracker, key: VariableTracker, value: VariableTracker) -> VariableTracker:
    owner.set_item(tx, key, value)
    return Constant(None)


def _delete_item(tx: Evaluator, owner: VariableTracker, key: VariableTracker) -> VariableTracker:
    owner.delete_item(tx, key)
    return Constant(None)


def _globals(tx: Evaluator) -> VariableTracker:
    return GlobalsTracker(tx)


def _cached(
    tx: Evaluator, function: VariableTracker, limit: VariableTracker, typed: VariableTracker, info: VariableTracker
) -> VariableTracker:
    """What ``functools.lru_cache`` makes of a function of the trace."""
    if not isinstance(function, NestedFunction):
        raise Unsupported("call", "functools.lru_cache() of a function from outside")
    return LocalCache(function, limit.constant(), bool(typed.constant()), info)


ROWS: dict[Any, Handler] = {
    cache_wrapper: _cached,
    globals: _globals,
    operator.itemgetter: _itemgetter,
    operator.attrgetter: _attrgetter,
    operator.methodcaller: _methodcaller,
    operator.setitem: _set_item,
    operator.delitem: _delete_item,
    operator.contains: lambda tx, owner, value: owner.contains(tx, value),
    functools.partial: _partial,
    functools.update_wrapper: _update_wrapper,
    functools.wraps: _wraps,
}
