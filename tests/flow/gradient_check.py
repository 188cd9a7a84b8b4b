"""Takes a range of seeds, differentiates random flows compiled and on the tape, prints the first differences.

python -m tests.flow.gradient_check FIRST LAST
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic.autograd import transforms
from jitmagic.graph.flow_call import FlowCall
from jitmagic.ops.derivatives import GRADIENT
from tests.flow.random_flows import make_program
from tests.loops.outcomes import define

__all__ = ["check", "differentiated"]

LOSS = """
def loss(x, y, n):
    total = 0.0
    for weight, part in enumerate(f(x, y, n)):
        total = total + (weight + 0.5) * np.sum(np.tanh(part * 0.1))
    return total
"""
CALLS = 3


def differentiated(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """The outcome of one call: value and gradients, or the exception; and what the arguments hold afterwards."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value, gradients = function(*args)
            outcome: Any = float(value), [np.asarray(g).tolist() for g in gradients]
        except Exception as error:
            outcome = type(error).__name__
    return outcome, [np.asarray(a).tolist() for a in args]


def agree(one: Any, other: Any) -> bool:
    """Equal, gradients up to rounding: contributions are added in another order."""
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    if not np.array_equal(one[0], other[0], equal_nan=True):
        return False
    return all(np.allclose(a, b, 1e-5, 1e-6, equal_nan=True) for a, b in zip(one[1], other[1], strict=True))


def make_arguments(seed: int) -> tuple[Any, ...]:
    """Two arrays of real numbers that share no memory, and a number of rounds."""
    rng = np.random.default_rng(seed)
    size, dtype = rng.integers(4, 8), rng.choice(["f8", "f8", "f4"])
    x, y = (rng.standard_normal(size).astype(dtype) * 4 for _ in range(2))
    return x, y, int(rng.choice([0, 1, 3, 9, 12]))


def check(seed: int) -> tuple[str, bool]:
    """(what differs, or nothing; whether a flow kept a tape)."""
    text = make_program(seed) + LOSS
    plain = transforms.value_and_grad(_loss(text, f"tape {seed}"), (0, 1), False)
    compiled: Any = jm.value_and_grad(_loss(text, f"compiled {seed}"), (0, 1))
    for call in range(CALLS):
        arguments = make_arguments(seed * 10 + call // 2)
        (wanted, left), (found, mine) = (
            differentiated(f, (arguments[0].copy(), arguments[1].copy(), arguments[2])) for f in (plain, compiled)
        )
        if not agree(wanted, found) or not np.array_equal(np.hstack(left[:2]), np.hstack(mine[:2]), equal_nan=True):
            return (
                f"seed {seed}, call {call}, {arguments}\n{text}tape     {wanted} {left}\ncompiled {found} {mine}\n",
                True,
            )
    return "", _has_tape(compiled)


def _loss(text: str, name: str) -> Any:
    return define(text, name, np=np).__globals__["loss"]


def _has_tape(compiled: Any) -> bool:
    graphs = [e.capture.graph for e in compiled.jit.frame.entries if e.capture.graph is not None]
    calls = [[n.op for n in graph.calls() if n.op is not None] for graph in graphs]
    return any(GRADIENT in ops and any(isinstance(op.call, FlowCall) for op in ops) for ops in calls)


def main(first: int, last: int) -> int:
    tapes = failed = 0
    for seed in range(first, last):
        with contextlib.redirect_stdout(sys.stderr):
            found, has_tape = check(seed)
        tapes += has_tape
        if found:
            failed += 1
            print(found, flush=True)
    print(f"{last - first} programs, {tapes} with a tape, {failed} differ")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
