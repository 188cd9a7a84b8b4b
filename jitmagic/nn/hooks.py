"""Functions that run before or after the ``forward`` of one module, or of every module."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import TracebackType
from typing import Any

__all__ = [
    "AFTER_ANY",
    "BEFORE_ANY",
    "Hooks",
    "RemovableHandle",
    "add_hook",
    "call_hooked",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
]

Hook = Callable[..., Any]
Hooks = dict[int, tuple[Hook, bool]]  # by the number of the handle; whether the hook takes keyword arguments too

BEFORE_ANY: Hooks = {}
AFTER_ANY: Hooks = {}
_numbers = itertools.count()


class RemovableHandle:
    """What registering a hook gives; ``remove`` takes the hook away. Also a context manager."""

    def __init__(self, hooks: Hooks, number: int) -> None:
        self.hooks = hooks
        self.id = number

    def remove(self) -> None:
        self.hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()


def add_hook(hooks: Hooks, hook: Hook, with_kwargs: bool, prepend: bool) -> RemovableHandle:
    number = next(_numbers)
    row = (hook, with_kwargs)
    if prepend:
        others = dict(hooks)
        hooks.clear()
        hooks[number] = row
        hooks.update(others)
    else:
        hooks[number] = row
    return RemovableHandle(hooks, number)


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """``hook(module, args)`` runs before the ``forward`` of every module."""
    return add_hook(BEFORE_ANY, hook, False, False)


def register_module_forward_hook(hook: Hook) -> RemovableHandle:
    """``hook(module, args, result)`` runs after the ``forward`` of every module."""
    return add_hook(AFTER_ANY, hook, False, False)


def call_hooked(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hooks before, ``forward``, hooks after; what a hook returns takes the place of what it was given."""
    for hook, with_kwargs in [*BEFORE_ANY.values(), *module._forward_pre_hooks.values()]:
        if with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    result = module.forward(*args, **kwargs)
    for hook, with_kwargs in [*AFTER_ANY.values(), *module._forward_hooks.values()]:
        changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if changed is not None:
            result = changed
    return result
