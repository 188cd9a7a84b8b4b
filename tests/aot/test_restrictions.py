"""Every restriction of the ahead-of-time functions is an error that says what, where or why, and what to try."""

import itertools
import linecache

import pytest

from jitmagic.errors import JitMagicError

PRELUDE = """
import numpy as np
import jitmagic as jm
rng = np.random.default_rng(0)
table = np.ones(2)
scalar = np.float64(3)
log = []
class M(jm.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = jm.nn.Parameter(np.array([1.0, 2.0]))
        self.register_buffer("b", np.zeros(2))
        self.register_buffer("c", np.zeros(2))
    def forward(self, x):
        return forward(self, x)
class Own(np.ndarray): pass
x = np.ones(2)
"""

NUMBERS = itertools.count()


def evaluated(definition, request):
    """The request in a namespace with the definition, in a file of its own."""
    text = PRELUDE + definition
    filename = f"<restriction {next(NUMBERS)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    space = {"__name__": "__main__"}
    exec(compile(text, filename, "exec"), space)
    return eval(request, space)


EXPORT = "jm.aot.aot_export_module(M(), (x,), trace_joint=False)"
JOINT = "jm.aot.aot_export_module(M(), (x,), trace_joint=True, output_loss_index=0)"
SIMPLE = "jm.aot.aot_export_joint_simple(f, (x,), trace_joint=False)"
RUN = "jm.aot.aot_function(f, jm.aot.aot_eager)(jm.Tensor(x, requires_grad=True))"
SUM = "def forward(self, x): return (self.w * x).sum()"

