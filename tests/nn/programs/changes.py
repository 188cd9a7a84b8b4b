"""Programs with changes between the calls, many instances, parameters by list and by name."""

from __future__ import annotations

from tests.nn.programs.program import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "module as dict key",
        """
a, b = nn.ReLU(), nn.Tanh()
table = {a: 2.0, b: 3.0}
def f(x): return a(x) * table[a] + b(x) * table[b]
""",
        ["f(x)", "table[a] = 5.0", "f(x)"],
        3,
    ),
    Program(
        "modules in a plain list",
        """
mods = [nn.Linear(3,3), nn.ReLU()]
class A(nn.Module):
    def __init__(self): super().__init__(); self.mods = mods
    def forward(self, x):
        for m in self.mods: x = m(x)
        return x
m = A()
def f(x): return m(x), len(list(m.parameters()))
""",
        ["f(x)", "mods.append(nn.Tanh())", "f(x)", "mods[0] = nn.Identity()", "f(x)"],
        3,
    ),
    Program(
        "closure over module",
        """
def make(m):
    def g(x): return m(x) * 2
    return g
g1, g2 = make(nn.Linear(3,3)), make(nn.Linear(3,3))
def f(g, x): return g(x)
""",
        ["f(g1,x)", "f(g2,x)", "f(g1,x)"],
        3,
    ),
    Program(
        "partial of module",
        """
class A(nn.Module):
    def forward(self, x, k): return x * k
m = A(); part = functools.partial(m, k=3.0)
def f(x): return part(x)
""",
        ["f(x)", "f(x)"],
        1,
    ),
    Program(
        "bound forward passed",
        """
m = nn.Linear(3,3)
def g(fn, x): return fn(x)
def f(x): return g(m.forward, x) + g(m, x)
""",
        ["f(x)", "m.bias[...] = 0", "f(x)"],
        1,
    ),
    Program(
        "hook changes args",
        """
m = nn.Linear(3,3)
h = m.register_forward_pre_hook(lambda m, a: (a[0] * 2,))
def f(x): return m(x)
""",
        ["f(x)", "h.remove()", "f(x)", "f(x)"],
        3,
    ),
    Program(
        "hook closure state",
        """
m = nn.Linear(3,3); seen = {}
m.register_forward_hook(lambda mod, a, r: seen.__setitem__('out', r))
def f(x): return m(x) * 2
""",
        ["f(x)", "seen['out']", "f(x + 1)", "seen['out']"],
        2,
    ),
    Program(
        "hook raising",
        """
m = nn.Linear(3,3)
def hook(m, a, r): raise RuntimeError('hooked')
h = m.register_forward_hook(hook)
def f(x):
    try: return m(x)
    except RuntimeError as e: return str(e)
""",
        ["f(x)", "h.remove()", "f(x)"],
        3,
    ),
    Program(
        "global pre hook counting",
        """
n = [0]
m = nn.Sequential(nn.Linear(3,3), nn.ReLU())
def hook(m, a): n[0] += 1
def f(x): return m(x)
""",
        ["f(x)", "h = nn.register_module_forward_pre_hook(hook)", "f(x)", "n", "f(x)", "n", "h.remove()", "f(x)", "n"],
        3,
    ),
    Program(
        "hook with kwargs",
        """
class A(nn.Module):
    def forward(self, x, k=1): return x * k
m = A()
m.register_forward_pre_hook(lambda m, a, kw: (a, {**kw, 'k': kw.get('k', 1) + 1}), with_kwargs=True)
m.register_forward_hook(lambda m, a, kw, r: r + kw['k'], with_kwargs=True)
def f(x): return m(x, k=3), m(x)
""",
        ["f(x)", "f(x)"],
        1,
    ),
    Program(
        "always call hook",
        """
log = []
class A(nn.Module):
    def forward(self, x):
        if x.shape[0] == 3: raise ValueError('no')
        return x
m = A()
m.register_forward_hook(lambda m, a, r: log.append(r is None), always_call=True)
def f(x):
    try: return m(x)
    except ValueError: return 'caught'
""",
        ["f(x)", "f(np.ones((3,3)))", "log"],
        3,
    ),
    Program(
        "many instances loop",
        """
ms = [MLP() for _ in range(12)]
for m in ms: m.eval()
def f(m, x): return m(x)
""",
        [
            "f(ms[0],x)",
            "f(ms[1],x)",
            "f(ms[2],x)",
            "f(ms[3],x)",
            "f(ms[4],x)",
            "f(ms[5],x)",
            "f(ms[6],x)",
            "f(ms[7],x)",
            "f(ms[8],x)",
            "f(ms[9],x)",
            "f(ms[10],x)",
            "f(ms[11],x)",
            "f(ms[0],x)",
        ],
        2,
    ),
    Program(
        "instances differ in structure",
        """
ms = [MLP(depth=d % 3 + 1) for d in range(9)]
for m in ms: m.eval()
def f(m, x): return m(x)
""",
        [
            "f(ms[0],x)",
            "f(ms[1],x)",
            "f(ms[2],x)",
            "f(ms[3],x)",
            "f(ms[4],x)",
            "f(ms[5],x)",
            "f(ms[6],x)",
            "f(ms[7],x)",
            "f(ms[8],x)",
        ],
        6,
    ),
    Program(
        "instances with flag",
        """
class A(nn.Module):
    def __init__(self, flag): super().__init__(); self.flag = flag; self.w = nn.Parameter(np.full(3, 2.0))
    def forward(self, x): return x * self.w if self.flag else x + self.w
ms = [A(i % 2 == 0) for i in range(8)]
def f(m, x): return m(x)
""",
        [
            "f(ms[0],x)",
            "f(ms[1],x)",
            "f(ms[2],x)",
            "f(ms[3],x)",
            "f(ms[4],x)",
            "f(ms[5],x)",
            "f(ms[6],x)",
            "f(ms[7],x)",
        ],
        4,
    ),
    Program(
        "list of models ensemble",
        """
ms = nn.ModuleList([nn.Linear(3,2) for _ in range(5)])
def f(x): return np.stack([m(x) for m in ms]).mean(0)
""",
        ["f(x)", "ms[2].weight[...] = 9", "f(x)", "ms[2] = ms[0]", "f(x)"],
        2,
    ),
    Program(
        "weights alias input",
        """
m = nn.Linear(3,3, bias=False)
def f(x):
    x += 1
    return m(x)
""",
        ["f(x.copy())", "f(m.weight)", "m.weight", "f(m.weight.T)", "m.weight"],
        5,
    ),
    Program(
        "return parameter itself",
        """
m = nn.Linear(3,3)
def f(x): return m.weight, m.weight.T, m, x @ m.weight
""",
        ["f(x)[0] is m.weight", "np.shares_memory(f(x)[1], m.weight)", "f(x)[2] is m"],
        1,
    ),
    Program(
        "parameter dict",
        """
d = nn.ParameterDict({'a': np.ones(3), 'b': np.zeros(3)})
def f(x):
    for k in d: x = x * 2 + d[k] + len(k)
    return x, 'a' in d, 'z' in d, d.get('q', 4), list(d.keys())
""",
        ["f(x)", "d['a'][...] = 5", "f(x)", "d['c'] = np.ones(3)", "f(x)", "d.pop('a')", "f(x)"],
        3,
    ),
    Program(
        "parameter list",
        """
d = nn.ParameterList([np.ones(3), np.full(3, 2.0)])
def f(x):
    for i, q in enumerate(d): x = x * q + i
    return x, d[-1], len(d), len(d[1:])
""",
        ["f(x)", "d.append(np.ones(3)) is d", "f(x)", "d[0] = np.zeros(3)", "f(x)"],
        3,
    ),
    Program(
        "class swap",
        """
class A(nn.Module):
    def forward(self, x): return x + 1
class B(nn.Module):
    def forward(self, x): return x + 2
m = A()
def f(x): return m(x)
""",
        ["f(x)", "m.__class__ = B", "f(x)", "m.__class__ = A", "f(x)"],
        3,
    ),
    Program(
        "method patched on class and instance",
        """
class A(nn.Module):
    def forward(self, x): return self.h(x)
    def h(self, x): return x + 1
m = A()
def f(x): return m(x)
""",
        ["f(x)", "m.h = lambda x: x * 5", "f(x)", "del m.h", "f(x)", "A.h = lambda s, x: x - 1", "f(x)"],
        3,
    ),
    Program(
        "forward patched with bound method",
        """
import types
m = nn.Linear(3,3); k = nn.Linear(3,3)
def f(x): return m(x)
""",
        [
            "f(x)",
            "m.forward = k.forward",
            "f(x)",
            "m.forward = types.MethodType(lambda s, x: x + s.in_features, m)",
            "f(x)",
            "del m.forward",
            "f(x)",
        ],
        3,
    ),
    Program(
        "named modules with edits while walking",
        """
m = MLP(); m.eval()
def f(x):
    names = []
    for n, mod in m.named_modules():
        names.append(n)
        if n == 'act': mod.extra = len(names)
    return names, m.act.extra, x + 1
""",
        ["f(x)", "m.act.extra", "f(x)"],
        2,
    ),
    Program(
        "global model rebinding",
        """
model = nn.Linear(3,3)
def step():
    global model
    model = nn.Sequential(model, nn.ReLU())
def f(x):
    y = model(x)
    step()
    return y
""",
        ["f(x)", "f(x)", "f(x)", "len(list(model.modules()))"],
        4,
    ),
    Program(
        "module equality and bool",
        """
a, b = nn.ReLU(), nn.ModuleList()
def f(x): return bool(a), bool(b), a == a, a == b, a is not b, x + (1 if b else 2), hash(a) == hash(a)
""",
        ["f(x)", "b.append(a) is b", "f(x)"],
        2,
    ),
    Program(
        "walk with memo",
        """
m = MLP()
def f(x): return [n for n, _ in m.named_modules(memo=set(), prefix='p')], x + 1
""",
        ["f(x)", "f(x)"],
        2,
    ),
    Program(
        "training data loop",
        """
m = nn.Linear(3,1)
data = [(np.full((2,3), float(i)), np.ones((2,1))) for i in range(4)]
def f():
    total = 0.0
    for a, b in data:
        e = m(a) - b
        m.weight -= 0.01 * (e.T @ a); m.bias -= 0.01 * e.sum(0)
        total = total + (e ** 2).sum()
    return total
""",
        ["f()", "f()", "m.weight", "m.bias"],
        1,
    ),
    Program(
        "grad over module",
        """
m = nn.Sequential(nn.Linear(3,4), nn.Tanh(), nn.Linear(4,1))
def f(x):
    def loss(w):
        m[0].weight = w
        return m(x).sum()
    g = jm.grad(loss)(m[0].weight * 1.0)
    return g
""",
        ["f(x)", "f(x)"],
        3,
    ),
    Program(
        "nested function defining module class",
        """
def f(x):
    class A(nn.Module):
        def forward(self, x): return x * 2
    return A()(x)
""",
        ["f(x)", "f(x)", "f(x)"],
        3,
    ),
    Program(
        "copy in forward",
        """
m = nn.Linear(3,3)
def f(x):
    k = copy.deepcopy(m)
    k.weight[...] = 1
    return k(x), m(x)
""",
        ["f(x)", "f(x)"],
        2,
    ),
    Program(
        "next(parameters) dtype device idiom",
        """
m = MLP(); m.eval()
def f(x):
    dt = next(m.parameters()).dtype
    return m(x.astype(dt)), sum(p.size for p in m.parameters())
""",
        ["f(x)", "m.float() is m", "f(x)"],
        2,
    ),
    Program(
        "with torch style context",
        """
m = MLP()
class Eval:
    def __init__(self, m): self.m = m
    def __enter__(self): self.was = self.m.training; self.m.eval(); return self
    def __exit__(self, *a): self.m.train(self.was)
def f(x):
    with Eval(m): return m(x)
""",
        ["f(x)", "m.training, m.drop.training", "f(x)"],
        2,
    ),
)
