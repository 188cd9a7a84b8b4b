"""Takes models of many submodules, gives a table of what asking costs: is everything read from them unchanged?

    python -m tests.benchmarks.modules

Every model computes ``x * 3.0`` on 8 elements, however many modules it goes through, so what its compiled call costs
beyond that of the bare expression is the price of the guards. Contenders run in turns; the best turn counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import jitmagic
from jitmagic import nn
from jitmagic.runtime.native.code import prepare

TURNS = 30
CALLS = 1000  # of each contender in a turn
SETTLED = 12  # calls after which the trial of an entry is over
X = np.arange(8.0)


class Scale(nn.Module):
    """Multiplies, unless that would change nothing."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Any) -> Any:
        return x * self.factor if self.factor != 1.0 else x


class Around(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return self.inner(x)


def in_a_row(count: int) -> nn.Module:
    return nn.Sequential(*[Scale(1.0) for _ in range(count - 1)], Scale(3.0))


def nested(depth: int) -> nn.Module:
    model: nn.Module = Scale(3.0)
    for _ in range(depth - 1):
        model = Around(model)
    return model


def in_groups(groups: int, members: int) -> nn.Module:
    return nn.Sequential(*[in_a_row(members) if k == 0 else ones(members) for k in range(groups)])


def ones(count: int) -> nn.Module:
    return nn.Sequential(*[Scale(1.0) for _ in range(count)])


MODELS: dict[str, Callable[[], nn.Module]] = {
    "10 in a row": lambda: in_a_row(10),
    "100 in a row": lambda: in_a_row(100),
    "1000 in a row": lambda: in_a_row(1000),
    "10 nested": lambda: nested(10),
    "50 nested": lambda: nested(50),
    "30 groups of 33": lambda: in_groups(30, 33),
}


@dataclass(frozen=True)
class Figures:
    """What one model costs: the size of its tree, then nanoseconds."""

    modules: int
    dicts: int
    guards: int
    plain_ns: float
    compiled_ns: float
    bare_ns: float
    tested_ns: float

    def row(self, label: str) -> str:
        beyond = self.compiled_ns - self.bare_ns
        figures = (self.plain_ns, self.compiled_ns, beyond, beyond / self.dicts, self.tested_ns / 1000)
        head = f"{label:<18}{self.modules:>9}{self.dicts:>8}{self.guards:>8}"
        return head + "".join(f"{figure:>14,.1f}" for figure in figures)


def elapsed_ns(function: Callable[..., Any], count: int) -> float:
    begin = time.perf_counter_ns()
    for _ in range(count):
        function(X)
    return (time.perf_counter_ns() - begin) / count


def bare() -> Callable[..., Any]:
    def triple(x: Any) -> Any:
        return x * 3.0

    return settled(jitmagic.compile(triple))


def settled(function: Any) -> Any:
    for _ in range(SETTLED):
        function(X)
    return function


def measure(make: Callable[[], nn.Module]) -> Figures:
    model = make()

    def call(x: Any) -> Any:
        return model(x)

    function, other = settled(jitmagic.compile(call)), bare()
    np.testing.assert_array_equal(function(X), model(X))
    entry = function.jit.frame.entries[0]
    cover = entry.checked[-1].guard.constant
    turns = [(elapsed_ns(function, CALLS), elapsed_ns(other, CALLS)) for _ in range(TURNS)]
    return Figures(
        sum(1 for _ in model.modules()),
        cover.dict_count,
        len(entry.guards),
        min(elapsed_ns(model, 10) for _ in range(5)),
        min(a for a, _ in turns),
        min(b for _, b in turns),
        min(tested_ns(model, function, k) for k in range(TURNS)),
    )


def tested_ns(model: nn.Module, function: Any, serial: int) -> float:
    """The call after a change that nothing read: every guard is tested by itself."""
    last = list(model.modules())[-1]
    last.unread = serial
    return elapsed_ns(function, 1)


def main() -> int:
    prepare()
    print(f"Python {sys.version.split()[0]}: guards on modules")
    head = ("plain, ns", "compiled, ns", "guards, ns", "ns per dict", "tested, µs")
    print(f"{'model':<18}{'modules':>9}{'dicts':>8}{'guards':>8}" + "".join(f"{text:>14}" for text in head))
    with jitmagic.configure(demote=False):
        for label, make in MODELS.items():
            print(measure(make).row(label), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
