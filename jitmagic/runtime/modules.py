"""Takes a module and options, gives a module around it whose calls go through a compiled function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

from jitmagic.nn.module import Module
from jitmagic.nn.states import IncompatibleKeys

__all__ = ["CompiledModule", "compile_module"]


class CompiledModule(Module):
    """``_orig_mod`` is the module that was given; attributes, parameters and state are its own. ``jit`` tells all."""

    _orig_mod: Any

    def __init__(self, module: Module, function: Callable[..., Any]) -> None:
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_function", function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(self._orig_mod, *args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(self._orig_mod, *args, **kwargs)

    @property
    def jit(self) -> Any:
        return self._function.jit

    def __getattr__(self, name: str) -> Any:
        original = self.__dict__["_modules"]["_orig_mod"] if "_modules" in self.__dict__ else None
        return original if name == "_orig_mod" and original is not None else getattr(original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_orig_mod" or "_orig_mod" not in self.__dict__.get("_modules", ()):
            super().__setattr__(name, value)
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def train(self, mode: bool = True) -> Any:
        self._orig_mod.train(mode)
        object.__setattr__(self, "training", mode)
        return self

    def named_modules(
        self, memo: set[int] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        yield from self._orig_mod.named_modules(memo, prefix, remove_duplicate)

    def state_dict(
        self, *, destination: dict[str, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        found: dict[str, Any] = self._orig_mod.state_dict(destination=destination, prefix=prefix, keep_vars=keep_vars)
        return found

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> IncompatibleKeys:
        found: IncompatibleKeys = self._orig_mod.load_state_dict(state_dict, strict, assign)
        return found

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._orig_mod)

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]

    def __bool__(self) -> bool:
        return True


def compile_module(module: Module, compiled: Callable[[FunctionType], Any]) -> CompiledModule:
    """``compiled`` makes the compiled form of a function."""

    def call(module: Module, *args: Any, **kwargs: Any) -> Any:
        return module(*args, **kwargs)

    call.__qualname__ = type(module).__qualname__
    assert isinstance(call, FunctionType)
    return CompiledModule(module, compiled(call))
