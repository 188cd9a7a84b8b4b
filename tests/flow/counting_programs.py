"""Loops that count their rounds, and that call functions which rebind variables: name, text, calls, breaks."""

PROGRAMS = (
    (
        "a bound that is computed by a call with an effect",
        """
asked = []
class Sizes:
    @property
    def n(self):
        asked.append("n")
        return 40
sizes = Sizes()
def bound():
    asked.append("bound")
    return 50
def f(x):
    n, m, s = 0, 0, 0.0
    for i in range(bound()):
        n += 1
        s += x[i]
    for i in range(sizes.n):
        m += 2
        s += x[i]
    return n, m, s
""",
        ["f(np.arange(60.0))", "asked"],
        0,
    ),
    (
        "nonlocal read before the call",
        """
def f(x):
    c, m = 0.0, 1
    def up(u):
        nonlocal c, m
        m += 1
        c = c * 0.5 + u
        return m
    for v in x:
        c += up(v)
        m = m + up(v) * 0.5
        c -= v - up(c)
    return c, m
""",
        ["f(np.arange(30.0))", "f(np.arange(30))"],
        0,
    ),
    (
        "counter array",
        """
def f(x):
    n = 0
    s = 0.0
    for v in x:
        n += 1
        s += v
    if n > 1:
        return s / (n - 1)
    return float("nan")
""",
        ["f(np.arange(50.))", "f(np.arange(1.))", "f(np.arange(0.))", "f(np.arange(60.))"],
        0,
    ),
    (
        "counter range",
        """
def f(x, k):
    n = k
    s = 0.0
    for i in range(k):
        n -= 2
        s += x[i]
    return np.zeros(abs(n)), s, n
""",
        [
            "f(np.arange(50.), 5)",
            "f(np.arange(50.), 7)",
            "f(np.arange(50.), 0)",
            "f(np.arange(50.), -3)",
            "f(np.arange(50.), 70)",
        ],
        0,
    ),
    (
        "counter twice",
        """
def f(x):
    n = 0
    s = 0.0
    for i in range(3, len(x)):
        n += 1
        s += x[i]
    for v in x:
        n += 1
        s += v
    return n, s
""",
        ["f(np.arange(50.))", "f(np.arange(2.))"],
        0,
    ),
    (
        "counter break",
        """
def f(x):
    n = 0
    s = 0.0
    for v in x:
        n += 1
        if v > 20:
            break
        s += v
    return n, s
""",
        ["f(np.arange(50.))", "f(np.arange(2.))"],
        0,
    ),
    (
        "counter numpy",
        """
def f(x):
    n = np.int64(3)
    s = 0.0
    m = True
    k = 2.0
    for v in x:
        n += 1
        m += 1
        k += 1
        s += v
    return n, s, m, k
""",
        ["f(np.arange(50.))", "f(np.arange(2.))"],
        0,
    ),
    (
        "counter used within",
        """
def f(x):
    n = 0
    s = 0.0
    for v in x:
        n += 1
        s += v / n
    return n, s
""",
        ["f(np.arange(50.))", "f(np.arange(2.))"],
        0,
    ),
    (
        "counter in nested",
        """
def f(x):
    n = 0
    s = 0.0
    m = 0
    for r in range(len(x)):
        m += 1
        for v in x:
            n += 1
            s += v
    return n, s, m
""",
        ["f(np.arange(50.))", "f(np.arange(2.))"],
        0,
    ),
    (
        "counter iter changes",
        """
def f(x):
    n = 0
    s = 0.0
    for v in x:
        n += 1
        s += v
        x = x[1:] if n < 3 else x
    return n, s
""",
        ["f(np.arange(50.))"],
        0,
    ),
    (
        "running class",
        """
class Running:
    def __init__(self):
        self.n, self.mean, self.m2 = 0, 0.0, 0.0
    def push(self, x):
        self.n += 1
        d = x - self.mean
        self.mean += d / self.n
        self.m2 += d * (x - self.mean)
    @property
    def std(self):
        return (self.m2 / (self.n - 1)) ** 0.5 if self.n > 1 else float("nan")
    def __repr__(self):
        return f"Running(n={self.n}, mean={self.mean:.3f}, std={self.std:.3f})"
def f(xs):
    r = Running()
    for x in xs:
        r.push(x)
    print(r)
    return r.mean, r.std, r.n
""",
        ["f(np.linspace(0, 5, 11))", "f([1.0, 2.0, 4.0])", "f(np.linspace(0, 5, 300))", "f(np.linspace(0, 5, 1))"],
        0,
    ),
    (
        "nonlocal count",
        """
def f(x):
    n = 0
    def up(v):
        nonlocal n
        if v > 0:
            n += 1
        return n
    s = 0
    for v in x:
        s += up(v)
    return s, n
""",
        ["f(np.arange(-20.,50))", "f(np.arange(-5,3))"],
        0,
    ),
    (
        "nonlocal arr",
        """
def f(x):
    calls = 0
    def g(v):
        nonlocal calls
        calls += 1
        return v * v - 2
    while np.abs(g(x)).max() > 1e-9:
        x = x - g(x) / (2 * x)
    return x, calls
""",
        ["f(np.array([1.,2,0.5,3]))"],
        0,
    ),
    (
        "nonlocal two readers",
        """
def f(x):
    n = 0
    k = 3
    def up(v, by=2):
        nonlocal n
        n += by
        return v * k
    def get():
        return n
    s = 0
    for v in x:
        s += up(v) + get()
    return s, n
""",
        ["f(np.arange(-20.,50))"],
        0,
    ),
    (
        "nonlocal reset",
        """
def f(x):
    n = 0
    def up():
        nonlocal n
        n += 1
    m = 0
    for v in x:
        up()
        if v > 10:
            m = max(m, n)
            n = 0
    return m, n
""",
        ["f(np.arange(-20.,50))"],
        0,
    ),
    (
        "nonlocal rebinding object",
        """
class S:
    pass
def f(x):
    s = S()
    s.t = 0.0
    t = s
    def new():
        nonlocal s
        s = S()
        s.t = 100.0
    for v in x:
        s.t += v
        if v == 20:
            new()
    return s.t, t.t
""",
        ["f(np.arange(50.))"],
        1,
    ),
    (
        "nonlocal escapes",
        """
def f(x):
    n = 0
    def up():
        nonlocal n
        n += 1
        return n
    for v in x:
        up()
    return up, n
def g(x):
    u, n = f(x)
    return u(), n
""",
        ["f(np.arange(50.))"],
        0,
    ),
    (
        "attr same name as local",
        """
class S:
    def __init__(self):
        self.total = 0.0
    def add(self, v):
        self.total += v
        return self.total
def f(x):
    s = S()
    total = 0.0
    n = 0
    for v in x:
        total += s.add(v)
    return total, s.total
""",
        ["f(np.arange(50.))"],
        0,
    ),
    (
        "global name as local",
        """
k = 5
class S:
    def __init__(self):
        self.total = 0.0
    def add(self, v):
        self.total += v * k
        return self.total
def f(x):
    s = S()
    k = 0.0
    for v in x:
        k += s.add(v)
    return k, s.total
""",
        ["f(np.arange(50.))"],
        0,
    ),
    (
        "method with helper",
        """
def clip(v):
    return v if v < 10 else 10
class S:
    def __init__(self):
        self.total = 0.0
        self.hist = []
    def add(self, v):
        w = clip(v)
        for i in range(3):
            w += i
        self.total += w
        return w if w > 2 else None
def f(x):
    s = S()
    n = 0
    for v in x:
        if s.add(v) is None:
            n += 1
    return n, s.total
""",
        ["f(np.arange(50.))"],
        0,
    ),
    (
        "method prints",
        """
class S:
    def __init__(self):
        self.total = 0.0
    def add(self, v):
        self.total += v
        if v == 30:
            print("at", self.total)
s = S()
def f(x):
    for v in x:
        s.add(v)
    return s.total
""",
        ["f(np.arange(50.))"],
        1,
    ),
    (
        "method raises",
        """
class S:
    def __init__(self):
        self.b = 10.0
        self.n = 0
    def take(self, v):
        self.n += 1
        if v > self.b:
            raise ValueError(f"{v}>{self.b}")
        self.b -= v
s = S()
def f(x):
    bad = 0
    for v in x:
        try:
            s.take(v)
        except ValueError as e:
            bad += 1
    return bad, s.n, s.b
""",
        ["f(np.arange(50.)*0.3)"],
        0,
    ),
    (
        "method appends",
        """
class S:
    def __init__(self):
        self.n = 0
        self.log = []
    def add(self, v):
        self.n += 1
        self.log.append(v * self.n)
s = S()
def f(x):
    for v in x:
        s.add(v)
    return s.n, len(s.log)
""",
        ["f(np.arange(50.))"],
        0,
    ),
)
