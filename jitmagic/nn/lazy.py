"""Modules that learn sizes of their parameters at the first call, and become modules of another class by it."""

from __future__ import annotations

from typing import Any

from jitmagic.nn.module import Module
from jitmagic.nn.parameter import is_uninitialized

__all__ = ["LazyModuleMixin", "infer_parameters"]


class LazyModuleMixin:
    """Put it before the class of a module whose tables hold ``UninitializedParameter`` or ``UninitializedBuffer``.

    ``initialize_parameters(*args, **kwargs)`` is called with the arguments of the first call and makes the arrays
    with ``materialize``. Then the module becomes one of ``cls_to_become``, if that is not None.
    """

    cls_to_become: type[Module] | None = None
    _initialize_hook: Any
    register_forward_pre_hook: Any
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        handle = self.register_forward_pre_hook(infer_parameters, with_kwargs=True)
        object.__setattr__(self, "_initialize_hook", handle)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError(f"initialize_parameters is not defined by {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether an array of this module is still to be made."""
        tables = (*self._parameters.values(), *self._buffers.values())
        return any(is_uninitialized(entry) for entry in tables)

    def materialize(self, name: str, shape: tuple[int, ...]) -> Any:
        """Make the array of a parameter or buffer: zeros, which the caller fills."""
        table = self._parameters if name in self._parameters else self._buffers
        entry = table[name]
        if is_uninitialized(entry):
            table[name] = entry.materialize(shape)
        return table[name]


def infer_parameters(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """The hook before the first call: it makes the arrays, takes itself away, and changes the class."""
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"{type(module).__name__}.initialize_parameters left parameters without an array")
    module._initialize_hook.remove()
    object.__delattr__(module, "_initialize_hook")
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become
