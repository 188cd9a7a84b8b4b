"""Rows of our own that the derivatives of determinants call: cofactors, and the transposed inverse."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.ops.gradients.calls import invoke
from jitmagic.ops.gradients.determinants import cofactors, cofactors_along, inverse_transposed
from jitmagic.ops.gradients.products import turned
from jitmagic.ops.gradients.shapes import cast
from jitmagic.ops.record import Sample
from jitmagic.ops.registry import op
from jitmagic.ops.triangles import ALL, square

__all__: list[str] = []


def _matrix(rng: Any) -> Any:
    return rng.uniform(-1, 1, (4, 4)) + 2 * np.eye(4)


def _singular(rng: Any) -> Any:
    a = rng.uniform(-1, 1, (2, 3, 3))
    a[0, 2] = a[0, 0] + a[0, 1]
    return a


op(
    "cofactors",
    cofactors,
    meta=square,
    signature="a, /",
    raises=True,
    warns=ALL,
    vjp=(lambda g, ans, a: cast(invoke(cofactors_along, a, g), a),),
    samples=(
        Sample(lambda rng: (_matrix(rng),)),
        Sample(lambda rng: (_singular(rng),)),
    ),
)


def _of_along(g: Any, ans: Any, a: Any, direction: Any) -> Any:
    """Third derivatives, by the inverse: LinAlgError at a singular matrix."""
    x = turned(np.linalg.inv(a))
    first, second = turned(direction), turned(g)
    along, across = _sum(x * direction), _sum(x * g)
    both = turned(g @ turned(x) @ direction + direction @ turned(x) @ g)
    rest = x @ (both - across * first - along * second) @ x
    share = along * across - _sum((x @ first @ x) * g)
    return cast(np.expand_dims(np.linalg.det(a), (-2, -1)) * (x * share + rest), a)


def _sum(x: Any) -> Any:
    return np.sum(x, axis=(-2, -1), keepdims=True)


op(
    "cofactors_along",
    cofactors_along,
    meta=square,
    signature="a, direction, /",
    raises=True,
    warns=ALL,
    vjp=(_of_along, lambda g, ans, a, direction: cast(invoke(cofactors_along, a, g), direction)),
    samples=(
        Sample(lambda rng: (_matrix(rng), rng.uniform(-1, 1, (4, 4)))),
        Sample(lambda rng: (rng.uniform(-1, 1, (2, 3, 3)) + np.eye(3), rng.uniform(-1, 1, (2, 3, 3)))),
    ),
)

op(
    "inverse_transposed",
    inverse_transposed,
    meta=square,
    signature="a, /",
    raises=True,
    warns=ALL,
    vjp=(lambda g, ans, a: cast(-ans @ turned(g) @ ans, a),),
    samples=(Sample(lambda rng: (_matrix(rng),)),),
)
