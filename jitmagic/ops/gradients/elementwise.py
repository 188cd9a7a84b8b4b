"""Takes the derivative of an elementwise operation, gives a rule: broadcasting and casts undone, masked elements 0."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.ops.gradients.shapes import fit, shape_of
from jitmagic.ops.record import Rules

__all__ = ["Elementwise", "damp", "elementwise", "entry", "zero"]


def damp(product: Any, g: Any) -> Any:
    """``product``, which is ``g`` times a derivative, with 0 where ``g`` is 0 and the derivative was infinite or NaN.

    Only there: elsewhere the product must stay a function of ``g``, for second derivatives.
    """
    if isinstance(product, np.ndarray | np.generic) and not _has_nan(product):
        return product
    return np.where((g == 0) & (product != product), 0, product)


def _has_nan(x: Any) -> bool:
    """A sum is NaN if an element is (and sometimes if none is: then ``where`` changes nothing)."""
    total = x.sum()
    return bool(total != total)


_NUMBERS = (int, float, np.float64)


@dataclass(frozen=True, slots=True)
class Elementwise:
    """The rule of operand ``place``: ``product(g, ans, *operands)`` is ``g`` times the derivative.

    Options of the call (``where=``, ``dtype=``) do not reach ``product``. ``damped`` False leaves masked elements
    alone: for products that are finite anyway, and for values after which nothing is masked. ``factor`` is the place of
    the operand that alone decides whether the derivative is finite.
    """

    product: Callable[..., Any]
    place: int
    damped: bool = True
    factor: int | None = None

    def __call__(self, g: Any, ans: Any, *operands: Any, **options: Any) -> Any:
        found = self.product(g, ans, *operands)
        is_finite = not self.damped or (self.factor is not None and _is_plain(operands[self.factor]))
        return fit(found if is_finite else damp(found, g), operands[self.place])


def _is_plain(factor: Any) -> bool:
    """Whether a factor or divisor is a known number by which 0 stays 0; one that is differentiated is not known."""
    return type(factor) in _NUMBERS and math.isfinite(factor) and factor != 0


def elementwise(
    *products: Callable[..., Any] | None, damped: bool = True, factors: tuple[int | None, ...] = ()
) -> Rules:
    """The rules of an elementwise operation, one product for each operand; for ``factors`` see ``Elementwise``."""
    places = factors or (None,) * len(products)
    pairs = enumerate(zip(products, places, strict=True))
    return tuple(None if p is None else Elementwise(p, i, damped, factor) for i, (p, factor) in pairs)


def zero(place: int = 0) -> Callable[..., Any]:
    """The rule of an operand on which the result depends in steps only: the derivative is 0, also at the steps."""

    def rule(g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        return np.zeros_like(args[place], shape=shape_of(args[place]))

    return rule


def entry(index: int, rules: Rules) -> Rules:
    """The rules of a call with several results, of which only ``index`` varies; ``rules`` are of that one."""
    return tuple(None if rule is None else _Entry(rule, place, index) for place, rule in enumerate(rules))


@dataclass(frozen=True, slots=True)
class _Entry:
    rule: Callable[..., Any]
    place: int
    index: int

    def __call__(self, g: Any, ans: Any, *args: Any, **kwargs: Any) -> Any:
        if g[self.index] is None:
            return zero(self.place)(g, ans, *args)
        return self.rule(g[self.index], ans, *args, **kwargs)
