"""Rows: changes of what existed before the call, in order and once; also when the call ends in an exception."""

from __future__ import annotations

from tests.conformance.runner import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "list changed",
        """
def f(x, items):
    items.insert(0, "first")
    items.extend([1, 2])
    items[1] = x
    del items[2]
    items += [3]
    items.remove("first")
    items.reverse()
    return items.pop() * 2, items.pop(0), items.index(2), items.count(2), items
""",
        ["A(4), [5, 6]"],
    ),
    Program(
        "list slices and sort",
        """
def f(x, items):
    items[1:3] = [9, 8, 7]
    items.sort(reverse=True)
    copy = items[:]
    items *= 2
    items.clear()
    items.extend(copy)
    return x * copy[0], copy, items is copy, items == copy
""",
        ["A(4), [1, 2, 3, 4]"],
    ),
    Program(
        "dict changed",
        """
def f(x, d):
    d["y"] = x * 2
    d.setdefault("log", []).append(len(d))
    d.update(a=1, b=2)
    d |= {"c": 3}
    gone = d.pop("a"), d.pop("absent", None)
    del d["b"]
    return d["y"] + 1, list(d), gone, d.get("q", 4), "c" in d, {**d}, d.keys() & {"c"}
""",
        ["A(4), {}", "A(4), {'k': 1}"],
    ),
    Program(
        "dict views live",
        """
def f(x):
    d = {"a": 1}
    keys = d.keys()
    d["b"] = 2
    return x * len(keys), list(keys), list(d.values()), list(d.items()), list(reversed(d))
""",
        ["A(4)"],
    ),
    Program(
        "set changed",
        """
def f(x, s):
    s.add(3)
    s.discard(9)
    s |= {5}
    s.update([6], (7,))
    t = s & {3, 5} | {8}
    return x * len(s), t, s - t, 3 in s, s >= {3}, s.isdisjoint({1}), {1} < {1, 2}, frozenset(t)
""",
        ["A(4), {1, 2}"],
    ),
    Program(
        "sets looped over",
        """
def f(x, s):
    names = {"a", "b"}
    names.add("c")
    total = 0
    for v in s:
        total = total * 10 + v
    return x + total, sorted(names), [v for v in s], max(s), len(names | {"d"}), sorted({3, 1} | s)
""",
        ["A(4), {8, 1, 16}", "A(4), {16, 1, 8}", "A(4), {1, 2}"],
    ),
    Program(
        "nested containers changed",
        """
state = {"history": [], "best": {"score": 0}}
def f(x):
    state["history"].append(x.shape[0])
    state["best"]["score"] += 1
    state["best"]["x"] = x * 2
    return state["best"]["x"] + state["best"]["score"]
""",
        ["A(4)", "A(3)"],
    ),
    Program(
        "alias of a changed list",
        """
def f(x, a, b):
    a.append(x)
    return a is b, len(b), x + 1
""",
        ["A(4), *(lambda l: (l, l))([])", "A(4), [], []"],
    ),
    Program(
        "array attribute changed in place",
        """
class Net:
    def __init__(self):
        self.w = A(4)
        self.grads = [A(4), A(4)]
def f(net, rate):
    net.w -= rate * net.grads[0]
    for g in net.grads:
        g[:] = 0.0
    net.grads[0] += 1
    return net.w.sum()
net = Net()
""",
        ["net, 0.1", "net, 0.1"],
    ),
    Program(
        "swap and rotate",
        """
def f(xs):
    xs[0], xs[1] = xs[1], xs[0]
    a, b = 1, 2
    a, b = b, a + b
    i = 0
    i, xs[i] = 1, xs[0] * 2
    return xs[1] + a * b + i
""",
        ["[A(4), A(4)]"],
    ),
    Program(
        "augmented targets evaluated once",
        """
def f(x):
    log = []
    def index(i):
        log.append(i)
        return i
    v = [1.0, 2.0]
    v[index(0)] += index(5)
    y = x.copy()
    y[index(1)] *= 3
    return y, v, log
""",
        ["A(4)"],
    ),
    Program(
        "iterator given",
        """
def f(x, it):
    a = next(it)
    for b in it:
        if b > 2:
            break
    return x * a + b
""",
        ["A(4), iter([1, 2, 3, 4])", "A(4), iter((5, 6, 7))"],
        breaks=2,
    ),
    Program(
        "generator given",
        """
def numbers():
    yield 1
    yield 2
    yield 3
def f(x, it):
    y = x * 2
    return y + next(it)
""",
        ["A(4), numbers()"],
        breaks=1,
    ),
    Program(
        "print in order",
        """
def f(x, n):
    print("start", n, x.shape, sep="|")
    y = x * 2
    print("values", y)
    y += 1
    print(f"{n:03d}", y.sum(), [1, "a", None], end="!\\n")
    print()
    return y
""",
        ["A(4), 3"],
    ),
    Program(
        "warnings",
        """
import warnings
def f(x):
    y = x * 2
    warnings.warn("careful")
    warnings.warn("older", DeprecationWarning)
    return y + 1
""",
        ["A(4)"],
        breaks=2,
    ),
    Program(
        "logging",
        """
import logging
log = logging.getLogger("program")
log.setLevel(logging.INFO)
def f(x):
    y = x * 2
    log.info("size %d", len(y))
    log.debug("unheard")
    return y + 1
""",
        ["A(4)"],
    ),
    Program(
        "exception leaves after effects",
        """
seen = []
def f(x, d):
    print("before")
    seen.append(len(seen))
    d["k"] = x + 1
    x += 1
    if d["stop"]:
        raise ValueError("stopped", 3)
    return x
""",
        ["A(4), {'stop': True}", "A(4), {'stop': False}"],
        plain="ValueError",
    ),
    Program(
        "error of NumPy leaves",
        """
seen = []
def f(x, y):
    seen.append(1)
    return x + y
""",
        ["A(4), A(3)", "A(4), A(4)"],
        plain="ValueError",
    ),
    Program(
        "errors and warnings of results that nobody reads",
        """
def f(x):
    np.log(x)
    try:
        np.linalg.inv(x)
    except np.linalg.LinAlgError as error:
        return x - 1, str(error)
    return x + 1
""",
        ["-np.ones((2, 2))", "np.eye(2)"],
    ),
    Program(
        "error of the data after effects",
        """
seen = []
def f(x):
    seen.append(1)
    x[0, 0] = 0.0
    y = np.linalg.inv(x)
    print(3)
    return y
""",
        ["np.eye(2)", "np.eye(2) + 1"],
    ),
    Program(
        "order of effects on different things",
        """
log = []
class Noted:
    def __init__(self):
        self.v = 0
n = Noted()
def f(x, out):
    log.append("a")
    n.v = x + 1
    print("one")
    out["r"] = n.v * 2
    log.append("b")
    print("two", log)
    n.v = None
    return out["r"]
""",
        ["A(4), {}"],
    ),
    Program(
        "values read before they change",
        """
box = [1.0]
class K:
    v = 2.0
k = K()
def f(x):
    old, was = box[0], k.v
    box[0] = old + 1
    k.v = was * 2
    return x * old + was, box[0], k.v
""",
        ["A(4)", "A(4)"],
    ),
)
