"""Takes the loop programs, gives one table: numba.njit's time divided by jitmagic's, measured in turns.

    python -m tests.benchmarks.loops          # or some of them by name

The njit functions are written by hand without fastmath and parallel; they check no bounds. Above 1 jitmagic is
faster. Programs that call functions of scalars such as ``exp`` in their loops stand in a section of their own.
"""

from __future__ import annotations

import copy
import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np

import jitmagic
from tests.loops.programs import PROGRAMS

TURNS = 9
SIZE = 150
CALLS_SECONDS = 0.005  # a turn repeats a short call until it has taken about this long


def softplus_sum(x):
    s = 0.0
    for i in range(len(x)):
        s += math.log1p(math.exp(x[i]))
    return s


def damped_wave(t, rate):
    out = np.empty(len(t))
    for i in range(len(t)):
        out[i] = math.exp(-rate * t[i]) * math.sin(t[i])
    return out


TRANSCENDENTAL: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
    (softplus_sum, lambda r, n: (r.random(n * 10),)),
    (damped_wave, lambda r, n: (r.random(n * 10), 0.3)),
]


def seconds(function: Callable[..., Any], arguments: Sequence[Any], count: int) -> float:
    """Time of one call; the programs leave their arguments as they are."""
    begin = time.perf_counter()
    for _ in range(count):
        function(*arguments)
    return (time.perf_counter() - begin) / count


def ratio(function: Callable[..., Any], arguments: Sequence[Any]) -> float:
    compiled, rival = jitmagic.compile(function), numba.njit(function)
    wanted = function(*copy.deepcopy(arguments))
    for contender in (compiled, compiled, rival):
        given = contender(*arguments)
        np.testing.assert_allclose(np.asarray(given), np.asarray(wanted), rtol=1e-9)
    count = max(1, int(CALLS_SECONDS / seconds(rival, arguments, 1)))
    turns = [(seconds(rival, arguments, count), seconds(compiled, arguments, count)) for _ in range(TURNS)]
    return min(t[0] for t in turns) / min(t[1] for t in turns)


def section(title: str, programs: Sequence[Any], wanted: Sequence[str]) -> None:
    print(f"{title:<24}{'njit / jitmagic':>16}")
    ratios = []
    for function, make in programs:
        if not wanted or function.__name__ in wanted:
            ratios.append(ratio(function, make(np.random.default_rng(0), SIZE)))
            print(f"{function.__name__:<24}{ratios[-1]:>16.2f}", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{'geometric mean':<24}{mean:>16.2f}\n")


def main(wanted: Sequence[str] = ()) -> int:
    section("loops", PROGRAMS, wanted)
    section("functions of scalars", TRANSCENDENTAL, wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
