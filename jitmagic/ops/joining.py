"""Takes nothing, gives the rows that put arrays together, take them apart, or repeat them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import Dim, SymInt, hint_of
from jitmagic.ops.describe import array_meta
from jitmagic.ops.gradients.joins import (
    append_rules,
    joining,
    of_concatenate,
    of_meshgrid,
    of_repeat,
    of_stack,
    of_tile,
    splitting,
)
from jitmagic.ops.lowering import View
from jitmagic.ops.probing import probe
from jitmagic.ops.record import Arguments, Form, Inferred, Sample
from jitmagic.ops.refusals import refuse, unsupported
from jitmagic.ops.registry import op
from jitmagic.ops.samples import arrays, called
from jitmagic.ops.sizes import Shape, same_size, slice_length
from jitmagic.ops.spreading import laid_out, run_clipped

__all__: list[str] = []


def joined(shapes: Sequence[Shape], axis: int) -> Shape | None:
    """The shape of a concatenation, or None if the other axes differ."""
    first = shapes[0]
    if not -len(first) <= axis < len(first):
        return None
    axis %= len(first)
    total: Any = 0
    for shape in shapes:
        if len(shape) != len(first):
            return None
        if any(i != axis and not same_size(n, m) for i, (n, m) in enumerate(zip(first, shape, strict=True))):
            return None
        total = shape[axis] + total
    return (*first[:axis], total, *first[axis + 1 :])


def _operands(call: Arguments) -> list[ArrayMeta]:
    given = call.args[0] if call.args else call.kwargs.get(next(iter(call.op.signature.parameters)))
    if isinstance(given, ArrayMeta):
        if not given.ndim:
            refuse(call)
        return [ArrayMeta.dense(given.dtype, given.shape[1:])] * int(given.shape[0])
    if not isinstance(given, list | tuple) or not given:
        refuse(call)
    return [array_meta(item) for item in given]


Sizes = Callable[[list[Shape], Any, Arguments], Shape | None]


def _concatenated(shapes: list[Shape], axis: Any, call: Arguments) -> Shape | None:
    if axis is None:
        total: Any = 0
        for shape in shapes:
            size: Any = 1
            for n in shape:
                size = n * size
            total = size + total
        return (total,)
    return joined(shapes, axis)


def _stacked(shapes: list[Shape], axis: Any, call: Arguments) -> Shape | None:
    ndim = len(shapes[0]) + 1
    if not -ndim <= axis < ndim:
        return None
    axis %= ndim
    return joined([(*s[:axis], 1, *s[axis:]) for s in shapes], axis) if len({len(s) for s in shapes}) == 1 else None


def _at_least_2d(shape: Shape) -> Shape:
    return (1,) * (2 - len(shape)) + shape


def _vstacked(shapes: list[Shape], axis: Any, call: Arguments) -> Shape | None:
    return joined([_at_least_2d(s) for s in shapes], 0)


def _hstacked(shapes: list[Shape], axis: Any, call: Arguments) -> Shape | None:
    whole = [s or (1,) for s in shapes]
    return joined(whole, 0 if len(whole[0]) == 1 else 1)


def _dstacked(shapes: list[Shape], axis: Any, call: Arguments) -> Shape | None:
    return joined([_as_slab(s) for s in shapes], 2)


def _columns(shapes: list[Shape], axis: Any, call: Arguments) -> Shape | None:
    return joined([_as_column(s) for s in shapes], 1)


def _join_rule(sizes: Sizes) -> Callable[[Arguments], Inferred]:
    def rule(call: Arguments) -> Inferred:
        metas = _operands(call)
        axis = call.get("axis") if "axis" in call.op.signature.parameters else None
        shape = sizes([m.shape for m in metas], axis, call)
        if shape is None:
            refuse(call)
        out = call.kwargs.get("out")
        small = run_clipped(call if out is None else _without_sizes_of_out(call))
        if isinstance(out, ArrayMeta):
            if len(out.shape) != len(shape) or not all(same_size(n, m) for n, m in zip(out.shape, shape, strict=True)):
                refuse(call)
            return Inferred(out, same_as="out")
        return Inferred(laid_out(small, shape))

    return rule


def _without_sizes_of_out(call: Arguments) -> Arguments:
    """The call without ``out``: of small operands the result is smaller than that. Its dtype still counts."""
    out = call.kwargs["out"]
    if not isinstance(out, ArrayMeta) or call.kwargs.get("dtype") is not None:  # NumPy says what is wrong
        return call
    return replace(call, kwargs={k: v for k, v in call.kwargs.items() if k != "out"} | {"dtype": out.dtype})


def _of(*shapes: tuple[int, ...], **kwargs: Any) -> Sample:
    return Sample(lambda rng: (tuple(rng.random(s) for s in shapes),), kwargs)


JOINS: tuple[tuple[str, Sizes, tuple[Sample, ...]], ...] = (
    ("concatenate", _concatenated, (_of((4, 3), (2, 3)), _of((4, 3), (4, 2), axis=1), _of((4, 3), (5,), axis=None))),
    ("stack", _stacked, (_of((4, 3), (4, 3)), _of((4, 3), (4, 3), axis=-1), _of((3,), (3,), axis=1))),
    ("vstack", _vstacked, (_of((4, 3), (2, 3)), _of((3,), (3,)))),
    ("hstack", _hstacked, (_of((4, 3), (4, 2)), _of((3,), (2,)))),
    ("dstack", _dstacked, (_of((4, 3), (4, 3)), _of((3,), (3,)))),
    ("column_stack", _columns, (_of((4,), (4, 3)), _of((3,), (3,)))),
)


def _as_column(shape: Shape) -> Shape:
    return shape if len(shape) > 1 else (*(shape or (1,)), 1)


def _as_slab(shape: Shape) -> Shape:
    return shape if len(shape) > 2 else (*_at_least_2d(shape), 1)


JOIN_RULES = {
    "concatenate": of_concatenate,
    "stack": of_stack,
    "vstack": joining(_at_least_2d, 0),
    "hstack": joining(lambda shape: shape or (1,), None),
    "dstack": joining(_as_slab, 2),
    "column_stack": joining(_as_column, 1),
}
for _name, _sizes, _samples in JOINS:
    op(_name, getattr(np, _name), meta=_join_rule(_sizes), vjp=(JOIN_RULES[_name],), samples=_samples)


def _appended(call: Arguments) -> Inferred:
    axis = call.get("axis")
    values = [array_meta(a) for a in call.args[:2]]
    shape = _concatenated([m.shape for m in values], axis, call)
    return probe(call) if shape is None else Inferred(laid_out(run_clipped(call), shape))


op(
    "append",
    np.append,
    meta=_appended,
    vjp=append_rules,
    samples=(arrays((4,), (2,)), arrays((4, 3), (2, 3), axis=0), called(1.5)),
)


def _split(call: Arguments) -> Inferred:
    """Equal parts, or parts between given places; all are views of the operand."""
    x, parts = call.args[0], call.args[1] if len(call.args) > 1 else call.kwargs.get("indices_or_sections")
    if not isinstance(x, ArrayMeta) or x.scalar:
        unsupported(call, "splitting what is no array")
    if isinstance(parts, ArrayMeta):
        unsupported(call, "places that only the data tell")
    axis = _split_axis(call, x)
    known = tuple(n if i != axis or not isinstance(n, SymInt) else _fixed(n, parts) for i, n in enumerate(x.shape))
    standin = x.standin()
    pieces = call.op.call(standin, *_at_hints(call.args[1:]), **call.kwargs)
    sizes = _piece_sizes(known[axis], parts, [p.shape[axis] for p in pieces])
    metas = tuple(
        ArrayMeta(p.dtype, (*known[:axis], n, *known[axis + 1 :]), p.strides, writeable=p.flags.writeable)
        for p, n in zip(pieces, sizes, strict=True)
    )
    return Inferred(metas, view_of=0, container=type(pieces))


def _at_hints(args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple([hint_of(v) for v in a] if isinstance(a, list | tuple) else hint_of(a) for a in args)


def _fixed(n: SymInt, parts: Any) -> Dim:
    """Equal parts of an unknown number need divisibility only; anything else fixes the number."""
    return n if isinstance(parts, int) and n % parts == 0 else n if isinstance(parts, list | tuple) else int(n)


def _piece_sizes(n: Dim, parts: Any, hints: list[int]) -> list[Dim]:
    if not isinstance(n, SymInt):
        return list(hints)
    if isinstance(parts, int):
        return [n // parts] * parts
    ends = [None, *parts, None]
    return [slice_length(slice(a, b), n) for a, b in pairwise(ends)]


def _axis_of_split(name: str) -> Callable[[Any, Any], int]:
    def axis_of(x: Any, axis: Any) -> int:
        if name == "hsplit":
            return 1 if x.ndim > 1 else 0
        return int(SPLIT_AXES.get(name, axis % max(x.ndim, 1)))

    return axis_of


SPLIT_AXES = {"vsplit": 0, "dsplit": 2}


def _split_axis(call: Arguments, x: ArrayMeta) -> int:
    name = call.op.name
    known = name == "hsplit" or name in SPLIT_AXES
    return _axis_of_split(name)(x, 0 if known else int(call.get("axis")))


for _name, _samples in (
    ("split", (called(2), called(3, axis=1), called([1, 3]))),
    ("array_split", (called(3), called([1, 2], axis=1))),
    ("hsplit", (called(3), called([1]))),
    ("vsplit", (called(2),)),
    ("dsplit", (called(2, shape=(4, 3, 2)),)),
):
    op(
        _name,
        getattr(np, _name),
        meta=_split,
        lower=View(),
        vjp=(splitting(_axis_of_split(_name)),),
        samples=_samples,
    )


def _repeated(call: Arguments) -> Inferred:
    x, repeats, axis = array_meta(call.args[0]), call.get("repeats"), call.get("axis")
    if not isinstance(repeats, int | SymInt) or isinstance(repeats, bool):
        return probe(call, counted=lambda place, i: i == (axis or 0) % max(x.ndim, 1))
    if 0 in x.hint_shape:
        return probe(call)
    if repeats < 0:
        refuse(call)
    shape = x.shape if axis is not None else (x.size,)
    place = 0 if axis is None else axis
    if not -len(shape) <= place < len(shape):
        refuse(call)
    place %= len(shape)
    full = (*shape[:place], shape[place] * repeats, *shape[place + 1 :])
    return Inferred(ArrayMeta.dense(x.dtype, full))


def _tiled(call: Arguments) -> Inferred:
    x, reps = array_meta(call.args[0]), call.args[1] if len(call.args) > 1 else call.kwargs["reps"]
    times = tuple(reps) if isinstance(reps, list | tuple) else (reps,)
    if not all(isinstance(n, int | SymInt) for n in times):
        return probe(call)
    ndim = max(x.ndim, len(times))
    sizes = (1,) * (ndim - x.ndim) + x.shape
    counts = (1,) * (ndim - len(times)) + times
    if all(isinstance(n, int) and n == 1 for n in counts) or 0 in map(hint_of, sizes):
        return probe(call)
    tiled = ArrayMeta.dense(x.dtype, tuple(n * k for n, k in zip(sizes, counts, strict=True)))
    return Inferred(replace(tiled, owns=False))


op(
    "repeat",
    np.repeat,
    meta=_repeated,
    forms=(Form("repeat"),),
    vjp=(of_repeat,),
    raises=True,
    samples=(called(2), called(3, axis=1), Sample(lambda rng: (rng.random(3), np.array([1, 0, 2])))),
)
op("tile", np.tile, meta=_tiled, vjp=(of_tile,), samples=(called(2), called((2, 3)), called((2, 1, 2))))


op(
    "meshgrid",
    np.meshgrid,
    meta=probe,
    vjp=(of_meshgrid,),
    samples=(arrays((4,), (3,)), arrays((4,), (3,), indexing="ij"), arrays((4,), (3,), sparse=True)),
)
