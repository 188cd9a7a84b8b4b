"""What stands for the arguments of a function while it is differentiated: Tensors whose numbers may not slip away."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.autograd.keeping import note, note_text
from jitmagic.autograd.methods import LOST
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.numbers import item_of, listed
from jitmagic.autograd.recorded import Recorded, is_smooth, numbers_are_made_by, raw
from jitmagic.autograd.stores import makes_text
from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import GradientError

__all__ = ["Watched", "WatchedNumber"]


class Watched(Tensor):
    """A Tensor inside a function that is being differentiated: its numbers may not leave the record unnoticed.

    It looks like what it stands for: ``isinstance`` and printing answer as for the array.
    """

    _leaves_plain = True

    @classmethod
    def _made(cls, data: Any, edge: Any = None, version: Any = None) -> Any:
        return note(super()._made(data, edge, version))

    @property  # type: ignore[misc]  # what isinstance asks for
    def __class__(self) -> type:
        return type(raw(self))

    def _noted(self, text: Any) -> Any:
        """A text or bytes of these numbers, which a reader of numbers is to know again."""
        return note_text(text) if self.requires_grad and is_grad_enabled() else text

    def __repr__(self) -> str:
        return str(self._noted(repr(raw(self))))

    def __str__(self) -> str:
        return str(self._noted(super().__str__()))

    def __format__(self, spec: str) -> str:
        return str(self._noted(super().__format__(spec)))

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(type(raw(self)), name):
            raise AttributeError(
                f"{name} of a number that a gradient is taken by: no rule tells its gradient; use jm.detach(x).{name} "
                "if none is to flow through it"
            )
        return super().__getattr__(name)

    @property
    def data(self) -> Any:
        """As ``ndarray.data``: memory that keeps no history."""
        if self.requires_grad and is_grad_enabled():
            raise GradientError(f"the memory (x.data) of an array that requires a gradient was asked for, {LOST}")
        return self._values.data

    def is_integer(self) -> bool:
        """As ``float.is_integer``."""
        found: bool = self._values.is_integer()
        return found

    def tobytes(self, *args: Any, **kwargs: Any) -> Any:
        """As ``ndarray.tobytes``."""
        return self._noted(self._values.tobytes(*args, **kwargs))

    def __copy__(self) -> Any:
        return np.copy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        memo[id(self)] = made = np.copy(self)
        return made

    def _refuse_to_leave(self) -> None:
        if self.requires_grad and is_grad_enabled() and not makes_text(sys._getframe(2)):
            raise GradientError(
                "a number that the gradient depends on became a Python number here, which has no history: a function "
                "that takes plain numbers only was called with it, or it was stored in a plain array. Use NumPy's "
                "function (np.sqrt(x), np.stack), write float(x) or math.sqrt(x) in the differentiated function "
                "itself, or jm.detach(x) if no gradient is to flow"
            )

    def __float__(self) -> float:
        self._refuse_to_leave()
        return super().__float__()

    def __complex__(self) -> complex:
        self._refuse_to_leave()
        return super().__complex__()

    def item(self, *args: Any) -> Any:
        """As ``ndarray.item``; the number keeps its history."""
        return item_of(self, *args) if self.requires_grad and is_smooth(self._values) else super().item(*args)

    def tolist(self) -> Any:
        """As ``ndarray.tolist``; the numbers keep their history."""
        return listed(self) if self.requires_grad and is_smooth(self._values) else self._values.tolist()


class WatchedNumber(Watched):
    """A Python float or complex inside a function that is being differentiated; its data is a NumPy scalar.

    With Python numbers it gives what Python gives, again such a number; NumPy does not count its dtype.
    """

    _is_python = True

    @classmethod
    def _made(cls, data: Any, edge: Any = None, version: Any = None) -> Any:
        """What an operation makes of it is a NumPy scalar or array."""
        return Watched._made(data, edge, version)

    @property
    def real(self) -> Any:
        """The real part, a Python float."""
        return self._number_from(self._strong().real)

    @property
    def imag(self) -> Any:
        """The imaginary part, a Python float."""
        return self._number_from(self._strong().imag)

    def conjugate(self) -> Any:
        """As ``complex.conjugate``."""
        return self._number_from(self._strong().conjugate())

    def _strong(self) -> Any:
        """The same number for NumPy, whose dtype counts."""
        return Watched._made(self._values, self._history())

    @staticmethod
    def _number_from(found: Any) -> Any:
        if not isinstance(found, Recorded):
            return np.asarray(found)[()].item()
        return WatchedNumber.of(np.asarray(found._values)[()], found._history())

    @classmethod
    def of(cls, data: Any, edge: Any) -> WatchedNumber:
        """The number ``data``, a NumPy scalar, computed by the node behind ``edge``."""
        self = object.__new__(cls)
        self._set(data, edge, False)
        note(self)
        return self


def _with_python_numbers(name: str) -> Callable[..., Any]:
    """The operator of that name, which stays among Python numbers if all operands are such."""
    inherited = getattr(Watched, name)
    function = getattr(operator, name.strip("_").removeprefix("r") if name in REFLECTED else name.strip("_"))

    def operate(self: WatchedNumber, *others: Any) -> Any:
        if not all(type(other) in (int, float, complex, bool, WatchedNumber) for other in others):
            return inherited(self, *others)
        operands = [raw(self), *map(raw, others)]
        value = function(*(reversed(operands) if name in REFLECTED else operands))
        with np.errstate(all="ignore"):
            strong = [o._strong() if isinstance(o, WatchedNumber) else o for o in (self, *others)]
            found = getattr(strong[0], name)(*strong[1:])
        if not isinstance(found, Recorded) or type(value) not in (float, complex):
            return value
        return WatchedNumber.of(np.asarray(value)[()], found._history())

    operate.__name__ = operate.__qualname__ = name
    return operate


ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
REFLECTED = frozenset(f"__r{name}__" for name in ARITHMETIC)
for _name in (*(f"__{n}__" for n in (*ARITHMETIC, "neg", "pos", "abs")), *REFLECTED):
    setattr(WatchedNumber, _name, _with_python_numbers(_name))


numbers_are_made_by(WatchedNumber.of)
