"""Ways out of loops: ``return`` from any depth, ``else`` after a loop; one kernel, with the values of plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

TEXTS = {
    "return from a loop": """
def f(x, v):
    for i in range(len(x)):
        if x[i] > v:
            return i
    return -1
""",
    "return from two loops": """
def f(x, v):
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            s += x[j]
            if s > v:
                return s * 2
        s -= 0.25
    return s
""",
    "return from while": """
def f(x, v):
    i = 0
    while i < len(x):
        if x[i] > v:
            return x[i]
        i += 1
    return v * 1.5
""",
    "statements between": """
def f(x, v):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[i] * 2
        if y[i] > v:
            return y[i]
    for i in range(len(x)):
        y[i] += 1
    return y[0] + v
""",
    "else": """
def f(x, v):
    n = 0
    for i in range(len(x)):
        if x[i] > v:
            n = i
            break
    else:
        n = -5
    return n * 2
""",
    "else after while": """
def f(x, v):
    i = 0
    s = 0.0
    while i < len(x):
        s += x[i]
        if s > v:
            break
        i += 1
    else:
        s = -s
    return s + i
""",
    "a tuple": """
def f(x, v):
    y = np.zeros(len(x))
    for i in range(len(x)):
        s = 0.0
        for j in range(i):
            s += x[j]
            y[j] += s
            if s > v:
                return y, i, s * 2, v
    return y, -1, 0.5, v
""",
    "tuples of several types": """
def f(x, v):
    for i in range(len(x)):
        if x[i] > v:
            return i, x[i]
        if x[i] < -v:
            return x[i], i
    return 0, 0
""",
    "a callee that returns a tuple": """
def ordered(a, b):
    if a > b:
        return b, a
    return a, b
def f(x, v):
    least, most = v, v
    for i in range(len(x)):
        low, high = ordered(x[i], v)
        least, _ = ordered(least, low)
        _, most = ordered(most, high)
    return least, most, len(x)
""",
    "a callee that sometimes gives nothing": """
def half(a, v):
    if a < v:
        return a / 2
def f(x, v):
    s = 0.0
    for i in range(len(x)):
        s += half(x[i], v)
    return s
""",
    "a callee whose variable sometimes has no value": """
def half(a, v):
    if a < v:
        h = a / 2
    return h
def f(x, v):
    s = 0.0
    for i in range(len(x)):
        s += half(x[i], v)
    return s
""",
    "a callee that sometimes returns a tuple": """
def pair(a, v):
    if a < v:
        return a, v
    return a
def f(x, v):
    s = 0.0
    n = 0
    for i in range(len(x)):
        n += 1
    for i in range(min(n, 4)):
        a, b = pair(x[i], v)
        s += a * b
    return s
""",
    "a callee that returns from its loop": """
def first(x, v):
    for i in range(len(x)):
        if x[i] > v:
            return i
    return 0
def f(x, v):
    s = 0
    for k in range(20):
        s += first(x, v - k * 0.05)
    return s
""",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_the_loop_is_left_where_plain_python_leaves_it(text: str) -> None:
    """For limits that are met early, late, and never."""
    plain = define(text, f"loop {hash(text)}", np=np)
    compiled = jm.compile(define(text, f"loop {hash(text)}", np=np))
    x = np.random.default_rng(0).random(20)
    for limit in (0.5, 0.9, 0.95, 1e9, -1.0, 3.0):
        for size in (20, 20, 1, 0):
            assert outcome(compiled, [x[:size], limit]) == outcome(plain, [x[:size], limit])
    calls = loop_calls(compiled)
    assert calls
    assert all(call.compiled is not None for call in calls)


# Where a return gives something that is no number, or as many values as another one: plain Python or a region, the
# answer is the same, and the loop is not left without its return.
NOT_ONE_KIND = {
    "nothing at the end": """
