"""Takes networks, gives one table: times of a whole training step, the peers' divided by jitmagic's.

    python -m tests.benchmarks.training              # or some: Mlp ConvNet ConvNet28 Transformer
    python -m tests.benchmarks.training --threads 1  # kernels, BLAS and PyTorch on one thread

A step is forward, loss, backward and Adam, in float32: the conv nets with the layers and the loss of ``jitmagic.nn``,
the others with attention and cross entropy written out in NumPy. The contenders take turns in one run, each after a
short rest, and the best turn counts: the eager tape, the step written out by hand in plain NumPy, and
``torch.compile`` where PyTorch is installed. Losses and parameters of the first three are compared before anything is
measured. Above 1 jitmagic is faster.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic.runtime.native.code import prepare
from tests.benchmarks import training_models as models
from tests.benchmarks.training_by_hand import BY_HAND

BATCHES = (8, 32, 64)
TURNS = 15
TURN_SECONDS = 0.02
REST_SECONDS = (
    0.05  # the threads of BLAS and of PyTorch go on asking for work for a while, on the cores of the next one
)
SHAPES = {"Mlp": (64,), "ConvNet": (1, 8, 8), "ConvNet28": (1, 28, 28), "Transformer": (8, 8)}
PEERS = ("eager tape", "by hand", "torch.compile")

Step = Callable[[], Any]


def contenders(name: str, x: Any, y: Any) -> dict[str, Step]:
    """Functions that take one step of training, each with a network of its own."""
    plain = models.step if name.startswith("ConvNet") else models.step_of_logits
    compiled = jm.compile(plain)
    (mine, opt), (other, its) = made(name), made(name)
    hand = BY_HAND[name]([p.numpy().copy() for p in made(name)[0].parameters()])
    found: dict[str, Step] = {
        "jitmagic": lambda: float(compiled(mine, opt, x, y)),
        "eager tape": lambda: float(plain(other, its, x, y)),
        "by hand": lambda: float(hand.step(x, y)),
    }
    check(found, mine, other, hand)
    if compiled.jit.breaks():
        raise AssertionError(f"{name}: {compiled.jit.breaks()}")
    if importlib.util.find_spec("torch") is not None:
        found["torch.compile"] = importlib.import_module("tests.benchmarks.training_torch").compiled_step(name, x, y)
    for run in found.values():
        for _ in range(12):
            run()
    return found


def made(name: str) -> tuple[Any, Any]:
    model = getattr(models, name)(np.random.default_rng(1)).requires_grad_()
    return model, jm.optim.Adam(model.parameters())


def check(runs: dict[str, Step], mine: Any, other: Any, hand: Any) -> None:
    """Raises AssertionError unless five steps of all three go the same way."""
    for _ in range(5):
        losses = [run() for run in runs.values()]
        assert losses[0] == losses[1], losses
        np.testing.assert_allclose(losses[2], losses[0], rtol=1e-4)
    for p, q, r in zip(mine.parameters(), other.parameters(), hand.params, strict=True):
        assert p.numpy().tobytes() == q.numpy().tobytes()
        np.testing.assert_allclose(r, p.numpy(), rtol=2e-2, atol=2e-3)


def seconds(run: Step, count: int) -> float:
    begin = time.perf_counter()
    for _ in range(count):
        run()
    return (time.perf_counter() - begin) / count


def measure(name: str, batch: int) -> dict[str, float]:
    """The best time of each contender."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, *SHAPES[name])).astype(np.float32)
    runs = contenders(name, x, rng.integers(0, 10, batch))
    counts = {n: max(1, int(TURN_SECONDS / seconds(run, 3))) for n, run in runs.items()}
    best = dict.fromkeys(runs, math.inf)
    for _ in range(TURNS):
        for peer, run in runs.items():
            time.sleep(REST_SECONDS)
            run()
            best[peer] = min(best[peer], seconds(run, counts[peer]))
    return best


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*", default=list(SHAPES))
    parser.add_argument("--threads", type=int)
    given = parser.parse_args()
    if given.threads:
        limit_threads(given.threads)
    prepare()
    print(f"{'training step':<14}{'batch':>6}{'jitmagic':>12}" + "".join(f"{peer + ' ×':>17}" for peer in PEERS))
    for name in given.names:
        for batch in BATCHES:
            best = measure(name, batch)
            ratios = (f"{best[p] / best['jitmagic']:.2f}" if p in best else "not installed" for p in PEERS)
            cells = "".join(f"{ratio:>17}" for ratio in ratios)
            print(f"{name:<14}{batch:>6}{best['jitmagic'] * 1e6:>9.0f} µs{cells}", flush=True)
    return 0


def limit_threads(count: int) -> None:
    """Of jitmagic's kernels and of PyTorch; BLAS reads its own variables before NumPy is imported."""
    jm.configure(threads=count)
    if importlib.util.find_spec("torch") is not None:
        importlib.import_module("torch").set_num_threads(count)


if __name__ == "__main__":
    raise SystemExit(main())
