"""Programs with layers of the library, lazy ones among them."""

from __future__ import annotations

from tests.nn.programs.program import Program

__all__ = ["ROWS"]

ROWS = (
    Program(
        "batchnorm train eval",
        """
m = nn.Sequential(nn.Linear(3,4), nn.BatchNorm1d(4), nn.ReLU())
def f(x): return m(x)
""",
        [
            "f(x)",
            "f(x)",
            "m.eval() is m",
            "f(x)",
            "m.train() is m",
            "f(x)",
            "m[1].running_mean",
            "m[1].num_batches_tracked",
        ],
        2,
    ),
    Program(
        "mha",
        """
q = np.sin(np.arange(2*4*6.)).reshape(2,4,6)
m = nn.MultiheadAttention(6, 2, batch_first=True)
def f(x): return m(x, x, x)
""",
        ["f(q)", "f(q)", "m.in_proj_weight[...] = 0.1", "f(q)"],
        1,
    ),
    Program(
        "rnn family",
        """
q = np.sin(np.arange(5*2*3.)).reshape(5,2,3)
a, b, c = nn.RNN(3,4), nn.GRU(3,4), nn.LSTM(3,4, num_layers=2)
def f(x): return a(x), b(x), c(x)
""",
        ["f(q)", "f(q)", "f(q[:3])"],
        3,
    ),
    Program(
        "embedding and losses",
        """
e = nn.Embedding(10, 4); l = nn.Linear(4, 3); ce = nn.CrossEntropyLoss(); mse = nn.MSELoss()
ids = np.array([[1,2],[3,4]]); y = np.array([0,2])
def f(ids, y):
    h = l(e(ids).mean(1))
    return ce(h, y), mse(h, h * 0)
""",
        ["f(ids,y)", "e.weight[1] = 0", "f(ids,y)", "f(ids + 1, y)"],
        1,
    ),
    Program(
        "embedding out of range",
        """
e = nn.Embedding(4, 2)
def f(i):
    try: return e(i)
    except IndexError as error: return str(error)
""",
        ["f(np.array([1]))", "f(np.array([9]))", "f(np.array([-1]))"],
        3,
    ),
    Program(
        "hooked mha inner",
        """
q = np.sin(np.arange(2*4*6.)).reshape(2,4,6)
m = nn.MultiheadAttention(6, 2, batch_first=True); log = []
h = m.register_forward_hook(lambda mod, a, r: log.append(r[0].shape))
def f(x): return m(x, x, x)[0]
""",
        ["f(q)", "f(q)", "log", "h.remove()", "f(q)"],
        3,
    ),
    Program(
        "lazy conv net deep copy before",
        """
z = np.sin(np.arange(2*1*8*8.)).reshape(2,1,8,8)
m = nn.Sequential(nn.LazyConv2d(4,3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(3)); k = copy.deepcopy(m)
def f(m, x): return m(x)
""",
        ["f(m,z)", "f(k,z)", "f(m,z)", "f(k,z)", "type(m[0]).__name__"],
        2,
    ),
    Program(
        "lazy rng seeded",
        """
m = nn.LazyLinear(3, rng=np.random.default_rng(3)) if True else None
def f(x): return m(x)
""",
        ["f(x)", "f(x)", "m.weight"],
        1,
    ),
    Program(
        "lazy kept in list of jobs",
        """
m = nn.LazyLinear(2); jobs = []
def f(x):
    jobs.append(m)
    return m(x) + 1
""",
        ["f(x)", "jobs[0] is m", "m.weight", "f(x)"],
        2,
    ),
    Program(
        "lazy in try",
        """
m = nn.LazyLinear(2)
def f(x):
    try:
        y = m(x)
        return y @ np.ones((5, 1))
    except ValueError as e: return str(e)[:20]
""",
        ["f(x)", "m.weight", "f(x)"],
        2,
    ),
    Program(
        "lazy in conditional on shape",
        """
a, b = nn.LazyLinear(2), nn.LazyLinear(4)
def f(x): return a(x) if x.shape[0] == 2 else b(x)
""",
        ["f(x)", "b.has_uninitialized_params()", "f(np.ones((3,3)))", "f(x)", "f(np.ones((3,3)))"],
        2,
    ),
    Program(
        "lazy in data branch",
        """
a, b = nn.LazyLinear(2), nn.LazyLinear(2)
def f(x):
    if x.sum() > 0: return a(x)
    return b(x)
""",
        ["f(x)", "b.has_uninitialized_params()", "f(-x)", "f(x)", "f(-x)", "a.weight, b.weight"],
        6,
    ),
    Program(
        "lazy in loop",
        """
ls = nn.ModuleList([nn.LazyLinear(4) for _ in range(10)])
def f(x):
    for l in ls: x = np.tanh(l(x))
    return x
""",
        ["f(x)", "f(x)", "[p.shape for p in ls.parameters()]"],
        2,
    ),
    Program(
        "lazy with grad",
        """
m = nn.LazyLinear(2)
def f(x): return jm.grad(lambda x: m(x).sum())(x)
""",
        ["f(x)", "f(x)", "m.weight"],
        2,
    ),
    Program(
        "lazy parameters walked first",
        """
m = nn.Sequential(nn.LazyLinear(2))
def f(x):
    n = sum(1 for _ in m.modules())
    y = m(x)
    return y, n, [p.shape for p in m.parameters()]
""",
        ["f(x)", "f(x)", "f(x)"],
        3,
    ),
    Program(
        "managed mlp sgd flat",
        """
m = nn.manage(nn.Sequential(nn.Linear(3,4), nn.Tanh(), nn.Linear(4,1)), use_orig_params=True)
def f(x): return m(x).sum()
def step():
    for mod in m.modules():
        for n, q in list(mod._parameters.items()): mod._parameters[n] = q - 0.1
""",
        ["f(x)", "step()", "f(x)", "step()", "f(x)"],
        1,
    ),
    Program(
        "dropout variants",
        """
z = np.sin(np.arange(2*4*5.)).reshape(2,4,5)
m = nn.Sequential(nn.Dropout(0.5), nn.Dropout(0.2, rng=np.random.default_rng(3)))
def f(x): return m(x)
""",
        ["f(z)", "f(z)", "m[0].p = 0.0", "f(z)", "np.random.seed(3)", "f(z)", "m.eval() is m", "f(z)"],
        3,
    ),
    Program(
        "jit module method compile",
        """
class A(nn.Module):
    def __init__(self): super().__init__(); self.l = nn.Linear(3,3)
    @jm.compile
    def forward(self, x): return self.l(x)
ms = [A() for _ in range(6)]
def f(m, x): return m(x)
""",
        ["f(ms[0],x)", "f(ms[1],x)", "f(ms[2],x)", "f(ms[3],x)", "f(ms[4],x)", "f(ms[5],x)"],
        2,
    ),
)
