"""Modules that hold parameters: in a list, by name."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jitmagic.nn.module import Module
from jitmagic.nn.parameter import Parameter, array_of

__all__ = ["ParameterDict", "ParameterList"]


def _marked(value: Any) -> Parameter:
    return value if isinstance(value, Parameter) else Parameter(value)


def _pairs(given: Any) -> Iterable[tuple[str, Any]]:
    return given.items() if isinstance(given, Mapping | ParameterDict) else given


class ParameterList(Module):
    """A list of parameters, under the names ``"0"``, ``"1"``, ..."""

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        if values is not None:
            self.extend(values)

    def _key(self, index: Any) -> str:
        position = operator.index(index)
        count = len(self._parameters)
        if not -count <= position < count:
            raise IndexError(f"index {position} is out of range")
        return list(self._parameters)[position]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.__class__([array_of(p) for p in self._parameters.values()][index])
        return array_of(self._parameters[self._key(index)])

    def __setitem__(self, index: Any, value: Any) -> None:
        self.register_parameter(self._key(index), _marked(value))

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        return iter([array_of(p) for p in self._parameters.values()])

    def append(self, value: Any) -> Any:
        self.register_parameter(str(len(self._parameters)), _marked(value))
        return self

    def extend(self, values: Iterable[Any]) -> Any:
        for value in values:
            self.append(value)
        return self

    def __iadd__(self, values: Iterable[Any]) -> Any:
        return self.extend(values)

    def pop(self, index: Any = -1) -> Any:
        """Take one out; those behind it move up."""
        values = list(self)
        found = values.pop(operator.index(index))
        self._parameters.clear()
        self.extend(values)
        return found

    def __contains__(self, value: object) -> bool:
        return any(array_of(value) is array for array in self)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.isdigit()]

    def extra_repr(self) -> str:
        return "\n".join(f"({i}): {p.dtype} of {p.shape}" for i, p in enumerate(self))


class ParameterDict(Module):
    """Parameters by name."""

    def __init__(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]] | None = None) -> None:
        super().__init__()
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        return array_of(self._parameters[key])

    def __setitem__(self, key: str, value: Any) -> None:
        self.register_parameter(key, None if value is None else _marked(value))

    def __delitem__(self, key: str) -> None:
        del self._parameters[key]

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __contains__(self, key: object) -> bool:
        return key in self._parameters

    def keys(self) -> Iterable[str]:
        return self._parameters.keys()

    def values(self) -> Iterable[Any]:
        return [array_of(p) for p in self._parameters.values()]

    def items(self) -> Iterable[tuple[str, Any]]:
        return [(key, array_of(p)) for key, p in self._parameters.items()]

    def get(self, key: str, default: Any = None) -> Any:
        return self[key] if key in self._parameters else default

    def clear(self) -> None:
        self._parameters.clear()

    def pop(self, key: str) -> Any:
        found = self[key]
        del self[key]
        return found

    def popitem(self) -> tuple[str, Any]:
        """The last one and its key."""
        key = list(self._parameters)[-1] if self._parameters else ""
        if not key:
            raise KeyError("popitem(): the ParameterDict is empty")
        return key, self.pop(key)

    def setdefault(self, key: str, default: Any = None) -> Any:
        if key not in self._parameters:
            self[key] = default
        return self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A new one with ``default`` under every key."""
        return type(self)({key: default for key in keys})

    def copy(self) -> ParameterDict:
        """A new one around the same arrays."""
        return type(self)(dict(self.items()))

    def update(self, parameters: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> None:
        for key, value in _pairs(parameters):
            self[key] = value

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._parameters)

    def __or__(self, other: ParameterDict) -> ParameterDict:
        made = self.copy()
        made.update(dict(other.items()))
        return made

    def __ior__(self, other: ParameterDict) -> Any:
        self.update(dict(other.items()))
        return self

    def extra_repr(self) -> str:
        return "\n".join(f"({key}): {p.dtype} of {p.shape}" for key, p in self.items())
