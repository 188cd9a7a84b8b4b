"""dtypes are NumPy's, never another compiler's: the cases in which those differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.graph.meta import ArrayMeta, PyMeta
from jitmagic.graph.shapes import ShapeEnv
from jitmagic.ops import by_name
from jitmagic.ops.record import Arguments
from jitmagic.ops.ufuncs import loop_dtypes
from tests.ops.variations import described

F4, U8, I1 = np.ones(3, np.float32), np.ones(3, np.uint64), np.ones(3, np.int8)


def dtype(name: str, *args: Any, **kwargs: Any) -> str:
    found = by_name(name).infer(*described((args, kwargs)), ShapeEnv()).meta
    assert isinstance(found, ArrayMeta)
    return found.dtype.name


def test_python_numbers_are_weak() -> None:
    assert dtype("add", I1, 1) == "int8"
    assert dtype("multiply", F4, 2.5) == "float32"
    assert dtype("subtract", U8, 3) == "uint64"
    assert dtype("where", F4 > 0, F4, 0) == "float32"
    assert dtype("multiply", F4, 1j) == "complex64"


def test_run_time_python_numbers_are_weak() -> None:
    assert dtype("multiply", F4, PyMeta(float)) == "float32"
    assert dtype("add", I1, PyMeta(int)) == "int8"
    assert dtype("add", I1, ShapeEnv().new_symbol(300)) == "int8"


def test_numpy_scalars_are_strong() -> None:
    assert dtype("multiply", F4, np.float64(2.5)) == "float64"
    assert dtype("scalar_sub", np.uint64(5), np.int64(3)) == "float64"
    assert dtype("scalar_mul", np.float32(2), 2.5) == "float32"


def test_small_integers_sum_wide() -> None:
    assert dtype("cumsum", I1) == "int64"
    assert dtype("sum", np.ones(3, np.uint8)) == "uint64"
    assert dtype("mean", np.ones(3, np.int8)) == "float64"


def test_python_integers_out_of_range_raise() -> None:
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        dtype("add", I1, 300)
    assert dtype("less", I1, 300) == "bool"
    assert dtype("clip", I1, -1000, 1000) == "int8"


def test_booleans_do_not_subtract() -> None:
    with pytest.raises(TypeError, match="boolean subtract"):
        dtype("subtract", F4 > 0, F4 > 0)


def test_assignments_do_not_widen() -> None:
    with pytest.raises(ValueError, match="non-broadcastable output operand"):
        dtype("add", F4, np.ones((3, 3)), out=F4)
    with pytest.raises(TypeError, match="Cannot cast ufunc 'add' output"):
        dtype("add", I1, 1.5, out=I1)


def test_loop_dtypes_are_those_of_numpys_loop() -> None:
    row = by_name("add")

    def loop(*args: Any, **kwargs: Any) -> list[str]:
        metas, options = described((args, kwargs))
        return [d.name for d in loop_dtypes(Arguments(row, metas, options, ShapeEnv()))]

    assert loop(I1, F4) == ["float32"] * 3
    assert loop(I1, 2) == ["int8"] * 3
    assert loop(np.ones(3, ">f8"), 2) == ["float64"] * 3
    assert loop(F4, F4, dtype=np.float64) == ["float64"] * 3
