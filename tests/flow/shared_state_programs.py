"""Loops that also reach what they change by another way: name, text, calls, number of breaks of the first call."""

PROGRAMS = (
    (
        "property",
        """
class S:
    def __init__(self):
        self._t = 0.0
        self.n = 0
    @property
    def total(self):
        return self._t
    @total.setter
    def total(self, v):
        self._t = v
        self.n += 1
s = S()
def f(x):
    for v in x:
        s.total += v
    return s
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "property read",
        """
class S:
    def __init__(self):
        self._t = 0.0
    @property
    def total(self):
        return self._t * 2
s = S()
def f(x):
    y = 0.0
    for v in x:
        s._t += v
        y += s.total
    return s, y
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "setattr",
        """
class S:
    def __init__(self):
        self.t = 0.0
    def __setattr__(self, n, v):
        object.__setattr__(self, n, v)
        object.__setattr__(self, "k", getattr(self, "k", 0) + 1)
s = S()
def f(x):
    for v in x:
        s.t += v
    return s
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "slots",
        """
class S:
    __slots__ = ("t",)
    def __init__(self):
        self.t = 0.0
s = S()
def f(x):
    for v in x:
        s.t += v
    return s.t
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "getattr fallback",
        """
class S:
    def __getattr__(self, n):
        if n == "t":
            return 1.0
        raise AttributeError(n)
s = S()
def f(x):
    for v in x:
        s.t += v
    return s.t
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "vars in loop",
        """
class S:
    def __init__(self):
        self.t = 0.0
s = S()
def f(x):
    y = 0.0
    for v in x:
        s.t += v
        y += vars(s)["t"]
    return y
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "getattr in loop",
        """
class S:
    def __init__(self):
        self.t = 0.0
s = S()
def f(x):
    y = 0.0
    for v in x:
        s.t += v
        y += getattr(s, "t")
    return y
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "setattr in loop",
        """
class S:
    def __init__(self):
        self.t = 0.0
s = S()
def f(x):
    for v in x:
        s.t += v
        setattr(s, "t", s.t * 0.5)
    return s
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "dict items",
        """
def f(x):
    d = {"n": 0, "m": 1}
    y = 0
    for v in x:
        d["n"] += 1
        for k, u in d.items():
            y += u
    return y, d
""",
        ["f(np.arange(200.))"],
        0,
    ),
    (
        "dict copies",
        """
def f(x):
    d = {"n": 0, "m": 1}
    h = []
    for v in x:
        d["n"] += 1
        h.append(dict(d))
    return h
""",
        ["f(np.arange(200.))"],
        0,
    ),
    (
        "del in loop",
        """
class S:
    pass
def f(x):
    s = S()
    s.t = 0.0
    n = 0
    for v in x:
        if v == 100:
            del s.t
        s.t += v
    return s.t
""",
        ["f(np.arange(20.))", "f(np.arange(200.))"],
        1,
    ),
    (
        "lambda later",
        """
class S:
    pass
def f(x):
    s = S()
    s.t = 0.0
    fs = []
    y = 0.0
    for v in x:
        s.t += v
        if v == 10:
            fs.append(lambda: s.t)
    return [g() for g in fs]
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "lambda now",
        """
class S:
    pass
def f(x):
    s = S()
    s.t = 0.0
    y = 0.0
    for v in x:
        s.t += v
        g = lambda: s.t
        y += g()
    return y
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "generator later",
        """
class S:
    pass
def f(x):
    s = S()
    s.t = 0.0
    y = 0.0
    n = 0
    for v in x:
        s.t += v
        y += sum(s.t for _ in range(2))
    return y
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "object reassigned",
        """
class S:
    pass
def f(x):
    s = S()
    s.o = S()
    s.o.k = 0.0
    old = s.o
    for v in x:
        s.o.k += v
        if v == 50:
            s.o = S()
            s.o.k = 1.0
    return s.o.k, old.k
""",
        ["f(np.arange(200.))"],
        1,
    ),
    (
        "two steps",
        """
class P:
    def __init__(self):
        self.x = np.zeros(2)
        self.v = np.ones(2)
        self.t = 0.0
    def step(self, dt):
        a = self.force()
        self.v = self.v + a * dt
        self.x = self.x + self.v * dt
        self.t += dt
    def force(self):
        return -self.x
    def energy(self):
        return 0.5 * (self.v @ self.v + self.x @ self.x)
p = P()
def f(n, dt):
    e = 0.0
    for _ in range(n):
        p.step(dt)
        e = max(e, p.energy())
    return e, p.t
""",
        ["f(100,0.1)", "f(100,0.1)", "f(0,0.1)"],
        1,
    ),
    (
        "alias name",
        """
class S:
    pass
def f(x):
    s = S()
    s.total = 0.0
    t = s
    y = 0.0
    for v in x:
        s.total += v
        y += t.total
    return s.total, y
""",
        ["f(np.arange(200.))"],
        0,
    ),
)
