"""The public transformations: gradients of plain NumPy functions, compiled."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from jitmagic.autograd import transforms
from jitmagic.runtime.engine import serve
from jitmagic.runtime.function import compile_callable
from jitmagic.tracer.capture import Options
from jitmagic.tracer.directives import traced_as

__all__ = ["grad", "value_and_grad"]

Argnums = int | tuple[int, ...]


def value_and_grad(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A compiled function of the same arguments that gives ``(value, gradient)`` in one run.

    ``function`` is plain NumPy code, compiled or not, that gives one real number; the value is that of ``function``, bit
    for bit. The gradient has the structure, shapes and dtypes of argument ``argnums``: arrays and floats, nested in
    tuples, lists, dicts, named tuples and dataclasses (None stays None); for a tuple of positions it is a tuple. With
    ``has_aux`` the function gives ``(number, anything)`` and the result is ``((value, aux), gradient)``.

    Arguments are differentiated by place: the same array elsewhere counts as a constant. What the function does to its
    arguments in place it does here too; containers of the differentiated arguments are new ones, though. For complex
    ``z = x + iy`` the gradient is ``df/dx - i df/dy``, as in JAX and HIPS autograd.

    Raises UserError for an argument that is no float, and for a result that is no real number.
    """
    return _compiled(function, argnums, has_aux, transforms.value_and_grad, "value_and_grad")


def grad(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A compiled function of the same arguments that gives the gradient; with ``has_aux`` ``(gradient, aux)``.

    See ``value_and_grad`` for what may be differentiated.
    """
    return _compiled(function, argnums, has_aux, transforms.grad, "grad")


def _compiled(function: Any, argnums: Argnums, has_aux: bool, transform: Any, name: str) -> Callable[..., Any]:
    transforms.check_request(name, function, argnums)
    plain = transform(function, argnums, has_aux)
    made = compile_callable(named_after(plain, function, name), Options(), serve)
    return made  # type: ignore[no-any-return]  # of a function it is one


def named_after(plain: FunctionType, function: Any, name: str) -> FunctionType:
    """``plain`` with a name and a docstring that tell whose derivative it is."""
    owner = getattr(function, "__qualname__", type(function).__qualname__)
    plain.__name__ = f"{name}_{getattr(function, '__name__', owner)}"
    plain.__qualname__ = f"{name}({owner})"
    plain.__doc__ = f"Gradient of {owner}, by jitmagic.{name}.\n\n{getattr(function, '__doc__', None) or ''}"
    plain.__dict__["__wrapped__"] = function
    return plain


traced_as(value_and_grad, transforms.value_and_grad)
traced_as(grad, transforms.grad)
