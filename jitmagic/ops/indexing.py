"""Takes nothing, gives the rows of ``x[index]`` and ``x[index] = value``.

Basic indices (integers, slices, None, Ellipsis) give views; arrays of integers and booleans pick elements into a new
array, whose size for booleans only the data tell. Integers that are known only at run time count as basic.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.shapes import DataDependentSize, Dim, SymInt, hint_of
from jitmagic.ops.describe import array_meta, describe, replace_leaves
from jitmagic.ops.gradients.indexing import of_getitem, setitem_base, setitem_value
from jitmagic.ops.lowering import View
from jitmagic.ops.orders import inner_first
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Form, Inferred, Sample
from jitmagic.ops.refusals import refuse, run_hollow, unsupported
from jitmagic.ops.registry import op
from jitmagic.ops.samples import called
from jitmagic.ops.sizes import Shape, broadcast, same_size, slice_length
from jitmagic.ops.surrogates import surrogate

__all__ = ["Item", "indexed_shape", "is_basic", "normalise"]


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of an index: ``kind`` is ``integer``, ``slice``, ``new``, ``rest``, ``array`` or ``mask``.

    ``axes`` is how many axes of the array it uses up.
    """

    kind: str
    value: Any
    axes: int


def normalise(index: Any, call: Arguments) -> list[Item]:
    """The entries of an index, a tuple or a single one."""
    entries = index if isinstance(index, tuple) else (index,)
    return [_item(entry, call) for entry in entries]


_CONSTANTS: tuple[tuple[Any, str, int], ...] = ((None, "new", 0), (Ellipsis, "rest", 0))


def _item(entry: Any, call: Arguments) -> Item:
    for constant, kind, axes in _CONSTANTS:
        if entry is constant:
            return Item(kind, entry, axes)
    if isinstance(entry, slice):
        return Item("slice", slice(*map(_bound, (entry.start, entry.stop, entry.step))), 1)
    if isinstance(entry, SymInt) or (isinstance(entry, int) and not isinstance(entry, bool)):
        return Item("integer", entry, 1)
    if isinstance(entry, list) and not entry:
        return Item("array", ArrayMeta.dense(np.dtype(np.intp), (0,)), 1)
    if isinstance(entry, float | str | complex):
        refuse(call)
    meta = describe(entry)
    if isinstance(meta, PyMeta):
        if meta.type is not int:
            unsupported(call, f"an index of type {meta.type.__name__}")
        return Item("integer", meta, 1)
    assert isinstance(meta, ArrayMeta)
    return _array_item(meta, call)


def _array_item(meta: ArrayMeta, call: Arguments) -> Item:
    if meta.dtype.kind in "iu" and meta.scalar:
        return Item("integer", meta, 1)
    if meta.dtype.kind in "iu":
        return Item("array", meta, 1)
    if meta.dtype.kind == "b":
        return Item("mask", meta, meta.ndim)
    refuse(call)


def _bound(value: Any) -> Any:
    if isinstance(value, ArrayMeta | PyMeta):
        raise Unsupported("data-number", "a slice bound")
    return value if value is None or isinstance(value, SymInt) else operator.index(value)


def is_basic(items: list[Item]) -> bool:
    return all(item.kind in ("integer", "slice", "new", "rest") for item in items)


def _spread(items: list[Item], ndim: int, call: Arguments) -> list[Item]:
    """The entries with the ellipsis written out as full slices; refuses too many."""
    used = sum(item.axes for item in items)
    rests = [item for item in items if item.kind == "rest"]
    if used > ndim or len(rests) > 1:
        refuse(call)
    return _spread_out(items, ndim)


def _spread_out(items: list[Item], ndim: int) -> list[Item]:
    """The entries with the ellipsis written out as full slices.

    One that stands for no axis stays: NumPy takes the indices on its two sides as not adjacent.
    """
    missing = ndim - sum(item.axes for item in items)
    place = next((i for i, item in enumerate(items) if item.kind == "rest"), len(items))
    full = [Item("slice", slice(None), 1)] * missing
    return [*items[:place], *(full or items[place : place + 1]), *items[place + 1 :]]


