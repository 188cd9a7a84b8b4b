"""Pure counterparts of NumPy's writes; only ``jitmagic.aot`` makes them.

* ``update(base, value, path)``: ``base`` with the part that ``path`` leads to replaced by ``value``;
* ``update_index(base, value, path, index)``: the same for ``part[index] = value`` with an advanced index;
* ``add_at(base, value, index)``: ``base`` with ``value`` added at ``index``, once more for each time it is named;
* ``pure_form(op)``: any other writing operation; it writes into copies and gives these;
* ``window(base, offset, shape, strides)``: an input as a view of the one base it shares with other inputs;
* ``copy_into(target, value, path)``: the only write, at the end of graphs that keep their writes to inputs (row A10).

A copy keeps the order, the signs and the gaps of the strides of its original: NumPy's bits depend on them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jitmagic.errors import InternalError
from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.gradients import fit, invoke
from jitmagic.ops.gradients.elementwise import zero
from jitmagic.ops.gradients.indices import kinds_of
from jitmagic.ops.gradients.shapes import shape_of, summed_like
from jitmagic.ops.lowering import View
from jitmagic.ops.record import Arguments, Inferred, Op, Rules
from jitmagic.ops.registry import op
from jitmagic.ops.view_steps import ViewStep, follow, ordered

__all__ = [
    "ADD_AT",
    "BYTE_WINDOW",
    "COPY_INTO",
    "UPDATE",
    "UPDATE_INDEX",
    "WINDOW",
    "PureCall",
    "ViewStep",
    "copy_layout",
    "follow",
    "kept_values",
    "part_of_cotangent",
    "pure_form",
]

Array = np.ndarray[Any, Any]
Order: TypeAlias = Literal["K", "C", "F"]
ALIGNMENT = 16  # bytes; what NumPy's allocator keeps, so that views with a wider dtype stay aligned


def copy_layout(array: Array) -> Array:
    """A copy that owns its data and whose strides have the order, signs and gaps of the original's."""
    copy = _empty_alike(array)
    copy[...] = array
    return copy


def _empty_alike(array: Array) -> Array:
    """NumPy's own allocation if one of its orders fits; the strides of axes of size 1 are visible too."""
    orders: tuple[Order, ...] = ("K", "C", "F")
    for order in orders:
        fresh = np.empty_like(array, order=order, subok=False)
        if fresh.strides == array.strides:
            return fresh
    if not array.size:  # NumPy allocates those without strides, but reshapes them with some
        return as_strided(np.empty_like(array, subok=False), array.shape, array.strides)
    if not _same_layout(fresh := np.empty_like(array, order="K", subok=False), array):
        return _empty_with_gaps(array)
    return fresh if array.dtype.hasobject else np.ndarray(array.shape, array.dtype, None, 0, array.strides)


def _same_layout(a: Array, b: Array) -> bool:
    return all(s == t for n, s, t in zip(a.shape, a.strides, b.strides, strict=True) if n > 1)


def _empty_with_gaps(like: Array) -> Array:
    """An array whose axes lie in memory as those of ``like``, with gaps in the same places but smaller."""
    strides = list(like.strides)
    reach = dense = like.itemsize  # the strides, there and here, that leave no gap after the axes so far
    for axis in sorted(range(like.ndim), key=lambda axis: (abs(like.strides[axis]), -axis)):
        actual, n = abs(like.strides[axis]), like.shape[axis]
        if n == 1:
            strides[axis] = dense
            continue
        gap = actual - reach
        if gap < 0:  # the axes interlock, or elements share memory
            return _allocate(like.dtype, like.shape, like.strides)
        step = dense + min(gap, gap % ALIGNMENT or ALIGNMENT)
        strides[axis] = -step if like.strides[axis] < 0 else step
        reach, dense = actual * n, step * n
    return _allocate(like.dtype, like.shape, tuple(strides))


