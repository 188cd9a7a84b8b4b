"""Every layer compiled: one graph, the bits of the plain layer, and the gradients of the tape."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.nn.layer_cases import CASES, Case, made


@pytest.fixture(autouse=True)
def recurrent_layers_are_captured() -> Iterator[None]:
    with jm.configure(allow_rnn=True):
        yield


def leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None else [value]


def as_bytes(value: Any) -> list[Any]:
    return [(np.asarray(v).dtype.str, np.shape(v), np.ascontiguousarray(v).tobytes()) for v in leaves(value)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_compiled_layer_gives_the_same_bits_from_one_graph(case: Case) -> None:
    arrays, named = case.inputs()
    plain, layer = made(case), made(case)
    compiled = jm.compile(layer, fullgraph=True, backend="eager")
    for _ in range(2):
        assert as_bytes(compiled(*arrays, **named)) == as_bytes(plain(*arrays, **named))
    assert compiled.jit.compiles == 1
    assert not compiled.jit.breaks()
    for (name, array), (_, other) in zip(layer.named_buffers(), plain.named_buffers(), strict=True):
        assert array.tobytes() == other.tobytes(), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_compiled_layer_of_tensors_has_the_gradients_of_the_tape(case: Case) -> None:
    arrays, named = case.inputs()
    found = [_gradients(case, arrays, named, compile) for compile in (False, True)]
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def _gradients(case: Case, arrays: list[Any], named: dict[str, Any], compile: bool) -> list[Any]:
    layer = made(case).requires_grad_()
    is_view = case.layer in ("Flatten", "Unflatten")  # a Tensor that shares memory is left to the Tensor itself
    call = jm.compile(layer, fullgraph=not is_view, backend="aot_eager") if compile else layer
    inputs = [jm.Tensor(a, requires_grad=True) for a in arrays]
    results = leaves(call(*inputs, **named))
    sum(np.sum(r * np.cos(np.arange(r.size)).reshape(r.shape)) for r in results).backward()
    if compile:
        assert not call.jit.breaks()
    grads = [t.grad for t in (*inputs, *layer.parameters())]
    return [np.zeros(()) if g is None else g.numpy() for g in grads]
