"""``Tensor``: an ndarray that records what is computed from it, so that gradients can be taken."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from jitmagic.autograd.backward import walk
from jitmagic.autograd.dispatch import call_function, call_ufunc
from jitmagic.autograd.flat import FlatTensor
from jitmagic.autograd.methods import LOST, install
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.recorded import Recorded, foreign_array, is_smooth, raw
from jitmagic.autograd.stores import is_store
from jitmagic.autograd.writing import PLAIN_TARGET, set_item
from jitmagic.errors import GradientError

__all__ = ["RemovableHook", "Tensor", "detach"]

DLPACK = "__dlpack__"
_hook_numbers = itertools.count()


class Tensor(Recorded):
    """An array whose uses are recorded if ``requires_grad``; NumPy's functions, methods and operators take it.

    It shares the memory of ``array``. Results of operations are Tensors; ``x.backward()`` adds the gradients of ``x``
    to ``grad`` of the leaves it was computed from, which are the Tensors made with ``requires_grad=True``. Writes in
    place (``x[1:] += y``, ``out=``, ``np.copyto``) are recorded too, also through views; leaves refuse them, except
    under ``jm.no_grad()``.

    Raises GradientError for a dtype that is neither real nor complex with ``requires_grad=True``, and for subclasses of
    ndarray (``np.matrix``, masked arrays).
    """

    grad: Tensor | None
    __array_priority__ = 1000

    def __init__(self, array: Any, requires_grad: bool = False) -> None:
        foreign = foreign_array(array)
        if foreign:
            raise GradientError(
                f"a Tensor got a {foreign}, a subclass of ndarray with rules of its own, which it would lose: "
                "pass a plain array, such as np.asarray(x)"
            )
        data = array._values if isinstance(array, Recorded) else np.asarray(array)
        self._set(data, None, False, array._version if isinstance(array, Recorded) else None)
        if requires_grad:
            self.requires_grad_()

    # History

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to this Tensor, or through it."""
        return self._history() is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self.requires_grad_(wanted)

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set ``requires_grad`` of a leaf, and give the Tensor back."""
        if not self.is_leaf:
            if requires_grad:
                return self
            raise GradientError("requires_grad of a computed Tensor cannot be turned off: use detach()")
        if requires_grad and not is_smooth(self._values):
            raise GradientError(
                f"a Tensor of dtype {self._values.dtype} has no gradients: only real and complex numbers do"
            )
        self._requires = requires_grad
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether it was not computed from Tensors that require a gradient."""
        edge = self._history()
        return edge is None or edge[0] is self

    @property
    def grad_fn(self) -> Any:
        """The recorded operation that computed it; None for leaves."""
        edge = self._history()
        return None if edge is None or edge[0] is self else edge[0]

    def detach(self) -> Tensor:
        """The same memory without history: what is done with it is not recorded."""
        found: Tensor = type(self)._made(self._values, None, self._version)
        return found

    @property
    def data(self) -> Tensor:
        """As ``detach``."""
        return self.detach()

    def backward(self, gradient: Any = None, retain_graph: bool = False, create_graph: bool = False) -> None:
        """Add the gradients of this Tensor, weighted with ``gradient``, to ``grad`` of its leaves.

        ``gradient`` has the shape of the Tensor; for one number it is 1. The record is let go of, unless
        ``retain_graph``. With ``create_graph`` the gradients are recorded themselves, for higher derivatives.

        Raises GradientError (a RuntimeError) if there is nothing to differentiate.
        """
        edge = self._history()
        if edge is None:
            raise GradientError(
                "backward() of a Tensor that requires no gradient: nothing it was computed from requires one, or it "
                "was computed under jm.no_grad()"
            )
        g = self._starting(gradient, create_graph)
        retain = retain_graph or create_graph
        for leaf, found in walk([(edge, g)], retain=retain, as_tensors=create_graph).values():
            leaf._accumulate(found)

    def _starting(self, gradient: Any, as_tensor: bool) -> Any:
        """The cotangent that a backward pass starts with."""
        data = self._values
        if gradient is None:
            if data.size != 1 or data.dtype.kind == "c":
                raise GradientError(
                    f"backward() of a Tensor of shape {data.shape} and dtype {data.dtype} needs gradient=, an array of "
                    "that shape: only one real number has a gradient by itself"
                )
            g = np.ones_like(data)
        else:
            g = np.asarray(raw(gradient))
            if g.shape != data.shape:
                raise GradientError(f"gradient= has shape {g.shape}, the Tensor has shape {data.shape}")
            g = g.astype(data.dtype)
        if not as_tensor:
            return g
        return gradient if isinstance(gradient, Tensor) else type(self)._made(g)

    def _accumulate(self, found: Any) -> None:
        """Add to ``grad`` of a leaf."""
        hooks = tuple(self.__dict__.get("_hooks", {}).values())
        if hooks and not isinstance(found, Tensor):
            found = np.asarray(found, order="C")
        for hook in hooks:
            changed = hook(found if isinstance(found, Tensor) else type(self)._made(found))
            found = found if changed is None else changed
        if self.grad is None:
            is_recorded = isinstance(found, Tensor) and found.requires_grad
            self.grad = found if is_recorded else type(self)._made(np.array(raw(found), copy=True, order="C"))
        elif self.grad.requires_grad or (isinstance(found, Tensor) and found.requires_grad):
            self.grad = self.grad + found
        else:
            self.grad = type(self)._made(np.asarray(np.add(self.grad._values, raw(found), order="C")))

    def zero_grad(self) -> None:
        """Forget ``grad``."""
        self.grad = None

    def register_hook(self, hook: Callable[[Tensor], Any]) -> RemovableHook:
        """Call ``hook(gradient)`` when the gradient of this Tensor is known; what it gives replaces the gradient."""
        edge = self._history()
        if edge is None:
            raise GradientError("a hook needs a Tensor that requires a gradient")
        target, index = edge
        if target is self:
            hooks: dict[int, Callable[..., Any]] = self.__dict__.setdefault("_hooks", {})
            return RemovableHook(hooks, hook)
        kind = type(self)
        return RemovableHook(target.hooks.setdefault(index, {}), lambda g: _from_hook(hook, g, kind))

    def retain_grad(self) -> None:
        """Keep the gradient of a computed Tensor in ``grad`` too."""
        if not self.is_leaf:
            self.register_hook(self._accumulate)

    # The array

    def numpy(self) -> np.ndarray[Any, Any]:
        """The array itself, sharing memory; what is done with it is not recorded."""
        return np.asarray(self._values)

    def item(self, *args: int) -> Any:
        """One element as a Python number, which has no history."""
        return self._values.item(*args)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if self.requires_grad and is_grad_enabled():
            raise GradientError(
                "a Tensor that requires a gradient became a plain array here, or part of one that has no history, and "
                "would lose its own: use NumPy's functions on the Tensor itself (np.stack for a list of Tensors), "
                "write into a Tensor (out = jm.Tensor(np.zeros(n))) or into an array made in the function that jm.grad "
                "differentiates (np.copy(a) of one from elsewhere), or detach() it first"
            )
        return np.array(self._values, dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return call_ufunc(type(self), ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        return call_function(type(self), function, args, kwargs)

    @property
    def flat(self) -> FlatTensor:
        """As ``ndarray.flat``."""
        return FlatTensor(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        FlatTensor(self)[:] = value

    def setflags(self, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
        """As ``ndarray.setflags``."""
        self._values.setflags(write, align, uic)

    def __getattr__(self, name: str) -> Any:
        if name in _LEFT_OUT:
            raise AttributeError(
                f"a Tensor has no {name}, which ndarray has: no rule tells its gradient; use x.numpy().{name} (shared "
                "memory, no history), or another operation"
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setitem__(self, index: Any, value: Any) -> None:
        set_item(self, index, value)

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Any]:
        if not self._values.ndim:
            raise TypeError("iteration over a 0-d Tensor")
        rows: Any = self
        return (rows[i] for i in range(len(self._values)))

    def __bool__(self) -> bool:
        return bool(self._values)

    def __int__(self) -> int:
        return int(self._values)

    def __float__(self) -> float:
        self._refuse_to_be_stored()
        return float(self._values)

    def __complex__(self) -> complex:
        self._refuse_to_be_stored()
        return complex(self._values)

    def _refuse_to_be_stored(self) -> None:
        """NumPy asks for a number when an element of a plain array is assigned: the history would be lost unnoticed."""
        if is_grad_enabled() and self.requires_grad and is_store(sys._getframe(2)):
            raise GradientError(PLAIN_TARGET)

    def __round__(self, ndigits: int | None = None) -> Any:
        return round(self._values) if ndigits is None else np.round(self, ndigits)

    def __trunc__(self) -> int:
        found: int = math.trunc(self._values)
        return found

    def __floor__(self) -> int:
        found: int = math.floor(self._values)
        return found

    def __ceil__(self) -> int:
        found: int = math.ceil(self._values)
        return found

    def __dlpack__(self, **options: Any) -> Any:
        if is_grad_enabled() and self.requires_grad:
            raise GradientError(f"a Tensor that requires a gradient became a plain array here ({DLPACK}), {LOST}")
        return self._values.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        found: tuple[int, int] = self._values.__dlpack_device__()
        return found

    def __index__(self) -> int:
        index: int = self._values.__index__()
        return index

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self._values == raw(value)))

    __hash__ = object.__hash__  # by identity, and in C: an optimiser finds its state by it

    def __format__(self, spec: str) -> str:
        return format(self._values, spec) if not self._values.ndim else format(str(self), spec)

    def __repr__(self) -> str:
        inner = repr(np.asarray(self._values)).removeprefix("array(").removesuffix(")")
        return f"Tensor({inner}{', requires_grad=True' if self.requires_grad else ''})"

    def __str__(self) -> str:
        return str(self._values)

    def __reduce__(self) -> Any:
        if not self.is_leaf:
            raise GradientError("a computed Tensor cannot be pickled or copied with its history: detach() it first")
        return type(self), (np.asarray(self._values), self._requires)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        kind, (data, requires) = self.__reduce__()
        found: Tensor = kind(data.copy(), requires)
        found.grad = None if self.grad is None else type(self)._made(self.grad._values.copy())
        memo[id(self)] = found
        return found


_LEFT_OUT = frozenset({"ctypes", "resize", "setfield", "to_device"})


def _from_hook(hook: Callable[[Tensor], Any], g: Any, kind: type[Tensor]) -> Any:
    changed = hook(g if isinstance(g, Tensor) else kind._made(g))
    return changed if changed is None or isinstance(g, Tensor) else raw(changed)


class RemovableHook:
    """What ``register_hook`` gives: ``remove()`` takes the hook off."""

    def __init__(self, hooks: dict[int, Callable[..., Any]], hook: Callable[..., Any]) -> None:
        self._hooks = hooks
        self._number = next(_hook_numbers)
        hooks[self._number] = hook

    def remove(self) -> None:
        self._hooks.pop(self._number, None)


def detach(value: Any) -> Any:
    """``value.detach()`` for a Tensor; anything else as it is."""
    return value.detach() if isinstance(value, Tensor) else value


install(Tensor)