def _allocate(dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    low = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, strides, strict=True) if s > 0) + dtype.itemsize
    if dtype.hasobject:
        pool = np.empty(-(-(high - low) // dtype.itemsize), dtype)
        return as_strided(pool[-low // dtype.itemsize :], shape, strides)
    return np.ndarray(shape, dtype, np.empty(high - low, np.uint8), -low, strides)


def _fresh(base: Array) -> Array:
    """A copy to be written. Read-only arrays may be broadcast: their elements must not share memory any more."""
    return copy_layout(base) if base.flags.writeable else np.array(base, order="C")


def _updated(base: Array, path: tuple[ViewStep, ...], assign: Callable[[Array], None]) -> Array:
    """A copy of ``base`` after ``assign`` was given its part.

    If a backend laid ``base`` out in another way than the plain run has it, a ``reshape`` on the path may copy; then
    the same steps on a table of positions tell where the elements of the part belong.
    """
    copy = _fresh(base)
    part = follow(copy, path)
    assign(part)
    if part.size and not np.may_share_memory(part, copy):
        if part.dtype != copy.dtype:
            raise InternalError(f"a part with dtype {part.dtype} of an array with dtype {copy.dtype} is not a view")
        places = follow(np.arange(copy.size).reshape(copy.shape), path)
        copy.flat[places.ravel()] = part.ravel()
    return copy


def _update(base: Array, value: Any, path: tuple[ViewStep, ...]) -> Array:
    def assign(part: Array) -> None:
        part[...] = value

    return _updated(base, path, assign)


def _update_index(base: Array, value: Any, path: tuple[ViewStep, ...], index: Any) -> Array:
    def assign(part: Array) -> None:
        part[index] = value

    return _updated(base, path, assign)


def _like_base(call: Arguments) -> Inferred:
    base = call.args[0]
    if not base.writeable:
        return Inferred(ArrayMeta.dense(base.dtype, base.shape))
    return Inferred(base)


def part_of_cotangent(g: Any, path: tuple[ViewStep, ...], part_of: Callable[[Any], Any] | None = None) -> Any:
    """The cotangent of the part that ``path`` leads to; ``part_of(g)`` follows it in another way.

    Cotangents of complex numbers are ``df/dx - i df/dy``: where the path leads to their parts (``imag``,
    ``view(float)``), or from real numbers to complex ones, the sign of the second part changes.
    """
    find = part_of or (lambda whole: follow(whole, path))
    part = find(g)
    if g.dtype.kind == part.dtype.kind or "c" not in (g.dtype.kind, part.dtype.kind):
        return part
    return np.conj(part) if part.dtype.kind == "c" else find(np.conj(g))


UPDATE = op(
    "update",
    _update,
    meta=_like_base,
    signature="base, value, path",
    vjp=(
        lambda g, ans, base, value, path: invoke(_update, g, 0, ordered(path, base)),
        lambda g, ans, base, value, path: fit(part_of_cotangent(g, ordered(path, base)), value),
    ),
)


def kept_values(g: Any, path: tuple[ViewStep, ...], index: Any) -> Any:
    """``part[index]``, 0 for values that a later value of the same write replaces: ``x[[0, 0]] = a, b``."""
    picked = part_of_cotangent(g, path)[index]
    if "array" not in kinds_of(index):
        return picked
    order = np.reshape(np.cumsum(np.ones_like(picked, dtype=np.intp)), picked.shape)
    marks = invoke(_update_index, np.zeros_like(g, dtype=np.intp), order, path, index)
    return np.where(follow(marks, path)[index] == order, picked, 0)


UPDATE_INDEX = op(
    "update_index",
    _update_index,
    meta=_like_base,
    signature="base, value, path, index",
    vjp=(
        lambda g, ans, base, value, path, index: invoke(_update_index, g, 0, ordered(path, base), index),
        lambda g, ans, base, value, path, index: fit(kept_values(g, ordered(path, base), index), value),
    ),
)


def _add_at(base: Array, value: Any, index: Any) -> Array:
    copy = _fresh(base)
    np.add.at(copy, index, value)
    return copy


ADD_AT = op(
    "add_at",
    _add_at,
    meta=_like_base,
    signature="base, value, index",
    vjp=(lambda g, ans, base, value, index: g, lambda g, ans, base, value, index: fit(g[index], value)),
)


def _of_summed_like(g: Any, ans: Any, given: Any, like: Any) -> Any:
    return np.broadcast_to(g, shape_of(given))


op(
    "summed_like",
    summed_like,
    meta=lambda call: Inferred(ArrayMeta.dense(call.args[0].dtype, call.args[1].shape)),
    signature="g, like, /",
    vjp=(_of_summed_like, zero(1)),
)


def _window(base: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    start = base[offset : offset + 1] if base.size else base
    return as_strided(start, shape, tuple(s * base.itemsize for s in strides), writeable=base.flags.writeable)


def _window_meta(call: Arguments) -> Inferred:
    base, _, shape, strides = call.args
    return Inferred(ArrayMeta(base.dtype, shape, tuple(s * base.dtype.itemsize for s in strides)), view_of=0)


def _of_window(g: Any, ans: Any, base: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    places = np.full(shape, offset, np.intp)
    for axis, (n, step) in enumerate(zip(shape, strides, strict=True)):
        places += (np.arange(n) * step).reshape((-1,) + (1,) * (len(shape) - axis - 1))
    return invoke(_add_at, np.zeros_like(base), g, places)


WINDOW = op(
    "window",
    _window,
    meta=_window_meta,
    lower=View(),
    vjp=(_of_window,),
    note="offset and strides count elements of the base",
)


def _byte_window(
    base: Array, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]
) -> Array:
    return np.ndarray(shape, dtype, base.data, offset, strides)


def _byte_window_meta(call: Arguments) -> Inferred:
    _, _, shape, strides, dtype = call.args
    return Inferred(ArrayMeta(dtype, shape, strides), view_of=0)


BYTE_WINDOW = op(
    "byte_window",
    _byte_window,
    meta=_byte_window_meta,
    lower=View(),
    note="numbers of any dtype in a base of bytes; offset and strides count bytes",
    no_vjp="the bytes of a number are no smooth function of it",
)


def _copy_into(target: Array, value: Any, path: tuple[ViewStep, ...] = ()) -> None:
    follow(target, path)[...] = value


def _no_result(call: Arguments) -> Inferred:
    return Inferred(None)


COPY_INTO = op(
    "copy_into",
    _copy_into,
    meta=_no_result,
    writes=(0,),
    no_vjp="it ends graphs that keep their writes to inputs, and those are not differentiated",
)


@dataclass(frozen=True, slots=True)
class PureCall:
    """Runs ``row`` on copies of what it writes; ``out`` is called ``into`` here."""

    row: Op

    def __call__(self, *args: Any, into: Any = None, **kwargs: Any) -> tuple[Any, ...]:
        copies = {i: copy_layout(args[i]) for i in self.row.writes if i < len(args)}
        outs = into if isinstance(into, tuple) else () if into is None else (into,)
        fresh = tuple(map(copy_layout, outs))
        if fresh:
            kwargs["out"] = fresh if isinstance(into, tuple) else fresh[0]
        call = getattr(self.row.call, "on_copies", self.row.call)
        result = call(*(copies.get(i, a) for i, a in enumerate(args)), **kwargs)
        return (*copies.values(), *fresh, *(result if isinstance(result, tuple) else (result,)))


@cache
def pure_form(row: Op) -> Op:
    """The pure counterpart of ``row``: takes the same arguments, with ``into`` in place of ``out``.

    It gives one tuple: the new value of each operand that ``row`` writes (positions first, then ``into``), then what
    ``row`` returns, entry by entry if that is a tuple. Operands are read as they were before the write.
    """

    def meta(_: Arguments) -> Inferred:
        raise InternalError(f"the pure form of {row.name} is made with its descriptions")

    name = f"{row.name}_into_copies"
    return Op(
        name,
        PureCall(row),
        meta,
        effects=row.effects,
        raises=row.raises,
        warns=row.warns,
        vjp=_pure_rules(row),
        no_vjp=row.no_vjp,
        note=row.note,
    )


def _pure_rules(row: Op) -> Rules | None:
    """The rules of ``row``; everything that comes out is the one written value.

    What ``into`` held before matters only where ``where=`` leaves it: that operand has no rule here.
    """
    if row.vjp is None:
        return None

    def pure(rule: Callable[..., Any] | None) -> Callable[..., Any] | None:
        if rule is None:
            return None

        def rule_of_pure_form(g: Any, ans: Any, *args: Any, into: Any = None, **kwargs: Any) -> Any:
            where = kwargs.get("where", True) if into is not None else True
            arrived = [part for part in g if part is not None]
            total = arrived[0]
            for part in arrived[1:]:
                total = total + part
            return rule(total if where is True else np.where(where, total, 0), ans[0], *args, **kwargs)

        return rule_of_pure_form

    return tuple(map(pure, row.vjp))
