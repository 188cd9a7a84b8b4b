"""Small arrays that never leave a program of products are kept from run to run; all others are made anew."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.numba_cpu.program import compile_graph
from jitmagic.graph import Node
from tests.backends.building import Recorder, assert_agrees, row

RNG = np.random.default_rng(2)
X, W = RNG.normal(size=(6, 5)), RNG.normal(size=(5, 4))


def layers(recorder: Recorder, x: Node, w: Node) -> tuple[Node, Node]:
    """Two arrays of the program: one that a product reads, and what comes out in the end."""
    inner = recorder.call("sqrt", recorder.call("absolute", recorder.call("add", recorder.call("matmul", x, w), 1.0)))
    return inner, recorder.call("add", recorder.call("multiply", recorder.call("matmul", inner, inner), 2.0), 1.0)


def test_it_is_allocated_once() -> None:
    recorder = Recorder()
    x, w = recorder.input(X[:4]), recorder.input(W)
    _, y = layers(recorder, x, w)
    graph = recorder.finish(y)
    program = compile_graph(graph)
    assert program.source.count("empty(") == 1  # the result
    assert "scratch.saved" in program.source
    assert_agrees(program, graph, [X[:4], W])
    first, second = program([X[:4], W]), program([X[:4] * 2, W])
    assert not np.may_share_memory(first[0], second[0])


def _itself(x: Any) -> Any:
    return x


@pytest.mark.parametrize("way", ["itself", "a view", "through a call", "a view through a call", "over another"])
def test_what_leaves_the_program_is_made_anew(way: str) -> None:
    recorder = Recorder()
    x, w = recorder.input(X[:4]), recorder.input(W)
    inner, y = layers(recorder, x, w)
    same = row("same", _itself)
    left = {
        "itself": lambda: inner,
        "a view": lambda: recorder.call("T", inner),
        "through a call": lambda: recorder.call(same, inner),
        "a view through a call": lambda: recorder.call(same, recorder.call("T", inner)),
        "over another": lambda: recorder.call(same, recorder.call("subtract", recorder.call("negative", inner), 1.0)),
    }[way]()
    graph = recorder.finish(y, left)
    program = compile_graph(graph)
    arguments = [X[:4], W]
    found = [program(arguments) for _ in range(3)]
    wanted = [array.copy() for array in found[0]]
    program([X[:4] * 3, W])
    for results in found:
        for a, b in zip(results, wanted, strict=True):
            assert a.tobytes() == b.tobytes()


def network(x: Any, w: Any) -> Any:
    h = np.maximum(x @ w, 0) * 2.0 + 1.0
    return np.tanh(h @ w.T) - 1.0


def test_threads_have_arrays_of_their_own() -> None:
    compiled = jm.compile(network)
    inputs = [RNG.normal(size=(6, 5)) for _ in range(4)]
    wanted = [network(x, W).tobytes() for x in inputs]
    compiled(inputs[0], W)
    wrong: list[int] = []

    def work(k: int) -> None:
        wrong.extend(k for _ in range(200) if compiled(inputs[k], W).tobytes() != wanted[k])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
