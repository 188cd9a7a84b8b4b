"""Takes any call on descriptions, gives its result by running it on small arrays; result sizes are recognised.

Each unknown or large size becomes a small number of its own, in two draws with different numbers and data. A size of
the result that is the same expression of them in both draws is that expression; the same number in both is a constant;
anything else depends on more than sizes and becomes a run-time size. Sizes that are small and known stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod
from types import SimpleNamespace
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.graph.polynomial import Polynomial, evaluate, symbols_of
from jitmagic.graph.shapes import Dim, SymInt, hint_of
from jitmagic.ops.describe import ONE_OF_TYPE, find_arrays, replace_leaves
from jitmagic.ops.orders import inner_first
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Inferred
from jitmagic.ops.refusals import is_small, run_hollow
from jitmagic.ops.sizes import same_size
from jitmagic.ops.surrogates import surrogate

__all__ = ["Sizes", "probe", "probe_at_hints", "sized"]

AS_THEY_ARE = 1 << 18  # elements that a trial at full size may have
SMALL_TOTAL = 512  # elements: up to here known sizes stay as they are
SHORT = 4  # sizes up to here may be what a function asks for: components, channels
NUMBERS = (5, 7, 11, 13, 17, 19)  # of the first draw, smallest first; of the second, largest first: no number twice
OTHERS = (6, 8, 9, 14, 15, 21)


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

    def shaped(self, call: Arguments) -> Arguments:
        """The call with the numbers of this draw in place of its sizes; arrays have a shape and nothing else."""

        def leaf(value: Any) -> Any:
            if isinstance(value, ArrayMeta | np.ndarray | np.generic):
                shape = tuple(self.size(n) for n in value.shape)
                return SimpleNamespace(shape=shape, ndim=len(shape), size=prod(shape))
            return self.size(value) if isinstance(value, SymInt) else value

        args, kwargs = replace_leaves((call.args, dict(call.kwargs)), leaf)
        return Arguments(call.op, args, kwargs, call.env)

    def run(self, call: Arguments) -> Any:
        """The operation on small arrays."""
        self.made.clear()
        args, kwargs = replace_leaves((call.args, dict(call.kwargs)), self.leaf)
        with Quiet():
            return call.op.call(*args, **kwargs)


Counted = Callable[[int, int], bool]
Sizes = Callable[[Arguments], Iterable[Dim]]


def sized(sizes: Sizes) -> Callable[[Arguments], Inferred]:
    """The rule of functions whose results have sizes that ``sizes(call)`` computes from those of the operands."""
    return lambda call: probe(call, sizes=sizes)


def counted(call: Arguments) -> Inferred:
    """The rule of functions whose results all have a first axis that only the data tell."""
    return probe(call, counted=lambda place, axis: axis == 0)


def probe(
    call: Arguments,
    *,
    counted: Counted | None = None,
    trust_constants: bool = True,
    offsets: bool = False,
    sizes: Sizes | None = None,
) -> Inferred:
    """The general rule. Raises what NumPy raises; Unsupported if the result is nothing that a graph can hold.

    ``counted(entry, axis)`` names sizes that depend on data. Without ``trust_constants`` a size that is no size of an
    operand counts as such even if both draws agree on it. With ``offsets`` a size may be that of an operand and a
    number more or less, the same at every call. ``sizes(call)`` are sizes that the result may have besides; it asks
    operands for ``shape``, ``ndim`` and ``size`` only.
    """
    metas = find_arrays((call.args, dict(call.kwargs)))
    _refuse_overwriting(call)
    if any(m.dtype.hasobject for m in metas):
        raise Unsupported("dtype", "object")
    draws = _draws(call, metas)
    try:
        results = [draw.run(call) for draw in draws]
    except Exception as error:
        if call.op.may_raise(call.args, call.kwargs, call.env):
            draws, results = _of_other_values(call, draws, error, metas)
        else:
            draws, results = _again(call, metas)
    with Quiet():  # looking at the flags of what np.broadcast_arrays gives is warned of
        is_counted = counted or (lambda place, axis: False)
        return Reading(call, draws, metas, is_counted, trust_constants, offsets, sizes).read(results)


def probe_as_it_is(call: Arguments, sizes: Sizes | None = None) -> Inferred:
    """The same for a function whose sizes are no simple expression: it runs once on arrays of the sizes of this trace.

    Raises as ``probe`` does; for large arrays, and sizes that change from call to call, it is ``probe`` itself.
    """
    metas = find_arrays((call.args, dict(call.kwargs)))
    if any(True for _ in _symbolic(call)) or sum(prod(m.shape) for m in metas) > AS_THEY_ARE:
        return probe(call, trust_constants=False, sizes=sizes)
    draws = [Draw({}, {}, varied=False)]
    results = [draw.run(call) for draw in draws]
    return Reading(call, draws, metas, lambda place, axis: False, trust_constants=True).read(results)


def _of_other_values(
    call: Arguments, draws: list[Draw], error: Exception, metas: list[ArrayMeta]
) -> tuple[list[Draw], list[Any]]:
    """After a refusal that made-up values may be the reason for, or sizes that are equal in this trace.

    The zeros of the second draw are weights that add up to none.
    """
    varied = _varied(draws)
    with suppress(Exception):
        return varied, [draw.run(call) for draw in varied]
    alike = _of_equal_sizes(call, metas)
    if alike is None:
        raise Unsupported("extern-unknown", f"{call.op.name} (tried on made-up numbers it says: {error})") from error
    return alike


def _of_equal_sizes(call: Arguments, metas: list[ArrayMeta]) -> tuple[list[Draw], list[Any]] | None:
    """Symbols of equal value as equal ones, from now on; None if there are no symbols, or that does not help."""
    if not any(True for _ in _symbolic(call)):
        return None
    for longer_than in (2, SHORT):
        drawn = _draws(call, metas, equal=True, longer_than=longer_than)
        for draws in (drawn, _varied(drawn)):
            with suppress(Exception):
                results = [draw.run(call) for draw in draws]
                _record_equalities(call)
                return draws, results
    return None


def _varied(draws: list[Draw]) -> list[Draw]:
    """The same sizes; no operand holds zeros only."""
    return [replace(draw, varied=True, made=[]) for draw in draws]


def _refuse_overwriting(call: Arguments) -> None:
    """``overwrite_input=True`` and its like use the operand as scratch memory."""
    named = [n for n in call.op.signature.parameters if n.startswith("overwrite")]
    given = [n for n in call.kwargs if n.startswith("overwrite")]
    if any(call.kwargs[n] is not False for n in given) or any(call.get(n) not in (False, None) for n in named):
        raise Unsupported("extern-unknown", f"{call.op.name} that overwrites its operand")


def _again(call: Arguments, metas: list[ArrayMeta]) -> tuple[list[Draw], list[Any]]:
    """After a refusal: symbols of equal value as equal ones, then all sizes as they are."""
    alike = _of_equal_sizes(call, metas)
    if alike is not None:
        return alike
    if not is_small(call):
        fixed = _of_short_sizes(call, metas)
        if fixed is not None:
            return fixed
        run_hollow(call)
        raise Unsupported("extern-unknown", f"{call.op.name} with these sizes")
    draws = probe_at_hints(call)
    return draws, [draw.run(call) for draw in draws]


def _of_short_sizes(call: Arguments, metas: list[ArrayMeta]) -> tuple[list[Draw], list[Any]] | None:
    """Short known sizes as they are: vectors have three components, whatever their number; None if that is not it."""
    draws = _draws(call, metas, longer_than=SHORT)
    with suppress(Exception):
        return draws, [draw.run(call) for draw in draws]
    return None


def _record_equalities(call: Arguments) -> None:
    first: dict[int, SymInt] = {}
    for n in _symbolic(call):
        same_size(first.setdefault(n.hint, n), n)


def probe_at_hints(call: Arguments) -> list[Draw]:
    """Draws in which every size has its value in this trace; symbolic ones become fixed."""
    symbols = {s.name: s.hint for n in _symbolic(call) for s in symbols_of(n.poly)}
    for n in _symbolic(call):
        int(n)
    return [Draw(symbols, {}, varied) for varied in (True, False)]


def _symbolic(call: Arguments) -> Iterator[SymInt]:
    found: list[SymInt] = []

    def note(leaf: Any) -> Any:
        dims = leaf.shape if isinstance(leaf, ArrayMeta) else (leaf,)
        found.extend(n for n in dims if isinstance(n, SymInt))
        return leaf

    replace_leaves((call.args, dict(call.kwargs)), note)
    return iter(found)


def _draws(call: Arguments, metas: list[ArrayMeta], *, equal: bool = False, longer_than: int = 2) -> list[Draw]:
    """Two draws; the order of the numbers is turned around, so that ``min`` and ``max`` of sizes show.

    With ``equal`` symbols of the same value get the same number. Known sizes up to ``longer_than`` stay.
    """
    symbols = sorted({s for n in _symbolic(call) for s in symbols_of(n.poly)}, key=lambda s: s.name)
    names: list[Any] = sorted({s.hint for s in symbols}) if equal else [s.name for s in symbols]
    large = sum(int(np.prod(m.hint_shape)) for m in metas) > SMALL_TOTAL
    known = sorted({n for m in metas for n in m.shape if isinstance(n, int) and n > longer_than}) if large else []
    count = len(names) + len(known)
    if count > len(NUMBERS):
        return probe_at_hints(call)
    draws = []
    for varied, values in ((True, NUMBERS[:count]), (False, OTHERS[:count][::-1])):
        by_name = dict(zip(names, values, strict=False))
        numbered = {s.name: by_name[s.hint if equal else s.name] for s in symbols}
        draws.append(Draw(numbered, dict(zip(known, values[len(names) :], strict=True)), varied))
    return draws


@dataclass
class Reading:
    """The results of two draws, read back as descriptions."""

    call: Arguments
    draws: list[Draw]
    metas: list[ArrayMeta]
    counted: Counted
    trust_constants: bool
    offsets: bool = False
    sizes: Sizes | None = None
    run_time: list[tuple[int, int, Any]] = field(default_factory=list)
    count: tuple[Dim, list[int]] | None = None  # what the call counts: all results have the same number of rows

    def read(self, results: list[Any]) -> Inferred:
        first = results[0]
        if not isinstance(first, tuple | list):
            return self._with_sharing(results, self._entry(0, results))
        if any(type(r) is not type(first) or len(r) != len(first) for r in results):
            raise Unsupported("extern-unknown", f"{self.call.op.name}, whose number of results depends on data")
        metas = tuple(self._entry(i, [r[i] for r in results]) for i in range(len(first)))
        for array in (a for result in results for a in result):
            self._refuse_sharing(array)
        return Inferred(metas, run_time_sizes=tuple(self.run_time), container=type(first))

    def _with_sharing(self, results: list[Any], meta: Meta | None) -> Inferred:
        out = self.call.kwargs.get("out")
        if isinstance(out, ArrayMeta):
            return Inferred(out, same_as="out")
        for array, described in self.draws[0].made:
            if array is results[0] and isinstance(array, np.ndarray):
                return Inferred(described, same_as=_position(self.call.args, described))
        for result in results:
            self._refuse_sharing(result)
        return Inferred(meta, run_time_sizes=tuple(self.run_time))

    def _refuse_sharing(self, result: Any) -> None:
        """A result that may be a view or a copy needs a rule of its own."""
        made = [a for draw in self.draws for a, _ in draw.made if isinstance(a, np.ndarray)]
        if isinstance(result, np.ndarray) and any(np.may_share_memory(a, result) for a in made):
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
        if 0 in first.shape and all(hint_of(n) == m for n, m in zip(shape, first.shape, strict=True)):
            return ArrayMeta(first.dtype, shape, first.strides, writeable=first.flags.writeable).owned_as(first)
        placed = placed_like([v for v in values if v.size] or values, shape)
        if placed is None and all(type(n) is int for n in shape) and _alike(values):
            placed = ArrayMeta(first.dtype, shape, first.strides)  # a part of an array whose sizes are known
        if placed is None:
            raise Unsupported("extern-unknown", f"{self.call.op.name}, whose result is not dense")
        return replace(placed, writeable=first.flags.writeable).owned_as(first)

    def _dim(self, place: int, axis: int, sizes: list[int]) -> Dim:
        is_counted = self.counted(place, axis)
        if is_counted and self.count is not None and self.count[1] == sizes:
            return self.count[0]
        if not is_counted:
            for known, drawn in self._candidates():
                if drawn == sizes:
                    return known
                if self.offsets and len({n - d for n, d in zip(sizes, drawn, strict=True)}) == 1:
                    return known + (sizes[0] - drawn[0])
            if self.trust_constants and all(n == sizes[0] for n in sizes):
                return sizes[0]
        symbol = self.call.env.new_run_time_symbol()
        self.run_time.append((place, axis, symbol))
        if is_counted and self.count is None:
            self.count = symbol, sizes
        return symbol

    def _candidates(self) -> Iterator[tuple[Dim, list[int]]]:
        """Sizes that a result may have, with their numbers in the draws.

        They are those of the operands, symbolic integers that are passed, and the operands' total sizes; before them
        what ``sizes`` names.
        """
        if self.sizes is not None:
            drawn = zip(*(self.sizes(draw.shaped(self.call)) for draw in self.draws), strict=True)
            yield from zip(self.sizes(self.call), map(list, drawn), strict=True)
        seen: set[Polynomial | int] = set()
        for n in (*(n for m in self.metas for n in m.shape), *_symbolic(self.call)):
            key = n.poly if isinstance(n, SymInt) else n
            if key not in seen:
                seen.add(key)
                yield n, [draw.size(n) for draw in self.draws]
        for m in self.metas:
            if m.ndim > 1:
                yield m.size, [prod(map(draw.size, m.shape)) for draw in self.draws]


def _alike(values: list[Any]) -> bool:
    return all(v.shape == values[0].shape and v.strides == values[0].strides for v in values)


def placed_like(samples: list[Any], shape: tuple[Dim, ...]) -> ArrayMeta | None:
    """An array of ``shape`` in the memory order of the samples; None if that is not clear.

    A fixed gap between elements is kept, and so is the stride of an axis of size 1 if all samples agree on it.
    """
    first = samples[0]
    axes = inner_first(first.shape, first.strides)
    live = [abs(s) for s, n in zip(first.strides, first.shape, strict=True) if n > 1]
    gap = max(min(live, default=0) // max(first.itemsize, 1), 1)
    fitted = _with_gap(first.dtype, first.shape, axes, gap)
    if any(n > 1 and s != f for n, s, f in zip(first.shape, first.strides, fitted, strict=True)):
        return None
    strides = list(_with_gap(first.dtype, shape, axes, gap))
    for axis, n in enumerate(first.shape):
        if n == 1 and first.strides[axis] != fitted[axis]:
            if any(v.strides[axis] != first.strides[axis] for v in samples):
                return None
            strides[axis] = first.strides[axis]
    return ArrayMeta(first.dtype, shape, tuple(strides))


def _with_gap(dtype: Any, shape: tuple[Dim, ...], axes: tuple[int, ...], gap: int) -> tuple[int, ...]:
    return tuple(gap * s for s in ArrayMeta.packed(dtype, shape, axes).strides)


def _position(args: tuple[Any, ...], meta: ArrayMeta) -> int:
    return next(i for i, a in enumerate(args) if a is meta)
