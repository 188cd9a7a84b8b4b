"""Takes nothing, gives the rows that look at neighbours: running sums, differences, shifts, borders, convolution."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from jitmagic.graph.shapes import Dim, SymInt, apply
from jitmagic.ops.describe import array_meta
from jitmagic.ops.folding import along
from jitmagic.ops.gradients.borders import pad_rules
from jitmagic.ops.gradients.neighbours import (
    convolve_rules,
    correlate_rules,
    diff_rules,
    ediff1d_rules,
    of_cumprod,
    of_cumsum,
    of_nancumprod,
    of_nancumsum,
    of_roll,
    trapezoid_rules,
)
from jitmagic.ops.gradients.quotients import gradient_rules
from jitmagic.ops.gradients.shapes import shape_of
from jitmagic.ops.lowering import Scan
from jitmagic.ops.probing import probe, sized
from jitmagic.ops.quiet import Quiet
from jitmagic.ops.record import Arguments, Form, Inferred
from jitmagic.ops.refusals import refuse
from jitmagic.ops.registry import op
from jitmagic.ops.samples import arrays, called
from jitmagic.ops.spreading import laid_out, run_clipped
from jitmagic.ops.surrogates import surrogate

__all__: list[str] = []

ALL = frozenset({"divide", "over", "under", "invalid"})

for _name, _lower, _forms, _vjp in (
    ("cumsum", Scan("cumsum"), (Form("cumsum"),), (of_cumsum,)),
    ("cumprod", Scan("cumprod"), (Form("cumprod"),), (of_cumprod,)),
    ("nancumsum", None, (), (of_nancumsum,)),
    ("nancumprod", None, (), (of_nancumprod,)),
):
    op(
        _name,
        getattr(np, _name),
        meta=along,
        lower=_lower,
        forms=_forms,
        warns=ALL,
        vjp=_vjp,
        note="second derivatives at elements that are 0 count as 0" if "prod" in _name else "",
        samples=(called(), called(axis=0), called(axis=1)),
    )


def _rolled(call: Arguments) -> Inferred:
    """Same shape; the shift does not change the description."""
    x = array_meta(call.args[0])
    shift = call.get("shift")
    count = len(shift) if isinstance(shift, list | tuple) else 1
    small = run_clipped(
        Arguments(
            call.op, call.args[:1], {"shift": (1,) * count if count > 1 else 1, "axis": call.get("axis")}, call.env
        )
    )
    return Inferred(laid_out(small, x.shape))


def _differences(call: Arguments) -> Inferred:
    """``n`` steps take ``n`` elements off the axis; ``prepend`` and ``append`` are left to the general rule."""
    x, times, axis = array_meta(call.args[0]), call.get("n"), call.get("axis")
    added = any(len(call.args) > i for i in (3, 4)) or any(k in call.kwargs for k in ("prepend", "append"))
    if added or not x.ndim or not isinstance(times, int) or times < 1 or not -x.ndim <= axis < x.ndim:
        return probe(call)
    axis %= x.ndim
    left = apply("max", x.shape[axis] - times, 0)
    if (not isinstance(left, SymInt) and not left) or 0 in x.hint_shape:
        return probe(call)
    shape = (*x.shape[:axis], left, *x.shape[axis + 1 :])
    sizes = tuple(times + 2 if i == axis else min(n, 2) for i, n in enumerate(x.hint_shape))
    with Quiet():
        small = np.diff(surrogate(x, sizes), n=times, axis=axis)
    return Inferred(laid_out(small, shape))


def _padded(call: Arguments) -> Inferred:
    """Widths that are known integers add to the sizes; others go by the general rule."""
    x = array_meta(call.args[0])
    width = call.get("pad_width")
    try:
        pairs = np.broadcast_to(np.asarray(width), (x.ndim, 2)).tolist()
    except (TypeError, ValueError):
        return probe(call)
    if not all(isinstance(n, int) and n >= 0 for pair in pairs for n in pair) or 0 in x.hint_shape or not x.ndim:
        return probe(call)
    if callable(call.get("mode")):
        refuse(call)
    shape = tuple(n + before + after for n, (before, after) in zip(x.shape, pairs, strict=True))
    return Inferred(laid_out(run_clipped(call), shape))


op("roll", np.roll, meta=_rolled, vjp=(of_roll,), samples=(called(1), called(-2, axis=0), called((1, 2), axis=(0, 1))))
op(
    "diff",
    np.diff,
    meta=_differences,
    warns=ALL,
    vjp=diff_rules,
    samples=(called(), called(2, axis=0), called(axis=0), called(prepend=0.0)),
)


def _ediff1d_sizes(call: Arguments) -> list[Dim]:
    """One element less, and what is put before and behind."""
    added = [prod(shape_of(end)) for end in (call.get("to_begin"), call.get("to_end")) if end is not None]
    return [prod(shape_of(call.get("ary"))) - 1 + sum(added)]


op("ediff1d", np.ediff1d, meta=sized(_ediff1d_sizes), warns=ALL, vjp=ediff1d_rules, samples=(called(),))
op(
    "gradient",
    np.gradient,
    meta=probe,
    warns=ALL,
    vjp=gradient_rules,
    samples=(called(shape=(5,)), called(axis=0), called(0.5, shape=(5, 4))),
)
op(
    "trapezoid",
    np.trapezoid,
    meta=probe,
    warns=ALL,
    vjp=trapezoid_rules,
    samples=(called(), called(axis=0), arrays((4, 3), (3,)), arrays((4, 3), (4,), axis=0), arrays((4, 3), (4, 3))),
)
# NumPy's own takes any options by name
PAD = "array, pad_width, mode='constant', *, stat_length=None, constant_values=0, end_values=0, reflect_type='even'"
op(
    "pad",
    np.pad,
    meta=_padded,
    warns=ALL,  # of "linear_ramp", "mean" and odd reflections
    signature=PAD,
    vjp=pad_rules,
    samples=(
        called(1),
        called(((1, 2), (0, 1))),
        called(2, mode="edge"),
        called(1, mode="reflect"),
        called(1, "constant", constant_values=3),
        called(2, "linear_ramp", end_values=1.5),
        called(((2, 1), (0, 3)), "reflect", reflect_type="odd"),
        called(1, "median", stat_length=2),
    ),
)


def _convolved(call: Arguments) -> Inferred:
    """``full``: n + m - 1, ``same``: the longer one, ``valid``: the longer without the shorter, plus 1."""
    a, b = (array_meta(v) for v in call.args[:2])
    mode = call.get("mode")
    if (
        len(call.args) < 2
        or mode not in ("full", "same", "valid")
        or max(a.ndim, b.ndim) > 1
        or 0 in (*a.hint_shape, *b.hint_shape)
    ):
        return probe(call)
    n, m = (x.shape[0] if x.ndim else 1 for x in (a, b))
    if m > n:
        n, m = m, n
    length: Any = {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]
    return Inferred(laid_out(run_clipped(call), (length,)))


for _name in ("convolve", "correlate"):
    op(
        _name,
        getattr(np, _name),
        meta=_convolved,
        warns=ALL,
        vjp=convolve_rules if _name == "convolve" else correlate_rules,
        samples=(
            *(arrays((6,), (n,), mode=mode) for n in (3, 2) for mode in ("full", "same", "valid")),
            *(arrays((n,), (6,), mode=mode) for n in (3, 2) for mode in ("full", "same", "valid")),
            arrays((6,), (3,)),
        ),
    )
