"""Takes the cotangent of difference quotients (``np.gradient``), gives those of the values and of their places.

At an inner place the quotient weighs the element before, the one itself and the one behind, by the distances to them;
at the ends it weighs the two or three elements there. The weights are those that NumPy documents, of second order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.shapes import axes_of, cast, shape_of

__all__ = ["gradient_rules"]

Weights = tuple[Any, ...]


def of_values(g: Any, ans: Any, f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """The transpose of the difference quotients, axis by axis."""
    axes = axes_of(f, axis)
    total = np.zeros_like(f)
    for part, place, step in zip(_parts(g), axes, _steps(spacing, len(axes)), strict=True):
        if part is not None:
            total = total + _undone(np.moveaxis(part, place, -1), place, step, edge_order)
    return cast(total, f)


def of_spacing(g: Any, ans: Any, f: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> list[Any]:
    """A step divides all quotients of its axis; places move the weights of their neighbours."""
    axes = axes_of(f, axis)
    shares: list[Any] = []
    for part, out, place, step in zip(_parts(g), _parts(ans), axes, _steps(spacing, len(axes)), strict=True):
        if part is None:
            shares.append(0)
        elif not len(shape_of(step)):
            shares.append(-np.sum(part * out) / step)
        else:
            g_along, f_along = (np.moveaxis(x, place, -1) for x in (part, f))
            shares.append(_of_distances(g_along, f_along, np.diff(step), edge_order))
    if len(spacing) == 1:
        shares = [sum(shares)]
    return [_like(share, step) for share, step in zip(shares, spacing, strict=True)]


gradient_rules = (of_values, of_spacing)


def _parts(g: Any) -> Any:
    return g if isinstance(g, tuple | list) else (g,)


def _steps(spacing: tuple[Any, ...], count: int) -> list[Any]:
    """One for each axis."""
    return list(spacing) * count if len(spacing) == 1 else list(spacing) or [1.0] * count


def _like(share: Any, step: Any) -> Any:
    return np.zeros_like(step) + cast(share, step) if hasattr(share, "dtype") else np.zeros_like(step) + share


def _undone(g: Any, axis: int, step: Any, edge_order: int) -> Any:
    """``g``, whose last axis is the one in question, times the matrix of three diagonals and two corners."""
    inner = g[..., 1:-1]
    total: Any = 0
    for shift, weight in enumerate(_inner(step)):
        total = total + _bordered(inner * weight, shift, 2 - shift)
    for weights, is_first in zip(_ends(step, edge_order), (True, False), strict=True):
        edge = g[..., :1] if is_first else g[..., -1:]
        rest = np.zeros_like(g[..., len(weights) :])
        corner = [edge * weight for weight in weights]
        total = total + np.concatenate([*corner, rest] if is_first else [rest, *corner], axis=-1)
    return np.moveaxis(total, -1, axis)


def _bordered(x: Any, before: int, behind: int) -> Any:
    return np.pad(x, [(0, 0)] * (len(shape_of(x)) - 1) + [(before, behind)])


def _inner(step: Any) -> Weights:
    """Of the elements before, at and behind each inner place."""
    if not len(shape_of(step)):
        return -0.5 / step, 0.0, 0.5 / step
    distance = np.diff(step)
    left, right = distance[:-1], distance[1:]
    both = left + right
    return -right / (left * both), (right - left) / (left * right), left / (right * both)


def _ends(step: Any, edge_order: int) -> tuple[Weights, Weights]:
    """Of the first elements in the first quotient, and of the last ones in the last."""
    if len(shape_of(step)):
        distance = np.diff(step)
        near = (distance[0], distance[-1])
        far = (distance[1], distance[-2]) if edge_order == 2 else near
    else:
        near = far = (step, step)
    if edge_order == 1:
        return (-1 / near[0], 1 / near[0]), (-1 / near[1], 1 / near[1])
    first, last = (_one_sided(n, f) for n, f in zip(near, far, strict=True))
    return first, tuple(-weight for weight in reversed(last))


def _one_sided(near: Any, far: Any) -> Weights:
    """Of three elements: at the place itself, and at the distances ``near`` and ``near + far``."""
    both = near + far
    return -1 / near - 1 / both, 1 / near + 1 / far, 1 / both - 1 / far


def _of_distances(g: Any, f: Any, distance: Any, edge_order: int) -> Any:
    """The cotangent of the places, of which ``distance`` are the differences; all axes but the last are summed."""
    others = tuple(range(len(shape_of(g)) - 1))
    left, right = distance[:-1], distance[1:]
    both = left + right
    before, here, behind = f[..., :-2], f[..., 1:-1], f[..., 2:]
    cross = (behind - before) / (both * both)
    of_left = cross + (before - here) / (left * left)
    of_right = cross + (here - behind) / (right * right)
    of_left, of_right = (np.sum(g[..., 1:-1] * share, axis=others) for share in (of_left, of_right))
    total = _bordered(of_left, 0, 1) + _bordered(of_right, 1, 0)
    total = total + _of_end(g[..., 0], f, distance, others, edge_order)
    total = total + _of_end(-g[..., -1], f[..., ::-1], distance[::-1], others, edge_order)[::-1]
    return _bordered(-total, 0, 1) + _bordered(total, 1, 0)


def _of_end(g: Any, f: Any, distance: Any, others: tuple[int, ...], edge_order: int) -> Any:
    """The cotangent of all distances by the quotient at the first place."""
    near = distance[:1]
    rest = np.zeros_like(distance[edge_order:])
    first = (f[..., 1:2] - f[..., :1]) / -(near * near)
    if edge_order == 1:
        shares = [first]
    else:
        far = distance[1:2]
        both = near + far
        across = (f[..., :1] - f[..., 2:3]) / (both * both)
        shares = [first + across, across + (f[..., 2:3] - f[..., 1:2]) / (far * far)]
    summed = [np.sum(np.expand_dims(g, -1) * share, axis=others) for share in shares]
    return np.concatenate([*summed, rest])
