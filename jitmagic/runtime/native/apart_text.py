"""Whether arguments lie apart in memory, as kernel text: a builtin that takes the list of a graph's arguments."""

from __future__ import annotations

from jitmagic.runtime.native.layout import OFFSETS

__all__ = ["APART_TEXT", "MOST"]

MOST = 4096  # arrays; their places stand on the stack
_CONTIGUOUS = 3  # NumPy's flags of both memory orders

# A METH_FASTCALL function; ``self`` is an array: the type ndarray, the number of arrays to compare, then for each its
# place in the list and the bytes of an element.
APART_TEXT = """
def apart(self, argv, count):
    table = load_int64(self, {DATA})
    arguments = load_int64(argv, 0)
    items = load_int64(arguments, {ITEM})
    arrays = load_int64(table, 8)
    starts = stack({BYTES})
    ends = stack({BYTES})
    for k in range(arrays):
        item = load_int64(items, load_int64(table, 16 + 16 * k) * 8)
        if load_int64(item, {TYPE}) != load_int64(table, 0):
            return PyLong_FromLongLong(0)
        if load_int32(item, {FLAGS}) & {CONTIGUOUS} == 0:
            return PyLong_FromLongLong(0)
        size = load_int64(table, 24 + 16 * k)
        sizes = load_int64(item, {SIZES})
        for axis in range(load_int32(item, {NDIM})):
            size *= load_int64(sizes, axis * 8)
        start = load_int64(item, {DATA})
        store_int64(starts, k * 8, start)
        store_int64(ends, k * 8, start + size)
        near = 0
        for j in range(k):
            if load_int64(starts, j * 8) < start + size and start < load_int64(ends, j * 8):
                near += 1
        if near > 0:
            return PyLong_FromLongLong(0)
    return PyLong_FromLongLong(1)
""".format(**{**OFFSETS, "BYTES": 8 * MOST}, CONTIGUOUS=_CONTIGUOUS)
