"""Takes a range of seeds, runs random flows plain and compiled, prints the first differences.

python -m tests.flow.check FIRST LAST [BACKEND]
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic.graph.flow_call import FlowCall
from tests.flow.random_flows import make_arguments, make_program
from tests.loops.outcomes import define, outcome_on

__all__ = ["check"]

CALLS = 4


def check(seed: int, backend: str = "numba") -> tuple[str, bool]:
    """(what differs, or nothing; whether a flow was part of a graph)."""
    text = make_program(seed)
    plain = define(text, f"loop {seed}", np=np)
    compiled: Any = jm.compile(define(text, f"loop {seed}", np=np), backend=backend)
    for call in range(CALLS):
        wanted, given = (outcome_on(f, list(make_arguments(seed * 10 + call // 2))) for f in (plain, compiled))
        if wanted != given:
            parts = [k for k in wanted | given if wanted.get(k) != given.get(k)]
            shown = "".join(f"{k}:\n  plain    {wanted.get(k)}\n  compiled {given.get(k)}\n" for k in parts)
            return f"seed {seed}, call {call}, {make_arguments(seed * 10 + call // 2)}\n{text}{shown}", True
    graphs = [e.capture.graph for e in compiled.jit.frame.entries if e.capture.graph is not None]
    return "", any(isinstance(n.op.call, FlowCall) for g in graphs for n in g.calls() if n.op is not None)


def main(first: int, last: int, backend: str = "numba") -> int:
    flows = failed = 0
    for seed in range(first, last):
        with contextlib.redirect_stdout(sys.stderr):
            found, has_flow = check(seed, backend)
        flows += has_flow
        if found:
            failed += 1
            print(found, flush=True)
    print(f"{last - first} programs, {flows} with flows, {failed} differ")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
