"""Row N12: a captured graph used as a module."""

from __future__ import annotations

import pytest

import jitmagic as jm
from jitmagic import nn
from jitmagic.errors import UserError
from tests.nn.running import explained, same

EXPORTED = """
x = np.arange(6.0).reshape(2, 3)
def exported(m):
    m.eval()
    graph, signature = jm.aot.aot_export_module(m, (x,), trace_joint=False)
    return jm.aot.GraphModule(graph, signature, m)
"""


def test_n12_an_exported_graph_is_inlined() -> None:
    text = (
        EXPORTED
        + """
m = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
g = exported(m)
def f(x): return g(x) * 2, m(x)
"""
    )
    calls = ["f(x)", "f(x)", "m[0].weight[...] = 1", "f(x)", "g._parameters['0_bias'] = np.ones(4)", "f(x)"]
    same(text, calls, [1, 1, 1, 2])
    assert "tanh" in explained(text).graphs[0]


def test_n12_structures_and_buffers() -> None:
    text = (
        EXPORTED
        + """
class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", np.zeros(3))
    def forward(self, x):
        self.total += x.sum(axis=0)
        return {"x": x * 2, "pair": (x + self.total, [x.max(), 7])}
m = Counting()
g = exported(m)
def f(x): return g(x)
"""
    )
    same(text, ["f(x)", "f(x)", "m.total", "g.total is m.total"], [1, 1])


def test_n12_multiple_results_and_exceptions() -> None:
    text = (
        EXPORTED
        + """
class Solve(nn.Module):
    def forward(self, x):
        q, r = np.linalg.qr(x @ x.T + np.eye(2))
        return np.linalg.solve(r, q)
g = exported(Solve())
def f(x): return g(x)
"""
    )
    same(text, ["f(x)", "f(x * 0)", "f(np.ones((2, 4)))"], breaks=None)


def test_n12_another_graph_is_noticed() -> None:
    text = EXPORTED + "g = exported(nn.Tanh())\ndef f(x): return g(x)\n"
    same(
        text,
        ["f(x)", "g = exported(nn.Sigmoid())", "f(x)", "g._graph = exported(nn.ReLU())._graph", "f(x - 2)"],
        [1, 2, 3],
    )


def test_n12_a_joint_graph_is_refused() -> None:
    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter([1.0, 2.0])

        def forward(self) -> object:
            return (self.w**2).sum()

    model = Loss()
    graph, signature = jm.aot.aot_export_module(model, (), trace_joint=True, output_loss_index=0)
    with pytest.raises(UserError, match="trace_joint=False"):
        jm.aot.GraphModule(graph, signature, model)
