"""Takes the cases, gives one table: times of plain NumPy, jitmagic and numba.njit, measured in turns.

    make bench
    python -m tests.benchmarks smooth shade   # only these programs

After it stand the tables of ``arrays`` (it installs the peers), ``calls``, ``modules`` and ``loops``.

Each turn runs every contender once, so that a slow moment of the machine meets all of them; the
best turn counts. Ratios are plain NumPy's time divided by the contender's: above 1 is faster.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import numba
import numpy as np

import jitmagic
from tests.benchmarks import arrays, calls, loops, modules
from tests.benchmarks.cases import CASES, Case

TURNS = 15
TURN_SECONDS = 0.01  # a turn repeats a short call until it has taken about this long

Contender = Callable[..., Any]


def contenders(case: Case) -> Mapping[str, Contender]:
    """The first is what the others are compared with."""
    return {
        "NumPy": case.function,
        "jitmagic": jitmagic.compile(case.function),
        "numba.njit": numba.njit(case.function),
    }


def repeats(plain: Contender, arguments: tuple[Any, ...]) -> int:
    begin = time.perf_counter()
    plain(*arguments)
    return max(1, int(TURN_SECONDS / (time.perf_counter() - begin)))


def seconds(function: Contender, arguments: tuple[Any, ...], count: int) -> float:
    """Time of one call, as the mean of ``count`` calls."""
    begin = time.perf_counter()
    for _ in range(count):
        function(*arguments)
    return (time.perf_counter() - begin) / count


def measure(case: Case) -> dict[str, float]:
    """Best time of each contender; all are compiled, and the results compared, before any turn."""
    arguments = case.arguments(np.random.default_rng(0))
    rivals = {n: f for n, f in contenders(case).items() if n != "numba.njit" or compiles(f, arguments)}
    expected = case.function(*arguments)
    for function in rivals.values():
        np.testing.assert_allclose(function(*arguments), expected, rtol=1e-9)
    if np.asarray(rivals["jitmagic"](*arguments)).tobytes() != np.asarray(expected).tobytes():
        raise AssertionError(f"{case.name}: jitmagic gives other bits than NumPy")
    count = repeats(case.function, arguments)
    turns = [{n: seconds(f, arguments, count) for n, f in rivals.items()} for _ in range(TURNS)]
    return {name: min(turn[name] for turn in turns) for name in rivals}


def compiles(function: Contender, arguments: tuple[Any, ...]) -> bool:
    """Numba refuses much of NumPy; such a case has no number in its column."""
    try:
        function(*arguments)
    except numba.core.errors.NumbaError:
        return False
    return True


def row(name: str, times: dict[str, float]) -> str:
    plain = times["NumPy"]
    ratios = (f"{plain / times[n]:.2f}" if n in times else "refused" for n in ("jitmagic", "numba.njit"))
    return f"{name:<20}{plain * 1e6:>14.2f}" + "".join(f"{ratio:>14}" for ratio in ratios)


def main() -> int:
    print(f"NumPy {np.__version__}, Numba {numba.__version__}, Python {sys.version.split()[0]}")
    print(f"{'case':<20}{'NumPy, µs':>14}{'jitmagic ×':>14}{'numba.njit ×':>14}")
    wanted = sys.argv[1:]
    for case in (c for c in CASES if not wanted or c.function.__name__ in wanted):
        print(row(case.name, measure(case)), flush=True)
    print()
    if not wanted:
        arrays.main([])
        print()
    calls.main()
    print()
    modules.main()
    print()
    return loops.main(wanted)


if __name__ == "__main__":
    sys.exit(main())
