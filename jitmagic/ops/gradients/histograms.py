"""Takes the cotangents of a histogram and of the edges of its bins, gives those of elements, bins, range and weights.

Counts are steps: elements matter only by the edges that they span. Sums of weights, and densities, are smooth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.ops.gradients.shapes import as_operand, cast, counted, shape_of

__all__ = ["bin_edges_rules", "histogram2d_rules", "histogram_rules"]


def _of_span(g: Any, a: Any) -> Any:
    """Edges at even distances from the least to the greatest element."""
    share = _shares(g)
    total: Any = 0
    for extreme, weight in ((np.min(a), 1 - share), (np.max(a), share)):
        chosen = a == extreme
        total = total + np.where(chosen, np.sum(g * weight) / np.sum(chosen), 0)
    return cast(total, a)


def _shares(g: Any) -> Any:
    """How far each edge is on the way from the first to the last one."""
    return counted(g, 0) / (shape_of(g)[0] - 1)


def _are_given(bins: Any) -> bool:
    return not isinstance(bins, str) and bool(shape_of(bins))


def edges_of_elements(g: Any, ans: Any, a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    if range is not None or _are_given(bins):
        return np.zeros_like(a)
    return _of_span(g, a)


def edges_of_bins(g: Any, ans: Any, a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    return as_operand(g, bins)


def edges_of_range(g: Any, ans: Any, a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    if _are_given(bins):
        return as_operand(np.zeros_like(g[:2]), range)
    share = _shares(g)
    return as_operand(np.stack([np.sum(g * (1 - share)), np.sum(g * share)]), range)


bin_edges_rules = (edges_of_elements, edges_of_bins, edges_of_range)


def _sums(weights: Any, like: Any) -> Any:
    return np.ones_like(like) if weights is None else weights


def _places(x: Any, edges: Any) -> tuple[Any, Any]:
    """The bin of each element, and whether there is one; the last edge belongs to the last bin."""
    last = shape_of(edges)[0] - 2
    place = np.searchsorted(edges, x, side="right") - 1
    is_inside = (place >= 0) & (x <= edges[-1])
    return np.clip(place, 0, last), is_inside


def _kept(x: Any, axes: int) -> Any:
    return np.real(x) if axes == 1 else x


def _of_density(g: Any, ans: Any, total: Any, edges: tuple[Any, ...]) -> tuple[Any, list[Any]]:
    """The cotangents of the sums in the bins and of each axis of edges, of ``sums / areas / total``.

    NumPy takes the real part of the widths of complex elements if there is one axis.
    """
    widths = [
        np.reshape(_kept(np.diff(e), len(edges)), (-1,) + (1,) * (len(edges) - i - 1)) for i, e in enumerate(edges)
    ]
    area: Any = 1
    for width in widths:
        area = area * width
    of_sums = g / area / total - np.sum(g * ans) / total
    found = []
    for i, width in enumerate(widths):
        others = tuple(k for k, _ in enumerate(edges) if k != i)
        share = np.reshape(np.sum(_kept(-g * ans, len(edges)) / width, axis=others, keepdims=True), -1)
        found.append(np.pad(share, (1, 0)) - np.pad(share, (0, 1)))
    return of_sums, found


def _parts(
    g: Any, ans: Any, elements: tuple[Any, ...], density: Any, weights: Any
) -> tuple[Any, list[Any], tuple[Any, ...]]:
    """The cotangents of the sums (None: nobody asks) and of the edges, and the edges."""
    edges = tuple(ans[1:])
    asked = (*g, *(None,) * (len(ans) - len(g)))
    of_sums, of_edges = asked[0], [np.zeros_like(e) if x is None else x for x, e in zip(asked[1:], edges, strict=True)]
    if density and of_sums is not None:
        inside: Any = True
        for x, e in zip(elements, edges, strict=True):
            inside = inside & _places(x, e)[1]
        total = np.sum(np.where(inside, _sums(weights, elements[0]), 0))
        of_sums, more = _of_density(of_sums, ans[0], total, edges)
        of_edges = [a + b for a, b in zip(of_edges, more, strict=True)]
    return of_sums, of_edges, edges


def _of_weights(g: Any, ans: Any, elements: tuple[Any, ...], density: Any, weights: Any) -> Any:
    of_sums, _, edges = _parts(g, ans, elements, density, weights)
    if of_sums is None:
        return np.zeros_like(weights)
    found = [_places(x, e) for x, e in zip(elements, edges, strict=True)]
    share = of_sums[tuple(place for place, _ in found)]
    for _, is_inside in found:
        share = np.where(is_inside, share, 0)
    return cast(share, weights)


def _histogram(which: str) -> Callable[..., Any]:
    def rule(
        g: Any, ans: Any, a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
    ) -> Any:
        if which == "weights":
            return _of_weights(g, ans, (a,), density, weights)
        _, (of_edges,), _ = _parts(g, ans, (a,), density, weights)
        rules = dict(zip(("elements", "bins", "range"), bin_edges_rules, strict=True))
        return rules[which](of_edges, None, a, bins, range)

    return rule


histogram_rules = (*map(_histogram, ("elements", "bins", "range")), None, _histogram("weights"))


def _bins_of(bins: Any, axis: int) -> Any:
    """NumPy takes one number or array of edges for both axes, or one for each."""
    shape = shape_of(bins) if not isinstance(bins, list | tuple) else (len(bins),)
    return bins[axis] if shape == (2,) else bins


def _of_coordinates(axis: int) -> Callable[..., Any]:
    def rule(
        g: Any, ans: Any, x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
    ) -> Any:
        _, of_edges, _ = _parts(g, ans, (x, y), density, weights)
        given = None if range is None else range[axis]
        return edges_of_elements(of_edges[axis], None, (x, y)[axis], _bins_of(bins, axis), given)

    return rule


def histogram2d_of_weights(
    g: Any, ans: Any, x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    return _of_weights(g, ans, (x, y), density, weights)


histogram2d_rules = (_of_coordinates(0), _of_coordinates(1), None, None, None, histogram2d_of_weights)
