"""Takes the sum, mean, largest or smallest of a part of an array, gives its text: one word for the whole part.

x[i - 2:i + 3].mean()       =>      count = max(min(max(i + 3, 0), n) - min(max(i - 2, 0), n), 0)
                                    (0.0 + row_sum_float64(x, first * 8, count, 8)) / np.float64(count)
"""

from __future__ import annotations

from jitmagic.backends.native.abi import Status
from jitmagic.backends.regions.writer import FLOATS, Writer
from jitmagic.graph import region as ir

__all__ = ["fold"]

BUFFER = 8192  # elements that NumPy casts, and sums, at once


def fold(e: Writer, node: ir.Fold) -> str:
    """Leaves the kernel where NumPy warns or raises: there is no mean, and no largest, of nothing."""
    (array,) = (a for a in e.region.arrays if a.name == node.array)
    size, stride = f"{array.name}_n{node.axis}", e.stride(array, node.axis)
    others = [axis for axis in range(array.ndim) if axis != node.axis]
    places = [
        f"{e.wrapped(index, f'{array.name}_n{axis}')} * {e.stride(array, axis)}"
        for axis, index in zip(others, node.index, strict=True)
    ]
    first = "0" if node.start is None else _clipped(e, node.start, size)
    last = size if node.stop is None else _clipped(e, node.stop, size)
    count = e.hold(f"max({last} - {first}, 0)")
    e.say_line()
    e.line(f"poll({count})")
    if node.function != "sum":
        e.leave(f"{count} == 0", Status.VALUE_ERROR)
    word = "sum" if node.function == "mean" else node.function
    if node.function == "mean" and array.dtype not in FLOATS:
        e.leave(f"{count} > {BUFFER}", Status.OVERFLOW)
        word = "real"
    offset = " + ".join([*places, f"{first} * {stride}"])
    found = e.hold(f"row_{word}_{array.dtype}({array.name}, {offset}, {count}, {stride})")
    if node.type not in FLOATS or word not in ("sum", "real"):
        return found
    made = f"({'np.float32(0.0)' if node.type == 'float32' else '0.0'} + {found})"
    return made if node.function == "sum" else f"({made} / np.{node.type}({count}))"


def _clipped(e: Writer, bound: ir.Expr, size: str) -> str:
    """A bound of a slice as Python takes it."""
    text = e.hold(e.value(bound))
    return e.hold(f"min(max(select({text} < 0, {text} + {size}, {text}), 0), {size})")
