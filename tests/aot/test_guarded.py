"""What a function reads besides its arguments is guarded, and what it does to Python objects happens at every call."""

import itertools
import linecache

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd.recorded import raw
from jitmagic.errors import UserError

NUMBERS = itertools.count()
GLOBALS = {"__name__": "__main__", "np": np, "factor": 2.0, "count": 0, "log": [], "table": np.arange(3.0)}


def defined(text, space=None):
    """The namespace after a program, in a file of its own, ran in ``space``."""
    filename = f"<guarded {next(NUMBERS)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    space = {**GLOBALS, "log": []} if space is None else space
    exec(compile(text, filename, "exec"), space)
    return space


def twice(text, between, tensors=False):
    """Results and namespaces of two calls with ``between`` run in the middle: plain, and ahead of time."""
    outcomes = []
    for compiled in (False, True):
        space = defined(text)
        f = jm.aot.aot_function(space["f"], jm.aot.aot_eager) if compiled else space["f"]
        x = jm.Tensor(np.arange(3.0), requires_grad=True) if tensors else np.arange(3.0)
        results = [np.array(raw(f(x)))]
        defined(between, space)
        results.append(np.array(raw(f(x))))
        state = {k: v for k, v in space.items() if k in ("count", "log", "box", "table")}
        outcomes.append((results, state))
    return outcomes


PROGRAMS = {
    "global number": ("def f(x): return x * factor", "factor = 5.0"),
    "global array replaced": ("def f(x): return x * table", "table = np.ones(3) * 7"),
    "global array of another shape": ("def f(x): return x * table", "table = np.ones((2, 3)) * 7"),
    "attribute of a class": ("class K: a = 2.0\ndef f(x): return x * K.a", "K.a = 3.0"),
    "attribute of an object": ("class K: pass\nk = K(); k.a = 2.0\ndef f(x): return x * k.a", "k.a = 3.0"),
    "entry of a list": ("box = [2.0]\ndef f(x): return x * box[0]", "box[0] = 4.0"),
    "entry of a dict": ("box = {'a': 2.0}\ndef f(x): return x * box['a']", "box['a'] = 4.0"),
    "another function under a name": ("def g(x): return x + 1\ndef f(x): return g(x)", "def g(x): return x - 1"),
    "default": ("def f(x, n=2.0): return x * n", "f.__defaults__ = (5.0,)"),
    "append": ("def f(x):\n    log.append(len(log))\n    return x + len(log)", ""),
    "global assigned": ("def f(x):\n    global count\n    count = count + 1\n    return x + count", ""),
    "dict updated": ("box = {}\ndef f(x):\n    box['n'] = box.get('n', 0) + 1\n    return x * box['n']", ""),
    "cell": (
        "def make():\n    n = 0\n    def f(x):\n        nonlocal n\n        n += 1\n"
        "        return x * n\n    return f\nf = make()",
        "",
    ),
    "floating-point state": ("def f(x): return np.float64(1) / (x + 1)", "np.seterr(all='ignore')"),
}