def f(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i
""",
    "a tuple, or nothing": """
def f(x, t):
    for i, v in enumerate(x):
        if v > t:
            return i, v
""",
    "None at the end": """
def f(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i
    return None
""",
    "nothing in the loop": """
def f(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return
        x[i] = 0
    return i, t
""",
    "tuples of several lengths": """
def f(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i, x[i]
        if x[i] > t - 0.05:
            return i, x[i], 1
    return (i,)
""",
    "a tuple or a number": """
def f(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i, x[i]
    return -1
""",
    "from two loops": """
def f(x, t):
    for i in range(len(x)):
        for j in range(i):
            if x[i] + x[j] > t:
                return i, j
""",
    "a branch after it": """
def f(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i, x[i]
    if t > 5:
        return 3, t
""",
    "while": """
def f(x, t):
    i = 0
    while i < len(x):
        if x[i] > t:
            return i, x[i]
        i += 1
""",
    "text": """
def f(x, t):
    for v in x:
        if v > t:
            return "above"
    return "below"
""",
    "a list or a number": """
def f(x, t):
    out = []
    for i in range(len(x)):
        if x[i] > t:
            return i
        out.append(x[i])
    return out
""",
    "whole arrays": """
def f(x, t):
    for k in range(40):
        x = x * 0.5
        if x.sum() < t:
            return k, x
""",
    "a callee, in a loop": """
def find(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i, x[i]
def f(x, t):
    s = 0
    for k in range(20):
        found = find(x, t + k * 0.01)
        if found is None:
            break
        i, v = found
        s += i
    return s, k
""",
    "a callee that gives nothing to unpack": """
def find(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i, x[i]
def f(x, t):
    s = 0
    for k in range(20):
        i, v = find(x, t + k * 0.05)
        s += i
    return s, k
""",
}


@pytest.mark.parametrize("text", NOT_ONE_KIND.values(), ids=NOT_ONE_KIND.keys())
@pytest.mark.parametrize("backend", ["eager", "numba"])
def test_no_return_is_lost(text: str, backend: str) -> None:
    plain = define(text, f"loop {hash(text)}", np=np)
    compiled = jm.compile(define(text, f"loop {hash(text)}", np=np), backend=backend)
    x = np.random.default_rng(0).random(50)
    for limit in (0.9, 0.5, 9.0, 1.01, 1.9, 1e-9, -1.0):
        for size in (50, 50, 1, 0):
            assert outcome(compiled, [x[:size], limit]) == outcome(plain, [x[:size], limit])


@pytest.mark.parametrize(
    "name",
    [
        *("a tuple, or nothing", "None at the end", "nothing in the loop", "tuples of several lengths"),
        *("a tuple or a number", "from two loops", "while", "text"),
    ],
)
def test_how_a_loop_was_left_is_a_result_of_its_region(name: str) -> None:
    """One kernel, without a graph break, for values of several forms."""
    compiled = jm.compile(define(NOT_ONE_KIND[name], f"loop {name}", np=np))
    for limit in (0.9, 9.0):
        outcome(compiled, [np.random.default_rng(0).random(50), limit])
    calls = loop_calls(compiled)
    assert calls
    assert all(call.compiled is not None for call in calls)
    assert not compiled.jit.breaks()


ELSE_RETURNS = """
def f(x, t):
    for i in range(len(x)):
        if x[i] > t:
            break
    else:
        return -1
    return i
"""
ELSE_IN_LOOPS = """
def f(x, t):
    for i in range(len(x)):
        for j in range(i):
            if x[j] > 2 * t:
                return i, j
            if x[j] > t:
                break
        else:
            if i > 20:
                return -1, i
            continue
        t += 0.1
    else:
        return -2, -2
    return 0, 0
"""
WHILE_ELSE = """
def f(x, t):
    i = 0
    while i < len(x):
        if x[i] > t:
            return i, x[i]
        i += 1
    else:
        return -1, t
"""


@pytest.mark.parametrize("text", [ELSE_RETURNS, ELSE_IN_LOOPS, WHILE_ELSE], ids=["for", "nested", "while"])
def test_a_return_in_the_else_of_a_loop_is_part_of_the_kernel(text: str) -> None:
    """Whether the loop is broken off, returns, or comes to its end."""
    plain, compiled = (define(text, "loop else", np=np) for _ in range(2))
    compiled = jm.compile(compiled)
    x = np.random.default_rng(1).standard_normal(30)
    for given in ([x, 0.5], [x, 0.9], [x, 1.5], [x, 9.0], [x[:0], 1.0], [x[:3], 0.5]):
        assert outcome(compiled, given) == outcome(plain, given)
    assert all(c.compiled is not None for c in loop_calls(compiled))
    assert loop_calls(compiled)
