"""Takes nothing, gives the rows that choose between operands or round them: where, clip, round, and kin."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import InternalError
from jitmagic.graph.meta import ArrayMeta
from jitmagic.ops.describe import describe
from jitmagic.ops.elementwise import NOTHING, OPTIONS
from jitmagic.ops.gradients import Elementwise, cast, elementwise, fit, zero
from jitmagic.ops.gradients.interpolation import interp_rules
from jitmagic.ops.gradients.picking import of_default, of_selected
from jitmagic.ops.gradients.pointwise import bessel_i1, clipped_bounds, clipped_value, phase
from jitmagic.ops.lowering import InnerLoop, Select
from jitmagic.ops.probing import probe
from jitmagic.ops.record import Arguments, Form, Inferred, Op, Rules, Sample
from jitmagic.ops.refusals import unsupported
from jitmagic.ops.registry import lookup, op
from jitmagic.ops.samples import called, masks, reals
from jitmagic.ops.spreading import clipped, spread
from jitmagic.ops.ufuncs import ufunc_arguments, ufunc_rule

__all__: list[str] = []


ALL = frozenset({"divide", "over", "under", "invalid"})


def _where(call: Arguments) -> Inferred:
    """With one argument it is ``nonzero``."""
    given = [a for a in call.args if describe(a) is not None]
    return probe(call) if len(given) < 3 else spread(call)


class _FirstCall(Exception):
    """Carries the ufunc and its operands out of the function that was asked."""


class _Recorder(np.ndarray[Any, Any]):
    """An array that tells which ufunc a function calls first, in place of calling it."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        raise _FirstCall(ufunc, inputs)


def _first_ufunc(function: Any, dtype: np.dtype[Any], *rest: Any) -> tuple[np.ufunc, tuple[Any, ...]]:
    """The ufunc that ``function`` calls first for an array of that dtype, and its operands."""
    try:
        function(np.empty(0, dtype).view(_Recorder), *rest)
    except _FirstCall as found:
        ufunc, inputs = found.args
        return ufunc, inputs
    raise InternalError(f"{function} calls no ufunc")


def _clip_stands_for(call: Arguments) -> tuple[Op, tuple[int, ...]] | None:
    """The ufunc that ``np.clip`` calls: clip, minimum or maximum, as NumPy itself decides."""
    x = call.args[0]
    if len(call.args) != 3 or call.kwargs or not isinstance(x, ArrayMeta) or x.scalar:
        return None
    bounds = tuple(np.empty(0, m.dtype) if isinstance(m, ArrayMeta) else clipped(m) for m in call.args[1:])
    ufunc, inputs = _first_ufunc(np.clip, x.dtype, *bounds)
    row = lookup(ufunc)
    places = {2: (0, 1, 2)} | {1: (0, 1 if any(i is bounds[0] for i in inputs[1:]) else 2), 0: (0,)}
    return None if row is None else (row[0], places[len(inputs) - 1])


def _clip(call: Arguments) -> Inferred:
    names = {"a_min": 1, "a_max": 2, "min": 1, "max": 2}
    bounds: list[Any] = [*call.args[1:], *([None] * (3 - len(call.args)))]
    for name, place in names.items():
        if call.kwargs.get(name) is not None:
            bounds[place - 1] = call.kwargs[name]
    rest = {k: v for k, v in call.kwargs.items() if k not in names}
    return spread(Arguments(call.op, (call.args[0], *bounds), rest, call.env))


AT_BOUNDS = "an element equal to a bound gets half of the gradient, the bound the other half"


def _with_bounds(product: Any, place: int) -> Any:
    """The rule of ``clip``, whose bounds may be passed by two names each."""
    rule = Elementwise(product, place, damped=False)

    def rule_of_clip(g: Any, ans: Any, a: Any, a_min: Any = None, a_max: Any = None, *_: Any, **options: Any) -> Any:
        low, high = options.get("min", a_min), options.get("max", a_max)
        return rule(g, ans, a, low, high)

    return rule_of_clip


clip_ufunc, _ = _first_ufunc(np.clip, np.dtype(np.float64), 0.0, 1.0)  # it has no public name

