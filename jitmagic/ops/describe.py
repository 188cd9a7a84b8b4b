"""Takes any operand that NumPy would accept as an array, gives its description."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.graph.shapes import Dim, SymInt

__all__ = ["array_meta", "describe", "find_arrays", "replace_leaves"]

NUMBERS = (bool, int, float, complex)
ONE_OF_TYPE: dict[type, Any] = {bool: True, int: 1, float: 1.0, complex: 1 + 0j}


def describe(value: Any) -> Meta | None:
    """The description of an operand; None for ``None``. Lists and tuples count as the arrays NumPy makes of them.

    Raises Unsupported for what is no number, array or nesting of these, and for dtypes that hold Python objects.
    """
    if isinstance(value, ArrayMeta):
        return _checked(value)
    if value is None or isinstance(value, PyMeta):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return _checked(ArrayMeta.of(value))
    if isinstance(value, SymInt):
        return PyMeta(int)
    if type(value) in NUMBERS:
        return PyMeta(type(value))
    if isinstance(value, list | tuple):
        return _of_nesting(value)
    if isinstance(value, range) or type(value) in (str, bytes):
        return ArrayMeta.of(np.asarray(value))
    raise Unsupported("argument", f"a value of class {type(value).__name__}")


def array_meta(value: Any) -> ArrayMeta:
    """The description of ``np.asarray(value)``: Python numbers become 0-d arrays of their default dtype."""
    meta = describe(value)
    if isinstance(meta, ArrayMeta):
        return meta
    if meta is None:
        raise Unsupported("argument", "None")
    known = type(value) in NUMBERS
    return _checked(ArrayMeta.of(np.asarray(value if known else ONE_OF_TYPE[meta.type])))


def _checked(meta: ArrayMeta) -> ArrayMeta:
    if meta.dtype.hasobject:
        raise Unsupported("dtype", str(meta.dtype))
    return meta


def _of_nesting(value: Any) -> ArrayMeta:
    """The array that NumPy makes of nested lists; lengths come from the lists, inner sizes from the arrays."""
    sample = np.asarray(replace_leaves(value, _sample))
    shape = _nested_shape(value)
    if sample.ndim != len(shape):
        raise Unsupported("argument", "a ragged list")
    return _checked(ArrayMeta.dense(sample.dtype, shape))


def _sample(leaf: Any) -> Any:
    if isinstance(leaf, ArrayMeta):
        return np.ones((1,) * leaf.ndim, leaf.dtype)
    if isinstance(leaf, PyMeta):
        return ONE_OF_TYPE[leaf.type]
    return 1 if isinstance(leaf, SymInt) else leaf


def _nested_shape(value: Any) -> tuple[Dim, ...]:
    if isinstance(value, list | tuple):
        inner = [_nested_shape(item) for item in value]
        if any(
            len(shape) != len(inner[0]) or any(a != b for a, b in zip(shape, inner[0], strict=True)) for shape in inner
        ):
            raise ValueError(
                "setting an array element with a sequence. The requested array has an inhomogeneous shape "
                f"after 1 dimensions. The detected shape was ({len(value)},) + inhomogeneous part."
            )
        return (len(value), *(inner[0] if inner else ()))
    return value.shape if isinstance(value, ArrayMeta | np.ndarray) else ()


def find_arrays(value: Any) -> list[ArrayMeta]:
    """The array descriptions nested in tuples, lists, dicts and slices, in order."""
    found: list[ArrayMeta] = []

    def note(leaf: Any) -> Any:
        if isinstance(leaf, ArrayMeta):
            found.append(leaf)
        elif isinstance(leaf, np.ndarray | np.generic):
            found.append(ArrayMeta.of(leaf))
        return leaf

    replace_leaves(value, note)
    return found


def replace_leaves(value: Any, change: Any) -> Any:
    """The same nesting with ``change`` applied to every leaf."""
    if type(value) in (tuple, list):
        return type(value)(replace_leaves(item, change) for item in value)
    if type(value) is dict:
        return {key: replace_leaves(item, change) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(replace_leaves(v, change) for v in (value.start, value.stop, value.step)))
    return change(value)
