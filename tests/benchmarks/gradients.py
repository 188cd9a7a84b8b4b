"""Takes the gradient programs, gives one table: the peers' times divided by jitmagic's, measured in turns.

    python -m tests.benchmarks.gradients          # or some of them by name

Needs ``autograd`` and ``jax`` (on the CPU, in float64) in the same environment. Every contender's value and gradients
are compared first. Above 1 jitmagic is faster.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import autograd
import autograd.numpy
import jax
import numpy as np

import jitmagic
from tests.benchmarks.gradient_programs import CASES, Case

TURNS = 7
TURN_SECONDS = 0.02

jax.config.update("jax_enable_x64", True)


def contenders(case: Case) -> dict[str, Callable[..., Any]]:
    """Functions of real arrays that give the value and the gradients, finished when they return."""
    tape = autograd.value_and_grad(case.autograd(autograd.numpy), case.argnums)
    compiled = jax.jit(jax.value_and_grad(case.jax(jax), case.argnums))
    return {
        "jitmagic": jitmagic.value_and_grad(case.plain(np), case.argnums),
        "autograd": tape,
        "jax": lambda *args: jax.block_until_ready(compiled(*args)),
    }


def check(runs: dict[str, Callable[..., Any]], args: tuple[Any, ...]) -> None:
    """Raises AssertionError unless all agree."""
    results = {name: run(*args) for name, run in runs.items()}
    for name in ("autograd", "jax"):
        np.testing.assert_allclose(results["jitmagic"][0], results[name][0], rtol=1e-9)
        for mine, other in zip(results["jitmagic"][1], results[name][1], strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-6, atol=1e-9)


def seconds(run: Callable[..., Any], args: tuple[Any, ...], count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        run(*args)
    return (time.perf_counter() - begin) / count


def measure(case: Case) -> dict[str, float]:
    """The best time of each contender, in turns; JAX gets its arguments as JAX arrays."""
    args = case.arguments(np.random.default_rng(0))
    runs = contenders(case)
    check(runs, args)
    given = {"jax": tuple(jax.numpy.asarray(a) for a in args)}
    for name, run in runs.items():
        for _ in range(8):
            run(*given.get(name, args))
    counts = {n: max(1, int(TURN_SECONDS / seconds(run, given.get(n, args), 1))) for n, run in runs.items()}
    best = dict.fromkeys(runs, math.inf)
    for _ in range(TURNS):
        for name, run in runs.items():
            best[name] = min(best[name], seconds(run, given.get(name, args), counts[name]))
    return best


def main(wanted: Sequence[str] = ()) -> int:
    print(f"{'value and gradient':<22}{'jitmagic':>12}{'autograd/jm':>14}{'jax/jm':>10}")
    ratios: dict[str, list[float]] = {"autograd": [], "jax": []}
    for case in CASES:
        if wanted and not any(w in case.name for w in wanted):
            continue
        best = measure(case)
        for name, found in ratios.items():
            found.append(best[name] / best["jitmagic"])
        row = "".join(f"{found[-1]:>{width}.2f}" for found, width in zip(ratios.values(), (14, 10), strict=True))
        print(f"{case.name:<22}{best['jitmagic'] * 1e6:>9.1f} us{row}", flush=True)
    means = [math.exp(sum(map(math.log, found)) / len(found)) for found in ratios.values()]
    print(f"{'geometric mean':<34}{means[0]:>14.2f}{means[1]:>10.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
