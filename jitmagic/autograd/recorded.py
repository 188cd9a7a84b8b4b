"""An array with its history: what a Tensor is made of, without its operations."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jitmagic.autograd.coded import CodedNode, is_smooth, keeps_code, seen_again, viewed_code
from jitmagic.autograd.node import Edge, OpNode, Saved, Version, like_sequence
from jitmagic.errors import GradientError
from jitmagic.ops.functional import ViewStep

__all__ = [
    "Recorded",
    "check_dtypes",
    "foreign_array",
    "is_smooth",
    "needs_gradient",
    "numbers_are_made_by",
    "python_number",
    "raw",
    "tensors_in",
]


def check_dtypes(name: str, results: Iterable[Any]) -> None:
    """Raises GradientError for results of ``name`` that hold numbers where no rule follows them."""
    for result in results:
        if isinstance(result, np.ndarray | np.generic) and result.dtype.kind in "OV":
            raise GradientError(
                f"{name} gives an array of dtype {result.dtype} of a Tensor that requires a gradient, which has no "
                "history: keep the numbers in an array of floats, or detach() what goes in"
            )


def foreign_array(value: Any) -> str:
    """The name of the class of ``value``, if that is a subclass of ndarray with rules of its own; else nothing.

    ``np.matrix`` multiplies otherwise and masked arrays leave elements out, which no rule knows. Arrays in files
    (``np.memmap``) calculate as plain ones.
    """
    kind = type(value)
    if kind is np.ndarray or issubclass(kind, Recorded) or not isinstance(value, np.ndarray) or kind is np.memmap:
        return ""
    return kind.__name__


class Recorded:
    """``_values`` is an ndarray, or the NumPy scalar that an operation gave. (It has no name that
    NumPy looks for: masked arrays would take ``_data`` for their own and lose the history.)

    A view of another Tensor knows its ``_root``, the Tensor that owns the memory, and the ``_path`` of view operations
    that leads to it. All of them share one ``_version``, which counts writes. A recorded write through any of them
    changes the history of the root, and its ``_epoch``; views see by it that their own history is out of date.
    """

    _values: Any
    _edge: Edge | None
    _requires: bool
    _version: Version
    _root: Recorded | None
    _path: tuple[ViewStep, ...]
    _epoch: int
    _views: list[weakref.ref[Any]]
    grad: Any
    _leaves_plain = False  # whether new results that can have no gradient (comparisons, indices) are plain arrays
    _is_python = False  # whether it stands for a Python number, which has no say in the dtype of a result

    @classmethod
    def _made(cls, data: Any, edge: Edge | None = None, version: Version | None = None) -> Any:
        """A Tensor over ``data`` that was computed by the node behind ``edge``."""
        self = object.__new__(cls)
        self._set(data, edge, False, version)
        return self

    def _set(self, data: Any, edge: Edge | None, requires: bool, version: Version | None = None) -> None:
        self._values = data
        self._edge = edge
        self._requires = requires
        self._version = Version() if version is None else version
        self._root = None
        self._path = ()
        self._epoch = 0
        self._views = []
        self.grad = None

    def _history(self) -> Edge | None:
        """Where a cotangent of this Tensor goes; None if it requires no gradient."""
        root = self._root
        if root is not None and self._epoch != root._epoch:
            self._edge = self._along_path(root)
            self._epoch = root._epoch
        return (self, 0) if self._requires else self._edge

    def _along_path(self, root: Recorded) -> Edge | None:
        """The history of a view whose root was written: the views of what the root is now."""
        edge, data = root._history(), root._values
        if edge is None:
            return None
        for step in self._path:
            args = tuple(Saved(a, edge if a is data else None, None, type(self)) for a in step.arguments(data))
            result = step.op.call(*step.arguments(data), **step.kwargs)
            coded = _through_code(step, data, edge, result)
            if coded is not None:
                edge, data = coded, result
                continue
            outputs = len(result) if isinstance(result, tuple | list) else 1
            node = OpNode(step.op, args, step.kwargs, [edge], [(step.position, None)], outputs)  # type: ignore[arg-type]  # rows are operations
            entries = result if isinstance(result, tuple | list) else (result,)
            kept = tuple(Saved(each, None, self._version, type(self)) for each in entries)
            node.ans = kept if isinstance(result, tuple | list) else kept[0]
            edge = (node, step.item or 0)
            data = result if step.item is None else result[step.item]
        return edge

    def _note_view(self, view: Recorded) -> None:
        """Remember that ``view`` leads here; those that died are forgotten whenever their number is a power of two."""
        count = len(self._views)
        if count and not count & (count - 1):
            self._views = [each for each in self._views if each() is not None]
        self._views.append(weakref.ref(view))

    def _saved(self, edge: Edge | None, reads: bool = False) -> Saved:
        return Saved(self._values, edge, self._version, type(self), reads)

    def _owner(self) -> Recorded:
        return self if self._root is None else self._root

    def _check_may_write(self) -> None:
        """Raises GradientError for a leaf that requires a gradient, and for views of it."""
        owner = self._owner()
        if not owner._requires:
            return
        what = "a leaf" if owner is self else "a view of a leaf"
        raise GradientError(
            f"{what} Tensor that requires a gradient cannot be written in place: its value is what the gradient is "
            "taken at. Write under jm.no_grad(), or into a copy"
        )


def _through_code(step: ViewStep, data: Any, edge: Edge, result: Any) -> Edge | None:
    """The history of a view that shows ``data`` in another code, or shows such a code; None for other views."""
    if is_smooth(data):
        return viewed_code(step.op.name, data, edge) if keeps_code(step.op.name, result) else None
    return seen_again(step.op.name, edge, result) or (CodedNode(f"np.{step.op.name}", [edge]), 0)


def numbers_are_made_by(make: Callable[[Any, Edge | None], Any]) -> None:
    """``make(data, edge)`` gives the Tensor for the Python number with the value of a NumPy scalar."""
    _makers[:] = [make]


def python_number(data: Any, edge: Edge | None) -> Any:
    """A Tensor that counts as a Python number."""
    return _makers[0](data, edge)


_makers: list[Callable[[Any, Edge | None], Any]] = []


def tensors_in(value: Any) -> list[Any]:
    """The Tensors in nested tuples, lists and dicts, in order."""
    if isinstance(value, Recorded):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in tensors_in(item)] if isinstance(value, tuple | list) else []


def needs_gradient(value: Any) -> bool:
    """Whether a gradient flows through one of the Tensors in ``value``."""
    return any(tensor._history() is not None for tensor in tensors_in(value))


def raw(value: Any) -> Any:
    """The nesting with the data of each Tensor in its place: an array, a NumPy scalar or a Python number."""
    if isinstance(value, Recorded):
        return value._values.item() if value._is_python else value._values
    if isinstance(value, tuple | list):
        return like_sequence(value, map(raw, value))
    if isinstance(value, dict):
        return {key: raw(item) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(raw(value.start), raw(value.stop), raw(value.step))
    return value
