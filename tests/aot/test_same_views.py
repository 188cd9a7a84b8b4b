"""Views that show an array as it is are left out; all others, and outputs, stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jitmagic.aot.same_views import SameViews
from jitmagic.graph import Graph, Node, interpret
from tests.backends.building import Recorder


def chain(x: Any, *steps: tuple[Any, ...]) -> tuple[Graph, Recorder]:
    """A graph that applies views, each a name with its further arguments, and adds one to the last."""
    recorder = Recorder()
    node: Node = recorder.input(x)
    for name, *args in steps:
        node = recorder.call(name, node, *args)
    return recorder.finish(recorder.call("add", node, 1.0)), recorder


def views(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.calls() if node.op and node.view_of is not None]


@pytest.mark.parametrize(
    "steps",
    [
        [("T",), ("T",)],
        [("transpose",), ("transpose",)],
        [("swapaxes", 0, 2), ("swapaxes", 0, 2)],
        [("reshape", (2, 3, 4))],
        [("T",), ("T",), ("T",), ("T",), ("reshape", (2, 3, 4))],
    ],
)
@pytest.mark.parametrize("order", ["C", "F", "cut"])
def test_the_array_itself_is_read(steps: list[tuple[Any, ...]], order: str) -> None:
    x: Any = np.arange(48.0).reshape(2, 3, 8)[:, :, ::2]
    if order != "cut":
        x = np.asarray(x, order=order)  # type: ignore[call-overload]  # one of two orders
    graph, _ = chain(x, *steps)
    simple = SameViews().run(graph)
    read = next(node for node in simple.calls() if node.op and node.op.name == "add").args[0]
    assert read is simple.inputs[0]
    assert interpret(simple, [x])[0].tobytes() == interpret(graph, [x])[0].tobytes()


@pytest.mark.parametrize(
    "steps",
    [
        [("T",)],
        [("swapaxes", 0, 2), ("swapaxes", 0, 1)],
        [("transpose", (1, 2, 0)), ("transpose", (1, 2, 0))],
        [("T",), ("swapaxes", 0, 2)],
        [("reshape", (6, 4))],
        [("T",), ("getitem", np.s_[1:]), ("T",)],
    ],
)
def test_other_views_stay(steps: list[tuple[Any, ...]]) -> None:
    graph, _ = chain(np.arange(24.0).reshape(2, 3, 4), *steps)
    assert SameViews().run(graph) is graph
    assert len(views(graph)) == len(steps)


def test_an_output_stays_an_object_of_its_own() -> None:
    recorder = Recorder()
    x = recorder.input(np.ones((2, 3)))
    y = recorder.call("T", recorder.call("T", x))
    graph = recorder.finish(y, recorder.call("add", y, 1.0))
    simple = SameViews().run(graph)
    assert simple.outputs[0] is not simple.inputs[0]
    assert views(simple) == ["T", "T"]
