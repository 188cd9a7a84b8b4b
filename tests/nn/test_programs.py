"""Programs over modules give compiled what they give plainly, and the number of compiles stays bounded."""

from __future__ import annotations

from weakref import WeakSet

import pytest

from jitmagic.nn import dynamic
from tests.nn.programs import changes, layers, methods, owners, trees
from tests.nn.programs.program import Program
from tests.nn.running import same

ROWS = (*trees.ROWS, *changes.ROWS, *owners.ROWS, *methods.ROWS, *layers.ROWS)
NAMES = """
import copy, pickle, functools, types
x = np.arange(6.0).reshape(2, 3)
class MLP(nn.Module):
    def __init__(self, n=3, depth=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(n, n) for _ in range(depth)])
        self.act = nn.Tanh()
        self.drop = nn.Dropout(0.3, rng=np.random.default_rng(5))
    def forward(self, x):
        for l in self.layers: x = self.act(l(x))
        return self.drop(x)
"""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_program_over_modules(row: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dynamic, "_marked", WeakSet())
    found = same(NAMES + row.text, row.calls, breaks=None)
    assert found.compiles[-1] <= row.most
