"""A copy of an array that a graph has made, and that nobody else gets, is that array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.aot.own_copies import OwnCopies
from jitmagic.graph import Graph
from tests.backends.building import Recorder, row

COPY = row("copy", np.copy)
X = np.random.default_rng(0).random((5, 4))


def copies(graph: Graph) -> int:
    return sum(node.op is COPY for node in graph.calls())


@pytest.mark.parametrize("options", [{}, {"order": "C"}, {"order": "K"}])
def test_a_product_is_handed_out_itself(options: dict[str, str]) -> None:
    recorder = Recorder()
    product = recorder.call("matmul", recorder.input(X), recorder.input(X.T))
    simple = OwnCopies().run(recorder.finish(recorder.call(COPY, product, **options)))
    assert copies(simple) == 0
    assert simple.outputs[0].op is not None
    assert simple.outputs[0].op.name == "matmul"


@pytest.mark.parametrize("second", ["itself", "a view", "a copy"])
def test_two_outputs_never_share_memory(second: str) -> None:
    recorder = Recorder()
    total = recorder.call("add", recorder.input(X), 1.0)
    kept = recorder.call(COPY, total)
    other = total if second == "itself" else recorder.call("T" if second == "a view" else COPY, total)
    simple = OwnCopies().run(recorder.finish(kept, other))
    assert copies(simple) == 1
    assert simple.outputs[0].storage is not simple.outputs[1].storage


def test_copies_of_inputs_and_of_other_layouts_stay() -> None:
    recorder = Recorder()
    x = recorder.input(X)
    turned = recorder.call("add", recorder.input(np.asfortranarray(X)), 1.0)
    graph = recorder.finish(recorder.call(COPY, x), recorder.call(COPY, turned, order="C"))
    assert OwnCopies().run(graph) is graph


def f(x: Any, y: Any) -> Any:
    product = x @ y
    kept = product.copy()
    product += 1.0
    return kept, product


def test_a_copy_that_is_there_to_be_kept_is_kept() -> None:
    compiled = jm.compile(f)
    for _ in range(3):
        for a, b in zip(compiled(X, X.T), f(X, X.T), strict=True):
            assert a.tobytes() == b.tobytes()
            assert a.flags.owndata == b.flags.owndata
    assert not compiled.jit.breaks()