op(
    "where",
    np.where,
    meta=_where,
    signature="condition, x=None, y=None, /",
    lower=Select(),
    vjp=(
        zero(0),
        *elementwise(
            None,
            lambda g, ans, c, x, y: np.where(c, g, 0),
            lambda g, ans, c, x, y: np.where(c, 0, g),
            damped=False,
        )[1:],
    ),
    samples=(
        Sample(lambda rng: (masks()(rng), rng.random((4, 3)), 0)),
        Sample(lambda rng: (masks()(rng), rng.random(3), rng.random((4, 3)))),
        Sample(lambda rng: (masks()(rng),)),
    ),
)
op(
    "clip_ufunc",
    clip_ufunc,
    meta=ufunc_rule,
    signature=f"x1, x2, x3, /, {OPTIONS}",
    adapt=lambda *args, **kwargs: ufunc_arguments(clip_ufunc, args, kwargs),
    warns=NOTHING,
    lower=InnerLoop(),
    vjp=elementwise(clipped_value, clipped_bounds(1), clipped_bounds(2), damped=False),
    samples=reals(3),
    note=f"{AT_BOUNDS}; what `np.clip` runs when both bounds are given",
)
op(
    "clip",
    np.clip,
    meta=_clip,
    signature="a, a_min=None, a_max=None, out=None, **kwargs",
    forms=(Form("clip"),),
    stands_for=_clip_stands_for,
    vjp=tuple(_with_bounds(p, i) for i, p in enumerate((clipped_value, clipped_bounds(1), clipped_bounds(2)))),
    note=AT_BOUNDS,
    samples=(called(-1, 1), called(0.5, None), called(None, 0.5), called(-1000, 1000), *reals(3)),
)


def _round(call: Arguments) -> Inferred:
    """The number of decimals is no operand."""
    decimals = {"decimals": call.args[1]} if len(call.args) > 1 else {}
    return spread(Arguments(call.op, call.args[:1], {**call.kwargs, **decimals}, call.env))


op(
    "round",
    np.round,
    meta=_round,
    warns=ALL,
    forms=(Form(np.around), Form("round")),
    vjp=(zero(0),),
    note="derivative 0, also at the steps",
    samples=(called(), called(2), called(decimals=-1)),
)


def _nan_to_num(call: Arguments) -> Inferred:
    if call.get("copy") is not True:
        unsupported(call, "copy=False, which writes into the operand")
    return spread(Arguments(call.op, call.args[:1], call.kwargs, call.env))


def _of_nan_to_num(g: Any, ans: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
    """Real and imaginary parts are replaced on their own."""
    if x.dtype.kind != "c":
        return np.where(np.isfinite(x), g, 0)
    parts = np.where(np.isfinite(np.real(x)), np.real(g), 0), np.where(np.isfinite(np.imag(x)), np.imag(g), 0)
    return cast(parts[0] + np.multiply(1j, parts[1]), x)


op(
    "nan_to_num",
    np.nan_to_num,
    meta=_nan_to_num,
    vjp=(_of_nan_to_num,),
    samples=(called(), called(nan=1.0)),
)


def _of_angle(g: Any, ans: Any, z: Any, deg: bool = False) -> Any:
    return fit(phase(g * (180 / np.pi) if deg else g, ans, z), z)


COMPUTED = ("sinc", "i0")  # by ufuncs that report
OTHERS: dict[str, Rules | None] = {
    "angle": (_of_angle,),
    "sinc": elementwise(lambda g, ans, x: g * (np.cos(np.pi * x) - ans) / np.where(x == 0, 1, x)),
    "i0": elementwise(lambda g, ans, x: g * bessel_i1(x)),
    "fix": (zero(0),),
    **dict.fromkeys(("isposinf", "isneginf", "isreal", "iscomplex")),
}
for _name, _vjp in OTHERS.items():
    _rule = _round if _name == "angle" else spread
    op(_name, getattr(np, _name), meta=_rule, warns=ALL if _name in COMPUTED else NOTHING, vjp=_vjp, samples=reals())
op("isclose", np.isclose, meta=spread, warns=ALL, samples=reals(2))
for _name in ("allclose", "array_equal", "array_equiv"):
    op(_name, getattr(np, _name), meta=probe, warns=ALL if _name == "allclose" else NOTHING, samples=reals(2))
op(
    "select",
    np.select,
    meta=probe,
    vjp=(None, of_selected, of_default),
    samples=(Sample(lambda rng: ([masks()(rng)], [rng.random((4, 3))])),),
)
op(
    "interp",
    np.interp,
    meta=probe,
    vjp=interp_rules,
    samples=(Sample(lambda rng: (rng.random(5), np.arange(3.0), rng.random(3))),),
)
