"""Functions that run before or after the ``forward`` of one module or of every module, and around its gradient."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

from jitmagic.nn.gradient_hooks import GradientHooks

__all__ = [
    "AFTER_ANY",
    "AFTER_ANY_BACKWARD",
    "BACKWARD_TABLES",
    "BEFORE_ANY",
    "BEFORE_ANY_BACKWARD",
    "FORWARD_TABLES",
    "Hooks",
    "RemovableHandle",
    "add_hook",
    "call_hooked",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]

Hook = Callable[..., Any]
# By the number of the handle: the hook, whether it takes keyword arguments too, whether it runs after errors as well.
Hooks = dict[int, tuple[Hook, bool, bool]]

FORWARD_TABLES = ("_forward_pre_hooks", "_forward_hooks")
BACKWARD_TABLES = ("_backward_pre_hooks", "_backward_hooks")
BEFORE_ANY: Hooks = {}
AFTER_ANY: Hooks = {}
BEFORE_ANY_BACKWARD: Hooks = {}
AFTER_ANY_BACKWARD: Hooks = {}
_numbers = itertools.count()


class RemovableHandle:
    """What registering a hook gives; ``remove`` takes the hook away. Also a context manager."""

    def __init__(self, hooks: dict[int, Any], number: int) -> None:
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


def add_hook(
    hooks: dict[int, Any], hook: Hook, with_kwargs: bool = False, prepend: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Put ``hook`` behind the others, or with ``prepend`` before them."""
    number = next(_numbers)
    row = (hook, with_kwargs, always_call)
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
    return add_hook(BEFORE_ANY, hook)


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """``hook(module, args, result)`` runs after the ``forward`` of every module."""
    return add_hook(AFTER_ANY, hook, with_kwargs, always_call=always_call)


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """``hook(module, grad_output)`` runs before the gradient goes through any module."""
    return add_hook(BEFORE_ANY_BACKWARD, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """``hook(module, grad_input, grad_output)`` runs after the gradient went through any module."""
    return add_hook(AFTER_ANY_BACKWARD, hook)


def call_hooked(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Hooks before, ``forward``, hooks after; what a hook returns takes the place of what it was given."""
    after = [*AFTER_ANY.values(), *module._forward_hooks.values()]
    if any(always for _, _, always in after):
        return _call_guarded(module, args, kwargs, after)
    args, kwargs = _before(module, args, kwargs)
    result = _forward(module, args, kwargs)
    for hook, with_kwargs, _ in after:
        result = _after(module, hook, with_kwargs, args, kwargs, result)
    return result


def _before(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for hook, with_kwargs, _ in [*BEFORE_ANY.values(), *module._forward_pre_hooks.values()]:
        if with_kwargs:
            changed = hook(module, args, kwargs)
            if changed is not None:
                args, kwargs = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _forward(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not (module._backward_hooks or module._backward_pre_hooks or BEFORE_ANY_BACKWARD or AFTER_ANY_BACKWARD):
        return module.forward(*args, **kwargs)
    around = GradientHooks(
        module,
        [hook for hook, *_ in [*BEFORE_ANY_BACKWARD.values(), *module._backward_pre_hooks.values()]],
        [hook for hook, *_ in [*AFTER_ANY_BACKWARD.values(), *module._backward_hooks.values()]],
    )
    return around.leave(module.forward(*around.enter(args), **kwargs))


def _after(module: Any, hook: Hook, with_kwargs: bool, args: Any, kwargs: Any, result: Any) -> Any:
    changed = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
    return result if changed is None else changed


def _call_guarded(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], after: list[Any]) -> Any:
    """As ``call_hooked``; after an error, hooks that are always called and did not run yet run with what is known."""
    result, waiting = None, iter(after)
    try:
        args, kwargs = _before(module, args, kwargs)
        result = _forward(module, args, kwargs)
        for hook, with_kwargs, _ in waiting:
            result = _after(module, hook, with_kwargs, args, kwargs, result)
    except Exception:
        _call_rest(module, args, kwargs, result, waiting)
        raise
    return result


def _call_rest(module: Any, args: Any, kwargs: Any, result: Any, waiting: Iterator[Any]) -> None:
    for hook, with_kwargs, always in waiting:
        if not always:
            continue
        try:
            result = _after(module, hook, with_kwargs, args, kwargs, result)
        except Exception as error:
            warnings.warn(
                f"a forward hook with always_call=True raised {error!r}, while another error was on its way",
                stacklevel=5,
            )
