"""``Module``: a callable object with tables of parameters, buffers and children, named and walked as PyTorch's."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from jitmagic.nn import casting, replaced, states
from jitmagic.nn.hooks import (
    AFTER_ANY,
    AFTER_ANY_BACKWARD,
    BEFORE_ANY,
    BEFORE_ANY_BACKWARD,
    Hooks,
    RemovableHandle,
    add_hook,
    call_hooked,
)
from jitmagic.nn.parameter import Parameter, array_of, is_array
from jitmagic.nn.showing import show

__all__ = ["Module"]

Array = Any  # an ndarray, or a Tensor over one
Hook = Callable[..., Any]
_BEFORE_INIT = "cannot assign {} before Module.__init__() call"


class Module(replaced.Told):
    """Subclass it, call ``super().__init__()``, assign parameters and modules as attributes, define ``forward``.

    An instance has a plain dict of its own from the start: only changes of such dicts can be watched, and an unchanged
    tree of modules costs a compiled function one comparison.
    """

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Array | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _forward_pre_hooks: Hooks
    _forward_hooks: Hooks
    _backward_pre_hooks: Hooks
    _backward_hooks: Hooks

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        self = object.__new__(cls)
        replaced.give_dict(self)
        return self

    def __init__(self) -> None:
        object.__setattr__(self, "training", True)
        object.__setattr__(self, "_parameters", {})
        object.__setattr__(self, "_buffers", {})
        object.__setattr__(self, "_modules", {})
        object.__setattr__(self, "_non_persistent_buffers_set", set())
        object.__setattr__(self, "_forward_pre_hooks", {})
        object.__setattr__(self, "_forward_hooks", {})
        object.__setattr__(self, "_backward_pre_hooks", {})
        object.__setattr__(self, "_backward_hooks", {})

    # -- calls
    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What a call computes; every subclass defines its own."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_impl(*args, **kwargs)

    def _wrapped_call_impl(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if self._forward_hooks or self._forward_pre_hooks or self._backward_hooks or self._backward_pre_hooks:
            return call_hooked(self, args, kwargs)
        if BEFORE_ANY or AFTER_ANY or BEFORE_ANY_BACKWARD or AFTER_ANY_BACKWARD:
            return call_hooked(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def register_forward_pre_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """``hook(module, args)`` runs before ``forward``; what it returns, if not None, replaces the arguments.

        With ``with_kwargs``: ``hook(module, args, kwargs)``, which gives None or a pair of both.
        """
        return add_hook(self._forward_pre_hooks, hook, with_kwargs, prepend)

    def register_forward_hook(
        self, hook: Hook, *, prepend: bool = False, with_kwargs: bool = False, always_call: bool = False
    ) -> RemovableHandle:
        """``hook(module, args, result)`` runs after ``forward``; what it returns, if not None, replaces the result.

        With ``with_kwargs``: ``hook(module, args, kwargs, result)``. With ``always_call`` it runs after an error too,
        with the result None.
        """
        return add_hook(self._forward_hooks, hook, with_kwargs, prepend, always_call)

    def register_full_backward_pre_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_output)`` runs when the gradients of the results are known, a tuple of Tensors.

        What it returns, if not None, replaces them. Gradients exist where Tensors are recorded only.
        """
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Hook, prepend: bool = False) -> RemovableHandle:
        """``hook(module, grad_input, grad_output)`` runs when the gradients of the positional arguments are known.

        What it returns, if not None, replaces ``grad_input``.
        """
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    # -- attributes
    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            if table in own and name in own[table]:
                return array_of(own[table][name])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Parameter):
            if "_parameters" not in self.__dict__:
                raise AttributeError(_BEFORE_INIT.format("parameters"))
            self._remove_elsewhere(name, "_parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._set_module(name, value)
        elif not self._set_registered(name, value):
            object.__setattr__(self, name, value)

    def _set_module(self, name: str, value: Module) -> None:
        if "_modules" not in self.__dict__:
            raise AttributeError(_BEFORE_INIT.format("module"))
        self._remove_elsewhere(name, "_modules")
        if hasattr(type(self), name):
            warnings.warn(
                f"the module assigned as {name!r} is registered, but {type(self).__name__} defines {name!r} as well, "
                "and reading it gives that; use another name",
                stacklevel=3,
            )
        self._modules[name] = value

    def _set_registered(self, name: str, value: Any) -> bool:
        """Replace an entry of the tables; False if none has this name."""
        for table, kind in (("_parameters", "parameter"), ("_modules", "child module"), ("_buffers", "buffer")):
            if table in self.__dict__ and name in self.__dict__[table]:
                if table == "_buffers" and isinstance(value, np.generic):
                    value = np.asarray(value)  # what NumPy computes from an array without axes
                if value is not None and (table == "_modules" or not is_array(value)):
                    wanted = "a Module" if table == "_modules" else "an array"
                    raise TypeError(f"cannot assign {type(value).__name__!r} as {kind} {name!r} ({wanted} or None)")
                self.__dict__[table][name] = value
                return True
        return False

    def _remove_elsewhere(self, name: str, kept: str) -> None:
        if name in self.__dict__:
            object.__delattr__(self, name)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != kept and name in self.__dict__[table]:
                del self.__dict__[table][name]
        if name in self._non_persistent_buffers_set:
            self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if table in self.__dict__ and name in self.__dict__[table]:
                del self.__dict__[table][name]
                if table == "_buffers" and name in self._non_persistent_buffers_set:
                    self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        registered = [*self._parameters, *self._buffers, *self._modules]
        return sorted({*object.__dir__(self), *(n for n in registered if n.isidentifier())})

    # -- registration
    def register_parameter(self, name: str, param: Parameter | Array | None) -> None:
        """Add a parameter. Raises KeyError for a name that is no attribute name or is taken by something else."""
        if "_parameters" not in self.__dict__:
            raise AttributeError(_BEFORE_INIT.format("parameter"))
        self._check_name(name, "parameter", "_parameters")
        array = array_of(param)
        if array is not None and not is_array(array):
            raise TypeError(f"cannot assign {type(array).__name__!r} as parameter {name!r} (a Parameter or None)")
        self._parameters[name] = array

    def register_buffer(self, name: str, tensor: Array | None, persistent: bool = True) -> None:
        """Add an array that is part of the state but no parameter; ``persistent``: ``state_dict`` has it."""
        if "_buffers" not in self.__dict__:
            raise AttributeError(_BEFORE_INIT.format("buffer"))
        self._check_name(name, "buffer", "_buffers")
        if isinstance(tensor, np.generic):
            tensor = np.asarray(tensor)
        if tensor is not None and not is_array(tensor):
            raise TypeError(f"cannot assign {type(tensor).__name__!r} as buffer {name!r} (an array or None)")
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        self._check_name(name, "module", "_modules")
        self._modules[name] = module

    register_module = add_module

    def _check_name(self, name: str, kind: str, table: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string, but got {type(name).__name__}")
        if name == "" or "." in name:
            raise KeyError(f"{kind} name {name!r} must not be empty or contain a dot")
        if name not in self.__dict__[table] and hasattr(self, name):
            raise KeyError(f"attribute {name!r} already exists")

    # -- walks
    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module under ``prefix``, then every module below it, each once."""
        memo = set() if memo is None else memo
        if id(self) not in memo:
            if remove_duplicate:
                memo.add(id(self))
            yield prefix, self
            for name, module in self._modules.items():
                if module is not None:
                    below = f"{prefix}.{name}" if prefix else name
                    yield from module.named_modules(memo, below, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The children, each once; None is left out."""
        seen: list[Module] = []
        for name, module in self._modules.items():
            if module is not None and not any(module is other for other in seen):
                seen.append(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        for _, module in self.named_children():
            yield module

    def _named_members(
        self, table: str, prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Array]]:
        seen: dict[int, Any] = {}  # the arrays too, so that no other can get the id of one
        modules = self.named_modules(None, prefix, remove_duplicate) if recurse else [(prefix, self)]
        for place, module in modules:
            for name, entry in module.__dict__[table].items():
                array = array_of(entry)
                if array is None or (remove_duplicate and id(array) in seen):
                    continue
                seen[id(array)] = array
                yield (f"{place}.{name}" if place else name), array

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Array]]:
        """Every parameter under its dotted name; a shared one once, unless ``remove_duplicate`` is false."""
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Array]:
        for _, parameter in self.named_parameters("", recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Array]]:
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Array]:
        for _, buffer in self.named_buffers("", recurse):
            yield buffer

    def get_submodule(self, target: str) -> Module:
        """The module under a dotted name; raises AttributeError where there is none."""
        module: Any = self
        for name in target.split(".") if target else ():
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"{name!r} in {target!r} is not a Module")
        return module  # type: ignore[no-any-return]  # checked at every step

    def get_parameter(self, target: str) -> Array:
        """The parameter under a dotted name."""
        return self._get_member(target, "_parameters")

    def get_buffer(self, target: str) -> Array:
        return self._get_member(target, "_buffers")

    def _get_member(self, target: str, table: str) -> Array:
        place, _, name = target.rpartition(".")
        entries = self.get_submodule(place).__dict__[table]
        if name not in entries:
            raise AttributeError(f"{target!r} is not in {table}")
        return array_of(entries[name])

    def set_submodule(self, target: str, module: Module) -> None:
        """Put a module under a dotted name, in the place of the one that is there or as a new one.

        Raises ValueError for an empty name, AttributeError where a module on the way is missing.
        """
        place, _, name = target.rpartition(".")
        if not name:
            raise ValueError(f"{target!r} names no submodule")
        setattr(self.get_submodule(place), name, module)

    # -- state
    def train(self, mode: bool = True) -> Any:
        """Set ``training`` here and below; gives the module."""
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Any:
        return self.train(False)

    def apply(self, fn: Callable[[Module], Any]) -> Any:
        """``fn(module)`` for every module below, then for this one."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def requires_grad_(self, requires_grad: bool = True) -> Any:
        """Make Tensors of the real and complex parameters, over the same memory, so that ``backward()`` reaches them.

        Gives the module. Results are Tensors from then on, and gradients are in ``grad`` of each parameter. With False
        the Tensors stay, and count as constants; ``numpy()`` puts the arrays back. Optimisers are made afterwards.
        """
        return casting.replace_all(self, lambda array: casting.recorded(array, requires_grad), ("_parameters",))

    def numpy(self) -> Any:
        """Put the plain arrays back in the place of Tensors, sharing memory; gives the module."""
        return casting.replace_all(self, states.plain)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or with False set those that are there to 0."""
        for parameter in self.parameters():
            casting.forget_gradient(parameter, set_to_none)

    def to(self, dtype: Any) -> Any:
        """Replace every floating array of the tree by one of ``dtype`` (or that of an array); gives the module.

        Complex arrays stay, unless ``dtype`` is complex. Raises TypeError for other dtypes.
        """
        return casting.replace_all(self, casting.caster(dtype))

    def type(self, dst_type: Any) -> Any:
        """As ``to``."""
        return self.to(dst_type)

    def float(self) -> Any:
        return self.to("float32")

    def double(self) -> Any:
        return self.to("float64")

    def half(self) -> Any:
        return self.to("float16")

    def state_dict(
        self, *, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """Every parameter and persistent buffer by its dotted name: the arrays themselves, not copies.

        ``keep_vars`` gives Tensors where the tables hold Tensors. A class with ``get_extra_state`` adds what that gives
        under ``_extra_state``.
        """
        return states.save(self, {} if destination is None else destination, prefix, keep_vars)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> states.IncompatibleKeys:
        """Copy arrays into those of the tree (``assign``: put them in their place).

        Raises RuntimeError, before anything is written, for a wrong shape, for read-only arrays of the module and, if
        ``strict``, for missing or unexpected keys.
        """
        return states.load(self, state_dict, strict, assign)

    def register_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """``hook(module, prefix, keep_vars)`` runs before the module's part of ``state_dict`` is taken."""
        return add_hook(states.state_hooks(self, "before saving"), hook)

    def register_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """``hook(module, state_dict, prefix, {})`` runs after the module's part was taken, and may change it."""
        return add_hook(states.state_hooks(self, "after saving"), hook)

    def register_load_state_dict_pre_hook(self, hook: Hook) -> RemovableHandle:
        """``hook(module, state_dict, prefix, {}, strict, missing, unexpected, errors)`` runs before anything is loaded.

        It may change the dict, which is a copy, and add to the three lists.
        """
        return add_hook(states.state_hooks(self, "before loading"), hook)

    def register_load_state_dict_post_hook(self, hook: Hook) -> RemovableHandle:
        """``hook(module, incompatible_keys)`` runs after everything was loaded."""
        return add_hook(states.state_hooks(self, "after loading"), hook)

    # -- looks
    def extra_repr(self) -> str:
        """What ``repr`` shows between the parentheses."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        return show(self)
