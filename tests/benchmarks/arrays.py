"""Takes the array programs, gives one table: plain NumPy, jitmagic with and without ``fastmath``, and the peers.

    python -m tests.benchmarks.arrays                      # all programs at all sizes, peers from a million elements on
    python -m tests.benchmarks.arrays --sizes 1000000 softmax gelu
    python -m tests.benchmarks.arrays --no-peers

Each turn runs every contender once, so that a slow moment of the machine meets all of them; medians of the turns
count. Numbers are NumPy's time divided by the contender's: above 1 is faster. The last column compares with the best
peer: those with NumPy's bits against jitmagic, those that approximate against jitmagic with ``fastmath``.

Peers have processes of their own. In what compares with them every contender, NumPy and jitmagic too, makes one call
per turn that does not count: what another has left in the caches, and the memory that it gave back to the system, is
not its doing. Whether jitmagic is slower than NumPy is told by turns without such calls.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

import jitmagic
from jitmagic.config import configure, current
from jitmagic.runtime.native.code import prepare
from tests.benchmarks.peers import NAMES, Peer, environment
from tests.benchmarks.programs import PROGRAMS, SIZES, arguments_of, function_of

TURNS = 15
TURN_SECONDS = 0.01  # a turn repeats a short call until it has taken about this long
SETTLED = 40  # calls after which every entry has shown whether it is worth keeping
LARGE = 1_000_000
TOLERANCE, TOLERANCE_SECONDS = 1.03, 150e-9
MODES = ("jitmagic", "fastmath")

Contender = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Row:
    """``ratios`` by contender; ``slower`` the modes that lose to NumPy.

    ``lead`` is jitmagic's speed divided by that of the best peer; None without peers.
    """

    name: str
    size: int
    plain_seconds: float
    ratios: dict[str, float]
    slower: tuple[str, ...]
    lead: float | None


def seconds(function: Contender, arguments: tuple[Any, ...], count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        function(*arguments)
    return (time.perf_counter() - begin) / count


def settled_seconds(function: Contender, arguments: tuple[Any, ...], count: int) -> float:
    """The same after one call that does not count."""
    function(*arguments)
    return seconds(function, arguments, count)


def compiled(name: str, arguments: tuple[Any, ...]) -> dict[str, Contender]:
    """Both modes, settled. Raises AssertionError where the default has other bits, on one thread or on several."""
    plain = function_of(name)
    made = {"jitmagic": jitmagic.compile(plain), "fastmath": jitmagic.compile(plain, fastmath=True)}
    expected = plain(*arguments)
    for threads in (1, max(2, current().threads)):
        with configure(threads=threads):
            given = made["jitmagic"](*arguments)
        if np.asarray(given).tobytes() != np.asarray(expected).tobytes():
            raise AssertionError(f"{name}: jitmagic gives other bits than NumPy on {threads} threads")
    np.testing.assert_allclose(made["fastmath"](*arguments), expected, rtol=1e-9, atol=1e-12)
    for function in made.values():
        for _ in range(SETTLED):
            function(*arguments)
    return made


def measure(name: str, size: int, peers: Sequence[Peer]) -> Row:
    arguments, plain = arguments_of(name, size), function_of(name)
    made = {"NumPy": plain, **compiled(name, arguments)}
    exact = {peer.name for peer in peers if peer.prepare(name, size)}
    count = max(1, int(TURN_SECONDS / seconds(plain, arguments, 1)))
    turns: list[dict[str, float]] = []
    others: list[dict[str, float]] = []
    for _ in range(TURNS):
        turns.append({n: seconds(f, arguments, count) for n, f in made.items()})
        if peers:
            settled = {n: settled_seconds(f, arguments, count) for n, f in made.items()}
            others.append(settled | {peer.name: peer.seconds(count) for peer in peers})
    ratios = {mode: faster(turns, mode, "NumPy") for mode in MODES}
    ratios |= {peer.name: faster(others, peer.name, "NumPy") for peer in peers}
    leads = [faster(others, "jitmagic" if p.name in exact else "fastmath", p.name) for p in peers]
    losing = tuple(mode for mode in MODES if is_slower(turns, mode))
    return Row(name, size, median(turn["NumPy"] for turn in turns), ratios, losing, min(leads, default=None))


def faster(turns: Sequence[dict[str, float]], contender: str, other: str) -> float:
    return median(turn[other] / turn[contender] for turn in turns)


def is_slower(turns: Sequence[dict[str, float]], mode: str) -> bool:
    """By more than 3 % and by more than 150 ns, in the median."""
    times = [(turn[mode], turn["NumPy"]) for turn in turns]
    return median(a / b for a, b in times) > TOLERANCE and median(a - b for a, b in times) > TOLERANCE_SECONDS


def text(row: Row) -> str:
    ratios = (f"{row.ratios[n]:.2f}" if n in row.ratios else "" for n in (*MODES, *NAMES))
    lead = "" if row.lead is None else f"{row.lead:.2f}"
    cells = "".join(f"{ratio:>11}" for ratio in (*ratios, lead))
    remark = f"  SLOWER: {', '.join(row.slower)}" if row.slower else ""
    return f"{row.name:<18}{row.size:>9}{row.plain_seconds * 1e6:>13.2f}{cells}{remark}"


def mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    return math.exp(sum(logarithms) / len(logarithms))


def summary(rows: Sequence[Row]) -> Iterable[str]:
    large = [row for row in rows if row.size >= LARGE]
    if large:
        for mode in MODES:
            yield f"geometric mean from {LARGE} elements on, {mode}: {mean(r.ratios[mode] for r in large):.2f}"
    leads = {f"{row.name} {row.size}": row.lead for row in large if row.lead is not None}
    if leads:
        least = min(leads, key=lambda name: leads[name])
        yield (
            f"against the best peer of each: {mean(leads.values()):.2f}; least {leads[least]:.2f} ({least}); "
            "each contender makes one call per turn that does not count"
        )
        behind = [f"{name} ({lead:.2f})" for name, lead in leads.items() if lead < 0.7]
        yield f"below 0.7 of the best peer: {', '.join(behind) or 'none'}"
    slower = [f"{row.name} {row.size} ({', '.join(row.slower)})" for row in rows if row.slower]
    yield f"slower than NumPy: {', '.join(slower) or 'none'}"
    yield f"bits of NumPy, on one thread and on several: all {len(rows)}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.arrays")
    parser.add_argument("programs", nargs="*", help="some of them; all without")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, choices=SIZES, metavar="SIZE")
    parser.add_argument("--no-peers", action="store_true")
    asked = parser.parse_args(arguments)
    names = dict.fromkeys(case.function.__name__ for case in PROGRAMS)
    unknown = set(asked.programs) - set(names)
    if unknown:
        parser.error(f"no program is called {', '.join(sorted(unknown))}")
    prepare()
    peers = [] if asked.no_peers else [Peer(python, name) for python in (environment(),) for name in NAMES]
    heads = "".join(f"{head:>11}" for head in (*MODES, *NAMES, "lead"))
    print(f"{'program':<18}{'elements':>9}{'NumPy, µs':>13}{heads}")
    rows = []
    for size in asked.sizes:
        for name in (n for n in names if not asked.programs or n in asked.programs):
            rows.append(measure(name, size, peers if size >= LARGE else ()))
            print(text(rows[-1]), flush=True)
    print("\n".join(summary(rows)))
    for peer in peers:
        peer.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
