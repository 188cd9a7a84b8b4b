"""Programs with modules that are compiled themselves, managed, lazy, exported, or held in other objects."""

from __future__ import annotations

from tests.nn.programs.program import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "compiled module object",
        """
m = MLP(); m.eval()
cm = jm.compile(m)
def f(x): return cm(x) + m(x)
""",
        [
            "f(x)",
            "m.layers[0].weight[...] = 0",
            "f(x)",
            "m.layers[1] = nn.Identity()",
            "f(x)",
            "cm.layers[0].bias[...] = 4",
            "f(x)",
        ],
        3,
    ),
    Program(
        "compiled forward assigned",
        """
m = MLP(); m.eval()
m.forward = jm.compile(m.forward)
def f(x): return m(x)
""",
        ["f(x)", "m.layers[0].weight[...] = 0", "f(x)", "m.act = nn.ReLU()", "f(x)"],
        3,
    ),
    Program(
        "parent reference cycle",
        """
class Child(nn.Module):
    def __init__(self, parent): super().__init__(); self.parent = [parent]; self.w = nn.Parameter(np.ones(3))
    def forward(self, x): return x * self.w * self.parent[0].scale
class Parent(nn.Module):
    def __init__(self): super().__init__(); self.scale = 2.0; self.child = Child(self)
    def forward(self, x): return self.child(x)
m = Parent()
def f(x): return m(x)
""",
        ["f(x)", "m.scale = 3.0", "f(x)", "m.child.w[...] = 5", "f(x)"],
        2,
    ),
    Program(
        "modules as arguments in list",
        """
ms = [nn.Linear(3,3), nn.ReLU()]
def f(mods, x):
    for m in mods: x = m(x)
    return x
""",
        ["f(ms,x)", "f([ms[0]],x)", "f(ms[::-1],x)", "f(ms,x)", "f((ms[0],ms[1]),x)"],
        5,
    ),
    Program(
        "module default arg",
        """
base = nn.Linear(3,3)
def f(x, m=base): return m(x)
""",
        ["f(x)", "f(x, nn.ReLU())", "f(x)"],
        3,
    ),
    Program(
        "module in object",
        """
class Holder: pass
h = Holder(); h.m = nn.Linear(3,3); h.opt = {'m': h.m}
def f(x): return h.m(x) + h.opt['m'](x)
""",
        ["f(x)", "h.opt['m'] = nn.ReLU()", "f(x)", "h.m = h.opt['m']", "f(x)"],
        3,
    ),
    Program(
        "call override",
        """
class A(nn.Linear):
    def __call__(self, x, twice=False):
        y = super().__call__(x)
        return y + y if twice else y
m = A(3,3)
def f(x): return m(x), m(x, twice=True)
""",
        ["f(x)", "h = m.register_forward_hook(lambda m,a,r: r*2)", "f(x)", "h.remove()", "f(x)"],
        4,
    ),
    Program(
        "eq and len override",
        """
class A(nn.Module):
    def __len__(self): return 0
    def __eq__(self, o): return isinstance(o, A)
    __hash__ = nn.Module.__hash__
    def forward(self, x): return x + 1
m, k = A(), A()
def f(x): return (m(x) if m else x * 10), m == k, m != k, m is k
""",
        ["f(x)", "f(x)"],
        2,
    ),
    Program(
        "break in the middle of forward",
        """
class A(nn.Module):
    def __init__(self): super().__init__(); self.a = nn.Linear(3,3); self.b = nn.Linear(3,3); self.log = []
    def forward(self, x):
        y = self.a(x)
        if y.sum() > 0: y = y * 2
        jm.graph_break()
        self.log.append(float(y.sum()))
        return self.b(y)
m = A()
def f(x): return m(x) * 3
""",
        ["f(x)", "f(-x)", "m.b.weight[...] = 0", "f(x)", "m.log", "m.a = m.b", "f(x)"],
        8,
    ),
    Program(
        "managed with break",
        """
m = nn.manage(MLP(), use_orig_params=True); m.eval()
def f(x):
    y = m(x)
    jm.graph_break()
    return m(y)
""",
        [
            "f(x)",
            "m.layers[0].weight = np.ones((3,3))",
            "f(x)",
            "m.layers[1].bias = np.ones(3)",
            "f(x)",
            "m.layers[0] = nn.Linear(3,3)",
            "f(x)",
        ],
        2,
    ),
    Program(
        "flat buffer owner",
        """
m = nn.manage(MLP(), use_orig_params=True); m.eval()
flat = [np.arange(24.0) / 10, np.arange(24.0)[::-1] / 7]
def swap(i):
    k = 0
    for mod in m.modules():
        for n, q in list(mod._parameters.items()):
            mod._parameters[n] = flat[i][k:k+q.size].reshape(q.shape); k += q.size
def f(x): return m(x)
""",
        ["f(x)", "swap(0)", "f(x)", "swap(1)", "f(x)", "swap(0)", "f(x)", "flat[0][...] = 1", "f(x)"],
        3,
    ),
    Program(
        "managed walk",
        """
m = nn.manage(MLP(), use_orig_params=True)
def f(x): return x + sum(p.sum() for p in m.parameters()), [n for n, _ in m.named_parameters()]
""",
        [
            "f(x)",
            "m.layers[0].weight = np.ones((3,3))",
            "f(x)",
            "m.layers[0].register_parameter('extra', nn.Parameter(np.ones(3)))",
            "f(x)",
        ],
        2,
    ),
    Program(
        "lazy with branch on data before",
        """
class LazyBias(nn.LazyModuleMixin, nn.Module):
    cls_to_become = None
    def __init__(self): super().__init__(); self.b = nn.UninitializedParameter()
    def initialize_parameters(self, x): self.materialize('b', x.shape[-1:])[...] = np.random.rand(x.shape[-1])
    def forward(self, x): return x + self.b
m = LazyBias()
def f(x):
    if x.sum() > 100: x = x / 2
    y = m(x)
    return y * np.random.rand()
""",
        ["f(x)", "f(x * 100)", "f(x)", "m.b"],
        5,
    ),
    Program(
        "lazy called twice and hook",
        """
class LazyBias(nn.LazyModuleMixin, nn.Module):
    def __init__(self): super().__init__(); self.b = nn.UninitializedParameter()
    def initialize_parameters(self, x): self.materialize('b', x.shape[-1:])[...] = 3
    def forward(self, x): return x + self.b
m = LazyBias(); log = []
m.register_forward_hook(lambda mod, a, r: log.append(r.shape))
def f(x): return m(m(x))
""",
        ["f(x)", "f(x)", "log"],
        2,
    ),
    Program(
        "lazy raising midway",
        """
n = [0]
class LazyBias(nn.LazyModuleMixin, nn.Module):
    def __init__(self): super().__init__(); self.b = nn.UninitializedParameter()
    def initialize_parameters(self, x):
        self.materialize('b', x.shape[-1:])
        self.b[...] = np.random.rand(*self.b.shape)
        if self.training: raise RuntimeError('eval first')
    def forward(self, x): return x + self.b
m = LazyBias()
def f(x): return m(x)
""",
        ["f(x)", "m.eval() is m", "f(x)", "f(x)"],
        3,
    ),
    Program(
        "lazy mismatched input",
        """
class LazyBias(nn.LazyModuleMixin, nn.Module):
    def __init__(self): super().__init__(); self.b = nn.UninitializedParameter()
    def initialize_parameters(self, x): self.materialize('b', x.shape[-1:])[...] = 3
    def forward(self, x): return x + self.b
m = LazyBias()
def f(x): return m(x)
""",
        ["f(x)", "f(np.ones((2,4)))", "f(np.ones((5,3)))", "f(np.ones(1))"],
        5,
    ),
    Program(
        "graph module in module",
        """
inner = nn.Sequential(nn.Linear(3,3), nn.Tanh())
g, s = jm.aot.aot_export_module(inner, (x,), trace_joint=False)
gm = jm.aot.GraphModule(g, s, inner)
class A(nn.Module):
    def __init__(self): super().__init__(); self.g = gm; self.l = nn.Linear(3,3)
    def forward(self, x): return self.l(self.g(x))
m = A()
def f(x): return m(x)
""",
        [
            "f(x)",
            "inner[0].weight[...] = 1",
            "f(x)",
            "h = m.g.register_forward_hook(lambda m,a,r: r + 1)",
            "f(x)",
            "h.remove()",
            "f(x)",
            "copy.deepcopy(m)(x)",
        ],
        3,
    ),
)
