"""A NaN comes out of max and min with the bits it went in with: sign and payload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic


def _largest(x: Any) -> Any:
    return x.max(axis=0)


def _least(x: Any) -> Any:
    return x.min()


def _scaled(x: Any) -> Any:
    return (x - x.min()) / (x.max() - x.min())


@pytest.mark.parametrize("function", [_largest, _least, _scaled])
@pytest.mark.parametrize("bits", [0x7FF8000000000000, -0x8000000000000, 0x7FF8000000000123])
def test_bits_of_nan_stay(function: Callable[[Any], Any], bits: int) -> None:
    x = np.array([1.0, 0.0, 2.0])
    x.view(np.int64)[1] = bits
    compiled = jitmagic.compile(function)
    for each in (x, np.concatenate([np.ones(40), x]), np.stack([x, 2 * x])):
        assert np.asarray(compiled(each)).tobytes() == np.asarray(function(each)).tobytes()
