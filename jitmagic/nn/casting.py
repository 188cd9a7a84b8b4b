"""Takes a tree of modules and a change of arrays, puts the changed ones in their places; ties stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from jitmagic.autograd.modes import no_grad
from jitmagic.autograd.recorded import is_smooth
from jitmagic.autograd.tensor import Tensor
from jitmagic.nn.parameter import array_of, is_uninitialized

__all__ = ["caster", "forget_gradient", "recorded", "replace_all"]

Change = Callable[[Any], Any]


def replace_all(module: Any, change: Change, tables: tuple[str, ...] = ("_parameters", "_buffers")) -> Any:
    """Put ``change(array)`` in the place of every array; one array in two places gives one. Gives the module."""
    changed: dict[int, tuple[Any, Any]] = {}  # the old one too, so that no other can get its id
    for each in module.modules():
        for table in (each.__dict__[name] for name in tables):
            for name, entry in table.items():
                array = array_of(entry)
                if array is None:
                    continue
                if id(array) not in changed:
                    changed[id(array)] = (array, change(array))
                found = changed[id(array)][1]
                if found is not entry:
                    table[name] = found
    return module


def caster(dtype: Any) -> Change:
    """Casts floating arrays to ``dtype``, complex ones to complex dtypes."""
    like: Any = dtype
    wanted = like.dtype if isinstance(dtype, np.ndarray | Tensor) else np.dtype(dtype)
    if wanted.kind not in "fc":
        raise TypeError(f"a module takes floating and complex dtypes, not {wanted}")
    kinds = "f" if wanted.kind == "f" else "fc"

    def cast(array: Any) -> Any:
        if array.dtype.kind not in kinds or array.dtype == wanted:
            return array
        if not isinstance(array, Tensor):
            return array.astype(wanted)
        made = Tensor(array.numpy().astype(wanted), requires_grad=array.requires_grad)
        if array.grad is not None:
            made.grad = Tensor(array.grad.numpy().astype(wanted))
        return made

    return cast


def recorded(array: Any, requires_grad: bool) -> Any:
    """A Tensor over ``array``, unless it has no gradients or none is wanted of a plain array."""
    if isinstance(array, Tensor) or is_uninitialized(array):
        return array.requires_grad_(requires_grad)
    return Tensor(array, requires_grad=True) if requires_grad and is_smooth(array) else array


def forget_gradient(parameter: Any, set_to_none: bool) -> None:
    """Of a Tensor; a plain array has none."""
    if not isinstance(parameter, Tensor) or parameter.grad is None:
        return
    if set_to_none:
        parameter.grad = None
    else:
        with no_grad():
            parameter.grad = Tensor(np.zeros_like(parameter.grad.numpy()))
