"""Takes sample arguments, gives what ``infer`` says wrongly when their sizes are symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.polynomial import evaluate
from jitmagic.graph.shapes import DataDependentSize, ShapeEnv, SymInt
from jitmagic.ops.describe import replace_leaves
from jitmagic.ops.record import Op
from tests.ops.variations import on_arrays, outcome

TRIALS = 12


def with_symbols(value: Any, env: ShapeEnv) -> tuple[Any, dict[int, SymInt]]:
    """Descriptions in which each distinct size from 2 on is one symbol."""
    table: dict[int, SymInt] = {}

    def symbol(n: int) -> Any:
        if n < 2:
            return n
        if n not in table:
            table[n] = env.new_symbol(n)
        return table[n]

    def describe(leaf: Any) -> Any:
        if not isinstance(leaf, np.ndarray):
            return leaf
        return ArrayMeta.of(leaf, tuple(map(symbol, leaf.shape)))

    return replace_leaves(value, describe), table


def symbolic_disagreement(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Infer once with symbols, then compare with NumPy at other sizes that fulfil the recorded relations."""
    env = ShapeEnv()
    (metas, options), table = with_symbols((args, kwargs), env)
    found, error = outcome(lambda: op.infer(metas, options, env))
    if error is not None:
        _, real = outcome(lambda: op.call(*args, **kwargs))
        honest = isinstance(error, Unsupported | DataDependentSize) or type(real) is type(error)
        return None if honest else f"infer raises {error!r}, NumPy {real!r}"
    rng = np.random.default_rng(3)
    for _ in range(TRIALS):
        sizes = {n: int(rng.integers(2, 9)) for n in table}
        values = {repr(symbol): sizes[n] for n, symbol in table.items()}
        if all(relation.holds(values) for relation in env.relations):
            wrong = _at_sizes(op, found, args, kwargs, sizes, values)
            if wrong:
                return wrong
    return None


def _at_sizes(op: Op, found: Any, args: Any, kwargs: Any, sizes: dict[int, int], values: dict[str, int]) -> str | None:
    def resized(a: Any) -> Any:
        return np.resize(a, tuple(sizes.get(n, n) for n in a.shape)).astype(a.dtype)

    args, kwargs = on_arrays((args, kwargs), resized)
    real, error = outcome(lambda: op.call(*args, **kwargs))
    if error is not None:
        return (
            None
            if op.may_raise(args, kwargs, ShapeEnv())
            else f"at {sizes}: NumPy raises {error!r}, the relations allow it"
        )
    entries = real if isinstance(real, tuple | list) else (real,)
    metas = found.meta if isinstance(found.meta, tuple) else (found.meta,)
    if len(entries) != len(metas):
        return f"at {sizes}: {len(entries)} results"
    bound = {**values, **{repr(s): entries[i].shape[axis] for i, axis, s in found.run_time_sizes}}
    for entry, meta in zip(entries, metas, strict=True):
        if isinstance(entry, np.ndarray):
            shape = tuple(evaluate(n.poly, bound) if isinstance(n, SymInt) else n for n in meta.shape)
            if shape != entry.shape:
                return f"at {sizes}: NumPy {entry.shape}, infer {meta.shape} = {shape}"
    return None
