"""Cuts of joint graphs: what is saved, and that it is enough."""

from __future__ import annotations

import numpy as np

import jitmagic as jm
from jitmagic.aot.joint.network import Network
from jitmagic.graph import interpret


def joint_of(function, *args):
    tensors = [jm.Tensor(a, requires_grad=True) for a in args]
    graph = jm.aot.aot_export_joint_simple(lambda *a: (function(*a),), tensors, trace_joint=True)
    return jm.aot.JointGraph(graph, len(args), 1)


def test_the_minimum_cut_of_a_network() -> None:
    network = Network()
    for start, end, capacity in (("s", "a", 3), ("s", "b", 2), ("a", "t", 2), ("b", "t", 4), ("a", "b", 5)):
        network.edge(start, end, capacity)
    assert network.source_side("s", "t") == {"s"}


def test_a_chain_of_cheap_operations_saves_its_argument() -> None:
    """Additions and products are made again: one array is kept in place of three."""
    x = np.linspace(1, 2, 1000)
    joint = joint_of(lambda x: np.sum((x * x + 1.0) * (x * x + 2.0) * x), x)
    default, least = jm.aot.default_partition(joint), jm.aot.min_cut_rematerialization_partition(joint)
    assert [n.kind for n in least.backward.inputs[: least.saved]] == ["input"]
    assert least.saved == 1 < default.saved


def test_dear_operations_are_saved() -> None:
    a, b = np.linspace(0, 1, 20).reshape(4, 5), np.linspace(0, 1, 15).reshape(5, 3)
    joint = joint_of(lambda a, b: np.sum(np.tanh(a @ b)), a, b)
    halves = jm.aot.min_cut_rematerialization_partition(joint)
    names = {n.op.name for n in halves.backward.calls()}
    assert "tanh" not in names
    values = interpret(halves.forward, [a, b])
    ga, _ = interpret(halves.backward, [*values[1:], np.float64(1)])
    np.testing.assert_allclose(ga, (1 - np.tanh(a @ b) ** 2) @ b.T)


def test_symbolic_sizes_are_known_in_the_backward_half() -> None:
    f = jm.aot.aot_function(lambda x: np.sum(x[1:] * x[:-1]), jm.aot.aot_eager, dynamic=True)
    for n in (4, 6, 9):
        x = jm.Tensor(np.arange(float(n)), requires_grad=True)
        f(x).backward()
        d = np.arange(float(n))
        expected = np.append(d[1:], 0) + np.insert(d[:-1], 0, 0)
        np.testing.assert_allclose(x.grad.numpy(), expected)
    assert len(f.entries) == 1
