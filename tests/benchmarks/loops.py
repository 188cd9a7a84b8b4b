"""Takes the loop programs, gives tables: numba.njit's time divided by jitmagic's, measured in turns.

    python -m tests.benchmarks.loops          # or some of them by name

The njit functions are written by hand without fastmath and parallel; they check no bounds. Above 1 jitmagic is
faster. Programs whose outer rounds are independent have a mean of their own; programs that call functions of scalars
such as ``exp`` in their loops, and short calls, of which a good part is what surrounds the loop, stand in sections of
their own; calls with ten elements are compared with plain Python, too. Then follow the longest compiles of one kernel,
and how soon Ctrl-C stops a loop.
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
from jitmagic.backends.regions.emit import emit
from jitmagic.backends.regions.machine import generate
from tests.loops.outcomes import loop_calls
from tests.loops.programs import PROGRAMS
from tests.loops.test_interrupts import LOOPS, stopped_after

TURNS = 15
SHORT = 150
TINY = 10
CALLS_SECONDS = 0.005  # a turn repeats a short call until it has taken about this long
LONG = {  # sizes at which a call takes about a millisecond or more
    **dict.fromkeys(("lu", "cholesky", "floyd_warshall", "nussinov", "matmul"), 200),
    **dict.fromkeys(("edit_distance", "bubble_sort"), 1000),
    **dict.fromkeys(
        ("jacobi", "gauss_seidel", "wave_2d", "game_of_life", "mandelbrot", "julia", "bilateral", "nbody"), 500
    ),
    "collatz": 5000,
}
LONG_ELSE = 50_000
INDEPENDENT = {"lu", "jacobi", "heat_1d", "wave_2d", "mandelbrot", "julia", "game_of_life", "nbody", "kmeans_assign"}
INDEPENDENT |= {"bilateral", "csr_matvec", "matmul"}


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
    for contender in (*[compiled] * 20, rival):  # the first calls find out whether compiled code is worth it
        given = contender(*arguments)
        np.testing.assert_allclose(np.asarray(given), np.asarray(wanted), rtol=1e-9)
    count = max(1, int(CALLS_SECONDS / seconds(rival, arguments, 1)))
    turns = [(seconds(rival, arguments, count), seconds(compiled, arguments, count)) for _ in range(TURNS)]
    return min(t[0] for t in turns) / min(t[1] for t in turns)


def section(title: str, programs: Sequence[Any], wanted: Sequence[str], size: Callable[[str], int]) -> None:
    print(f"{title:<24}{'njit / jitmagic':>16}")
    ratios: dict[str, float] = {}
    for function, make in programs:
        name = function.__name__
        if not wanted or name in wanted:
            ratios[name] = ratio(function, make(np.random.default_rng(0), size(name)))
            print(f"{name:<24}{ratios[name]:>16.2f}{'  independent rounds' if name in INDEPENDENT else ''}", flush=True)
    for what, chosen in (("geometric mean", ratios), ("... of independent", INDEPENDENT & set(ratios))):
        if chosen:
            mean = math.exp(sum(math.log(ratios[name]) for name in chosen) / len(chosen))
            print(f"{what:<24}{mean:>16.2f}")
    print()


def tiny_calls(wanted: Sequence[str]) -> None:
    """Calls with ten elements, of which nearly all is what surrounds the loop: against plain Python and njit."""
    print(f"{'calls with n = 10':<24}{'plain / jitmagic':>17}{'njit / jitmagic':>17}{'jitmagic us':>13}")
    ratios: list[tuple[float, float]] = []
    for function, make in PROGRAMS:
        name = function.__name__
        if wanted and name not in wanted:
            continue
        arguments = make(np.random.default_rng(0), TINY)
        compiled, rival = jitmagic.compile(function), numba.njit(function)
        for contender in (*[compiled] * 20, rival):
            contender(*arguments)
        contenders = (function, rival, compiled)
        counts = [max(1, int(CALLS_SECONDS / seconds(c, arguments, 3))) for c in contenders]
        turns = [[seconds(c, arguments, k) for c, k in zip(contenders, counts, strict=True)] for _ in range(TURNS)]
        plain, njit, ours = (min(t[i] for t in turns) for i in range(3))
        ratios.append((plain / ours, njit / ours))
        print(f"{name:<24}{plain / ours:>17.2f}{njit / ours:>17.2f}{ours * 1e6:>13.2f}", flush=True)
    means = [math.exp(sum(map(math.log, column)) / len(ratios)) for column in zip(*ratios, strict=True)]
    print(f"{'geometric mean':<24}" + "".join(f"{m:>17.2f}" for m in means))
    print(f"{'least':<24}" + "".join(f"{min(column):>17.2f}" for column in zip(*ratios, strict=True)) + "\n")


def compile_times(wanted: Sequence[str]) -> None:
    """Seconds from a region to its machine code, with nothing taken from the store."""
    print(f"{'compile of one kernel':<24}{'seconds':>16}")
    found: list[tuple[float, str]] = []
    for function, make in PROGRAMS:
        if wanted and function.__name__ not in wanted:
            continue
        compiled = jitmagic.compile(function)
        compiled(*make(np.random.default_rng(0), 20))
        for call in loop_calls(compiled):
            begin = time.perf_counter()
            generate(emit(call.region).text, "loop", False)
            found.append((time.perf_counter() - begin, function.__name__))
    for elapsed, name in sorted(found, reverse=True)[:5]:
        print(f"{name:<24}{elapsed:>16.2f}")
    print()


def interrupts() -> None:
    """From the signal to KeyboardInterrupt, the longest of some."""
    print(f"{'Ctrl-C stops':<24}{'milliseconds':>16}")
    for function, make, short in LOOPS:
        compiled = jitmagic.compile(function)
        if short:
            compiled(*short)
        times = [stopped_after(compiled, make()) for _ in range(4)][1:]  # the first call compiles
        print(f"{function.__name__:<24}{max(times) * 1000:>16.1f}", flush=True)


def main(wanted: Sequence[str] = ()) -> int:
    section("loops", PROGRAMS, wanted, lambda name: LONG.get(name, LONG_ELSE))
    section("functions of scalars", TRANSCENDENTAL, wanted, lambda name: SHORT)
    section("short calls", PROGRAMS, wanted, lambda name: SHORT)
    tiny_calls(wanted)
    compile_times(wanted)
    interrupts()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
