"""The steps from an array to a part of it, which is a view, and what they mean for arrays that lie otherwise in memory.

``x.ravel("K")`` and ``order="A"`` mean one order of elements for an array in C order and another one in Fortran order:
the cotangent of an array may not lie as the array does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from jitmagic.graph.node import Operation
from jitmagic.ops.registry import by_name

__all__ = ["RETYPING", "ViewStep", "follow", "is_coding", "ordered"]


class ViewStep(NamedTuple):
    """One view operation on the way from a base to a part of it: ``op.call(array, *args, **kwargs)``.

    ``args`` are the other arguments; the array stands at ``position`` among them. If the operation gives a tuple of
    views, ``item`` tells which one. Nodes and symbolic sizes may be nested in ``args`` and ``kwargs``.
    """

    op: Operation
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012 - an empty default that nobody changes
    position: int = 0
    item: int | None = None

    def arguments(self, array: Any) -> tuple[Any, ...]:
        """All positional arguments of the call."""
        return (*self.args[: self.position], array, *self.args[self.position :])

    def apply(self, array: Any) -> Any:
        """The view of ``array``."""
        view = self.op.call(*self.arguments(array), **self.kwargs)
        return view if self.item is None else view[self.item]

    def show(self, text: Callable[[Any], str]) -> str:
        """As a printed graph shows it: ``.reshape(-1)``; ``text`` prints an argument."""
        parts = [text(a) for a in self.args] + [f"{k}={text(v)}" for k, v in self.kwargs.items()]
        return f".{self.op.name}({', '.join(parts)})" + ("" if self.item is None else f"[{self.item}]")


def follow(base: Any, path: tuple[ViewStep, ...]) -> Any:
    """The view of ``base`` that ``path`` leads to."""
    for step in path:
        base = step.apply(base)
    return base


RETYPING = frozenset({"byte_window", "getfield", "view"})  # what shows the same bytes as another dtype


def is_coding(path: tuple[ViewStep, ...]) -> bool:
    """Whether a step of the path shows numbers as what has no gradient: integers, flags, raw bytes."""
    return any(step.op.name in RETYPING and _shown_kind(step) not in "fc" for step in path)


def _shown_kind(step: ViewStep) -> str:
    """The kind of the dtype that the step shows; ``f`` if it is that of the array."""
    named = (value for value in (*step.args, step.kwargs.get("dtype")) if isinstance(value, type | str | np.dtype))
    dtype = next(named, None)
    if dtype is None or (isinstance(dtype, type) and issubclass(dtype, np.ndarray)):
        return "f"
    return np.dtype(dtype).kind


PLACES = {"ravel": 0, "reshape": 1}  # where the order stands among the arguments after the array


def ordered(path: tuple[ViewStep, ...], like: Any) -> tuple[ViewStep, ...]:
    """The path with the orders of ``like``, an array that counts by its strides only, spelled out."""
    if not any(map(_memory_order, path)):
        return path
    found: list[ViewStep] = []
    array = as_strided(np.zeros((), like.dtype), like.shape, like.strides)
    for step in path:
        order = _memory_order(step)
        found += _spelled(step, order, array) if order else [step]
        array = step.apply(array)
    return tuple(found)


def _memory_order(step: ViewStep) -> str:
    """``"K"`` or ``"A"``; nothing for a step that is not led by the memory."""
    place = PLACES.get(step.op.name)
    if place is None:
        return ""
    order = step.kwargs.get("order", step.args[place] if len(step.args) > place else "C")
    return order if order in ("K", "A") else ""


def _spelled(step: ViewStep, order: str, array: Any) -> list[ViewStep]:
    place = PLACES[step.op.name]
    rest = {name: value for name, value in step.kwargs.items() if name != "order"}
    known = step._replace(args=step.args[:place], kwargs=rest | {"order": "C"})
    if order == "A":
        return [known._replace(kwargs=rest | {"order": "F" if array.flags.fnc else "C"})]
    axes = tuple(sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis])))
    return [ViewStep(by_name("transpose"), (axes,)), known]
