"""Takes what two worlds look like after a run, says the first difference: bits, types, strides, identity, memory."""

from __future__ import annotations

import collections
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["difference"]

LITERALS = (type(None), bool, int, str, bytes, type(Ellipsis), type(NotImplemented))


def difference(left: Any, right: Any) -> str:
    """Empty if both worlds are alike; else where and how they differ."""
    compare = _Compare()
    found = next(compare.differences("", left, right), "")
    return found or compare.memory()


class _Compare:
    """One comparison. Objects that were met on one side must meet the same partner every time."""

    def __init__(self) -> None:
        self.partner: dict[int, int] = {}
        self.partner_back: dict[int, int] = {}
        self.kept: list[Any] = []
        self.arrays: list[tuple[str, Any, Any]] = []

    def differences(self, path: str, a: Any, b: Any) -> Iterator[str]:
        if type(a).__qualname__ != type(b).__qualname__:
            yield f"{path}: class {type(a).__qualname__} / {type(b).__qualname__}"
            return
        if isinstance(a, LITERALS):
            if a != b:
                yield f"{path}: {a!r} / {b!r}"
            return
        if isinstance(a, float | complex) and not isinstance(a, np.generic):
            if np.array(a).tobytes() != np.array(b).tobytes() and not (a != a and b != b):
                yield f"{path}: {a!r} / {b!r}"
            return
        if not isinstance(a, tuple | np.generic | types.MethodType | types.BuiltinMethodType):
            met = id(a) in self.partner or id(b) in self.partner_back
            if met:
                if self.partner.get(id(a)) != id(b) or self.partner_back.get(id(b)) != id(a):
                    yield f"{path}: one object on one side, two on the other"
                return
            self.partner[id(a)], self.partner_back[id(b)] = id(b), id(a)
            self.kept += [a, b]
        yield from self.inside(path, a, b)

    def inside(self, path: str, a: Any, b: Any) -> Iterator[str]:
        for kinds, method in _FAMILIES:
            if isinstance(a, kinds):
                yield from method(self, path, a, b)
                return
        own_a, own_b = _state(a), _state(b)
        yield from self.mapping(path, own_a, own_b)

    def array(self, path: str, a: Any, b: Any) -> Iterator[str]:
        about = [(x.dtype, x.shape, x.strides, x.flags.writeable) for x in (np.asarray(a), np.asarray(b))]
        if isinstance(a, np.ndarray):
            self.arrays.append((path, a, b))
        else:
            about = [x[:2] for x in about]
        if about[0] != about[1]:
            yield f"{path}: {about[0]} / {about[1]}"
        elif a.dtype == object:
            yield from self.sequence(path, a.ravel().tolist(), b.ravel().tolist())
        elif a.tobytes() != b.tobytes() and not np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"):
            yield f"{path}: {a!r} / {b!r}"
        elif a.dtype.kind in "fc" and not np.array_equal(np.signbit(a.real), np.signbit(b.real)):
            nan = np.isnan(a)
            if not np.array_equal(np.signbit(a.real)[~nan], np.signbit(b.real)[~nan]):
                yield f"{path}: sign of zero: {a!r} / {b!r}"

    def sequence(self, path: str, a: Any, b: Any) -> Iterator[str]:
        if len(a) != len(b):
            yield f"{path}: {a!r} / {b!r}"
            return
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            yield from self.differences(f"{path}[{i}]", x, y)
        if hasattr(a, "__dict__") or isinstance(a, collections.deque):
            yield from self.mapping(path, _state(a), _state(b))

    def mapping(self, path: str, a: Any, b: Any) -> Iterator[str]:
        if [_key(k) for k in a] != [_key(k) for k in b]:
            yield f"{path}: keys {list(a)} / {list(b)}"
            return
        for (key, x), y in zip(a.items(), b.values(), strict=True):
            yield from self.differences(f"{path}[{key!r}]", x, y)

    def set(self, path: str, a: Any, b: Any) -> Iterator[str]:
        if sorted(map(repr, a)) != sorted(map(repr, b)):
            yield f"{path}: {a!r} / {b!r}"

    def function(self, path: str, a: Any, b: Any) -> Iterator[str]:
        if a.__code__ != b.__code__ or a.__qualname__ != b.__qualname__:
            yield f"{path}: {a} / {b}"
            return
        yield from self.differences(f"{path}.__defaults__", a.__defaults__, b.__defaults__)
        yield from self.differences(f"{path}.__dict__", _without_caches(a), _without_caches(b))
        for name, x, y in zip(a.__code__.co_freevars, a.__closure__ or (), b.__closure__ or (), strict=True):
            yield from self.differences(f"{path}.<{name}>", x, y)

    def cell(self, path: str, a: Any, b: Any) -> Iterator[str]:
        yield from self.differences(path, *(_content(c) for c in (a, b)))

    def method(self, path: str, a: Any, b: Any) -> Iterator[str]:
        yield from self.differences(f"{path}.__self__", a.__self__, b.__self__)
        if a.__name__ != b.__name__:
            yield f"{path}: {a} / {b}"

    def cls(self, path: str, a: Any, b: Any) -> Iterator[str]:
        if a.__module__ not in ("__main__", "program"):
            return
        skipped = ("__dict__", "__weakref__", "__doc__", "__module__", "_member_map_", "_value2member_map_")
        own_a, own_b = ({k: v for k, v in vars(c).items() if k not in skipped} for c in (a, b))
        yield from self.mapping(path, own_a, own_b)

    def error(self, path: str, a: Any, b: Any) -> Iterator[str]:
        if str(a) != str(b):
            yield f"{path}: {a!r} / {b!r}"
        yield from self.differences(f"{path}.args", a.args, b.args)
        yield from self.differences(f"{path}.__cause__", a.__cause__, b.__cause__)
        yield from self.differences(f"{path}.__context__", a.__context__, b.__context__)
        if hasattr(a, "__dict__"):
            yield from self.mapping(path, vars(a), vars(b))

    def opaque(self, path: str, a: Any, b: Any) -> Iterator[str]:
        if a is not b and not isinstance(a, property | staticmethod | classmethod | types.MemberDescriptorType):
            texts = [getattr(x, "__qualname__", type(x).__qualname__) for x in (a, b)]
            if texts[0] != texts[1]:
                yield f"{path}: {a!r} / {b!r}"

    def iterator(self, path: str, a: Any, b: Any) -> Iterator[str]:
        """What is left in it; looking uses it up, so this comes last in a run."""
        yield from self.sequence(path, list(a), list(b))

    def memory(self) -> str:
        """Arrays overlap on one side exactly if they do on the other."""
        for i, (path, a, b) in enumerate(self.arrays):
            for other, c, d in self.arrays[i + 1 :]:
                if np.shares_memory(a, c) != np.shares_memory(b, d):
                    return f"{path} and {other} share memory on one side only"
        return ""


