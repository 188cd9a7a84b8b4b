"""Takes a function of NumPy code, gives functions that compute its derivatives.

``differentiate`` is the one step behind them. Plainly it runs the function on Tensors and walks their tape back; in a
traced function the compiler puts the backward computation in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.autograd.eager import differentiate_eagerly, linearise_eagerly
from jitmagic.autograd.trees import leaves_of, map_leaves
from jitmagic.errors import UserError

__all__ = ["check_request", "differentiate", "grad", "jacobian", "linearise", "lineariser", "value_and_grad", "vjp"]

Function = Callable[..., Any]


def differentiate(
    function: Function, argnums: int | tuple[int, ...], has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """``(value, gradients)`` of ``function(*args, **kwargs)``, or ``((value, aux), gradients)`` if ``has_aux``.

    ``gradients`` has the structure of the argument at position ``argnums``, or is a tuple of such for a tuple.
    """
    return differentiate_eagerly(function, argnums, has_aux, args, kwargs)


def linearise(
    function: Function, argnums: int | tuple[int, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """``(value, pullback)`` of ``function(*args, **kwargs)``; the pullback gives gradients as ``differentiate``."""
    return linearise_eagerly(function, argnums, args, kwargs)


def check_request(name: str, function: Any, argnums: Any) -> None:
    """Raises UserError if ``name(function, argnums)`` cannot mean anything."""
    if not callable(function):
        raise UserError(f"{name} got a {type(function).__name__}; it takes a function of NumPy code")
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    if not all(type(n) is int for n in numbers):
        raise UserError(f"{name}(argnums={argnums!r}): argnums is the position of an argument, or a tuple of positions")
    if len(set(numbers)) < len(numbers):
        raise UserError(f"{name}(argnums={argnums!r}) names one argument twice")


def value_and_grad(function: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """A function of the same arguments that gives ``(value, gradient)``; see ``jitmagic.value_and_grad``."""

    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        return differentiate(function, argnums, has_aux, args, kwargs)

    return value_and_gradient


def grad(function: Function, argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Function:
    """A function of the same arguments that gives the gradient; with ``has_aux`` ``(gradient, aux)``."""

    def gradient(*args: Any, **kwargs: Any) -> Any:
        value, found = differentiate(function, argnums, has_aux, args, kwargs)
        return (found, value[1]) if has_aux else found

    return gradient


def lineariser(function: Function, argnums: int | tuple[int, ...]) -> Function:
    """A function of the same arguments that gives ``(value, pullback)``."""

    def linear(*args: Any, **kwargs: Any) -> Any:
        return linearise(function, argnums, args, kwargs)

    return linear


def vjp(function: Function, *primals: Any) -> Any:
    """``(value, pullback)`` at ``primals``; see ``jitmagic.vjp``."""
    return linearise(function, tuple(range(len(primals))), primals, {})


def jacobian(function: Function, argnums: int | tuple[int, ...] = 0) -> Function:
    """A function of the same arguments that gives all derivatives; see ``jitmagic.jacobian``."""

    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        value, pullback = linearise(function, argnums, args, kwargs)
        return rows_of(value, pullback)

    return jacobian_of


def rows_of(value: Any, pullback: Callable[[Any], Any]) -> Any:
    """The derivatives of each leaf of ``value``: one row after the other, pulled back and stacked."""
    number = [-1]

    def of_leaf(leaf: Any) -> Any:
        number[0] += 1
        mine = number[0]
        rows = [pullback(_unit(value, mine, place, 1)) for place in np.ndindex(np.shape(leaf))]
        if not rows:
            zero = pullback(_unit(value, mine, None, 1))
            return map_leaves(zero, lambda g: np.zeros(np.shape(leaf) + np.shape(g), np.result_type(leaf, g)))
        flat = [list(leaves_of(row)) for row in rows]
        if np.result_type(leaf).kind == "c":
            turned = [pullback(_unit(value, mine, place, -1j)) for place in np.ndindex(np.shape(leaf))]
            flat = [list(map(_whole, row, leaves_of(other))) for row, other in zip(flat, turned, strict=True)]
        stacked = (np.stack(each) for each in zip(*flat, strict=True))
        columns = iter([np.reshape(each, np.shape(leaf) + each.shape[1:]) for each in stacked])
        return map_leaves(rows[0], lambda _: next(columns))

    return map_leaves(value, of_leaf)


def _whole(real: Any, imaginary: Any) -> Any:
    """The derivative of a complex number by a real one, from those of its parts; by a complex one it is whole."""
    return real if np.result_type(real).kind == "c" else real + 1j * imaginary


def _unit(value: Any, number: int, place: tuple[int, ...] | None, one: complex) -> Any:
    """A cotangent of ``value`` that is ``one`` at one place of one leaf and 0 elsewhere."""
    count = [-1]

    def of_leaf(leaf: Any) -> Any:
        count[0] += 1
        made = np.zeros_like(leaf)
        if count[0] == number and place is not None:
            made[place] = one
        return made

    return map_leaves(value, of_leaf)
