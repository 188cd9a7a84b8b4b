"""Programs with trees, hooks, changes, walks and containers."""

from __future__ import annotations

from tests.nn.programs.program import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "deep tree",
        """
class N(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(3,3)
        self.kids = nn.ModuleList([N(d-1), N(d-1)] if d else [])
    def forward(self, x):
        y = self.lin(x)
        for k in self.kids: y = y + k(x)
        return y
m = N(3)
def f(x): return m(x)
""",
        [
            "f(x)",
            "m.kids[1].kids[0].lin.bias[...] = 1",
            "f(x)",
            "m.kids[0].kids[1].lin = nn.Linear(3,3)",
            "f(x)",
            "f(x)",
        ],
        2,
    ),
    Program(
        "shared children",
        """
l = nn.Linear(3,3)
class A(nn.Module):
    def __init__(self):
        super().__init__(); self.a = l; self.b = nn.Sequential(l, nn.ReLU())
    def forward(self, x): return self.a(x) + self.b(x)
m = A()
def f(x): return m(x)
""",
        ["f(x)", "l.weight[...] = 1", "f(x)", "m.a = nn.Linear(3,3)", "f(x)", "m.a is m.b[0]"],
        2,
    ),
    Program(
        "hooks registered in forward",
        """
log = []
class A(nn.Module):
    def __init__(self):
        super().__init__(); self.lin = nn.Linear(3,3); self.n = 0
    def forward(self, x):
        if self.n == 0:
            self.h = self.lin.register_forward_hook(lambda m, a, r: r * 2)
        self.n += 1
        return self.lin(x)
m = A()
def f(x): return m(x)
""",
        ["f(x)", "f(x)", "m.h.remove()", "f(x)", "m.n"],
        6,
    ),
    Program(
        "module made in the call",
        """
def f(x):
    l = nn.Sequential(nn.Linear(3,4), nn.ReLU(), nn.Linear(4,2))
    return l(x), len(list(l.parameters()))
""",
        ["f(x)", "f(x)", "f(x)", "f(x)", "f(x)", "f(x)"],
        3,
    ),
    Program(
        "module made and kept",
        """
kept = []
def f(x):
    l = nn.Linear(3,3)
    kept.append(l)
    return l(x)
""",
        ["f(x)", "f(x)", "f(x)", "[k.weight for k in kept]", "kept[0](x)"],
        3,
    ),
    Program(
        "ModuleDict mutated in forward",
        """
class A(nn.Module):
    def __init__(self):
        super().__init__(); self.d = nn.ModuleDict({'a': nn.Linear(3,3), 'b': nn.ReLU()}); self.n = 0
    def forward(self, x):
        self.d['c%d' % self.n] = nn.Identity()
        self.n += 1
        for k, v in self.d.items(): x = v(x)
        if 'b' in self.d and self.n > 1: del self.d['b']
        return x
m = A()
def f(x): return m(x)
""",
        ["f(x)", "list(m.d)", "f(x)", "list(m.d)", "f(x)", "list(m.d)"],
        4,
    ),
    Program(
        "exception in a layer",
        """
class A(nn.Module):
    def __init__(self):
        super().__init__(); self.lin = nn.Linear(3,3); self.calls = 0
    def forward(self, x):
        self.calls += 1
        if x.shape[0] > 2: raise ValueError('too many')
        return self.lin(x)
m = A()
def f(x):
    try: return m(x)
    except ValueError as e: return str(e)
""",
        ["f(x)", "f(np.ones((3,3)))", "f(x)", "m.calls", "f(np.ones((2,4)))", "m.calls"],
        6,
    ),
    Program(
        "uncaught exception",
        """
class A(nn.Module):
    def __init__(self):
        super().__init__(); self.lin = nn.Linear(3,3); self.calls = 0
    def forward(self, x):
        self.calls += 1
        y = self.lin(x)
        if self.calls == 2: raise KeyError('two')
        return y
m = A()
def f(x): return m(x)
""",
        ["f(x)", "f(x)", "f(x)", "m.calls"],
        4,
    ),
    Program(
        "dropout switches",
        """
m = MLP()
def f(x): return m(x)
""",
        [
            "f(x)",
            "f(x)",
            "m.eval() is m",
            "f(x)",
            "m.train() is m",
            "f(x)",
            "m.drop.eval() is m.drop",
            "f(x)",
            "m.drop.p = 0.9",
            "m.train() is m",
            "f(x)",
        ],
        4,
    ),
    Program(
        "deepcopy",
        """
m = MLP(); m2 = copy.deepcopy(m)
def f(m, x): return m(x)
""",
        ["f(m,x)", "f(m2,x)", "m2.layers[0].weight[...] = 0", "f(m2,x)", "f(m,x)", "f(copy.deepcopy(m2),x)"],
        3,
    ),
    Program(
        "deepcopy compiled module's model after compile",
        """
m = MLP()
def f(x): return m(x)
""",
        ["f(x)", "m = copy.deepcopy(m)", "f(x)", "m.layers[0].weight[...] = 0", "f(x)"],
        2,
    ),
    Program(
        "pickle",
        """
m = nn.Sequential(nn.Linear(3,3), nn.Tanh(), nn.LayerNorm(3))
def f(m, x): return m(x)
""",
        ["f(m,x)", "k = pickle.loads(pickle.dumps(m))", "f(k,x)", "k[0].bias[...] = 3", "f(k,x)", "f(m,x)"],
        2,
    ),
    Program(
        "super forward",
        """
class A(nn.Linear):
    def forward(self, x): return super().forward(x) + 1
class B(A):
    def forward(self, x): return super().forward(x) * self.in_features
m = B(3,3)
def f(x): return m(x)
""",
        ["f(x)", "A.forward = lambda self, x: x", "f(x)"],
        2,
    ),
    Program(
        "generator over parameters",
        """
m = MLP()
def f(x):
    g = (p for p in m.parameters() if p.ndim == 2)
    first = next(g)
    return x @ first + sum(p.sum() for p in g)
""",
        ["f(x)", "m.layers.append(nn.Linear(3,3)) is m.layers", "f(x)"],
        2,
    ),
    Program(
        "manual sgd",
        """
m = MLP(depth=1)
def f(x):
    y = m(x)
    for p in m.parameters(): p -= 0.1 * y.sum()
    return y
""",
        ["f(x)", "f(x)", "list(m.parameters())"],
        1,
    ),
    Program(
        "parameters replaced in forward",
        """
class A(nn.Module):
    def __init__(self):
        super().__init__(); self.w = nn.Parameter(np.ones(3))
    def forward(self, x):
        self.w = nn.Parameter(self.w * 2)
        return x * self.w
m = A()
def f(x): return m(x)
""",
        ["f(x)", "f(x)", "f(x)", "f(x)", "f(x)", "m.w"],
        3,
    ),
    Program(
        "buffers running mean",
        """
class BN(nn.Module):
    def __init__(self):
        super().__init__(); self.register_buffer('mean', np.zeros(3)); self.register_buffer('n', np.array(0))
    def forward(self, x):
        if self.training:
            self.mean = self.mean * 0.9 + x.mean(0) * 0.1
            self.n += 1
        return x - self.mean
m = BN()
def f(x): return m(x)
""",
        ["f(x)", "f(x)", "f(x)", "f(x)", "m.mean", "m.n", "m.eval() is m", "f(x)", "f(x)", "m.n"],
        5,
    ),
    Program(
        "in place buffers",
        """
class BN(nn.Module):
    def __init__(self):
        super().__init__(); self.register_buffer('mean', np.zeros(3))
    def forward(self, x):
        self.mean *= 0.9; self.mean += x.mean(0) * 0.1
        return x - self.mean
m = BN()
b = m.mean
def f(x): return m(x)
""",
        ["f(x)", "f(x)", "f(x)", "f(x)", "m.mean is b", "b"],
        2,
    ),
    Program(
        "recursion module",
        """
class R(nn.Module):
    def __init__(self):
        super().__init__(); self.l = nn.Linear(3,3)
    def forward(self, x, n):
        return x if n == 0 else self(self.l(x), n - 1)
m = R()
def f(x, n): return m(x, n)
""",
        ["f(x,3)", "f(x,3)", "f(x,2)"],
        3,
    ),
    Program(
        "callable attr lambda",
        """
class A(nn.Module):
    def __init__(self):
        super().__init__(); self.fn = lambda x: x * 2
    def forward(self, x): return self.fn(x)
m = A()
def f(x): return m(x)
""",
        ["f(x)", "m.fn = np.sin", "f(x)", "m.fn = nn.ReLU()", "f(x - 3)"],
        3,
    ),
    Program(
        "kwargs and varargs",
        """
class A(nn.Module):
    def forward(self, x, *args, scale=1.0, **kw): return x * scale + sum(args) + sum(kw.values())
m = A()
def f(x): return m(x, 1, 2, scale=3.0, q=4)
""",
        ["f(x)"],
        1,
    ),
    Program(
        "class attribute default module list",
        """
class A(nn.Module):
    names = ('a', 'b')
    def __init__(self):
        super().__init__()
        for n in self.names: setattr(self, n, nn.Linear(3,3))
    def forward(self, x):
        for n in self.names: x = getattr(self, n)(x)
        return x
m = A()
def f(x): return m(x)
""",
        ["f(x)", "A.names = ('b',)", "f(x)", "m.names = ('a','a')", "f(x)"],
        3,
    ),
    Program(
        "property on params",
        """
class A(nn.Module):
    def __init__(self):
        super().__init__(); self.w = nn.Parameter(np.ones(3))
    @property
    def norm(self): return np.sqrt((self.w ** 2).sum())
    @norm.setter
    def norm(self, v): self.w *= v / self.norm
    def forward(self, x): return x / self.norm
m = A()
def f(x):
    m.norm = 2.0
    return m(x)
""",
        ["f(x)", "m.w", "f(x)"],
        1,
    ),
    Program(
        "getattr fallback",
        """
class W(nn.Module):
    def __init__(self, inner): super().__init__(); self.inner = inner
    def __getattr__(self, n):
        try: return super().__getattr__(n)
        except AttributeError: return getattr(self.inner, n)
    def forward(self, x): return self.inner(x) * self.out_features
m = W(W(nn.Linear(3,3)))
def f(x): return m(x) + m.bias
""",
        ["f(x)", "m.inner.inner.out_features = 7", "f(x)", "m.out_features = 1", "f(x)"],
        3,
    ),
    Program(
        "setattr custom",
        """
class A(nn.Module):
    def __setattr__(self, n, v):
        if n == 'k': v = v * 2
        super().__setattr__(n, v)
    def forward(self, x):
        self.k = 3
        return x * self.k
m = A()
def f(x): return m(x)
""",
        ["f(x)", "m.k", "f(x)"],
        2,
    ),
    Program(
        "train inside",
        """
m = MLP()
def f(x):
    m.eval()
    y = m(x)
    m.train()
    return y, m.training, m.drop.training
""",
        ["f(x)", "f(x)"],
        2,
    ),
    Program(
        "apply inside",
        """
m = MLP()
def init(mod):
    if isinstance(mod, nn.Linear): mod.weight[...] = 0.5
def f(x):
    m.apply(init)
    return m(x)
""",
        ["m.eval() is m", "f(x)", "f(x)"],
        3,
    ),
    Program(
        "to dtype",
        """
m = MLP(); m.eval()
def f(x): return m(x)
""",
        ["f(x)", "m.float() is m", "f(x)", "f(x.astype(np.float32))", "m.double() is m", "f(x)"],
        5,
    ),
    Program(
        "state dict roundtrip",
        """
m = MLP(); m.eval(); other = MLP(); other.eval()
def f(x): return m(x)
""",
        [
            "f(x)",
            "m.load_state_dict(other.state_dict())",
            "f(x)",
            "m.load_state_dict(other.state_dict(), assign=True)",
            "f(x)",
            "m.layers[0].weight is other.layers[0].weight",
        ],
        2,
    ),
    Program(
        "sequential edits",
        """
m = nn.Sequential(nn.Linear(3,3), nn.ReLU())
def f(x): return m(x)
""",
        [
            "f(x)",
            "m.append(nn.Tanh()) is m",
            "f(x)",
            "m[1] = nn.Sigmoid()",
            "f(x)",
            "m.insert(0, nn.Identity()) is m",
            "f(x)",
            "m.pop(0)",
            "f(x)",
            "del m[-1]",
            "f(x)",
        ],
        6,
    ),
    Program(
        "index errors",
        """
m = nn.ModuleList([nn.ReLU()])
def f(x, i):
    try: return m[i](x)
    except (IndexError, TypeError, KeyError) as e: return type(e).__name__, str(e)
""",
        ["f(x,0)", "f(x,5)", "f(x,-2)", "f(x,'0')", "f(x,1.0)"],
        5,
    ),
    Program(
        "isinstance dispatch",
        """
m = MLP(); m.eval()
def f(x):
    n = 0
    for mod in m.modules():
        if isinstance(mod, nn.Linear): n += mod.weight.size; x = mod(x)
        elif isinstance(mod, (nn.Tanh, nn.Dropout)): x = x + 1
    return x, n
""",
        ["f(x)", "m.layers.append(nn.Tanh()) is m.layers", "f(x)"],
        2,
    ),
)