def indexed_shape(x: ArrayMeta, items: list[Item], call: Arguments) -> tuple[Shape, tuple[tuple[int, int, Any], ...]]:
    """The shape of ``x[items]`` and the run-time sizes in it."""
    spread = _spread(items, x.ndim, call)
    plain: list[Dim] = []  # sizes outside the picked block
    picked: list[Shape] = []
    places: list[int] = []  # positions in ``spread`` of the entries that pick
    starts_at: int | None = None
    fancy = not is_basic(items)
    masks: list[SymInt] = []
    axis = 0
    for position, item in enumerate(spread):
        if item.kind == "slice":
            plain.append(slice_length(item.value, x.shape[axis]))
        elif item.kind == "new":
            plain.append(1)
        elif item.kind == "rest":
            continue
        else:
            _check_entry(item, x.shape[axis : axis + item.axes], call)
            if fancy:
                starts_at = len(plain) if starts_at is None else starts_at
                places.append(position)
                picked.append(_picked_shape(item, masks, call))
        axis += item.axes
    if not fancy:
        return tuple(plain), ()
    block = broadcast(*picked)
    if block is None and masks:
        unsupported(call, "a number of elements that only the data tell")
    if block is None:
        refuse(call)
    together = places == list(range(places[0], places[0] + len(places)))
    at = starts_at if together and starts_at is not None else 0
    shape = (*plain[:at], *block, *plain[at:])
    return shape, tuple((0, i, n) for i, n in enumerate(shape) if any(n is m for m in masks))


def _picked_shape(item: Item, masks: list[SymInt], call: Arguments) -> Shape:
    if item.kind == "array":
        return item.value.shape  # type: ignore[no-any-return]  # arithmetic of sizes is untyped
    if item.kind == "integer":
        return ()
    symbol = call.env.new_run_time_symbol()
    masks.append(symbol)
    return (symbol,)


def _check_entry(item: Item, sizes: Shape, call: Arguments) -> None:
    """Known integers must lie inside, masks must have the sizes of the axes that they cover."""
    if item.kind == "integer" and isinstance(item.value, int | SymInt):
        (n,) = sizes
        inside = -n <= item.value if item.value < 0 else item.value < n
        if not inside:
            refuse(call)
    if item.kind == "mask" and not all(same_size(a, b) for a, b in zip(item.value.shape, sizes, strict=True)):
        refuse(call)


def _getitem(call: Arguments) -> Inferred:
    x = call.args[0]
    if not isinstance(x, ArrayMeta):
        unsupported(call, "indexing what is no array")
    items = normalise(call.args[1], call)
    if x.scalar:
        return _scalar_getitem(x, call)
    shape, run_time = indexed_shape(x, items, call)
    if is_basic(items):
        return _basic(x, items, shape)
    return Inferred(_picked(x, items, shape), run_time_sizes=run_time)


def _scalar_getitem(x: ArrayMeta, call: Arguments) -> Inferred:
    index = call.args[1]
    if index == ():
        return Inferred(x)
    if index is Ellipsis:
        return Inferred(ArrayMeta(x.dtype, owns=False))
    if index is None:
        return Inferred(ArrayMeta(x.dtype, (1,), (0,), owns=False))
    if isinstance(index, int | slice):
        refuse(call)
    unsupported(call, "this index of a scalar")


def _basic(x: ArrayMeta, items: list[Item], shape: Shape) -> Inferred:
    """NumPy makes the view of a stand-in; the place inside an axis does not change the description."""
    if len(items) == x.ndim and all(item.kind == "integer" for item in items):
        return Inferred(ArrayMeta(x.dtype.newbyteorder("="), scalar=True))
    index = tuple(_at_hint(item) for item in items)
    strides = x.standin()[index].strides
    return Inferred(ArrayMeta(x.dtype, shape, strides, writeable=x.writeable), view_of=0)


def _at_hint(item: Item) -> Any:
    if item.kind == "slice":
        return replace_leaves(item.value, lambda v: v.hint if isinstance(v, SymInt) else v)
    if item.kind != "integer":
        return item.value
    return hint_of(item.value) if isinstance(item.value, int | SymInt) else 0


def _picked(x: ArrayMeta, items: list[Item], shape: Shape) -> ArrayMeta:
    """The memory order in which NumPy picks: asked with arrays of at most two elements along each axis."""
    hints = tuple(map(hint_of, shape))

    def clip(n: Dim) -> int:
        return min(hint_of(n), 2)

    def small(item: Item, n: int) -> Any:
        if item.kind == "array":
            return np.zeros_like(surrogate(item.value, clip), np.intp)
        if item.kind == "mask":
            return np.ones_like(surrogate(item.value, clip))
        if item.kind == "slice":
            index = _at_hint(item)
            step = -1 if (index.step or 1) < 0 else 1
            return slice(None, None, step) if len(range(n)[index]) else slice(0, 0)
        return 0 if item.kind == "integer" else item.value

    whole = any(item.kind == "rest" for item in items)
    items = _spread_out(items, x.ndim)
    base = surrogate(x, clip)
    at = np.cumsum([0, *(item.axes for item in items)])
    sizes = (*x.hint_shape, 1)
    index = tuple(small(item, sizes[axis]) for item, axis in zip(items, at, strict=False))
    try:
        found = base[index]
    except IndexError:  # an empty axis is picked from by an empty index
        return ArrayMeta.dense(x.dtype, shape)
    if found.ndim == 0 and whole:
        return ArrayMeta(x.dtype).owned_as(found)
    if found.ndim == 0:
        return ArrayMeta(found.dtype, scalar=not isinstance(found, np.ndarray))
    if 0 in hints and not any(found.strides):
        return ArrayMeta(x.dtype, shape, found.strides).owned_as(found)
    if 0 in hints:
        return ArrayMeta.dense(x.dtype, shape).owned_as(found)
    return ArrayMeta.packed(x.dtype, shape, inner_first(found.shape, found.strides)).owned_as(found)


