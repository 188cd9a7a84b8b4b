"""Takes small calls, gives a table of what one costs: plain NumPy, both forms of the guard check, numba.njit.

    python -m tests.benchmarks.calls

On arrays of 8 elements the call itself is what takes the time. Contenders run in turns; the best turn counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

import jitmagic
from jitmagic.config import configure
from jitmagic.runtime.native.code import prepare

TURNS = 300
CALLS = 500  # of each contender in a turn: shorter than the slice of time that others may take
SETTLED = 12  # calls after which the trial of an entry is over
MANY = 64

Contender = Callable[..., Any]


@dataclass(frozen=True)
class Call:
    """One row: a function, its arguments, and how many entries its compiled form has."""

    label: str
    function: Contender
    arguments: tuple[Any, ...]
    entries: int = 1


def line(x, y):
    return x * y + 1.0


def pair(x, y):
    return np.sqrt(x) + y, x - y * 2.0


def bell(x):
    return np.exp(-x * x) * 2.0 + 1.0


SCALE, SHIFT = 2.0, 1.0


def shifted(x):
    return x * SCALE + SHIFT


def scaled(x, k):
    return x * k + 1.0


X, Y = np.linspace(0.5, 1.5, 8), np.linspace(1.0, 2.0, 8)
CALLS_MEASURED = [
    Call("x*y + 1.0", line, (X, Y)),
    Call("the same, 64 entries", line, (X, Y), MANY),
    Call("two results", pair, (X, Y)),
    Call("exp", bell, (X,)),
    Call("two globals", shifted, (X,)),
    Call("a float argument", scaled, (X, 3.5)),
]


def compiled(call: Call) -> Contender:
    """The compiled function with as many entries as the row asks for; the one that is measured is the oldest."""
    sizes = range(9, 8 + call.entries)
    with configure(entry_limit=MANY, automatic_dynamic_shapes=call.entries == 1):
        made: Contender = jitmagic.compile(call.function)
        for _ in range(SETTLED):
            made(*call.arguments)
        for n in sizes:
            made(*(np.resize(a, n) if isinstance(a, np.ndarray) else a for a in call.arguments))
    if made.jit.entries != call.entries:  # type: ignore[attr-defined]  # a compiled function
        raise AssertionError(f"{call.label}: {made.jit.entries} entries")  # type: ignore[attr-defined]  # every compiled function has it
    return made


def contenders(call: Call) -> Mapping[str, Contender]:
    made = compiled(call)
    return {
        "NumPy": call.function,
        "jitmagic": made,
        "generated Python": made.jit.frame.checking,  # type: ignore[attr-defined]  # the same check without native code
        "numba.njit": numba.njit(call.function),
    }


def elapsed_ns(function: Contender, arguments: Sequence[Any]) -> float:
    """Time of one call, as the mean of ``CALLS``; the empty loop is not taken off."""
    begin = time.perf_counter_ns()
    if len(arguments) == 1:
        (a,) = arguments
        for _ in range(CALLS):
            function(a)
    else:
        a, b = arguments
        for _ in range(CALLS):
            function(a, b)
    return (time.perf_counter_ns() - begin) / CALLS


def measure(call: Call) -> dict[str, float]:
    rivals = contenders(call)
    expected = call.function(*call.arguments)
    for function in rivals.values():
        np.testing.assert_allclose(function(*call.arguments), expected, rtol=1e-15)
    turns = [{n: elapsed_ns(f, call.arguments) for n, f in rivals.items()} for _ in range(TURNS)]
    return {name: min(turn[name] for turn in turns) for name in rivals}


def cost_of_many(one: Call, many: Call) -> float:
    """The time of a call with many entries over that with one, both measured in the same turns."""
    rivals = [compiled(one), compiled(many)]
    turns = [[elapsed_ns(f, one.arguments) for f in rivals] for _ in range(TURNS)]
    return min(turn[1] for turn in turns) / min(turn[0] for turn in turns)


def row(label: str, times: dict[str, float]) -> str:
    plain, *others = times.values()
    return f"{label:<24}{plain:>12.0f}" + "".join(f"{time:>14.0f}{plain / time:>7.1f}x" for time in others)


def main() -> int:
    prepare()
    print(f"NumPy {np.__version__}, Numba {numba.__version__}, Python {sys.version.split()[0]}; ns per call")
    print(f"{'8 elements':<24}{'NumPy':>12}{'jitmagic':>22}{'generated Python':>22}{'numba.njit':>22}")
    for call in CALLS_MEASURED:
        print(row(call.label, measure(call)), flush=True)
    print(f"{MANY} entries cost {cost_of_many(*CALLS_MEASURED[:2]):.2f} times what one costs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
