"""Programs that write: their values bit for bit those of plain NumPy, their gradients those of central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd import transforms
from tests.gradients.differences import agree, central_differences
from tests.gradients.writing_programs import WRITING

X = np.array([0.3, 1.2, 0.7, 2.0, 0.45, 1.6])


@pytest.mark.parametrize("name", WRITING)
def test_captured_whole(name: str) -> None:
    function: Any = WRITING[name]
    plain = function(X.copy())
    compiled = jm.value_and_grad(function)
    for _ in range(2):
        value, gradient = compiled(X.copy())
        assert type(value) is type(plain)
        assert value.tobytes() == plain.tobytes()
        agree(gradient, central_differences(function, (X,), 0))
    assert not compiled.jit.breaks().records
    assert not compiled.jit.record.fallbacks


@pytest.mark.parametrize("transform", [transforms.value_and_grad, transforms.vjp], ids=["value_and_grad", "vjp"])
@pytest.mark.parametrize("name", WRITING)
def test_run_on_the_tape(name: str, transform: Any) -> None:
    """Where a function is not captured it is run on stand-ins: new arrays must be some, too."""
    function: Any = WRITING[name]
    plain = function(X.copy())
    if transform is transforms.vjp:
        value, pullback = transforms.vjp(function, X.copy())
        (gradient,) = pullback(np.ones_like(value))
    else:
        value, gradient = transform(function)(X.copy())
    assert type(value) is type(plain)
    assert value.tobytes() == plain.tobytes()
    agree(gradient, central_differences(function, (X,), 0))
