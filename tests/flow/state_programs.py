"""Loops whose rounds change attributes and items by their own text: name, text, calls, number of breaks."""

PROGRAMS = (
    (
        "self total if",
        """
class S:
    def __init__(self):
        self.total = 0.0
        self.count = 0
s = S()
def f(x):
    for v in x:
        if v > 1:
            s.total += v
            s.count += 1
    return s
""",
        ["f(np.arange(5.))", "f(np.zeros(3))", "f(np.arange(9.))"],
        0,
    ),
    (
        "dict item n",
        """
d = {"n": 0, "t": 0.0}
def f(x):
    for v in x:
        d["n"] += 1
        if v > 2:
            d["t"] += v
    return d["n"]
""",
        ["f(np.arange(5.))", "f(np.arange(6))"],
        0,
    ),
    (
        "long self total",
        """
class S:
    def __init__(self):
        self.total = 0.0
        self.count = 0
s = S()
def f(x):
    for v in x:
        s.total += v
        s.count += 1
    return s
""",
        ["f(np.arange(500.))", "f(np.arange(700.)*0.1)", "f(np.arange(700))"],
        0,
    ),
    (
        "long dict",
        """
def f(x):
    d = {"n": 0, "t": 0.0}
    for v in x:
        d["n"] += 1
        d["t"] += v
    return d
""",
        ["f(np.arange(500.))"],
        0,
    ),
    (
        "for x while attr",
        """
class O:
    pass
def f(x):
    o = O()
    o.e = 1.0
    o.n = 0
    while o.e > 1e-6:
        y = np.cos(x)
        o.e = np.abs(y - x).max()
        x = y
        o.n += 1
    return x, o.n, o.e
""",
        ["f(np.array([1.,2,3]))"],
        0,
    ),
    (
        "alias args",
        """
class S:
    def __init__(self):
        self.total = 0.0
s = S()
s2 = S()
def f(a, b, x):
    for v in x:
        a.total += v
        b.total *= 0.5
    return a.total, b.total
""",
        ["f(s,s,np.arange(200.))", "f(s,s2,np.arange(200.))", "f(s2,s2,np.arange(200.))"],
        0,
    ),
    (
        "raise mid",
        """
class S:
    def __init__(self):
        self.t = 0.0
        self.n = 0
s = S()
def f(x):
    for v in x:
        s.n += 1
        s.t += v
        if v > 50:
            raise ValueError(f"v {v} {s.n}")
    return s.t
""",
        ["f(np.arange(20.))", "f(np.arange(200.))", "f(np.arange(70.))"],
        0,
    ),
    (
        "index error mid",
        """
class S:
    def __init__(self):
        self.t = 0.0
        self.n = 0
s = S()
def f(x, n):
    for i in range(n):
        s.n += 1
        s.t += x[i]
    return s.t
""",
        ["f(np.arange(200.),200)", "f(np.arange(20.),100)"],
        0,
    ),
    (
        "zero division mid",
        """
class S:
    def __init__(self):
        self.t = 0
        self.n = 0
s = S()
def f(x):
    for v in x:
        s.n += 1
        s.t += 100 // int(v)
    return s.t
""",
        ["f(np.arange(1,200))", "f(np.arange(-50,200))"],
        0,
    ),
    (
        "zero rounds array",
        """
class S:
    pass
s = S()
s.w = np.ones(3)
keep = s.w
def f(x, n):
    for i in range(n):
        s.w = s.w + x
    return s.w is keep, s.w
""",
        ["f(np.ones(3), 0)", "f(np.ones(3), 50)", "f(np.ones(3), 0)"],
        0,
    ),
    (
        "array in place",
        """
class S:
    pass
s = S()
s.w = np.ones(3)
keep = s.w
def f(x, n):
    for i in range(n):
        s.w += x
        s.w *= 0.9
    return s.w is keep, s.w
""",
        ["f(np.ones(3), 0)", "f(np.ones(3), 50)"],
        0,
    ),
    (
        "array shared",
        """
class S:
    pass
s = S()
s.w = np.ones(3)
t = S()
t.w = s.w
def f(x, n):
    for i in range(n):
        s.w = s.w * 0.5
        t.w += s.w
    return s.w, t.w
""",
        ["f(np.ones(3), 50)", "f(np.ones(3), 50)"],
        0,
    ),
    (
        "overflow",
        """
class S:
    pass
s = S()
s.n = 1
def f(x):
    for v in x:
        s.n = s.n * 3 + 1
    return s.n
""",
        ["f(np.arange(30.))", "f(np.arange(100.))"],
        0,
    ),
    (
        "kinds",
        """
class S:
    pass
s = S()
s.n = 0
def f(x):
    for v in x:
        if v > 100:
            s.n += v
        else:
            s.n += 1
    return s.n
""",
        ["f(np.arange(50.))", "f(np.arange(200.))"],
        0,
    ),
    (
        "swap",
        """
class S:
    pass
def f(x):
    s = S()
    s.a = 0
    s.b = 1
    for v in x:
        s.a, s.b = s.b, (s.a + s.b) % 1000
    return s.a, s.b
""",
        ["f(np.arange(200.))"],
        0,
    ),
    (
        "for target",
        """
class S:
    pass
s = S()
s.i = -1
def f(n):
    t = 0
    for s.i in range(n):
        t += s.i
    return t, s.i
""",
        ["f(200)", "f(0)"],
        0,
    ),
    (
        "dict state",
        """
def f(n, x):
    st = {"x": x, "v": np.zeros_like(x), "t": 0.0}
    for _ in range(n):
        st["v"] = st["v"] - 0.1 * st["x"]
        st["x"] = st["x"] + 0.1 * st["v"]
        st["t"] += 0.1
    return st
""",
        ["f(100,np.ones(3))"],
        0,
    ),
    (
        "attr of module global dict",
        """
cfg = {"count": 0, "sum": 0.0}
class H:
    cfg = cfg
h = H()
h.stats = {"n": 0}
def f(x):
    for v in x:
        cfg["count"] += 1
        cfg["sum"] += v
        h.stats["n"] += 2
    return cfg
""",
        ["f(np.arange(100.))", "f(np.arange(100.))"],
        0,
    ),
    (
        "dict get",
        """
def f(x):
    d = {"n": 0, "m": 1}
    y = 0
    for v in x:
        d["n"] += 1
        y += d.get("n") + len(d)
        if "m" in d:
            y += 1
    return y, d
""",
        ["f(np.arange(200.))"],
        0,
    ),
)
