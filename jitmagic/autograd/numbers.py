"""Takes a call that makes a number of a stand-in (``float(x)``, ``math.exp(x)``), gives the number with its history."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.autograd.keeping import texts_in
from jitmagic.autograd.record import recorded
from jitmagic.autograd.recorded import Recorded, needs_gradient, python_number, raw
from jitmagic.errors import GradientError
from jitmagic.ops.conversions import TO_PYTHON
from jitmagic.ops.python_numbers import NUMBER_FUNCTIONS

__all__ = ["MATH", "check_texts", "conversion", "item_of", "listed", "makes_numbers"]


def makes_numbers(value: Any) -> bool:
    """Whether it is a class whose instances are numbers, so that a call of it converts."""
    return value is float or value is complex or (isinstance(value, type) and issubclass(value, np.number))


def conversion(kind: Any, cls: Any) -> Callable[..., Any]:
    """``cls(...)``, keeping the history of stand-ins of class ``kind``."""
    convert: Any = _CONVERSIONS.get(cls, _numpy_number)

    def call(*args: Any, **kwargs: Any) -> Any:
        check_texts(cls, args)
        return convert(kind, cls, *args) if not kwargs and needs_gradient(args) else cls(*args, **kwargs)

    return call


def check_texts(reader: Any, args: tuple[Any, ...]) -> None:
    """Raises GradientError if ``reader`` is to make numbers of a text of others: their history would be lost."""
    if any(map(texts_in, args)):
        raise GradientError(
            f"{reader.__name__} reads a text or bytes that were made of a number which the gradient depends on: texts "
            "have no history. Use the number itself, np.round for fewer digits, or jm.detach what the text is made of"
        )


def _numpy_number(kind: Any, cls: Any, value: Any, *rest: Any) -> Any:
    """``np.float32(x)``; no gradient flows through whole numbers. Other arguments are for the class to refuse."""
    if rest or not isinstance(value, Recorded) or not issubclass(cls, np.inexact):
        return cls(raw(value), *rest)
    given: Any = value._strong() if hasattr(value, "_strong") else value
    found = given.astype(cls)
    return found if found.ndim else found[()]


def _float(kind: Any, cls: Any, value: Any) -> Any:
    return recorded(kind, TO_PYTHON["f"], (value,), {}, float(raw(value)))


def _complex(kind: Any, cls: Any, real: Any, imag: Any = 0) -> Any:
    if not needs_gradient((imag,)) and imag == 0:
        return recorded(kind, TO_PYTHON["c"], (real,), {}, complex(raw(real)))
    value = complex(raw(real), raw(imag))
    history = (real + 1j * imag)._history()  # its signed zeros are not Python's
    return python_number(np.complex128(value), history)


_CONVERSIONS: dict[Any, Callable[..., Any]] = {float: _float, complex: _complex}


def item_of(array: Any, *place: Any) -> Any:
    """``array.item(...)``."""
    data = array._values
    value = data.item(*place)
    index = place[0] if len(place) == 1 and isinstance(place[0], tuple) else place
    if len(index) == 1 and data.ndim != 1:
        index = np.unravel_index(index[0] % data.size, data.shape)
    element = array[tuple(index)] if data.ndim and index else array.reshape(())
    row = TO_PYTHON[data.dtype.kind]
    return recorded(type(array), row, (element,), {}, value)


def listed(array: Any) -> Any:
    """``array.tolist()``."""
    return [listed(part) for part in array] if array.ndim else item_of(array)


def _of_numbers(function: Any) -> Callable[[Any], Callable[..., Any]]:
    row = NUMBER_FUNCTIONS[function].op

    def over(kind: Any) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            return recorded(kind, row, args, {}, function(*raw(args))) if needs_gradient(args) else function(*raw(args))

        call.__name__ = call.__qualname__ = function.__name__
        return call

    return over


def _fsum(kind: Any) -> Callable[..., Any]:
    def call(seq: Any, /) -> Any:
        items = list(seq)
        found = math.fsum(map(raw, items))
        if not needs_gradient(items):
            return found
        return python_number(np.float64(found), np.sum(np.stack(items))._history())

    return call


# What each function of ``math`` is for stand-ins of a class.
MATH: dict[Any, Callable[[Any], Callable[..., Any]]] = {
    **{function: _of_numbers(function) for function in NUMBER_FUNCTIONS},
    math.fsum: _fsum,
}
