"""Takes a function of NumPy code, gives functions that compute its derivatives.

``differentiate`` is the one step behind them. Plainly it runs the function on Tensors and walks their tape back; in a
traced function the compiler puts the backward computation in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from jitmagic.errors import UserError

__all__ = ["check_request", "differentiate", "grad", "value_and_grad"]

Function = Callable[..., Any]


def differentiate(
    function: Function, argnums: int | tuple[int, ...], has_aux: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, Any]:
    """``(value, gradients)`` of ``function(*args, **kwargs)``, or ``((value, aux), gradients)`` if ``has_aux``.

    ``gradients`` has the structure of the argument at position ``argnums``, or is a tuple of such for a tuple.
    """
    raise UserError("no eager tape yet")


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
