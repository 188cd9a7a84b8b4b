"""Takes ``np.vectorize(f)``, gives the same over recorded arrays: ``f`` is called with numbers that have a history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.autograd.dispatch import call_function
from jitmagic.autograd.numbers import item_of
from jitmagic.autograd.recorded import Recorded, needs_gradient, raw

__all__ = ["recording_vectorize"]

Function = Callable[..., Any]


def recording_vectorize(kind: Any, seen: Callable[[Any], Any]) -> type[np.vectorize]:
    """``np.vectorize`` for stand-ins of class ``kind``; ``seen(f)`` is the function that is called in place of ``f``.

    As NumPy does, it gives Python numbers to the function, and before those of the first element as NumPy's, to learn
    the dtypes of results where ``otypes`` does not tell them. With ``signature=`` it is NumPy's own.
    """

    class Vectorize(np.vectorize):
        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            is_made = callable(self.pyfunc)  # else this is a decorator with arguments
            if not is_made or self.signature is not None or not needs_gradient((args, kwargs)):
                return super().__call__(*args, **kwargs)
            return _vectorized(kind, self, seen(self.pyfunc), args, kwargs)

    Vectorize.__name__ = Vectorize.__qualname__ = "vectorize"
    return Vectorize


def _vectorized(kind: Any, settings: np.vectorize, function: Function, args: Any, kwargs: dict[str, Any]) -> Any:
    names = [name for name in kwargs if name not in settings.excluded]
    places = [i for i in range(len(args)) if i not in settings.excluded]

    def of_one(elements: list[Any]) -> Any:
        positional, named = list(args), dict(kwargs)
        for i, element in zip(places, elements, strict=False):
            positional[i] = element
        named |= dict(zip(names, elements[len(places) :], strict=True))
        return function(*positional, **named)

    return _collected(kind, settings.otypes, of_one, [args[i] for i in places] + [kwargs[name] for name in names])


def _collected(kind: Any, otypes: str | None, of_one: Function, given: list[Any]) -> Any:
    arrays: list[Any] = [each if isinstance(each, Recorded) else np.asarray(each) for each in given]
    shape = np.broadcast_shapes(*(np.shape(raw(a)) for a in arrays))
    spread = [np.broadcast_to(a, shape) for a in arrays]
    places = list(np.ndindex(shape))
    if otypes is None:
        if not places:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        first = of_one([a[places[0]] for a in spread])
        otypes = "".join(np.asarray(raw(each)).dtype.char for each in (first if isinstance(first, tuple) else (first,)))
    results = [of_one([_number(a, place) for a in spread]) for place in places]
    columns = [[r[i] for r in results] for i in range(len(otypes))] if len(otypes) > 1 else [results]
    made = [_array(kind, column, shape, dtype) for column, dtype in zip(columns, otypes, strict=True)]
    return made[0] if len(made) == 1 else tuple(made)


def _number(array: Any, place: tuple[int, ...]) -> Any:
    if isinstance(array, Recorded) and array._history() is not None:
        return item_of(array, *place)
    return raw(array).item(*place)


def _array(kind: Any, items: list[Any], shape: tuple[int, ...], dtype: str) -> Any:
    if not items or not needs_gradient(items):
        return np.array(raw(items), dtype).reshape(shape)
    return call_function(kind, np.array, (items,), {"dtype": dtype}).reshape(shape)
