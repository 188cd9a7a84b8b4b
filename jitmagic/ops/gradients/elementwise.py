"""Takes the derivative of an elementwise operation, gives a rule: broadcasting and casts undone, masked elements 0."""

from __future__ import annotations

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


@dataclass(frozen=True, slots=True)
class Elementwise:
    """The rule of operand ``place``: ``product(g, ans, *operands)`` is ``g`` times the derivative.

    Options of the call (``where=``, ``dtype=``) do not reach ``product``. ``damped`` False leaves masked elements
    alone: for products that are finite anyway, and for graphs in which nothing is masked.
    """

    product: Callable[..., Any]
    place: int
    damped: bool = True

    def __call__(self, g: Any, ans: Any, *operands: Any, **options: Any) -> Any:
        found = self.product(g, ans, *operands)
        return fit(damp(found, g) if self.damped else found, operands[self.place])


def elementwise(*products: Callable[..., Any] | None, damped: bool = True) -> Rules:
    """The rules of an elementwise operation, one product for each operand."""
    return tuple(None if p is None else Elementwise(p, i, damped) for i, p in enumerate(products))


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
