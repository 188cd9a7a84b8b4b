"""Random loop programs show what plain Python shows: results with their types, arrays, exceptions, warnings."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome
from tests.loops.random_programs import make_arguments, make_program

SEEDS = 60
CALLS = 4  # the first call compiles, the others find an entry, or another size, or give up


def _compare(seed: int) -> bool:
    """Whether the loops of the program were kernels."""
    program = make_program(seed)
    plain = define(program.text, f"loop {seed}", np=np, math=math)
    compiled = jm.compile(define(program.text, f"loop {seed}", np=np, math=math))
    for call in range(CALLS):
        arguments = make_arguments(program, seed * 100 + call)
        wanted = outcome(plain, arguments)
        given = outcome(compiled, arguments)
        if loop_calls(compiled):
            assert given == wanted, f"call {call} of\n{program.text}\nwith {arguments}"
    calls = loop_calls(compiled)
    return bool(calls) and all(getattr(c, "compiled", None) is not None for c in calls)


@pytest.mark.parametrize("part", range(4))
def test_random_loops_show_what_plain_python_shows(part: int) -> None:
    """And enough of them are kernels for this to mean something."""
    kernels = [_compare(seed) for seed in range(part, SEEDS, 4)]
    assert sum(kernels) >= len(kernels) // 4