def _setitem(call: Arguments) -> Inferred:
    """No result; refuses what NumPy refuses."""
    x, index, value = call.args
    if not isinstance(x, ArrayMeta) or x.scalar or not x.writeable:
        refuse(call)
    items = normalise(index, call)
    shape, _ = indexed_shape(x, items, call)
    meta = array_meta(value)
    if meta.shape and len(items) == x.ndim and all(item.kind == "integer" for item in items):
        run_hollow(call)  # one element takes no array, not even of one element
    if type(value) in (int, float, complex):
        with Quiet():
            np.empty(1, x.dtype)[0] = value
    try:
        fits = _fits(meta.shape, shape)
    except DataDependentSize:  # the run itself compares how many are picked with how many are given
        fits = True
    if not fits and not is_basic(items):
        unsupported(call, "indices or a number of elements that only the data tell")
    if not fits:
        refuse(call)
    return Inferred(None)


def _index_may_raise(call: Arguments) -> bool:
    """Known integers and slices are checked beforehand, what only the data tell is not."""
    entries = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    known = (int, slice, SymInt, type(None), type(Ellipsis))
    return not all(isinstance(entry, known) for entry in entries)


def _assignment_may_raise(call: Arguments) -> bool:
    """Also a Python integer that is known only at run time may not fit the dtype."""
    return _index_may_raise(call) or isinstance(call.args[2], PyMeta | SymInt)


def _fits(value: Shape, target: Shape) -> bool:
    """Whether assignment broadcasts; axes of size 1 in front of the value do not count."""
    while len(value) > len(target):
        if not same_size(value[0], 1):
            return False
        value = value[1:]
    lead = len(target) - len(value)
    pairs = zip(value, target[lead:], strict=True)
    return all((isinstance(n, int) and n == 1) or same_size(n, m) or bool(n == 1) for n, m in pairs)


GET_SAMPLES = (
    called(1),
    called((1, 2)),
    called(slice(1, None)),
    called((slice(None, None, -2), None, 0)),
    called((Ellipsis, slice(0, 2))),
    called(...),
    called([0, 2]),
    called((slice(None), [0, 2])),
    Sample(lambda rng: (rng.random((4, 3)), rng.random((4, 3)) < 0.5)),
    Sample(lambda rng: (rng.random((4, 3)), rng.random(4) < 0.5)),
    Sample(lambda rng: (rng.random((4, 3, 5)), (rng.integers(0, 4, (2, 1)), slice(None), rng.integers(0, 5, (1, 3))))),
    Sample(lambda rng: (rng.random((4, 3, 5)), (slice(1, None), rng.integers(0, 3, (2, 2))))),
)
SET_SAMPLES = (
    called(1, 2.0),
    called((slice(1, None), 0), 3),
    Sample(lambda rng: (rng.random((4, 3)), slice(1, 3), rng.random(3))),
    Sample(lambda rng: (rng.random((4, 3)), rng.random((4, 3)) < 0.5, 0.0)),
    Sample(lambda rng: (rng.random((4, 3)), ([0, 2], 1), rng.random(2))),
)

op(
    "getitem",
    operator.getitem,
    meta=_getitem,
    signature="a, index, /",
    forms=(Form("__getitem__"),),
    raises=_index_may_raise,
    lower=View(),
    vjp=(of_getitem,),
    samples=GET_SAMPLES,
    note="basic indices give views, arrays and lists give new arrays",
)
op(
    "setitem",
    operator.setitem,
    meta=_setitem,
    signature="a, index, value, /",
    forms=(Form("__setitem__"),),
    writes=(0,),
    raises=_assignment_may_raise,
    vjp=(setitem_base, None, setitem_value),
    samples=SET_SAMPLES,
)