# name: definition, request, words of the message: what it is about, why or where, what to try
ROWS = {
    # A45, A46
    "simplified form, other sizes": (
        SUM,
        "jm.aot.aot_module_simplified(M(), [x], jm.aot.aot_eager)(np.ones(3))",
        ["args[0].shape", "(2,)", "(3,)", "aot_module"],
    ),
    "a partition that does not fit": (
        "def f(x): return (x * x).sum()",
        "jm.aot.aot_function(f, jm.aot.aot_eager, partition_fn=lambda j: None)(jm.Tensor(x, requires_grad=True))",
        ["partition function", "NoneType", "Halves"],
    ),
    "a partition that draws again": (
        "def f(x): return (x * np.random.random(2)).sum()",
        "jm.aot.aot_function(f, jm.aot.aot_eager, partition_fn=lambda j: jm.aot.cut(j, j.primal_inputs))"
        "(jm.Tensor(x, requires_grad=True))",
        ["random_random", "line 18", "functionalize_rng_ops"],
    ),
    "no compiler": ("def f(x): return x", "jm.aot.aot_function(f, None)", ["fw_compiler", "function"]),
    "subclass of ndarray": (
        "def f(x): return x * 2",
        "jm.aot.aot_function(f, jm.aot.aot_eager)(x.view(Own))",
        ["Own", "subclass", "plain arrays"],
    ),
    "no single graph": (
        "def f(x):\n    y = x * 2\n    open('/dev/null').close()\n    return y",
        RUN,
        ["f cannot be captured", "line 20", "open", "Try:"],
    ),
    "write to a leaf": (
        "def f(x):\n    x += 1\n    return x.sum()",
        RUN,
        ["leaf", "in place", "no_grad"],
    ),
    "a stand-in as parameter": (
        SUM + "\nm = M()\nm._parameters['w'] = jm.aot.StandInMode().array((2,))",
        "jm.aot.aot_module(m, jm.aot.aot_eager)",
        ["parameter w", "stand-in", "real array"],
    ),
    # A47 to A52
    "functionalised random state": (
        SUM,
        "jm.aot.aot_export_module(M(), (x,), trace_joint=False, functionalize_rng_ops=True)",
        ["functionalize_rng_ops", "turn it off"],
    ),
    "no loss index": (SUM, "jm.aot.aot_export_module(M(), (x,), trace_joint=True)", ["output_loss_index", "which"]),
    "loss index out of range": (
        SUM,
        "jm.aot.aot_export_module(M(), (x,), trace_joint=True, output_loss_index=3)",
        ["output_loss_index=3", "1 outputs"],
    ),
    "loss in a dict": ("def forward(self, x): return {'a': (self.w * x).sum()}", JOINT, ["dict", "list or a tuple"]),
    "another output with gradient": (
        "def forward(self, x): return (self.w * x).sum(), self.w * x",
        JOINT,
        ["output 1", "output 0", "detach"],
    ),
    "loss without gradient": ("def forward(self, x): return (x * 2).sum()", JOINT, ["output 0", "no gradient"]),
    "loss of several elements": ("def forward(self, x): return self.w * x", JOINT, ["output 0", "(2,)", "one element"]),
    "unused parameter": (
        SUM + "\nm = M()\nm.v = jm.nn.Parameter(np.ones(1))",
        "jm.aot.aot_export_module(m, (x,), trace_joint=True, output_loss_index=0)",
        ["parameter v", "no gradient", "leave it out"],
    ),
    "shape of an input": (
        "def forward(self, x):\n    x.shape = (2, 1)\n    return (self.w * x).sum()",
        EXPORT,
        ["M sets args[0].shape", "line 19", "output"],
    ),
    "write to a parameter": (
        "def forward(self, x):\n    with jm.no_grad():\n        self.w *= 2\n    return (self.w * x).sum()",
        JOINT,
        ["w", "requires a gradient", "only buffers"],
    ),
    "write to an argument": (
        "def forward(self, x):\n    x *= 2\n    return (self.w * x).sum()",
        EXPORT,
        ["argument 0", "input 3, after 3 parameters", "copy"],
    ),
    "subclass exported": (SUM, "jm.aot.aot_export_module(M(), (x.view(Own),), trace_joint=False)", ["Own", "plain"]),
    "tied parameters": (
        SUM + "\nm = M()\nm.register_parameter('v', m.w)",
        "jm.aot.aot_export_module(m, (x,), trace_joint=False)",
        ["v", "w", "one array", "untie"],
    ),
    "overlapping arguments": (
        "def f(x, y):\n    x[0] = 1.0\n    return (y * 2,)",
        "jm.aot.aot_export_joint_simple(f, (x, x[::-1]), trace_joint=False)",
        ["args[0], args[1]", "share memory", "written"],
    ),
    # what no graph can hold
    "generator of the surroundings": (
        "def forward(self, x): return (self.w * x * rng.random(2)).sum()",
        EXPORT,
        ["rng", "random numbers", "pass the numbers"],
    ),
    "NumPy's own generator": (
        "def forward(self, x): return (self.w * x * np.random.random(2)).sum()",
        EXPORT,
        ["np.random.random", "random numbers", "pass the numbers"],
    ),
    "a generator as argument": (
        "def f(x, r): return (x * r.random(2),)",
        "jm.aot.aot_export_joint_simple(f, (x, rng), trace_joint=False)",
        ["random_random", "line 18", "pass the numbers"],
    ),
    "nested argument": (
        "def forward(self, x): return (self.w * x['a']).sum()",
        "jm.aot.aot_export_module(M(), ({'a': x},), trace_joint=False)",
        ["argument 0", "dict", "entries"],
    ),
    "global array": ("def f(x): return (x * table,)", SIMPLE, ["table", "no argument", "buffer"]),
    "global NumPy number": ("def f(x): return (x * scalar,)", SIMPLE, ["scalar", "no argument", "constant"]),
    "global assigned": (
        "def f(x):\n    global table\n    table = x * 2\n    return (x * 3,)",
        SIMPLE,
        ["f sets the global table", "line 20", "buffer"],
    ),
    "append": ("def f(x):\n    log.append(1)\n    return (x * 3,)", SIMPLE, ["changes the contents of log", "output"]),
    "print": ("def f(x):\n    print('a')\n    return (x * 3,)", SIMPLE, ["f calls print", "line 19", "output"]),
    "attribute of a module": (
        "def forward(self, x):\n    self.last = 4\n    return (self.w * x).sum()",
        EXPORT,
        ["M sets module.last", "buffer"],
    ),
    "buffer becomes an argument": (
        "def forward(self, x):\n    self.b = x\n    return (self.w * x).sum()",
        EXPORT,
        ["buffer b", "does not compute", "copy"],
    ),
    "buffer becomes a constant": (
        "def forward(self, x):\n    self.b = None\n    return (self.w * x).sum()",
        EXPORT,
        ["b"],
    ),
    "buffer of another dtype": (
        "def forward(self, x):\n    self.b = (x * 2).astype('f4')\n    return (self.w * x).sum()",
        EXPORT,
        ["buffer b", "float64", "float32", "convert"],
    ),
    "two buffers become one": (
        "def forward(self, x):\n    self.b = self.c = x * 2\n    return (self.w * x).sum()",
        EXPORT,
        ["b and c", "one array", "copy"],
    ),
    "buffer that requires a gradient": (
        "def forward(self, x):\n    self.b = self.w * 2\n    return (self.w * x).sum()",
        JOINT,
        ["buffer b", "requires a gradient", "detach"],
    ),
    "new buffer": (
        "def forward(self, x):\n    self.register_buffer('n', x * 2)\n    return (self.w * x).sum()",
        EXPORT,
        ["M changes the contents", "buffer of the module"],
    ),
    # A54
    "simple: input written": ("def f(x):\n    x += 1\n    return (x * 2,)", SIMPLE, ["writes into arg0", "copy"]),
    "simple: view of an input": ("def f(x): return (x[1:],)", SIMPLE, ["output 0", "alias of an input", "copy"]),
    "simple: the input": ("def f(x): return (x,)", SIMPLE, ["output 0", "alias of an input", "copy"]),
    "simple: view of another output": (
        "def f(x):\n    y = x * 2\n    return y, y[:1]",
        SIMPLE,
        ["output 1", "alias", "copy"],
    ),
    "simple: an output twice": ("def f(x):\n    y = x * 2\n    return y, y", SIMPLE, ["output 1", "output 0", "copy"]),
    "simple: a number": ("def f(x): return x * 2, 3", SIMPLE, ["output 1", "int", "leave it out"]),
    "simple: None": ("def f(x): return x * 2, None", SIMPLE, ["output 1", "None", "leave it out"]),
    "simple: inputs in a tuple": (
        "def f(p): return (p[0] * 2,)",
        "jm.aot.aot_export_joint_simple(f, ((x,),), trace_joint=False)",
        ["inputs hold a tuple", "place 0", "flat"],
    ),
    "simple: inputs in a dict": (
        "def f(x): return (x * 2,)",
        "jm.aot.aot_export_joint_simple(f, {'x': x}, trace_joint=False)",
        ["inputs", "list or tuple", "dict"],
    ),
    "simple: output alone": ("def f(x): return x * 2", SIMPLE, ["outputs", "list or tuple"]),
    "simple: nested output": ("def f(x): return ((x * 2,),)", SIMPLE, ["outputs hold a tuple", "place 0", "flat"]),
    "simple: nothing to differentiate": (
        "def f(x): return (x * 2,)",
        "jm.aot.aot_export_joint_simple(f, (x,), trace_joint=True)",
        ["no output requires a gradient", "jm.Tensor"],
    ),
    "simple: a size that decides": (
        "def f(n): return (np.zeros(n) if n > 1 else np.ones(2),)",
        "jm.aot.aot_export_joint_simple(f, [5], trace_joint=False, unknown_ints=True)",
        ["n > 1"],
    ),
}


@pytest.mark.parametrize("name", ROWS)
def test_each_restriction_has_a_message(name, capsys):
    definition, request, words = ROWS[name]
    with pytest.raises(JitMagicError) as caught:
        evaluated(definition, request)
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, str(caught.value)
    assert capsys.readouterr().out == ""


def test_a_refused_export_leaves_everything_as_it_was():
    """Neither the module nor the surroundings show that it was tried."""
    found = evaluated(
        "def forward(self, x):\n    global table\n    self.b = x * 2\n    self.last = 1\n    table = 5\n"
        "    return (self.w * x).sum()\nm = M()\nbefore = dict(vars(m)), dict(m._buffers), dict(m._parameters), table\n"
        f"try:\n    {EXPORT.replace('M()', 'm')}\nexcept RuntimeError: pass",
        "[a is b for a, b in zip([*before[0].values(), *before[1].values(), *before[2].values(), before[3]],"
        " [*vars(m).values(), *m._buffers.values(), *m._parameters.values(), table], strict=True)]",
    )
    assert all(found)
