"""Takes any call on descriptions, gives its result by running it on small arrays; result sizes are recognised.

Each unknown or large size becomes a small number of its own, in two draws with different numbers and data. A size of
the result that is the same expression of them in both draws is that expression; the same number in both is a constant;
anything else depends on more than sizes and becomes a run-time size. Sizes that are small and known stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.graph.polynomial import Polynomial, evaluate, symbols_of
from jitmagic.graph.shapes import Dim, SymInt, hint_of
from jitmagic.ops.describe import ONE_OF_TYPE, find_arrays, replace_leaves
from jitmagic.ops.orders import inner_first
from jitmagic.ops.record import Arguments, Inferred
from jitmagic.ops.surrogates import surrogate

__all__ = ["probe", "probe_at_hints"]

SMALL_TOTAL = 512  # elements: up to here known sizes stay as they are
PRIMES = (5, 7, 11, 13, 17, 19, 23, 29)


@dataclass
class Draw:
    """One choice of numbers for the sizes; ``exact`` keeps those that are known."""

    symbols: dict[str, int]
    known: dict[int, int]
    varied: bool
    made: list[tuple[Any, ArrayMeta]] = field(default_factory=list)

    def size(self, n: Dim) -> int:
        if isinstance(n, SymInt):
            return evaluate(n.poly, self.symbols)
        return self.known.get(n, n)

    def leaf(self, value: Any) -> Any:
        """The real value that stands for one leaf of the arguments."""
        if isinstance(value, np.ndarray | np.generic):
            value = ArrayMeta.of(value)
        if isinstance(value, ArrayMeta):
            array = surrogate(value, self.size, varied=self.varied)
            self.made.append((array, value))
            return array
        if isinstance(value, PyMeta):
            return ONE_OF_TYPE[value.type]
        return self.size(value) if isinstance(value, SymInt) else value

    def run(self, call: Arguments) -> Any:
        """The operation on small arrays."""
        self.made.clear()
        args, kwargs = replace_leaves((call.args, dict(call.kwargs)), self.leaf)
        with np.errstate(all="ignore"):
            return call.op.call(*args, **kwargs)


def probe(call: Arguments) -> Inferred:
    """The general rule. Raises what NumPy raises; Unsupported if the result is nothing that a graph can hold."""
    metas = find_arrays((call.args, dict(call.kwargs)))
    if any(m.dtype.hasobject for m in metas):
        raise Unsupported("dtype", "object")
    draws = _draws(call, metas)
    try:
        results = [draw.run(call) for draw in draws]
    except Exception:
        draws = probe_at_hints(call)
        results = [draw.run(call) for draw in draws]
    return Reading(call, draws, metas).read(results)


def probe_at_hints(call: Arguments) -> list[Draw]:
    """Draws in which every size has its value in this trace; symbolic ones become fixed."""
    for n in _symbolic(call):
        int(n)
    return [Draw({}, {}, varied) for varied in (True, False)]


def _symbolic(call: Arguments) -> Iterator[SymInt]:
    found: list[SymInt] = []

    def note(leaf: Any) -> Any:
        dims = leaf.shape if isinstance(leaf, ArrayMeta) else (leaf,)
        found.extend(n for n in dims if isinstance(n, SymInt))
        return leaf

    replace_leaves((call.args, dict(call.kwargs)), note)
    return iter(found)


def _draws(call: Arguments, metas: list[ArrayMeta]) -> list[Draw]:
    """Two draws; the order of the numbers is turned around, so that ``min`` and ``max`` of sizes show."""
    names = sorted({s.name for n in _symbolic(call) for s in symbols_of(n.poly)})
    large = sum(int(np.prod(m.hint_shape)) for m in metas) > SMALL_TOTAL
    known = sorted({n for m in metas for n in m.shape if isinstance(n, int) and n > 2}) if large else []
    count = len(names) + len(known)
    if count > len(PRIMES):
        return probe_at_hints(call)
    draws = []
    for varied, numbers in ((True, PRIMES[:count]), (False, PRIMES[:count][::-1])):
        shift = 0 if varied else 2 * (count == 1)
        values = [n + shift for n in numbers]
        draws.append(
            Draw(dict(zip(names, values, strict=False)), dict(zip(known, values[len(names) :], strict=True)), varied)
        )
    return draws


@dataclass
class Reading:
    """The results of two draws, read back as descriptions."""

    call: Arguments
    draws: list[Draw]
    metas: list[ArrayMeta]
    run_time: list[tuple[int, int, Any]] = field(default_factory=list)

    def read(self, results: list[Any]) -> Inferred:
        first = results[0]
        if not isinstance(first, tuple | list):
            return self._with_sharing(results, self._entry(0, results))
        if any(type(r) is not type(first) or len(r) != len(first) for r in results):
            raise Unsupported("extern-unknown", f"{self.call.op.name}, whose number of results depends on data")
        metas = tuple(self._entry(i, [r[i] for r in results]) for i in range(len(first)))
        for array in first:
            self._refuse_sharing(array)
        return Inferred(metas, run_time_sizes=tuple(self.run_time), container=type(first))

    def _with_sharing(self, results: list[Any], meta: Meta | None) -> Inferred:
        out = self.call.kwargs.get("out")
        if isinstance(out, ArrayMeta):
            return Inferred(out, same_as="out")
        for array, described in self.draws[0].made:
            if array is results[0] and isinstance(array, np.ndarray):
                return Inferred(described, same_as=_position(self.call.args, described))
        self._refuse_sharing(results[0])
        return Inferred(meta, run_time_sizes=tuple(self.run_time))

    def _refuse_sharing(self, result: Any) -> None:
        """A result that may be a view or a copy needs a rule of its own."""
        if isinstance(result, np.ndarray) and any(
            isinstance(a, np.ndarray) and np.may_share_memory(a, result) for a, _ in self.draws[0].made
        ):
            raise Unsupported("extern-unknown", f"{self.call.op.name}, whose result may share memory with its argument")

    def _entry(self, place: int, values: list[Any]) -> Meta | None:
        first = values[0]
        if first is None:
            return None
        if type(first) in ONE_OF_TYPE:
            return PyMeta(type(first))
        if type(first) is not np.ndarray and not isinstance(first, np.generic):
            raise Unsupported("extern-unknown", f"{self.call.op.name}, which gives a {type(first).__name__}")
        if any(v.dtype != first.dtype or v.ndim != first.ndim or type(v) is not type(first) for v in values):
            raise Unsupported("extern-unknown", f"{self.call.op.name}, whose kind of result depends on data")
        if first.dtype.hasobject:
            raise Unsupported("dtype", "object")
        if isinstance(first, np.generic):
            return ArrayMeta(first.dtype, scalar=True)
        shape = tuple(self._dim(place, axis, [v.shape[axis] for v in values]) for axis in range(first.ndim))
        return self._laid_out(first, shape)

    def _laid_out(self, first: Any, shape: tuple[Dim, ...]) -> ArrayMeta:
        if 0 in first.shape and all(hint_of(n) == m for n, m in zip(shape, first.shape, strict=True)):
            return ArrayMeta(first.dtype, shape, first.strides, writeable=first.flags.writeable)
        axes = inner_first(first.shape, first.strides)
        if 0 not in first.shape and ArrayMeta.packed(first.dtype, first.shape, axes).strides != first.strides:
            raise Unsupported("extern-unknown", f"{self.call.op.name}, whose result is not dense")
        meta = ArrayMeta.packed(first.dtype, shape, axes)
        return ArrayMeta(meta.dtype, meta.shape, meta.strides, writeable=first.flags.writeable)

    def _dim(self, place: int, axis: int, sizes: list[int]) -> Dim:
        for known in self._candidates():
            if all(draw.size(known) == n for draw, n in zip(self.draws, sizes, strict=True)):
                return known
        if all(n == sizes[0] for n in sizes):
            return sizes[0]
        symbol = self.call.env.new_run_time_symbol()
        self.run_time.append((place, axis, symbol))
        return symbol

    def _candidates(self) -> Iterator[Dim]:
        """Sizes that a result may have: those of the operands, and symbolic integers passed as arguments."""
        seen: set[Polynomial | int] = set()
        for n in (*(n for m in self.metas for n in m.shape), *_symbolic(self.call)):
            key = n.poly if isinstance(n, SymInt) else n
            if key not in seen:
                seen.add(key)
                yield n


def _position(args: tuple[Any, ...], meta: ArrayMeta) -> int:
    return next(i for i, a in enumerate(args) if a is meta)


Rule = Callable[[Arguments], Inferred]
