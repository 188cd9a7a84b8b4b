"""The public transformations: gradients of plain NumPy functions, compiled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any

from jitmagic.autograd import transforms
from jitmagic.runtime.engine import serve
from jitmagic.runtime.function import compile_callable, plain_of
from jitmagic.runtime.record import def_span
from jitmagic.tracer.capture import Options
from jitmagic.tracer.directives import traced_as

__all__ = ["grad", "hessian", "jacobian", "value_and_grad", "vjp"]

Argnums = int | tuple[int, ...]


def value_and_grad(function: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A compiled function of the same arguments that gives ``(value, gradient)`` in one run.

    ``function`` is plain NumPy code, compiled or not, that gives one real number; the value is that of ``function``,
    bit for bit. The gradient has the structure, shapes and dtypes of argument ``argnums``: arrays and floats, nested in
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


def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """``(value, pullback)``: ``pullback(cotangent)`` gives the gradients, a tuple with one entry for each primal.

    The value is that of ``function(*primals)``; it may be a number, an array, or containers of these. The cotangent is
    built in the same way. What the pullback needs is saved now: later writes to the primals do not reach it.
    """
    transforms.check_request("vjp", function, 0)
    value, pullback = _lineariser(function, tuple(range(len(primals))))(*primals)
    return value, pullback


def jacobian(function: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function of the same arguments that gives the derivatives of every element of the value, as dense arrays.

    For a value of shape S and an argument of shape T the result has the shape S + T. Containers nest: those of the
    value outside, those of the argument inside. Of a complex value by real arguments it is complex; by complex ones it
    is the complex derivative of functions that have one.
    """
    transforms.check_request("jacobian", function, argnums)
    linear = _lineariser(function, argnums)

    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        value, pullback = linear(*args, **kwargs)
        return transforms.rows_of(value, pullback)

    return named_after(jacobian_of, function, "jacobian")


def hessian(function: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function of the same arguments that gives the second derivatives: the jacobian of the gradient."""
    transforms.check_request("hessian", function, argnums)
    made: Any = jacobian(named_after(transforms.grad(function, argnums), function, "grad"), argnums)
    return named_after(made, function, "hessian")


@functools.lru_cache(maxsize=128)
def _lineariser(function: Any, argnums: Argnums) -> Callable[..., Any]:
    """The compiled ``(value, pullback)`` of ``function``; those used last are kept."""
    plain = transforms.lineariser(function, argnums)
    return _placed(compile_callable(named_after(plain, function, "vjp"), Options(), serve), function)


def _compiled(function: Any, argnums: Argnums, has_aux: bool, transform: Any, name: str) -> Callable[..., Any]:
    transforms.check_request(name, function, argnums)
    plain = transform(function, argnums, has_aux)
    return _placed(compile_callable(named_after(plain, function, name), Options(), serve), function)


def _placed(made: Any, function: Any) -> Callable[..., Any]:
    """``made``, whose card shows the lines of the user's function."""
    code = getattr(plain_of(function) if isinstance(function, FunctionType) else function, "__code__", None)
    if code is not None:
        made.jit.record.span = def_span(code)
    return made  # type: ignore[no-any-return]  # a function


def named_after(plain: Any, function: Any, name: str) -> Callable[..., Any]:
    """``plain``, a function, with a name and a docstring that tell whose derivative it is."""
    owner = getattr(function, "__qualname__", type(function).__qualname__)
    plain.__name__ = f"{name}_{getattr(function, '__name__', owner)}"
    plain.__qualname__ = f"{name}({owner})"
    plain.__doc__ = f"Gradient of {owner}, by jitmagic.{name}.\n\n{getattr(function, '__doc__', None) or ''}"
    plain.__dict__["__wrapped__"] = function
    named: Callable[..., Any] = plain
    return named


traced_as(value_and_grad, transforms.value_and_grad)
traced_as(grad, transforms.grad)
traced_as(vjp, transforms.vjp)
traced_as(jacobian, transforms.jacobian)
