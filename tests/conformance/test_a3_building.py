"""Rows A28 to A41: which graph is built, and by whom."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends import get_backend
from jitmagic.graph import ShapeEnv
from tests.conformance.pipeline import Recorded, tensor


def test_a28_training_needs_a_gradient_and_gradient_mode() -> None:
    f = Recorded(lambda w: (w * 2).sum())
    w = tensor([1, 2])
    f(w)
    assert f.kinds == ["forward", "backward"]
    with jm.no_grad():
        assert not f(w).requires_grad
    assert f.kinds[2:] == ["inference"]


def test_a29_no_output_with_a_gradient_means_inference() -> None:
    for function in (lambda w: np.argmax(w), lambda w: w > 0, lambda w: jm.detach(w) * 2):
        f = Recorded(function)
        f(tensor([1, 2]))
        assert f.kinds == ["inference"]

    def written(x):
        x *= 2.0

    f = Recorded(written)
    w = tensor([1, 2])
    x = w * 1.0
    f(x)
    x.sum().backward()
    assert f.kinds == ["forward", "backward"]
    assert w.grad.tolist() == [2, 2]


def test_a30_what_the_analysis_found_is_printable() -> None:
    def f(x, y):
        x += 1
        return x[1:], y * 2

    recorded = Recorded(f)
    recorded(np.ones(3), np.ones(3))
    text = str(recorded.entry.plan)
    assert text.splitlines() == [
        "args[0]: written",
        "out0: view of args[0]: .getitem(1:)",
        "out1: new",
    ]

    def described(x, y):
        x *= 2.0
        y.shape = (2, 1)
        z = np.exp(x)
        return z.reshape(-1, 1), x[::-1], (x * y[:, 0]).sum()

    recorded = Recorded(described)
    recorded(tensor([1, 2]) * 1.0, np.ones(2))
    lines = str(recorded.entry.plan).splitlines()
    assert lines[:2] == ["args[0]: written, requires a gradient", "sets args[1].shape"]
    assert [line.partition(": .")[0] for line in lines[2:5]] == [
        "out0: view of result 1",
        "out1: view of args[0]",
        "out2: new",
    ]
    assert lines[5] == "tangents: args[0], the base of out0, out2"


def test_a30_explain_lists_what_is_written_and_what_shares_memory() -> None:
    def f(x, y):
        x += 1
        y.shape = (3, 1)
        return x[1:], y * 2

    found = jm.explain(f)(np.ones(3), np.ones(3))
    assert found.memory[0] == "x: written"
    assert found.memory[1].startswith("out0: view of x")
    assert found.memory[2] == "out1: new"
    for text in (*found.memory, "sets y.shape"):
        assert text in str(found)
    assert jm.explain(lambda x: x * 2)(np.ones(3)).memory == []


class Line(jm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = jm.nn.Parameter(np.ones(3))

    def forward(self, x):
        return (x * self.w).sum()


def test_a31_stand_ins_decide_about_symbols_and_touch_no_array() -> None:
    for env in (None, ShapeEnv()):
        mode = jm.aot.StandInMode(env)
        size = 4 if env is None else env.new_symbol(4)
        run = jm.aot.aot_module_simplified(Line().requires_grad_(), (mode.array((size, 3)),), jm.aot.aot_eager)
        training = run.entry.training
        assert bool(training.halves.forward.bindings) == (env is not None)
        for n in (4,) if env is None else (4, 7):
            assert run(np.ones((n, 3))).item() == 3 * n
    other = jm.aot.StandInMode()
    with pytest.raises(jm.InternalError, match="two modes"):
        jm.aot.aot_module_simplified(Line(), (mode.array((4, 3)), other.array((4, 3))), jm.aot.aot_eager)


def test_a32_ints_are_symbols_with_dynamic_and_constants_in_export() -> None:
    def f(x, n):
        return x * n

    recorded = Recorded(f, dynamic=True)
    x = np.ones(3)
    assert recorded(x, 3).tolist() == [3, 3, 3]
    assert recorded(x, 4).tolist() == [4, 4, 4]
    assert recorded.kinds == ["inference"]
    graph = jm.aot.aot_export_joint_simple(lambda x, n: (x * n,), (x, 3), trace_joint=False)
    assert 3 in [a for node in graph.calls() for a in node.args]


def test_a33_weights_are_static_while_batches_are_symbols() -> None:
    f = Recorded(lambda w, x: x @ w, dynamic=True, num_params_buffers=1)
    w = np.ones((3, 2))
    for n in (4, 5):
        assert f(w, np.ones((n, 3))).shape == (n, 2)
    assert f.kinds == ["inference"]
    shapes = {p.source: p.node.meta.shape for p in f.graph("inference").placeholders}
    assert shapes["args[0]"] == (3, 2)
    assert not isinstance(shapes["args[1]"][0], int)


def test_a34_compiling_leaves_the_random_streams_alone() -> None:
    def dropout(x):
        return x * (np.random.rand(4) > 0.5)

    x = np.ones(4)
    np.random.seed(3)
    expected = dropout(x), np.random.rand()
    np.random.seed(3)
    f = jm.compile(dropout)
    found = f(x), np.random.rand()
    assert found[0].tolist() == expected[0].tolist()
    assert found[1] == expected[1]


def test_a35_a_mask_is_drawn_once_for_forward_and_backward() -> None:
    def dropout(x):
        mask = np.random.rand(6) > 0.5
        return (x * mask).sum()

    x = np.ones(6)
    np.random.seed(3)
    mask = np.random.rand(6) > 0.5
    after = np.random.rand()
    np.random.seed(3)
    assert jm.grad(dropout)(x).tolist() == mask.tolist()
    assert np.random.rand() == after

    def again(joint):  # nothing is handed over: the backward half draws the mask again
        return jm.aot.cut(joint, joint.primal_inputs)

    np.random.seed(3)
    checkpointed = jm.aot.aot_function(dropout, jm.aot.aot_eager, partition_fn=again, functionalize_rng_ops=True)
    leaf = jm.Tensor(x, requires_grad=True)
    checkpointed(leaf).backward()
    assert np.asarray(leaf.grad).tolist() == mask.tolist()
    assert np.random.rand() == after


def test_a36_the_callers_decomposition_is_used() -> None:
    def simpler(a, b):
        m = np.maximum(a, b)
        return m + np.log(np.exp(a - m) + np.exp(b - m))

    f = Recorded(lambda a, b: np.logaddexp(a, b), decompositions={np.logaddexp: simpler})
    a, b = np.array([1.0, 2.0]), np.array([3.0, 0.5])
    np.testing.assert_allclose(f(a, b), np.logaddexp(a, b), rtol=1e-15)
    names = {node.op.name for node in f.graph("inference").calls()}
    assert "logaddexp" not in names
    assert "maximum" in names
    with pytest.raises(jm.UserError, match="no operation"):
        Recorded(lambda a: a + 1, decompositions={len: simpler})(a)


def test_a37_subclasses_of_ndarray_are_refused_by_name() -> None:
    class Ragged(np.ndarray):
        pass

    def f(x):
        y = x * 2
        return y, y[0]

    with pytest.raises(jm.UserError, match="Ragged"):
        Recorded(f)(np.ones((2, 2)).view(Ragged))


def test_a38_compilers_are_called_for_their_graphs() -> None:
    with pytest.raises(jm.UserError, match="fw_compiler is None, which cannot be called"):
        jm.aot.aot_function(lambda x: x, None)
    for name in ("bw_compiler", "inference_compiler", "partition_fn"):
        with pytest.raises(jm.UserError, match=f"{name} is 'numba', which cannot be called"):
            jm.aot.aot_function(lambda x: x, jm.aot.aot_eager, **{name: "numba"})
    with pytest.raises(jm.UserError, match="takes a function"):
        jm.aot.aot_function(3, jm.aot.aot_eager)
    names = []

    def compiler(graph, examples):
        names.append(graph.name.rsplit("_", 1)[1])
        results = jm.aot.aot_eager(graph)(list(examples))  # every compiler may try its graph
        assert len(results) == len(graph.outputs)
        return jm.aot.aot_eager(graph, examples)

    f = jm.aot.aot_function(lambda w: (w * w).sum(), compiler)
    f(tensor([1, 2])).backward()
    f(np.ones(2))
    assert names == ["forward", "backward", "inference"]
    kept = []
    f = jm.aot.aot_function(lambda a, b: (np.exp(a.T @ b)[:, ::-1] * b.sum()).sum(), compiler, dynamic=True)
    a, b = tensor(np.ones((3, 4))), tensor(np.ones((3, 5)))
    f(a, b).backward()
    kept += [a.grad, b.grad]
    assert [g.shape for g in kept] == [(3, 4), (3, 5)]


def test_a38_what_a_backend_leaves_to_numpy_is_run_by_it() -> None:
    numba = get_backend("numba").compile
    for x in (np.array([0.0, 1.0]), tensor([0, 1])):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            assert float(jm.aot.aot_function(lambda x: np.log(x).sum(), numba)(x)) == -np.inf
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
            jm.aot.aot_function(lambda x: np.log(x).sum(), numba)(x)
    singular = tensor(np.ones((2, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        jm.aot.aot_function(lambda a: np.linalg.inv(a).sum(), numba)(singular)
    value, pullback = jm.vjp(lambda a: np.linalg.qr(a)[1], np.zeros((2, 2)))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        pullback(value + 1)


def test_a39_any_cut_gives_the_same_gradients() -> None:
    def f(w, x):
        h = np.tanh(x @ w)
        return (np.exp(h) * h).sum()

    def inputs_only(joint):
        return jm.aot.cut(joint, joint.primal_inputs)

    saved, gradients = [], []
    for partition in (jm.aot.default_partition, jm.aot.min_cut_rematerialization_partition, inputs_only):
        w = tensor(np.linspace(-1, 1, 6).reshape(3, 2))
        recorded = Recorded(f, partition_fn=partition)
        recorded(w, np.linspace(0, 1, 12).reshape(4, 3)).backward()
        saved.append(recorded.entry.training.halves.saved)
        gradients.append(w.grad.numpy())
    for each in gradients[1:]:
        np.testing.assert_allclose(each, gradients[0], rtol=1e-14)
    assert saved[2] <= 2
    assert saved[0] > saved[2]


def test_a40_programs_are_boxed_and_let_go() -> None:
    seen = []

    def compiler(graph, examples):
        def run(arguments):
            first = weakref.ref(arguments[0])
            value = arguments[0] * 2.0
            arguments.clear()
            gc.collect()
            seen.append(first() is None)
            return [value + 1.0]

        run.boxed = True
        return run

    def plain(graph, examples):
        inner = jm.aot.aot_eager(graph, examples)
        return lambda arguments: inner(list(arguments))

    def f(x):
        y = x + 0.0
        del x
        return y * 2.0 + 1.0

    x = np.ones(3)
    assert jm.aot.aot_function(f, plain)(x).tolist() == [3, 3, 3]
    assert jm.aot.aot_function(lambda x: x * 2.0 + 1.0, compiler)(x).tolist() == [3, 3, 3]
    assert seen == [False]  # the caller still holds its array
    from jitmagic.aot.boxed import as_boxed

    assert as_boxed(jm.aot.aot_eager) is not jm.aot.aot_eager
    boxed = compiler(None, None)
    assert as_boxed(boxed) is boxed
    arguments = [np.ones(3)]
    boxed(arguments)
    assert seen[-1]


def test_a41_lengths_that_do_not_match_are_errors() -> None:
    def short(graph, examples):
        inner = jm.aot.aot_eager(graph, examples)
        return lambda arguments: inner(list(arguments))[:-1]

    for x in (np.ones(2), tensor([1, 2])):
        with pytest.raises(jm.UserError, match="gave 1 results where the graph has 2 outputs"):
            jm.aot.aot_function(lambda x: (x + 1, x * 2), short)(x)
        with pytest.raises(jm.UserError, match="gave a NoneType; it gives a list"):
            jm.aot.aot_function(lambda x: (x + 1, x * 2), lambda graph, examples: lambda arguments: None)(x)
        with pytest.raises(jm.UserError, match="gave a NoneType, which cannot be called"):
            jm.aot.aot_function(lambda x: (x + 1, x * 2), lambda graph, examples: None)(x)
    y = tensor([1, 2])
    backward = jm.aot.aot_function(lambda x: np.exp(x).sum(), jm.aot.aot_eager, short)(y)
    with pytest.raises(jm.UserError, match=r"backward gave 0 results where the graph has 1 outputs"):
        backward.backward()

    def wrong(joint):
        halves = jm.aot.default_partition(joint)
        return jm.aot.Halves(halves.forward, halves.backward, halves.saved + 1)

    with pytest.raises(jm.UserError, match="partition function"):
        Recorded(lambda x: np.exp(x).sum(), partition_fn=wrong)(tensor([1, 2]))
