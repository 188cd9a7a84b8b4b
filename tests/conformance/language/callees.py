"""Callees that branch on data: what follows the call is compiled with each of their ways."""

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "tracker of the best value",
        """
class Tracker:
    def __init__(self): self.best = 0.0; self.count = 0
    def see(self, x):
        v = x.max()
        if v > self.best:
            self.best = v
            self.count += 1
            return True
        return False
T = Tracker()
def f(x):
    changed = T.see(x)
    return x * T.count, changed
""",
        ["A(5)", "A(5) * 2", "A(5)"],
    ),
    Program(
        "counter in a variable of a function, called twice in an expression",
        """
def counter():
    c = 0
    def see(x):
        nonlocal c
        if x.any():
            c += 1
        return c
    return see
see = counter()
def f(x):
    return see(x) + see(x * 0) * 10 + see(x + 1) * 100
""",
        ["A(5)", "np.zeros(3)"],
    ),
    Program(
        "values read before the callee rebinds them",
        """
n = 0.0
class C:
    m = 1
c = C()
def bump(x):
    global n
    if x.sum() > 0:
        n += 1
        c.m = [n]
        print("up")
    return n
def f(x):
    total = [n, c.m, bump(x), n, bump(x - 2), c.m]
    return n + bump(x) + n, total
""",
        ["np.ones(3)", "np.zeros(3)"],
    ),
    Program(
        "callee of a callee, with results of several kinds",
        """
log = []
def check(x):
    if x.sum() > 1:
        log.append("up")
        return x - 1
    elif x.min() < -2:
        print("low", len(log))
        return None
    return float(x[0])
def twice(x):
    y = check(x)
    if y is None:
        return "none"
    if isinstance(y, float):
        return y
    z = check(y)
    return z is None, log.copy()
def f(x):
    r = twice(x)
    log.append(r)
    return r, len(log)
""",
        ["np.ones(3)", "np.zeros(2)", "-3 * np.ones(3)", "np.full(3, 5.0)"],
    ),
    Program(
        "callee that raises on one way",
        """
seen = []
def checked(x):
    seen.append(len(seen))
    if (x < 0).any():
        seen.append("bad")
        raise ValueError(f"negative {len(seen)}")
    return x
def f(x):
    seen.append("in")
    y = checked(x) + 1
    seen.append("out")
    return y
""",
        ["np.ones(3)", "-np.ones(3)"],
    ),
    Program(
        "callee in the test of an if and in arguments",
        """
class Best:
    value = None
    def offer(self, v):
        if self.value is None or v < self.value:
            self.value = v
            return True
        return False
best = Best()
def f(x):
    if best.offer(x.sum()):
        print("better", best.value)
    elif best.offer(x.min()):
        return {"min": best.value}
    return [best.offer(x.max()), best.value]
""",
        ["np.ones(3)", "np.arange(3.0)", "np.array([-9.0, 20.0])"],
    ),
    Program(
        "recursion that the data end",
        """
def halve(x, depth, path):
    path.append(depth)
    if x.max() < 1:
        path.append("end")
        return x
    if depth == 3:
        return None
    return halve(x / 2, depth + 1, path)
def f(x):
    path = []
    return halve(x, 0, path), path
""",
        ["np.ones(3)", "np.full(3, 3.0)", "np.full(2, 99.0)"],
    ),
)
