"""Takes the cotangent of an array after ``ufunc.at(a, indices, b)``, gives those of the array before it and of ``b``.

``ufunc.at`` applies the ufunc at one place after the other, and to a place that is named twice two times. So it is done
in rounds, each of which names no place twice; going back through them is the rule of the ufunc itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.describe import array_meta
from jitmagic.ops.gradients.calls import cotangents, invoke
from jitmagic.ops.gradients.shapes import cast, fit
from jitmagic.ops.record import Arguments, Inferred, Op, Rules
from jitmagic.ops.registry import lookup, op

__all__ = ["AT_COTANGENTS", "rules_of_at"]


def _rounds(places: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The positions in ``places`` of the first mention of each place, then of the second ones, and so on."""
    if not places.size:
        return []
    order = np.argsort(places, kind="stable")
    found = places[order]
    starts = np.flatnonzero(np.r_[True, found[1:] != found[:-1]])
    rank = np.arange(found.size) - np.repeat(starts, np.diff(np.r_[starts, found.size]))
    by_rank = np.argsort(rank, kind="stable")
    return np.split(order[by_rank], np.cumsum(np.bincount(rank))[:-1])


def at_cotangents(g: Any, a: Any, indices: Any, b: Any, ufunc: np.ufunc) -> tuple[Any, Any]:
    """The cotangents of ``a`` and ``b`` for that of ``a`` afterwards; arrays, or Tensors for higher derivatives.

    That of ``b`` has the shape of ``b``; without ``b`` it is 0.
    """
    row: Op = lookup(ufunc)[0]  # type: ignore[index]  # only those with rules come here
    numbers = np.arange(np.size(a)).reshape(np.shape(a))[indices]
    places, values = np.ravel(numbers), np.reshape(a, -1).copy()
    spread = None if b is None else np.reshape(np.broadcast_to(b, numbers.shape), -1)
    steps = []
    for mine in _rounds(places):
        operands = (values[places[mine]], *(() if spread is None else (spread[mine],)))
        after = ufunc(*operands)
        values[places[mine]] = after
        steps.append((mine, operands, after))
    left, arrived = np.reshape(g, -1).copy(), np.zeros_like(np.reshape(g, -1), shape=places.shape)
    for mine, operands, after in reversed(steps):
        found = dict(cotangents(row, range(len(operands)), cast(left[places[mine]], after), after, operands, {}))
        left[places[mine]] = found[0]
        if spread is not None:
            arrived[mine] = found[1]
    of_b = np.zeros_like(arrived, shape=()) if b is None else fit(np.reshape(arrived, numbers.shape), b)
    return np.reshape(left, np.shape(a)), of_b


def _meta(call: Arguments) -> Inferred:
    g, b = call.args[0], call.args[3]
    if b is None:
        return Inferred((ArrayMeta.dense(g.dtype, g.shape), ArrayMeta.dense(g.dtype, ())))
    values = array_meta(b)
    dtype = values.dtype if isinstance(b, ArrayMeta) else g.dtype
    return Inferred((ArrayMeta.dense(g.dtype, g.shape), ArrayMeta.dense(dtype, values.shape)))


def _on_copies(*args: Any) -> tuple[Any, ...]:
    return tuple(np.array(each, order="C") for each in at_cotangents(*args))


AT_COTANGENTS = op("at_cotangents", _on_copies, meta=_meta, signature="g, a, indices, b, ufunc")


def rules_of_at(ufunc: np.ufunc) -> Rules | None:
    """The rules of ``ufunc.at``, if the ufunc has some."""
    known = _LINEAR.get(ufunc)
    if known is not None:
        return known
    found = lookup(ufunc)
    if found is None or ufunc.nout != 1 or None in (found[0].vjp or (None,)):
        return None

    def rule(entry: int) -> Callable[..., Any]:
        def of_operand(g: Any, ans: Any, a: Any, indices: Any, b: Any = None) -> Any:
            pulled = invoke(AT_COTANGENTS.call, g, a, indices, b, ufunc)[entry]
            return fit(pulled, (a, b)[entry])

        return of_operand

    return (rule(0), None, rule(1))


def _itself(g: Any, ans: Any, a: Any, indices: Any, b: Any = None) -> Any:
    return g


_LINEAR: dict[np.ufunc, Rules] = {
    np.add: (_itself, None, lambda g, ans, a, indices, b=None: fit(g[indices], b)),
    np.subtract: (_itself, None, lambda g, ans, a, indices, b=None: fit(-g[indices], b)),
}
