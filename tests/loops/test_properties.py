"""Loops that read properties: what a reading does is done at every reading, and its value is that of the moment."""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, same_everywhere

# name, text, number of breaks
PROGRAMS = (
    (
        "prop bound",
        """
asked = []
class Sizes:
    @property
    def n(self):
        asked.append("n")
        return 40
sizes = Sizes()
def f(x):
    s = 0.0
    for i in range(sizes.n):
        s += x[i]
    return s, len(asked)
""",
        0,
    ),
    (
        "prop in body",
        """
asked = []
class Sizes:
    @property
    def n(self):
        asked.append("n")
        return 2.0
sizes = Sizes()
def f(x):
    s = 0.0
    for v in x:
        s += v * sizes.n
    return s, len(asked)
""",
        0,
    ),
    (
        "prop in while",
        """
asked = []
class Sizes:
    @property
    def n(self):
        asked.append("n")
        return 20
sizes = Sizes()
def f(x):
    s = 0.0
    i = 0
    while i < sizes.n:
        i += 1
        s += x[i]
    return s, len(asked)
""",
        0,
    ),
    (
        "getattr in body",
        """
asked = []
class Sizes:
    def __getattr__(self, n):
        asked.append(n)
        return 2.0
sizes = Sizes()
def f(x):
    s = 0.0
    for v in x:
        s += v * sizes.n
    return s, len(asked)
""",
        0,
    ),
    (
        "prop array",
        """
asked = []
class Sizes:
    @property
    def n(self):
        asked.append("n")
        return np.arange(60.0)
sizes = Sizes()
def f(x):
    s = 0.0
    for i in range(60):
        s += x[i] * sizes.n[i]
    return s, len(asked)
""",
        1,
    ),
    (
        "prop over array",
        """
asked = []
class Sizes:
    @property
    def n(self):
        asked.append("n")
        return np.arange(60.0)
sizes = Sizes()
def f(x):
    s = 0.0
    for v in sizes.n:
        s += v
    return s, len(asked)
""",
        0,
    ),
    (
        "getitem bound",
        """
asked = []
class Sizes:
    def __getitem__(self, k):
        asked.append(k)
        return 40
sizes = Sizes()
def f(x):
    s = 0.0
    for i in range(sizes[0]):
        s += x[i]
    for i in range(sizes[1:]):
        s += x[i]
    return s, len(asked)
""",
        0,
    ),
    (
        "pure property in kernel",
        """
class P:
    def __init__(self):
        self._k = 2.0
        self.w = np.arange(60.0)
    @property
    def k(self):
        return self._k * 3
    @property
    def arr(self):
        return self.w
p = P()
def f(x):
    s = 0.0
    for i in range(60):
        s += x[i] * p.k + p.arr[i]
    return s
""",
        0,
    ),
    (
        "property of array written",
        """
class P:
    def __init__(self):
        self.buf = np.zeros(60)
    @property
    def first(self):
        return self.buf[0]
p = P()
def f(x):
    s = 0.0
    for i in range(60):
        p.buf[0] += x[i]
        s += p.first
    return s
""",
        0,
    ),
    (
        "property of list len",
        """
class P:
    def __init__(self):
        self.l = []
    @property
    def size(self):
        return len(self.l)
p = P()
def f(x):
    s = 0.0
    for i in range(60):
        if x[i] > 3:
            p.l.append(1.0)
        s += p.size
    return s
""",
        1,
    ),
    (
        "property prints",
        """
class P:
    @property
    def k(self):
        print("k")
        return 2.0
p = P()
def f(x):
    s = 0.0
    for v in x:
        s += v * p.k
    return s
""",
        0,
    ),
    (
        "property random",
        """
import random
class P:
    @property
    def k(self):
        return random.random()
p = P()
def f(x):
    s = 0.0
    for v in x:
        s += v * p.k
    return s
""",
        1,
    ),
    (
        "property np random",
        """
class P:
    @property
    def k(self):
        return np.random.rand()
p = P()
def f(x):
    s = 0.0
    for v in x:
        s += v * p.k
    return s
""",
        0,
    ),
    (
        "property counter",
        """
class P:
    def __init__(self):
        self.c = 0
    @property
    def k(self):
        self.c += 1
        return self.c
p = P()
def f(x):
    s = 0.0
    for v in x:
        s += v * p.k
    return s, p.c
""",
        0,
    ),
    (
        "cached property",
        """
import functools
class P:
    def __init__(self):
        self.c = 0
    @functools.cached_property
    def k(self):
        self.c += 1
        return 3.0
p = P()
def f(x):
    s = 0.0
    for v in x:
        s += v * p.k
    return s, p.c
""",
        0,
    ),
)


@pytest.mark.parametrize("text", [p[1] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS])
def test_a_property_is_read_as_often_as_in_plain_python(text: str) -> None:
    same_everywhere(text, ["f(np.arange(60.0))", "f(np.arange(60.0) + 1)"])


@pytest.mark.parametrize(("text", "breaks"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS])
def test_number_of_breaks_is_as_stated(text: str, breaks: int) -> None:
    found = explained(text, "f(np.arange(60.0))")
    assert found.break_count == breaks, found.breaks
