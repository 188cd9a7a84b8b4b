"""Graph breaks: the values that the statement has read before the break are those of that moment."""

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "attributes and globals that the broken call rebinds",
        """
import os
class C:
    def __init__(self): self.n = 1
    def bump(self, x):
        os.getpid()
        self.n += 1
        return self.n
c = C()
k = 5
def g():
    global k
    os.getpid()
    k += 1
    return k
def f(x):
    a = c.n + c.bump(x) * c.n
    return x * a + k * 10 + g() * k
""",
        ["np.ones(3)", "np.zeros(3)"],
        breaks=2,
    ),
    Program(
        "a variable of the function that the broken call rebinds",
        """
import os
def f(x):
    n = 1.0
    def bump(x):
        nonlocal n
        os.getpid()
        n = n * 2
        return n
    return x * n, [n, bump(x), n, bump(x)], n
""",
        ["np.ones(3)", "np.zeros(3)"],
        breaks=2,
    ),
    Program(
        "bounds and sums that the broken call rebinds",
        """
import os
n = 1
def g(x):
    global n
    os.getpid()
    n += 1
    return n * x
def f(x):
    global n
    n += g(1)
    return x[n % 3 : g(1) + 3] + g(x), n
""",
        ["np.ones(3)"],
        breaks=3,
    ),
)