@pytest.mark.parametrize("tensors", [False, True], ids=["arrays", "tensors"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_second_call_sees_what_a_plain_one_sees(name, tensors):
    with np.errstate():
        (wanted, state), (found, state_too) = twice(*PROGRAMS[name], tensors=tensors)
    for a, b in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(a, b)
    assert repr(state) == repr(state_too)


def test_printing_happens_at_every_call(capsys):
    f = jm.aot.aot_function(defined("def f(x):\n    print('called')\n    return x * 2")["f"], jm.aot.aot_eager)
    for _ in range(3):
        f(np.ones(2))
    assert capsys.readouterr().out == "called\n" * 3


def test_an_array_of_the_surroundings_that_overlaps_an_argument_is_seen():
    space = defined("def f(x):\n    x[0] = 9.0\n    return table * 1")
    f = jm.aot.aot_function(space["f"], jm.aot.aot_eager)
    f(np.zeros(3))
    x = np.zeros(3)
    space["table"] = x[::-1]
    np.testing.assert_array_equal(f(x), [0.0, 0.0, 9.0])


def test_unchanged_surroundings_compile_once():
    f = jm.aot.aot_function(defined("def f(x): return x * factor + table")["f"], jm.aot.aot_eager)
    for _ in range(3):
        f(np.ones(3))
        f(jm.Tensor(np.ones(3), requires_grad=True))
    assert len(f.entries) == 2


def test_the_forms_kept_are_limited():
    space = defined("def f(x): return x * factor")
    f = jm.aot.aot_function(space["f"], jm.aot.aot_eager)
    with jm.configure(entry_limit=3):
        for n in range(6):
            space["factor"] = float(n)
            np.testing.assert_array_equal(f(np.ones(2)), np.full(2, float(n)))
    assert len(f.entries) == 3


class Averaging(jm.nn.Module):
    """Keeps an average of what it sees, by assigning a new array."""

    def __init__(self):
        super().__init__()
        self.weight = jm.nn.Parameter(np.arange(3.0))
        self.register_buffer("mean", np.zeros(3))
        self.register_buffer("calls", np.zeros(1))
        self.scale = 2.0

    def forward(self, x):
        with jm.no_grad():
            self.mean = 0.9 * self.mean + 0.1 * x.mean(axis=0)
            self.calls += 1
        return (x * self.weight * self.scale - self.mean).sum()


def stateful_runs():
    plain, module, simplified = Averaging(), Averaging(), Averaging()
    x = np.random.default_rng(0).standard_normal((4, 3))
    yield plain, plain
    yield module, jm.aot.aot_module(module, jm.aot.aot_eager)
    yield simplified, jm.aot.aot_module_simplified(simplified, [x], jm.aot.aot_eager)


def test_buffers_that_the_module_assigns_are_kept():
    x = np.random.default_rng(0).standard_normal((4, 3))
    outcomes = []
    for module, run in stateful_runs():
        values = [np.array(raw(run(x * n))) for n in (1, 2, 3)]
        assert type(module.mean) is np.ndarray
        outcomes.append([*values, module.mean, module.calls])
    for other in outcomes[1:]:
        for a, b in zip(outcomes[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_module_whose_settings_change_is_compiled_again():
    module = Averaging()
    run = jm.aot.aot_module(module, jm.aot.aot_eager)
    x = np.ones((4, 3))
    run(x)
    module.scale = 5.0
    module.mean = np.ones(3)
    twin = Averaging()
    twin.scale, twin.mean = 5.0, np.ones(3)
    np.testing.assert_array_equal(raw(run(x)), twin(x))
    np.testing.assert_array_equal(module.mean, twin.mean)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m, x: (m, np.ones((5, 3))), ["x.shape|args\\[0\\].shape", "(4, 3)", "(5, 3)"]),
        (lambda m, x: (m, x.astype("f4")), ["dtype", "float32"]),
        (lambda m, x: (setattr(m, "scale", 3.0), x), ["scale", "2.0", "3.0"]),
    ],
    ids=["batch size", "dtype", "setting"],
)
def test_what_the_simplified_form_was_not_compiled_for_is_refused(change, words):
    module, x = Averaging(), np.ones((4, 3))
    run = jm.aot.aot_module_simplified(module, [x], jm.aot.aot_eager)
    run(x)
    before = module.mean.copy()
    _, other = change(module, x)
    with pytest.raises(UserError, match=words[0]) as caught:
        run(other)
    assert all(word in str(caught.value) for word in [*words[1:], "Averaging", "aot_module"])
    np.testing.assert_array_equal(module.mean, before)


def test_a_partition_that_draws_again_is_refused():
    def drop(x):
        return (x * np.random.standard_normal(3)).sum()

    def only_inputs(joint):
        return jm.aot.cut(joint, joint.primal_inputs)

    f = jm.aot.aot_function(drop, jm.aot.aot_eager, partition_fn=only_inputs)
    with pytest.raises(UserError, match=r"standard_normal.*functionalize_rng_ops"):
        f(jm.Tensor(np.ones(3), requires_grad=True))
    f = jm.aot.aot_function(drop, jm.aot.aot_eager, partition_fn=only_inputs, functionalize_rng_ops=True)
    x = jm.Tensor(np.ones(3), requires_grad=True)
    np.random.seed(0)
    f(x).backward()
    np.random.seed(0)
    np.testing.assert_array_equal(x.grad.numpy(), np.random.standard_normal(3))
