"""Takes any value of a call, gives words for what it is now; runs no code of the user's.

A miss is explained before the call is made: asking a generator for its items would use them up, and an object of the
user's may do anything when it is asked for a name or a length.
"""

from __future__ import annotations

import enum
import itertools
import re
from collections import Counter, OrderedDict, defaultdict, deque
from types import (
    BuiltinFunctionType,
    ClassMethodDescriptorType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from jitmagic.errors import Span

__all__ = [
    "cell_place",
    "defaults_now",
    "defaults_text",
    "dtype_now",
    "dtype_text",
    "home",
    "items_now",
    "length_now",
    "length_text",
    "name_now",
    "one_of",
    "own_name",
    "shared",
    "value_text",
]

_QUALIFIED = (
    *(FunctionType, BuiltinFunctionType, WrapperDescriptorType, MethodDescriptorType),
    *(ClassMethodDescriptorType, GetSetDescriptorType, MemberDescriptorType),
)
_NAMED = (*_QUALIFIED, ModuleType, np.ufunc)
_CONTAINERS = (list, tuple, dict, set, frozenset)
_PLAIN = (int, float, complex, str, bytes, bool, type(None), type(...), range, slice)
_WITH_LENGTH: tuple[Any, ...] = (*_CONTAINERS, deque)
_WITH_MEMBERS = (dict, OrderedDict, defaultdict, Counter, set, frozenset)
_TOLD = (np.ndarray, *_PLAIN)
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_SHOWN_CHARACTERS = 80
_MOST_ITEMS, _MOST_LEVELS = 8, 3


def value_text(value: Any) -> str:
    """The value as people write it, cut to what a message has room for, without addresses."""
    text = _ADDRESS.sub("", _text(value, _MOST_LEVELS))
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def _text(value: Any, levels: int) -> str:
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)
    if issubclass(kind, np.dtype):
        return str(value)
    if kind is np.ndarray:
        return f"array of {value.dtype}, shape {value.shape}"
    if issubclass(kind, np.generic) and kind.__module__ == "numpy":
        return repr(value)
    if issubclass(kind, enum.Enum):
        return _member_text(value)
    if issubclass(kind, type):
        return f"class {type.__getattribute__(value, '__name__')}"
    if kind in _NAMED:
        return name_now(value)
    if kind in _CONTAINERS and levels:
        return _container_text(value, levels - 1)
    return f"{kind.__name__} object"


def _member_text(value: Any) -> str:
    """``Color.RED``."""
    return f"{type(value).__name__}.{object.__getattribute__(value, '_name_')}"


def _container_text(value: Any, levels: int) -> str:
    kind = type(value)
    shown = list(itertools.islice(value.items() if kind is dict else value, _MOST_ITEMS))
    if kind is dict:
        items = [f"{_text(key, levels)}: {_text(item, levels)}" for key, item in shown]
    else:
        items = [_text(item, levels) for item in shown]
    if kind in (set, frozenset):
        items.sort()
    inner = ", ".join([*items, *(["..."] if len(value) > len(shown) else [])])
    if kind is tuple:
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if kind is list:
        return f"[{inner}]"
    if kind is dict or (kind is set and value):
        return f"{{{inner}}}"
    return f"{kind.__name__}({{{inner}}})" if value else f"{kind.__name__}()"


def dtype_now(value: Any) -> str:
    """The dtype of an array; of anything else its class, which may be called like a dtype."""
    kind = type(value)
    if kind is np.ndarray:
        return dtype_text(value.dtype)
    return f"{one_of(kind)} instead of an array"


def dtype_text(dtype: np.dtype[Any]) -> str:
    """``float64``; metadata do not show in the name of a dtype, but count."""
    return f"{dtype}{' with metadata' if dtype.metadata is not None else ''}"


def defaults_text(count: int, names: tuple[str, ...]) -> str:
    """``2 defaults, keyword default n``."""
    said = [f"{count} default{'' if count == 1 else 's'}"]
    if names:
        said.append(f"keyword default{'' if len(names) == 1 else 's'} {', '.join(names)}")
    return ", ".join(said)


def defaults_now(value: Any) -> str:
    if type(value) is not FunctionType:
        return value_text(value)
    return defaults_text(len(value.__defaults__ or ()), tuple(value.__kwdefaults__ or ()))


_MODULE: Any = type.__dict__["__module__"]


def home(value: Any) -> str:
    """The module that a class or function says it is from; empty if it says nothing, or something that is no text."""
    try:
        found = _MODULE.__get__(value) if issubclass(type(value), type) else value.__module__
    except AttributeError:
        return ""
    return found if type(found) is str else ""


def name_now(value: Any) -> str:
    """The name of a function, class, module or enum member; an array or dtype in words; else the class."""
    kind = type(value)
    if issubclass(kind, type):
        return str(type.__getattribute__(value, "__qualname__"))
    if kind in _QUALIFIED:
        return str(value.__qualname__)
    if kind in _NAMED:
        return str(value.__name__)
    return value_text(value) if kind in _TOLD or issubclass(kind, (enum.Enum, np.dtype)) else kind.__name__


def own_name(value: Any) -> str:
    """The ``__name__`` of a function, class or module; empty for anything else, which may do anything when asked."""
    return str(value.__name__) if issubclass(type(value), (type, *_NAMED)) else ""


def items_now(value: Any) -> Any:
    """The keys of a dict or the members of a set in order; of anything else its class."""
    return list(value) if type(value) in _WITH_MEMBERS else length_now(value)


def length_now(value: Any) -> str:
    """``a list of 3``; of what is no container its class."""
    kind = type(value)
    base = next((c for c in _WITH_LENGTH if issubclass(kind, c)), None)
    return kind.__name__ if base is None else length_text(kind, base.__len__(value))


def cell_place(code: CodeType) -> str:
    """``Cell In[4], line 2`` for code of a notebook's cell; empty for other code."""
    span = Span(code.co_filename, code.co_firstlineno)
    return span.shown if span.shown != str(span) else ""


def length_text(kind: type, length: int) -> str:
    """``a list of 3``, ``an OrderedDict of 1``."""
    return f"{one_of(kind)} of {length}"


def one_of(kind: type) -> str:
    """``a list``, ``an int``."""
    article = "an" if kind.__name__[:1].lower() in ("a", "e", "i", "o") else "a"
    return f"{article} {kind.__name__}"


def shared(names: list[str], values: tuple[Any, ...]) -> str:
    """How many objects they are, and which are one: ``2 (y and z are one)``."""
    groups: dict[int, list[str]] = {}
    for name, value in zip(names, values, strict=True):
        groups.setdefault(id(value), []).append(name)
    same = [f"{' and '.join(group)} are one" for group in groups.values() if len(group) > 1]
    return f"{len(groups)} ({', '.join(same)})"
