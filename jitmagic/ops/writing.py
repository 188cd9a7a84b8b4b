"""Takes nothing, gives the rows of functions and methods that write into their operand and give nothing back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.describe import array_meta, find_arrays
from jitmagic.ops.gradients.writes import copyto_rules, fill_rules, of_partitioned_in_place, of_sorted_in_place
from jitmagic.ops.gradients.writes import writing as writing_rules
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Form, Inferred, Rules, Sample
from jitmagic.ops.refusals import is_small, refuse, run_hollow, unsupported
from jitmagic.ops.registry import op
from jitmagic.ops.samples import called, masks
from jitmagic.ops.sizes import broadcast, same_size

__all__ = ["written_at"]


def _target(call: Arguments) -> ArrayMeta:
    """The operand that is written: an array that allows it."""
    x = call.args[0]
    if not isinstance(x, ArrayMeta) or x.scalar:
        unsupported(call, "what is no array")
    if not x.writeable:
        refuse(call)
    return x


def written(call: Arguments) -> Inferred:
    """No result; small calls are tried on arrays of the same sizes, for large ones only the run tells."""
    _target(call)
    if is_small(call):
        run_hollow(call)
    return Inferred(None)


def written_at(call: Arguments) -> Inferred:
    """``ufunc.at``; how many elements a mask selects only the run tells."""
    if any(meta.dtype.kind == "b" for meta in find_arrays(call.args[1:2])):
        _target(call)
        return Inferred(None)
    return written(call)


def _copied(call: Arguments) -> Inferred:
    """``copyto``: the source broadcasts to the target and may be cast to it."""
    x, source = call.args[0], array_meta(call.args[1])
    if isinstance(x, ArrayMeta) and not x.writeable and replace(source, writeable=False) == x:
        unsupported(call, "a read-only array that may be its own source")  # NumPy has nothing to write then
    x = _target(call)
    shape = broadcast(x.shape, source.shape)
    if shape is None or len(shape) != x.ndim or not all(same_size(n, m) for n, m in zip(shape, x.shape, strict=True)):
        refuse(call)
    if call.get("where") is not True:
        return written(call)
    value = np.empty(0, source.dtype) if isinstance(call.args[1], ArrayMeta | list | tuple) else call.args[1]
    with Quiet():
        np.copyto(np.empty(0, x.dtype), value, casting=call.get("casting"))
    return Inferred(None)


def _filled(call: Arguments) -> Inferred:
    x, value = _target(call), array_meta(call.args[1])
    if value.shape:
        unsupported(call, "an array as value")
    if not isinstance(call.args[1], ArrayMeta):
        with Quiet():
            np.empty(1, x.dtype).fill(call.args[1])
    return Inferred(None)


def _fill(a: Any, value: Any) -> None:
    a.fill(value)


def _sort(a: Any, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    a.sort(axis=axis, kind=kind, order=order, **({} if stable is None else {"stable": stable}))


def _partition(a: Any, kth: Any, axis: int = -1, kind: str = "introselect", order: Any = None) -> None:
    a.partition(kth, axis=axis, kind=kind, order=order)


Rule = Callable[[Arguments], Inferred]


def write_row(
    name: str, call: Any, *samples: Sample, meta: Rule = written, forms: tuple[Form, ...] = (), **columns: Any
) -> None:
    op(name, call, meta=meta, forms=forms, writes=(0,), raises=True, samples=samples, **columns)


def _rules(name: str, place: int) -> Rules:
    """The rules of a row whose array stands first and whose values stand at ``place``."""
    of_array, of_values = writing_rules(name, place)
    return (of_array, *(None,) * (place - 1), of_values)


write_row("fill", _fill, called(2.5), called(3), meta=_filled, forms=(Form("fill"),), vjp=fill_rules)
write_row("sort_in_place", _sort, called(), called(axis=0), forms=(Form("sort"),), vjp=(of_sorted_in_place,))
write_row("partition_in_place", _partition, called(1), forms=(Form("partition"),), vjp=(of_partitioned_in_place,))
write_row(
    "copyto",
    np.copyto,
    called(2.5),
    Sample(lambda rng: (rng.random((4, 3)), rng.random(3))),
    Sample(lambda rng: (rng.random((4, 3)), rng.random(3)), {"where": True}),
    meta=_copied,
    vjp=copyto_rules,
    signature="dst, src, casting='same_kind', where=True",
)
write_row(
    "put",
    np.put,
    called([0, 2], 1.5),
    called([1, 2], [3, 4], mode="clip"),
    Sample(lambda rng: (rng.random((4, 3)), [1, 2, 1, 5], rng.random(3))),
    forms=(Form("put"),),
    vjp=_rules("put", 2),
)
write_row(
    "place",
    np.place,
    Sample(lambda rng: (rng.random((4, 3)), masks()(rng), [1.0, 2.0])),
    Sample(lambda rng: (rng.random((4, 3)), masks()(rng), rng.random(2))),
    vjp=_rules("place", 2),
)
write_row(
    "putmask",
    np.putmask,
    Sample(lambda rng: (rng.random((4, 3)), masks()(rng), 1.0)),
    Sample(lambda rng: (rng.random((4, 3)), masks()(rng), rng.random(5))),
    vjp=_rules("putmask", 2),
    signature="a, /, mask, values",
)
write_row(
    "fill_diagonal",
    np.fill_diagonal,
    called(1.0, shape=(4, 4)),
    Sample(lambda rng: (rng.random((4, 4)), rng.random(4))),
    vjp=_rules("fill_diagonal", 1),
)
write_row(
    "put_along_axis",
    np.put_along_axis,
    Sample(lambda rng: (rng.random((4, 3)), rng.integers(0, 3, (4, 2)), 1.0, 1)),
    Sample(lambda rng: (rng.random((4, 3)), rng.integers(0, 3, (4, 2)), rng.random((4, 2)), 1)),
    vjp=_rules("put_along_axis", 2),
)
