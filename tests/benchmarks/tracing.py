"""Takes functions of many small statements, gives a table of what tracing them costs, and how that grows.

    python -m tests.benchmarks.tracing

Tracing is all from the function's text to its captured graph with guards; nothing is compiled. Each turn traces every
program once, from a text that nobody has seen before, in CPU time of this process; the median of the turns counts.
Wanted are at most 50 ms for 200 statements of one ufunc each, and for 400 at most 2.3 times as much.
"""

from __future__ import annotations

import gc
import itertools
import linecache
import statistics
import sys
import time
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.tracer.capture import FrameState, Options
from jitmagic.tracer.trace import capture

TURNS = 15
COUNTS = (200, 400)
UFUNCS = ("sin", "negative", "tanh", "absolute", "square", "cos")
PAIRS = ("add", "subtract", "multiply", "maximum")
_serial = itertools.count()


def chain(count: int) -> list[str]:
    """Each statement reads the one before."""
    return [f"x{i + 1} = np.{UFUNCS[i % len(UFUNCS)]}(x{i})" for i in range(count)]


def rebound(count: int) -> list[str]:
    """One variable, again and again."""
    return [f"x0 = np.{UFUNCS[i % len(UFUNCS)]}(x0)" for i in range(count)] + [f"x{count} = x0"]


def operators(count: int) -> list[str]:
    return [f"x{i + 1} = x{i} {'+-*'[i % 3]} {1.0 + i / 8}" for i in range(count)]


def pairs(count: int) -> list[str]:
    """Each statement reads two that stand before it."""
    return [f"x{i + 1} = np.{PAIRS[i % len(PAIRS)]}(x{i}, x{i // 2})" for i in range(count)]


PROGRAMS: dict[str, Callable[[int], list[str]]] = {
    "a chain of ufuncs": chain,
    "one variable rebound": rebound,
    "operators": operators,
    "ufuncs of two operands": pairs,
}


def define(statements: list[str]) -> FunctionType:
    """``f(x0)`` of the statements, with a source of its own."""
    lines = [f"    {s}" for s in statements]
    text = "\n".join(["def f(x0):", *lines, f"    return x{len(statements) - ('x0 =' in statements[0])}", ""])
    name = f"<tracing {next(_serial)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), names)
    made: FunctionType = names["f"]
    return made


def seconds(statements: list[str]) -> float:
    """CPU time of one trace."""
    function, x = define(statements), np.linspace(0.1, 0.9, 8)
    gc.collect()
    begin = time.process_time()
    traced = capture(function, {"x0": x}, Options(), FrameState())
    taken = time.process_time() - begin
    if len([n for n in traced.graph.nodes if n.kind != "input"]) < 200 or traced.breaks:
        raise RuntimeError("the program was not captured as one graph")
    return taken


def main() -> int:
    cases = {(name, count): make(count) for name, make in PROGRAMS.items() for count in COUNTS}
    taken: dict[tuple[str, int], list[float]] = {case: [] for case in cases}
    for turn in range(TURNS + 1):
        for case, statements in cases.items():
            found = seconds(statements)
            if turn:  # the first one imports and fills caches
                taken[case].append(found)
    print(f"{'tracing':<26}{'200 statements':>16}{'400 statements':>16}{'times as long':>16}")
    for name in PROGRAMS:
        short, long = (statistics.median(taken[name, count]) for count in COUNTS)
        print(f"{name:<26}{short * 1e3:>13.1f} ms{long * 1e3:>13.1f} ms{long / short:>16.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
