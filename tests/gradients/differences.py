"""Takes a function and arguments, gives its gradient by central differences, to compare with."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jitmagic.autograd.trees import leaves_of, map_leaves

__all__ = ["agree", "central_differences", "check_program"]

STEP = 1e-6


def central_differences(function: Callable[..., Any], args: tuple[Any, ...], argnum: int) -> Any:
    """Of a real function; arguments are copied before each call, since it may write into them."""
    leaves = list(leaves_of(args[argnum]))
    found = []
    for number, leaf in enumerate(leaves):
        gradient = np.zeros(np.shape(leaf))
        for place in np.ndindex(np.shape(leaf)):
            up, down = (float(function(*_moved(args, argnum, number, place, s))) for s in (STEP, -STEP))
            gradient[place] = (up - down) / (2 * STEP)
        found.append(gradient)
    each: Iterator[Any] = iter(found)
    return map_leaves(args[argnum], lambda _: next(each))


def _moved(args: tuple[Any, ...], argnum: int, number: int, place: tuple[int, ...], step: float) -> tuple[Any, ...]:
    """Copies of the arguments with one element of one leaf moved."""
    count = iter(range(1000))

    def move(leaf: Any) -> Any:
        if next(count) != number:
            return copy.deepcopy(leaf)
        moved = np.array(leaf, copy=True)
        moved[place] += step
        return moved if isinstance(leaf, np.ndarray) else type(leaf)(moved)

    given = [copy.deepcopy(a) for a in args]
    given[argnum] = map_leaves(args[argnum], move)
    return tuple(given)


def agree(found: Any, expected: Any) -> None:
    """Raises AssertionError unless both are built alike and equal within the error of the differences."""
    pairs = list(zip(leaves_of(found), leaves_of(expected), strict=True))
    for one, other in pairs:
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-7)


def check_program(
    function: Callable[..., Any], args: tuple[Any, ...], transform: Callable[..., Any], argnums: tuple[int, ...] = (0,)
) -> None:
    """Value and arguments afterwards bit for bit those of the plain call, gradients those of central differences."""
    plain_args = copy.deepcopy(args)
    plain = function(*plain_args)
    expected = tuple(central_differences(function, args, n) for n in argnums)
    differentiated = transform(function, argnums)
    for _ in range(2):
        given = copy.deepcopy(args)
        value, gradients = differentiated(*given)
        assert type(value) is type(plain)
        assert np.asarray(value).tobytes() == np.asarray(plain).tobytes()
        for one, other in zip(leaves_of(given), leaves_of(plain_args), strict=True):
            assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
            assert np.shape(one) == np.shape(other)
        agree(gradients, expected)
