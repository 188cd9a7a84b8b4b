"""Modules that hold modules: in a row, in a list, by name."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jitmagic.nn.module import Module

__all__ = ["ModuleDict", "ModuleList", "Sequential"]


class _Row(Module):
    """Members under the names ``"0"``, ``"1"``, ..."""

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def _key(self, index: Any) -> str:
        """The name of the member at ``index``, which may be negative."""
        position = operator.index(index)
        count = len(self._modules)
        if not -count <= position < count:
            raise IndexError(f"index {position} is out of range")
        return list(self._modules)[position]

    def __delitem__(self, index: Any) -> None:
        doomed = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        kept = [module for name, module in self._modules.items() if name not in doomed]
        self._fill(kept)

    def _fill(self, modules: Iterable[Any]) -> None:
        rows = {str(i): module for i, module in enumerate(modules)}
        self._modules.clear()
        self._modules.update(rows)

    def append(self, module: Module) -> Any:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        if not isinstance(module, Module):
            raise TypeError(f"{type(module).__name__} is not a Module subclass")
        members: list[Any] = list(self._modules.values())
        members.insert(index, module)
        self._fill(members)
        return self

    def pop(self, index: Any) -> Any:
        key = self._key(index)
        found = self._modules[key]
        self.__delitem__(index)
        return found

    def __contains__(self, module: object) -> bool:
        return any(module is member for member in self._modules.values())

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)


class Sequential(_Row):
    """Calls its members one after the other. Takes modules, or one dict of names and modules."""

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for position, module in enumerate(args):
                self.add_module(str(position), module)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.__class__(dict(list(self._modules.items())[index]))
        return self._modules[self._key(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __add__(self, other: Iterable[Module]) -> Any:
        if not isinstance(other, Sequential):
            return NotImplemented
        return type(self)(*self, *other)

    def __mul__(self, count: int) -> Any:
        """The members ``count`` times over: the same objects, so their parameters are tied."""
        return type(self)(*[module for _ in range(_positive(count)) for module in self])

    __rmul__ = __mul__

    def __imul__(self, count: int) -> Any:
        members = list(self)
        for _ in range(_positive(count) - 1):
            self.extend(members)
        return self

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input


def _positive(count: Any) -> int:
    number = operator.index(count)
    if number <= 0:
        raise ValueError(f"a Sequential can be multiplied by positive numbers, not by {number}")
    return number


class ModuleList(_Row):
    """A list of modules; calling it is an error."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.__class__(list(self._modules.values())[index])
        return self._modules[self._key(index)]

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._key(index), module)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return type(self)([*self, *other])


class ModuleDict(Module):
    """Modules by name; calling it is an error."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Any:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: object) -> bool:
        return key in self._modules

    def keys(self) -> Iterable[str]:
        return self._modules.keys()

    def values(self) -> Iterable[Any]:
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Any]]:
        return self._modules.items()

    def clear(self) -> None:
        self._modules.clear()

    def pop(self, key: str) -> Any:
        found = self[key]
        del self[key]
        return found

    def get(self, key: str, default: Any = None) -> Any:
        return self._modules.get(key, default)

    def setdefault(self, key: str, default: Module) -> Any:
        if key not in self._modules:
            self[key] = default
        return self._modules[key]

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        for key, module in modules.items() if isinstance(modules, Mapping) else modules:
            self[key] = module
