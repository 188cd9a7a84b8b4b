"""Loop programs on lists of numbers: as tables, as weights, as what is sorted; with the arguments of several calls."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["CAPTURED", "OTHERS", "REPEATS"]

_RNG = np.random.default_rng(0)
X = _RNG.random(30) * 4 - 1
Y = _RNG.random(30)
WHOLE = [int(v) for v in _RNG.integers(0, 5, 30)]
FLOATS = [float(v) for v in _RNG.random(30)]
REPEATS = 2  # each call is made so often: once compiled, once found

Program = tuple[str, list[list[Any]]]

CAPTURED: dict[str, Program] = {
    "a table": (
        "def f(k):\n    q = [0.0] * 5\n    for i in k:\n        q[i] += 1\n    return q",
        [[np.array(WHOLE)], [np.array(WHOLE)[:7]], [np.array(WHOLE) + 2], [np.array(WHOLE) - 3]],
    ),
    "a table of any size": (
        "def f(k, n):\n    q = [0] * n\n    for i in range(len(k)):\n        q[k[i]] += 1\n    return np.array(q), q",
        [[np.array(WHOLE), n] for n in (5, 9, 12, 3)],
    ),
    "the lists of arrays": (
        "def f(x, y):\n    s = 0.0\n    for a, b in zip(x.tolist(), y.tolist()):\n        s += a * b\n    return s",
        [[X, Y], [X[:7], Y], [X[:0], Y], [X.astype("float32"), Y.astype("int16")]],
    ),
    "the list of an array": (
        """def f(x):
    xs = x.tolist()
    s = 0
    for i in range(len(xs)):
        s += xs[-i] * i
    return s, xs""",
        [[X], [X[:12]], [(X * 100).astype(int)], [X > 0]],
    ),
    "weights": (
        "def f(x, w):\n    s = 0.0\n    for i in range(len(x)):\n        s += x[i] * w[i % len(w)]\n    return s",
        [[X, [0.5, 0.25]], [X, [0.5, 0.25, 3.0]], [X, [1, 2]], [X, [1, 2.0]], [X, []], [X, (0.5, 2.0)]],
    ),
    "of one length with an array": (
        "def f(x, w):\n    s = 0.0\n    for i in range(len(w)):\n        s += x[i] * w[i]\n    return s",
        [[X, FLOATS], [X, FLOATS[:20]], [X, FLOATS[:25]], [X, [*FLOATS, 1.0]], [X, WHOLE], [X, [*FLOATS[:11], 2]]],
    ),
    "written in place": (
        "def f(x, w):\n    for i in range(len(w)):\n        w[i] = w[i] * 2 + int(x[i])",
        [[X, WHOLE], [X[:10], WHOLE], [X, WHOLE[:9]], [X, [2**62, *WHOLE[:20]]], [X, [2**70, *WHOLE[:20]]]],
    ),
    "only a list": (
        "def f(w):\n    s = 0\n    for v in w:\n        s += v * v\n    return s",
        [[WHOLE], [WHOLE[:9]], [FLOATS], [[*FLOATS, 1]], [[2**40, *WHOLE]], [[True, False] * 8], [list(X)]],
    ),
    "truths": (
        """def f(n):
    p = [True] * (n + 1)
    i = 2
    while i * i <= n:
        if p[i]:
            for j in range(i * i, n + 1, i):
                p[j] = False
        i += 1
    c = 0
    for k in range(2, n + 1):
        if p[k]:
            c += 1
    return c, p""",
        [[n] for n in (100, 200, 300, 3)],
    ),
    "a recurrence": (
        """def f(n):
    d = [0] * n
    d[1] = 1
    for i in range(2, n):
        d[i] = (d[i - 1] + d[i - 2]) % 1000007
    return d""",
        [[50], [60], [70], [2], [1]],
    ),
    "exact when it overflows": (
        """def f(n):
    d = [1] * n
    for i in range(2, n):
        d[i] = d[i - 1] + d[i - 2]
    return d[n - 1]""",
        [[50], [150], [60]],
    ),
    "coins": (
        """def f(coins, total):
    ways = [0] * (total + 1)
    ways[0] = 1
    for c in coins:
        for t in range(c, total + 1):
            ways[t] += ways[t - c]
    return ways[total]""",
        [[[1, 2, 5, 10, 20, 50], 100], [[1, 2, 5, 10, 20, 50], 200], [[1, 5], 100]],
    ),
    "sorted": (
        """def f(w):
    n = len(w)
    for i in range(n):
        for j in range(n - 1 - i):
            if w[j] > w[j + 1]:
                w[j], w[j + 1] = w[j + 1], w[j]
    return w""",
        [[FLOATS], [WHOLE], [WHOLE[:12]], [WHOLE[:1]], [[np.nan, *FLOATS]]],
    ),
    "two names": (
        "def f(w):\n    u = w\n    for i in range(len(w)):\n        u[i] = w[i] + 1.0\n    return u is w, u",
        [[FLOATS], [FLOATS[:12]], [FLOATS[:15]]],
    ),
    "appended numbers as an array": (
        "def f(x):\n    out = []\n    for v in x.tolist():\n        out.append(v * 2)\n    return np.array(out)",
        [[X], [X[:9]], [X[:20]]],
    ),
    "numbered": (
        "def f(w, x):\n    for i, v in enumerate(w):\n        x[i] = v * 2\n    return x",
        [[FLOATS, X], [WHOLE, X], [FLOATS[:12], X], [FLOATS, X[:20]]],
    ),
    "the largest": (
        """def f(w):
    best, at = w[0], 0
    for i in range(1, len(w)):
        if w[i] > best:
            best, at = w[i], i
    return best, at""",
        [[FLOATS], [WHOLE], [FLOATS[:12]]],
    ),
    "an index out of range": (
        """def f(x, w):
    s = 0.0
    for i in range(len(x)):
        x[i] = w[i]
        s += w[-i - 1]
    return s""",
        [[X, FLOATS], [X, FLOATS[:20]], [X[:15], FLOATS], [X, FLOATS[:9]]],
    ),
    "a write out of range": (
        "def f(x, w):\n    for i in range(len(x)):\n        w[i] = float(x[i])\n    return w",
        [[X, FLOATS], [X, FLOATS[:20]], [X[:15], FLOATS]],
    ),
    "divided by its numbers": (
        "def f(x, w):\n    s = 0.0\n    for i in range(len(w)):\n        s += 1.0 / w[i]\n    return s",
        [[X, FLOATS], [X, [*FLOATS[:12], 0.0]], [X, [*WHOLE[:12], 0]], [X, [np.float64(0)] * 12]],
    ),
    "NumPy's numbers beside Python's": (
        """def f(x):
    q = [0.0] * len(x)
    for i in range(len(x)):
        if x[i] > 0:
            q[i] = x[i]
    return q""",
        [[X], [X[:12]], [-np.abs(X)], [np.abs(X)], [X.astype("float32")], [(X * 10).astype(int)]],
    ),
    "sums of several types": (
        """def f(k, x):
    q = [0.0] * 5
    for i in range(len(x)):
        q[k[i]] += x[i]
    return q, np.array(q)""",
        [[np.array(WHOLE), X], [np.array(WHOLE)[:3], X[:3]], [np.array(WHOLE), np.arange(30)]],
    ),
    "ints, and floats later": (
        """def f(x):
    q = [0] * len(x)
    for i in range(1, len(x)):
        q[i] = q[i - 1] * 0.5 + float(x[i])
    return q, np.array(q)""",
        [[X], [X[:12]], [X[:1]], [X[:2]]],
    ),
    "ints beside floats": (
        """def f(x):
    q = [0] * len(x)
    n = 0
    for i in range(len(x)):
        if x[i] > 1:
            q[i] = q[i] + x[i] / 2
        elif x[i] > 0:
            q[i] = q[i - 1] + 3
    for i in range(len(x)):
        n += q[i] == 3
    return q, n, np.array(q)""",
        [[X], [X[:12]], [-X], [-np.abs(X)]],
    ),
    "large ints beside floats": (
        """def f(x, w):
    for i in range(0, len(w), 2):
        w[i] = w[i] * 3 + x[i]
    return w""",
        [[X, [2**53 - 1 + i for i in range(20)]], [X, [2**60 + i for i in range(20)]], [X, WHOLE]],
    ),
    "divisions by several types": (
        """def f(x, w):
    s = 0.0
    for i in range(len(x)):
        w[i] = x[i]
        s += 1.0 / w[i - 3]
    return s""",
        [[X, FLOATS], [X[:12], [*FLOATS[:9], 0.0, 0.0, 0.0]], [X[:12] * 0, FLOATS]],
    ),
    "filled by a comprehension": (
        """def f(x):
    n = len(x)
    h = [0.0 for _ in range(n)]
    for i in range(n):
        h[i] = float(x[i]) * 0.5
    return h""",
        [[X], [X[:12]], [X[:20]]],
    ),
}
OTHERS: dict[str, Program] = {
    "several types": (
        "def f(w):\n    s = 0\n    for i in range(len(w)):\n        s = s + w[i]\n    return s",
        [[[1, 2.0] * 10], [[1, 2] * 10], [[1, None] * 8], [["a"] * 30]],
    ),
    "two arguments that may be one list": (
        "def f(u, w):\n    for i in range(len(w)):\n        u[i] = w[i - 1] + 1.0\n    return u is w, u",
        [[FLOATS, FLOATS[:20]]],
    ),
    "lists of lists": (
        """def f(a):
    s = 0.0
    for i in range(len(a)):
        for j in range(len(a)):
            s += a[i][j]
    return s""",
        [[[[float(i * j) for j in range(12)] for i in range(12)]]],
    ),
    "a growing list": (
        "def f(x):\n    out = [0.0]\n    for v in x:\n        out.append(out[-1] + v)\n    return np.array(out)",
        [[X], [X[:12]]],
    ),
    "appended to the caller's": (
        "def f(x, out):\n    for v in x:\n        out.append(float(v))\n    return len(out)",
        [[X, []], [X[:9], [1.0]]],
    ),
    "a stack": (
        """def f(x):
    stack = []
    s = 0.0
    for v in x:
        if v > 0:
            stack.append(v)
        elif stack:
            s += stack.pop()
    return s, stack""",
        [[X], [X[:12]]],
    ),
    "changed before and after": (
        """def f(x, w):
    w[0] = 5.0
    for i in range(1, len(w)):
        w[i] = w[i - 1] * 0.5
    w.append(1.0)
    w[3] = 7
    for i in range(len(w) - 2):
        w[i] = float(x[i])
    return w""",
        [[X, FLOATS], [X, FLOATS[:12]]],
    ),
    "a slice": (
        "def f(w):\n    s = 0.0\n    for a, b in zip(w[:-1], w[1:]):\n        s += b - a\n    return s",
        [[FLOATS], [FLOATS[:12]], [WHOLE]],
    ),
    "methods of arrays": (
        "def f(x, w):\n    s = 0.0\n    for i in range(len(x)):\n        s += w.size\n    return s",
        [[X, FLOATS]],
    ),
}
