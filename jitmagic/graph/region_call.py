"""What a loop node calls: the loop as plain Python, or the compiled form that a backend has put in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.region import KINDS, Region

__all__ = ["RegionCall", "as_list", "kind_of", "tagged_list"]

_PYTHON = {"pyint": int, "pyfloat": float, "pybool": bool, "pycomplex": complex}
_DTYPES = {"pyint": "int64", "pyfloat": "float64", "pybool": "bool", "pycomplex": "complex128"}


def kind_of(type_name: str) -> type:
    """The type of the numbers that a region calls ``pyint`` or ``float32``."""
    return _PYTHON.get(type_name) or np.dtype(type_name).type


class RegionCall:
    """``call(*operands)`` runs the loop on real arrays and numbers and gives the tuple of its results.

    Raises Unsupported if a result is not of the type that the graph goes on with; the function then runs plainly.
    """

    def __init__(self, region: Region, plain: Callable[..., tuple[Any, ...]]) -> None:
        self.region = region
        self.plain = plain
        self.compiled: Callable[..., tuple[Any, ...]] | None = None
        self._kinds = tuple(kind_of(v.type) for v in region.results)
        names = [a.name for a in region.arrays]
        self._lists = {i: a for i, a in enumerate(region.arrays) if a.elements}
        self._tags = {i: names.index(a.tags) for i, a in self._lists.items() if a.tags}
        self.__name__ = "loop"

    @property
    def mark(self) -> str:
        """What a card calls its lines."""
        return "python" if self.compiled is None else "loop"

    @property
    def function(self) -> Callable[..., tuple[Any, ...]]:
        """What runs the loop, without a call in between where there is a compiled form."""
        return getattr(self.compiled, "run", None) or self

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        if self.compiled is not None:
            return self.compiled(*operands)
        results = self._on_lists(operands) if self._lists else self.plain(*operands)
        if tuple(map(type, results)) != self._kinds:
            raise Unsupported("region", "a loop whose results are of another type this time")
        return results

    def _on_lists(self, operands: tuple[Any, ...]) -> tuple[Any, ...]:
        """Where the program has lists it gets lists."""
        lists = {i: self._list_of(i, operands) for i in self._lists}
        results = self.plain(*(lists.get(i, each) for i, each in enumerate(operands)))
        for i, values in lists.items():
            if self._lists[i].is_written:
                tags = operands[self._tags[i]] if i in self._tags else None
                _store(operands[i], tags, values, self._lists[i].elements)
        return results

    def _list_of(self, place: int, operands: Sequence[Any]) -> list[Any]:
        if place in self._tags:
            return tagged_list(operands[place], operands[self._tags[place]])
        return as_list(operands[place], self._lists[place].elements[0])


def as_list(array: Any, kind: str) -> list[Any]:
    """The numbers of an array as those of that type, rows as lists."""
    if kind in _PYTHON:
        return array.astype(_DTYPES[kind]).tolist()  # type: ignore[no-any-return]  # of an array with axes
    return list(array.astype(kind)) if array.ndim == 1 else [as_list(row, kind) for row in array]


def tagged_list(values: Any, tags: Any) -> list[Any]:
    """The numbers of a list whose types stand in ``tags``, by their index in ``KINDS``."""
    codes = tags.tolist()
    if len(set(codes)) == 1:
        return as_list(values, KINDS[codes[0]])
    kinds = {code: kind_of(KINDS[code]) for code in set(codes)}
    return [kinds[code](value) for value, code in zip(values.tolist(), codes, strict=True)]


def _store(array: Any, tags: Any, values: list[Any], kinds: Sequence[str]) -> None:
    codes = {kind_of(k): KINDS.index(k) for k in kinds}
    for place, value in enumerate(values):
        if array.ndim > 1:
            _store(array[place], tags, value, kinds)
            continue
        code = codes.get(type(value))
        if code is None:
            raise Unsupported("region", "a list whose numbers are of another type this time")
        array[place] = value
        if tags is not None:
            tags[place] = code
