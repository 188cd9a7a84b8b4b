"""Lists of lists in loops: made by a comprehension, or constant tables that are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.tracer.part_names import readable
from tests.loops.outcomes import define, loop_calls, outcome

LONGEST = """
def f(a, b):
    n, m = len(a), len(b)
    d = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                d[i][j] = d[i - 1][j - 1] + 1
            else:
                d[i][j] = max(d[i - 1][j], d[i][j - 1])
    return d[n][m], d
"""
FILLED = """
def f(n):
    c = [[{0} for _ in range(n)] for _ in range(n + 2)]
    for i in range(n + 2):
        for j in range(n):
            c[i][j] = i * 0.5 + j
    return c
"""
ROWS = """
def f(n, m):
    d = [[0] * m for _ in range(n)]
    r = d[1]
    r[2] = 5
    d[0][1] += 3
    e = d[:]
    e[0][0] = 7
    t = 0
    for i in range(n):
        for j in range(m):
            t += d[i][j]
            d[i][j] = t
    d[1].append(4)
    d.append([1])
    return d, r, e, r is d[1], len(d), len(d[0])
"""
OUTSIDE = """
def f(n, m, k):
    d = [[0] * m for _ in range(n)]
    for i in range(k):
        d[i][i] = i
    return d
"""
AROUND = """
OFFS = ((0, 1), (1, 0), (0, -1), (-1, 0))
def f(g):
    n, m = g.shape
    out = np.zeros((n, m))
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            for k in range(len(OFFS)):
                out[i, j] += g[i + OFFS[k][0], j + OFFS[k][1]]
    return out
"""
SHARED = """
def f(n):
    r = [1, 2]
    d = [r, r]
    for i in range(n):
        d[i % 2][0] += i
    return d, r, d[0] is r
"""
GRID = np.random.default_rng(0).standard_normal((9, 12))
KERNELS = {
    "longest common part": (LONGEST, ([i % 3 for i in range(20)], [i % 5 for i in range(15)]), (GRID[0], GRID[1])),
    "floats": (FILLED.format("0.0"), (12,), (9,), (0,), (1,)),
    "a constant table": (AROUND, (GRID,), (GRID[:4],), (GRID[:, ::2],)),
}
OTHERS = {
    "ints, then floats": (FILLED.format("0"), (12,), (9,)),
    "rows under two names": (ROWS, (9, 12), (3, 4), (20, 5)),
    "an index out of range": (OUTSIDE, (12, 12, 12), (12, 12, 13), (15, 9, 12)),
}


def _compared(text: str, calls: tuple[Any, ...]) -> Any:
    plain, compiled = (define(text, "loop rows", np=np) for _ in range(2))
    compiled = jm.compile(compiled)
    for given in (*calls, *calls):
        assert outcome(compiled, list(given)) == outcome(plain, list(given))
    return compiled


@pytest.mark.parametrize("name", KERNELS)
def test_loops_over_lists_of_lists_are_kernels(name: str) -> None:
    """With the values and types that plain Python has."""
    text, *calls = KERNELS[name]
    found = loop_calls(_compared(text, tuple(calls)))
    assert any(getattr(c, "compiled", None) is not None for c in found)


@pytest.mark.parametrize("name", OTHERS)
def test_lists_of_lists_stay_lists(name: str) -> None:
    """With rows that are the same object, that grow, and whose numbers change their type."""
    text, *calls = OTHERS[name]
    _compared(text, tuple(calls))


def test_a_table_of_constants_that_the_loop_writes_stays_a_list_of_lists() -> None:
    """Its rows may have other names."""
    _compared(SHARED, ((30,), (12,)))


def test_names_of_ours_are_none_that_a_reader_sees() -> None:
    """Where the user has written nothing, the line says it."""
    assert readable("_jm_left0_12_4, which holds no number") == "a value made on line 12, which holds no number"
    assert readable("the value of _jm7_at") == "the value of a value in between"
    assert "_jm" not in readable("_jm_4_8_2_is_random_2erandom_28_29 and _jm_c3_v")


FLOOD = """
def f(g):
    n, m = g.shape
    label = np.zeros((n, m), int)
    current = 0
    for i in range(n):
        for j in range(m):
            if g[i, j] and label[i, j] == 0:
                current += 1
                stack = [(i, j)]
                while stack:
                    a, b = stack.pop()
                    if a < 0 or b < 0 or a >= n or b >= m:
                        continue
                    if not g[a, b] or label[a, b]:
                        continue
                    label[a, b] = current
                    stack.append((a + 1, b))
                    stack.append((a - 1, b))
                    stack.append((a, b + 1))
                    stack.append((a, b - 1))
    return label, current
"""


def test_a_stack_that_grows_in_branches_is_not_written_out_for_ever() -> None:
    """Its rounds add to the trace only in the pieces of branches, which count."""
    _compared(FLOOD, ((GRID > 0,), (GRID > 1,)))


MIXED = """
def f(n, s):
    d = [float('inf')] * n
    d[s] = 0
    for i in range(n):
        for j in range(n):
            if d[i] == float('inf'):
                break
            if d[i] + 1 < d[j]:
                d[j] = d[i] + 1
    return d
"""
SEVERAL = """
def f(n, x):
    d = [0.5, 2, x, 3.5, 4]
    t = 0
    for k in range(n):
        for i in range(5):
            t += d[i]
            d[i] = d[i] * 2
    return d, t
"""


@pytest.mark.parametrize(
    ("text", "calls"),
    [(MIXED, ((12, 0), (12, 3), (9, 8), (9, 9))), (SEVERAL, ((12, 7), (12, 3.0), (70, 2), (3, 2**60)))],
    ids=["distances", "several"],
)
def test_numbers_of_several_types_in_a_list_keep_their_types(text: str, calls: tuple[Any, ...]) -> None:
    """``[inf, 0, inf]`` has one int."""
    assert loop_calls(_compared(text, calls))
