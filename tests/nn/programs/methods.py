"""Programs with methods of all kinds, states that change, loops around modules."""

from __future__ import annotations

from tests.nn.programs.program import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "graph module views",
        """
class V(nn.Module):
    def forward(self, x): return x.T, x[0], x.reshape(-1) + 1
g, s = jm.aot.aot_export_module(V(), (x,), trace_joint=False)
gm = jm.aot.GraphModule(g, s, V())
def f(x):
    a, b, c = gm(x)
    return a + 1, b * 2, c
""",
        ["f(x)", "f(x * 2)"],
        1,
    ),
    Program(
        "attribute deleted then class attr shows",
        """
class A(nn.Module):
    k = 10.0
    def __init__(self): super().__init__(); self.k = 2.0
    def forward(self, x): return x * self.k
m = A()
def f(x): return m(x)
""",
        ["f(x)", "del m.k", "f(x)", "A.k = 4.0", "f(x)", "m.k = 2.0", "f(x)"],
        4,
    ),
    Program(
        "same module twice as args",
        """
a, b = nn.Linear(3,3), nn.Linear(3,3)
def f(m, k, x):
    y = m(x)
    m.bias[...] += 1
    return k(y), m is k
""",
        ["f(a,b,x)", "f(a,a,x)", "f(b,a,x)", "a.bias", "b.bias"],
        4,
    ),
    Program(
        "param is input view",
        """
m = nn.Linear(3,3)
w = m.weight
def f(x):
    x[0] = 7
    return m(np.ones((1,3)))
""",
        ["f(w)", "f(w)", "f(np.zeros((3,3)))"],
        3,
    ),
    Program(
        "try finally in forward",
        """
class A(nn.Module):
    def __init__(self): super().__init__(); self.depth = 0; self.l = nn.Linear(3,3)
    def forward(self, x):
        self.depth += 1
        try: return self.l(x)
        finally: self.depth -= 1
m = A()
def f(x):
    try: return m(x)
    except ValueError as e: return 'bad'
""",
        ["f(x)", "f(np.ones((2,5)))", "m.depth", "f(x)", "m.depth"],
        3,
    ),
    Program(
        "generator forward",
        """
class A(nn.Module):
    def __init__(self): super().__init__(); self.ls = nn.ModuleList([nn.Linear(3,3) for _ in range(3)])
    def steps(self, x):
        for l in self.ls:
            x = l(x)
            yield x
    def forward(self, x): return list(self.steps(x))
m = A()
def f(x): return sum(m(x))
""",
        ["f(x)", "m.ls.append(nn.ReLU()) is m.ls", "f(x)"],
        2,
    ),
    Program(
        "zip two models ema",
        """
m, e = nn.Linear(3,3), nn.Linear(3,3)
def f(x):
    for p, q in zip(m.parameters(), e.parameters()): q *= 0.9; q += p * 0.1
    return e(x)
""",
        ["f(x)", "f(x)", "e.weight", "m.weight = nn.Parameter(np.ones((3,3)))", "f(x)"],
        2,
    ),
    Program(
        "freeze by loop",
        """
m = MLP(); m.eval()
names = {n: p for n, p in m.named_parameters()}
def f(x):
    for n, p in m.named_parameters():
        if n.endswith('bias'): p[...] = 0
    return m(x)
""",
        ["f(x)", "f(x)", "names"],
        1,
    ),
    Program(
        "dict of outputs",
        """
class A(nn.Module):
    def __init__(self): super().__init__(); self.a = nn.Linear(3,2); self.b = nn.Linear(3,1)
    def forward(self, x): return {'a': self.a(x), 'b': self.b(x), 'm': self.a}
m = A()
def f(x):
    o = m(x)
    return o['a'] + o['b'], o['m'] is m.a, list(o)
""",
        ["f(x)"],
        1,
    ),
    Program(
        "override parameters()",
        """
class A(nn.Module):
    def __init__(self): super().__init__(); self.a = nn.Linear(3,3); self.b = nn.Linear(3,3)
    def parameters(self, recurse=True): return self.a.parameters(recurse)
    def forward(self, x): return x + sum(p.sum() for p in self.parameters())
m = A()
def f(x): return m(x), len(list(m.parameters()))
""",
        ["f(x)", "m.b.weight[...] = 1", "f(x)"],
        1,
    ),
    Program(
        "override named_modules",
        """
class A(nn.Module):
    def __init__(self): super().__init__(); self.a = nn.Linear(3,3)
    def named_modules(self, *a, **k): return iter([('only', self.a)])
m = nn.Sequential(A())
def f(x): return [n for n, _ in m.named_modules()], x + 1
""",
        ["f(x)", "f(x)"],
        2,
    ),
    Program(
        "get_submodule and friends",
        """
m = MLP()
def f(x): return m.get_submodule('layers.0')(x), m.get_parameter('layers.1.bias') is m.layers[1].bias
""",
        ["f(x)", "m.layers[0] = nn.ReLU()", "f(x)"],
        2,
    ),
    Program(
        "setattr dynamic names",
        """
class A(nn.Module):
    def __init__(self):
        super().__init__()
        for i in range(3): setattr(self, f'l{i}', nn.Linear(3,3))
    def forward(self, x):
        for i in range(3): x = getattr(self, f'l{i}')(x)
        return x
m = A()
def f(x): return m(x)
""",
        ["f(x)", "m.l1 = nn.Identity()", "f(x)"],
        2,
    ),
    Program(
        "multiple inheritance mixin",
        """
class Log:
    def note(self, v): self.notes.append(v)
class A(Log, nn.Module):
    def __init__(self): super().__init__(); self.notes = []; self.l = nn.Linear(3,3)
    def forward(self, x):
        y = self.l(x); self.note(y.shape); return y
m = A()
def f(x): return m(x)
""",
        ["f(x)", "f(x)", "m.notes"],
        3,
    ),
    Program(
        "slots mixin",
        """
class S:
    __slots__ = ('z',)
class A(nn.Module):
    __slots__ = ('q',)
    def __init__(self): super().__init__(); object.__setattr__(self, 'q', 3.0)
    def forward(self, x): return x * self.q
m = A()
def f(x): return m(x)
""",
        ["f(x)", "object.__setattr__(m, 'q', 5.0)", "f(x)", "m.q = 6.0", "f(x)"],
        3,
    ),
    Program(
        "cached property",
        """
class A(nn.Module):
    def __init__(self): super().__init__(); self.w = nn.Parameter(np.ones(3))
    @functools.cached_property
    def total(self): return float(self.w.sum())
    def forward(self, x): return x * self.total
m = A()
def f(x): return m(x)
""",
        ["f(x)", "m.total", "f(x)", "m.w[...] = 5", "f(x)", "del m.total", "f(x)"],
        5,
    ),
    Program(
        "rnn style loop",
        """
class Cell(nn.Module):
    def __init__(self): super().__init__(); self.i = nn.Linear(3,4); self.h = nn.Linear(4,4)
    def forward(self, x, h): return np.tanh(self.i(x) + self.h(h))
m = Cell()
def f(x):
    h = np.zeros(4); out = []
    for t in range(x.shape[0]): h = m(x[t], h); out.append(h)
    return np.stack(out)
""",
        ["f(x)", "f(np.ones((20,3)))", "m.h.weight[...] = 0", "f(np.ones((20,3)))"],
        3,
    ),
    Program(
        "while converge with module",
        """
m = nn.Linear(3,3, bias=False); m.weight *= 0.3
def f(x):
    n = 0
    while np.abs(x).sum() > 1e-3 and n < 50: x = m(x); n += 1
    return x, n
""",
        ["f(x)", "m.weight *= 0.5", "f(x)", "m.weight = nn.Parameter(np.eye(3) * 0.1)", "f(x)"],
        2,
    ),
)
