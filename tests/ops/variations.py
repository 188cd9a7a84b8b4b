"""Takes sample arguments, gives the same call with other dtypes, layouts and sizes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.polynomial import evaluate
from jitmagic.graph.shapes import DataDependentSize, ShapeEnv, SymInt
from jitmagic.ops.describe import replace_leaves
from jitmagic.ops.record import Op

DTYPES = ("?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16", ">f8", ">i4")


def swapped_axes(a: Any) -> Any:
    return np.ascontiguousarray(np.swapaxes(a, 0, -1)).swapaxes(0, -1) if a.ndim > 1 else a


def spread(a: Any) -> Any:
    """The same values with gaps between them."""
    if not a.ndim:
        return a
    big = np.zeros((*a.shape[:-1], 2 * a.shape[-1]), a.dtype)
    big[..., ::2] = a
    return big[..., ::2]


def unaligned(a: Any) -> Any:
    buffer = np.zeros(a.nbytes + 1, np.uint8)
    result = np.ndarray(a.shape, a.dtype, buffer, 1)
    result[...] = a
    return result


def read_only(a: Any) -> Any:
    result = a.copy()
    result.flags.writeable = False
    return result


def repeated(a: Any) -> Any:
    """A stride of zero along the first axis."""
    return np.broadcast_to(a[:1], a.shape) if a.ndim else a


def flattened_to_scalar(a: Any) -> Any:
    return a.reshape(-1)[0] if a.size else a


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "F": np.asfortranarray,
    "swapped axes": swapped_axes,
    "negative": lambda a: np.ascontiguousarray(a[::-1])[::-1] if a.ndim else a,
    "gaps": spread,
    "unaligned": unaligned,
    "read-only": read_only,
    "repeated": repeated,
    "0-d": lambda a: np.array(flattened_to_scalar(a)),
    "scalar": flattened_to_scalar,
    "empty": lambda a: a[:0] if a.ndim else a,
    "one row": lambda a: a[:1] if a.ndim else a,
    "one column": lambda a: a[..., :1] if a.ndim else a,
}


def on_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """The nesting with every array changed."""
    return replace_leaves(value, lambda leaf: change(leaf) if isinstance(leaf, np.ndarray) else leaf)


def variations(args: Any) -> Iterator[tuple[str, Any]]:
    """The call as it is, then with each dtype (floats only are replaced), then with each layout."""
    yield "as it is", args
    for code in DTYPES:
        yield code, on_arrays(args, lambda a, code=code: _cast(a, code))
    for name, change in LAYOUTS.items():
        yield name, on_arrays(args, change)
        yield f"float32 {name}", on_arrays(on_arrays(args, lambda a: _cast(a, "f4")), change)


def _cast(a: Any, code: str) -> Any:
    with np.errstate(all="ignore"):
        return a.astype(code) if a.dtype.kind in "fiu" and a.dtype.itemsize == 8 else a


def described(value: Any) -> Any:
    return replace_leaves(value, lambda v: ArrayMeta.of(v) if isinstance(v, np.ndarray | np.generic) else v)


def outcome(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(), None
        except Exception as error:
            return None, error


def copied(value: Any) -> Any:
    """The same layouts in other memory, so that the call may write."""

    def copy(a: Any) -> Any:
        low, high = np.lib.array_utils.byte_bounds(a)
        if high <= low or not a.size:
            return a
        buffer = np.zeros(high - low + 16, np.uint8)
        start = a.ctypes.data - low + (low - buffer.ctypes.data) % 16
        result = np.ndarray(a.shape, a.dtype, buffer, start, a.strides)
        result[...] = a
        result.flags.writeable = a.flags.writeable
        return result

    return on_arrays(value, copy)


def disagreement(op: Op, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """What ``infer`` says wrongly of the call, or None. Unsupported is an honest answer."""
    args, kwargs = copied((args, kwargs))
    metas, options = described((args, kwargs))
    found, refused = outcome(lambda: op.infer(metas, options, ShapeEnv()))
    real, error = outcome(lambda: op.call(*args, **kwargs))
    if isinstance(refused, Unsupported | DataDependentSize):
        return None
    if error is not None or refused is not None:
        if error is not None and refused is None:
            return None if op.may_raise(metas, options, ShapeEnv()) else f"NumPy raises {error!r}, infer does not"
        same = type(error) is type(refused) and str(error) == str(refused)
        return None if same else f"NumPy: {error!r}, infer: {refused!r}"
    if op.name in SAID_TO_BE_READ_ONLY:
        real.flags.writeable = False
    return compared(found, real, args)


# NumPy warns whoever writes into it or asks whether it may: such programs run plainly (tests/tracer/test_bodies.py)
SAID_TO_BE_READ_ONLY = ("stretched",)


def compared(found: Any, real: Any, args: tuple[Any, ...]) -> str | None:
    entries = real if isinstance(real, tuple | list) else (real,)
    metas = found.meta if isinstance(found.meta, tuple) else (found.meta,)
    if isinstance(real, tuple | list) and type(real) is not found.container:
        return f"container {type(real)} against {found.container}"
    if len(entries) != len(metas):
        return f"{len(entries)} results against {len(metas)}"
    run_time = {repr(s): entries[i].shape[axis] for i, axis, s in found.run_time_sizes}
    for entry, meta in zip(entries, metas, strict=True):
        wrong = _entry_differs(meta, entry, run_time)
        if wrong:
            return wrong
    if found.view_of is None and found.same_as is None and (wrong := _owners_differ(metas, entries)):
        return wrong
    if not isinstance(real, tuple | list):
        return _sharing_differs(found, real, args)
    return None


def _owners_differ(metas: Any, entries: Any) -> str | None:
    """Whether a new array is a view of a copy that nobody sees."""
    arrays = [(m, e) for m, e in zip(metas, entries, strict=True) if isinstance(e, np.ndarray)]
    wrong = [i for i, (meta, entry) in enumerate(arrays) if meta.owns != entry.flags.owndata]
    return f"owndata of results {wrong}: infer {[m.owns for m, _ in arrays]}" if wrong else None


def _entry_differs(meta: Any, entry: Any, run_time: dict[str, int]) -> str | None:
    if not isinstance(entry, np.ndarray | np.generic):
        expected = None if entry is None else PyMeta(type(entry))
        return None if meta == expected else f"{entry!r} against {meta}"
    want = ArrayMeta.of(entry)
    if not isinstance(meta, ArrayMeta):
        return f"{want} against {meta}"
    shape = tuple(evaluate(n.poly, run_time) if isinstance(n, SymInt) else n for n in meta.shape)
    got = (str(meta.dtype), shape, meta.scalar, meta.writeable)
    expected = (str(want.dtype), want.shape, want.scalar, want.writeable)
    if got != expected:
        return f"NumPy {expected}, infer {got}"
    if not run_time and meta.strides != want.strides:
        return f"NumPy strides {want.strides} of {want.shape}, infer {meta.strides}"
    return None


def _sharing_differs(found: Any, real: Any, args: tuple[Any, ...]) -> str | None:
    if not isinstance(real, np.ndarray):
        return None
    for i, arg in enumerate(args):
        if arg is real:
            return None if found.same_as == i else f"NumPy returns operand {i} itself, infer {found.same_as}"
    shares = [i for i, a in enumerate(args) if isinstance(a, np.ndarray) and np.may_share_memory(a, real)]
    claimed = [] if found.view_of is None or not real.size else [found.view_of]
    return None if shares == claimed else f"NumPy shares {shares}, infer {claimed}"