def _key(key: Any) -> Any:
    if isinstance(key, weakref.ref):
        return getattr(key(), "__qualname__", None)
    return key if isinstance(key, LITERALS) else repr(key)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _without_caches(function: Any) -> dict[str, Any]:
    """Attributes, without those of ``functools.wraps`` and ``singledispatch`` that lead to caches."""
    caches = ("__wrapped__", "registry", "dispatch", "register", "_clear_cache")
    return {k: v for k, v in function.__dict__.items() if k not in caches}


def _state(value: Any) -> dict[str, Any]:
    own = dict(getattr(value, "__dict__", None) or {})
    for base in type(value).__mro__:
        for name in base.__dict__.get("__slots__", ()):
            if hasattr(value, name):
                own[name] = getattr(value, name)
    if isinstance(value, collections.deque):
        own["maxlen"] = value.maxlen
    if isinstance(value, collections.defaultdict):
        own["default_factory"] = value.default_factory
    return own


_ITERATORS = (type(iter([])), type(iter(())), zip, map, filter, enumerate, types.GeneratorType, type(iter(range(0))))
_FAMILIES: tuple[tuple[Any, Any], ...] = (
    ((np.ndarray, np.generic), _Compare.array),
    ((list, tuple, collections.deque), _Compare.sequence),
    (dict, _Compare.mapping),
    ((set, frozenset), _Compare.set),
    (types.FunctionType, _Compare.function),
    (types.CellType, _Compare.cell),
    (types.MethodType, _Compare.method),
    (BaseException, _Compare.error),
    (type, _Compare.cls),
    ((range, slice), _Compare.set),
    (_ITERATORS, _Compare.iterator),
    ((types.ModuleType, types.BuiltinFunctionType, np.ufunc, property, staticmethod, classmethod), _Compare.opaque),
    ((types.MemberDescriptorType, types.GetSetDescriptorType, np.dtype), _Compare.opaque),
)
