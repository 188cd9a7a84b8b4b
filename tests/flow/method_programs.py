"""Loops that call methods which change attributes: name, text, calls, number of breaks of the first call."""

PROGRAMS = (
    (
        "early stopping",
        """
class Early:
    def __init__(self, patience):
        self.patience = patience
        self.best = None
        self.wait = 0
    def __call__(self, v):
        if self.best is None or v < self.best - 1e-3:
            self.best = v
            self.wait = 0
        else:
            self.wait += 1
        return self.wait >= self.patience
def f(x):
    e = Early(2)
    for i, v in enumerate(x):
        if e(v):
            break
    return i, e.best, e.wait
""",
        ["f(np.array([3.,2,1,1,1,1,1]))", "f(np.array([3.,2,1]))"],
        0,
    ),
    (
        "obj attr array outside",
        """
class W:
    def __init__(self):
        self.w = np.zeros(3)
        self.k = 0
    def step(self, g):
        if np.abs(g).max() > 1:
            g = g / np.abs(g).max()
        self.w = self.w - 0.1 * g
        self.k += 1
w = W()
def f(x):
    while np.abs(w.w).max() < 1:
        w.step(x)
    return w.k
""",
        ["f(np.array([0.,1,-2]))"],
        0,
    ),
    (
        "long running stats",
        """
class Stats:
    def __init__(self):
        self.n = 0
        self.mean = 0.0
        self.m2 = 0.0
    def push(self, v):
        self.n += 1
        d = v - self.mean
        self.mean += d / self.n
        self.m2 += d * (v - self.mean)
    def var(self):
        return self.m2 / (self.n - 1) if self.n > 1 else 0.0
def f(x):
    s = Stats()
    for v in x:
        s.push(v)
    return s.mean, s.var()
""",
        ["f(np.arange(500.))"],
        0,
    ),
    (
        "matrix history",
        """
class Opt:
    def __init__(self):
        self.w = np.zeros(3)
        self.k = 0
        self.v = np.zeros(3)
    def step(self, g):
        self.v = 0.9 * self.v + g
        self.w = self.w - 0.1 * self.v
        self.k += 1
def f(x, n):
    o = Opt()
    for i in range(n):
        o.step(o.w - x)
    return o.w, o.k
""",
        ["f(np.array([1.,2,3]),300)"],
        0,
    ),
    (
        "instance method hidden",
        """
class A:
    def __init__(self):
        self.n = 0
    def up(self, v):
        self.n += 1
        return v
a = A()
b = A()
b.up = lambda v: v * 10
def f(o, x):
    t = 0.0
    for v in x:
        t += o.up(v)
    return t, o.n
""",
        ["f(a,np.arange(200.))", "f(b,np.arange(200.))"],
        0,
    ),
    (
        "method replaced",
        """
class A:
    def __init__(self):
        self.n = 0
    def up(self, v):
        self.n += 1
        return v
a = A()
def up2(self, v):
    self.n -= 5
    return v * 3
def swap():
    A.up = up2
    return a
def recode():
    A.up.__code__ = (lambda self, v: v - 1).__code__
    return a
def f(o, x):
    t = 0.0
    for v in x:
        t += o.up(v)
    return t, o.n
""",
        ["f(a,np.arange(200.))", "f(swap(),np.arange(200.))", "f(recode(),np.arange(200.))"],
        0,
    ),
    (
        "default replaced",
        """
class A:
    def __init__(self):
        self.n = 0
    def up(self, v, k=2):
        self.n += k
        return v
a = A()
def redef():
    A.up.__defaults__ = (7,)
    return a
def f(o, x):
    t = 0.0
    for v in x:
        t += o.up(v)
    return t, o.n
""",
        ["f(a,np.arange(200.))", "f(redef(),np.arange(200.))"],
        0,
    ),
    (
        "return in loop",
        """
class S:
    def __init__(self):
        self.n = 0
        self.t = 0.0
    def run(self, x):
        for v in x:
            self.n += 1
            self.t += v
            if self.t > 100:
                return self.n
        else:
            self.t = -1.0
        return None
s = S()
def f(x):
    r = s.run(x)
    return r, s.n, s.t
""",
        ["f(np.arange(200.))", "f(np.zeros(100))"],
        0,
    ),
    (
        "return attr in loop",
        """
class S:
    def __init__(self):
        self.n = 0
        self.t = 0.0
    def run(self, x):
        for v in x:
            self.n += 1
            self.t += v
            if self.t > 100:
                return self.t * 2
        return self.t
s = S()
def f(x):
    return s.run(x)
""",
        ["f(np.arange(200.))", "f(np.zeros(100))"],
        0,
    ),
    (
        "method early return",
        """
class C:
    def __init__(self):
        self.hits = 0
        self.miss = 0
    def see(self, v):
        if v < 0:
            return 0
        if v > 3:
            self.hits += 1
            return v
        self.miss += 1
        return 1
def f(x):
    c = C()
    t = 0
    for v in x:
        t += c.see(v)
    return t, c.hits, c.miss
""",
        ["f(np.arange(-5.,50))", "f(np.arange(-5,50))"],
        0,
    ),
    (
        "nested counters",
        """
class C:
    def __init__(self):
        self.n = 0
    def tick(self):
        self.n += 1
        return self.n
c = C()
def f(x):
    t = 0
    for v in x:
        t = t * c.tick() % 97 + c.tick()
    return t, c.n
""",
        ["f(np.arange(50.))"],
        0,
    ),
    (
        "while attr",
        """
class C:
    def __init__(self, lo, hi):
        self.lo = lo
        self.hi = hi
        self.n = 0
    def mid(self):
        return (self.lo + self.hi) / 2
    def cut(self, f):
        m = self.mid()
        if f > m:
            self.lo = m
        else:
            self.hi = m
        self.n += 1
def f(t):
    c = C(0.0, 1.0)
    while c.hi - c.lo > 1e-9:
        c.cut(t)
    return c.lo, c.n
""",
        ["f(0.3)", "f(0.7)"],
        0,
    ),
    (
        "subclass",
        """
class A:
    def __init__(self):
        self.n = 0
    def up(self, v):
        self.n += 1
        return v
class B(A):
    def up(self, v):
        self.n += 2
        return super().up(v) * 2
a = A()
b = B()
def f(o, x):
    t = 0.0
    for v in x:
        t += o.up(v)
    return t, o.n
""",
        ["f(a,np.arange(200.))", "f(b,np.arange(200.))", "f(a,np.arange(200.))"],
        0,
    ),
)
