"""Rows A42 to A56: the functions for users, exports, names and times."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.graph import interpret
from tests.conformance.pipeline import Recorded, tensor

eager = jm.aot.aot_eager


def test_a42_structures_are_those_of_the_plain_function() -> None:
    def f(p, *, scale):
        """Documented."""
        return {"sum": (p["a"] + p["b"][0], [p["a"] * scale])}, None

    assert jm.aot.compiled_function is jm.aot.aot_function
    compiled = jm.aot.aot_function(f, eager)
    assert (compiled.__name__, compiled.__doc__) == ("f", "Documented.")
    given = {"a": np.ones(2), "b": (np.arange(2.0),)}
    found, expected = compiled(given, scale=3.0), f(given, scale=3.0)
    assert found[1] is None
    assert found[0].keys() == expected[0].keys()
    assert found[0]["sum"][0].tolist() == [1, 2]
    assert found[0]["sum"][1][0].tolist() == [3, 3]


def test_a43_a_form_is_used_only_where_it_fits() -> None:
    f = Recorded(lambda p: p["a"] - p["b"])
    a, b = np.arange(3.0), np.ones(3)
    assert f({"a": a, "b": b}).tolist() == [-1, 0, 1]
    assert f({"b": b, "a": a}).tolist() == [-1, 0, 1]
    assert f({"a": a.astype("f4"), "b": b.astype("f4")}).dtype == np.float32
    assert f({"a": np.ones((2, 3)), "b": b}).shape == (2, 3)
    assert f({"a": np.ones(5), "b": np.ones(5)}).shape == (5,)
    count = len(f.kinds)
    f({"a": a, "b": b})
    assert len(f.kinds) == count


class Tied(jm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = jm.nn.Parameter(np.array([1.0, 2.0]))
        self.second = self._parameters["first"]
        self.register_parameter("second", self._parameters["first"])

    def forward(self, x):
        return (x * self.first + self.second).sum()


class Line(jm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = jm.nn.Parameter(np.array([1.0, 2.0]))

    def forward(self, x):
        return (x * self.w).sum()


def both_lines():
    """A module whose parameters are Tensors, and its twin run by compiled graphs."""
    module, twin = Line().requires_grad_(), Line().requires_grad_()
    return module, twin, jm.aot.aot_module(twin, eager)


def test_a44_a_compiled_module_acts_as_its_module() -> None:
    x = np.array([3.0, 4.0])
    plain, module, compiled = both_lines()
    assert compiled.orig_module is module
    assert dict(compiled.named_parameters())["orig_module.w"] is module.w
    for _ in range(2):
        found, expected = compiled(x), plain(x)
        assert type(found) is type(expected) is jm.Tensor
        assert found.item() == expected.item()
        found.backward()
        expected.backward()
        assert module.w.grad.tolist() == plain.w.grad.tolist()

    tied = Tied.__new__(Tied)
    jm.nn.Module.__init__(tied)
    tied.first = jm.nn.Parameter(np.array([1.0, 2.0]))
    tied.register_parameter("second", tied.first)
    assert jm.aot.aot_module(tied, eager)(x) == tied(x)
    tied.requires_grad_()
    assert tied.first is tied.second
    both = jm.aot.aot_module(tied, eager)
    assert both(x).item() == tied(x).item()
    both(x).backward()
    found, tied.first.grad = tied.first.grad, None
    tied(x).backward()
    assert found.tolist() == tied.first.grad.tolist() == [4, 5]

    hollow = Line()
    hollow._parameters["w"] = jm.aot.StandInMode().array((2,))
    with pytest.raises(jm.UserError, match="parameter w "):
        jm.aot.aot_module(hollow, eager)


def test_a44_a_module_of_plain_arrays_gives_plain_results() -> None:
    x = np.array([3.0, 4.0])
    module = Line()
    compiled = jm.aot.aot_module(module, eager)
    for run in (compiled, jm.aot.aot_module_simplified(module, (x,), eager)):
        assert type(run(x)) is type(module(x)) is np.float64
        assert run(x) == module(x)
    given = tensor([3, 4])
    compiled(given).backward()
    assert given.grad.tolist() == [1, 2]
    module.requires_grad_()
    compiled(x).backward()
    assert module.w.grad.tolist() == [3, 4]


def test_a45_the_simplified_form_reads_parameters_once() -> None:
    module = Line().requires_grad_()
    x = np.array([3.0, 4.0])
    run = jm.aot.aot_module_simplified(module, (x,), eager)
    assert run(x).item() == 11
    with jm.no_grad():
        module.w[0] = 2.0
    assert run(x).item() == 14
    run(x).backward()
    (parameter,) = dict(run.named_parameters()).values()
    assert parameter is module.w
    assert parameter.grad.tolist() == [3, 4]
    run.zero_grad()
    assert parameter.grad is None
    module.w = np.array([0.0, 0.0])
    assert run(x).item() == 14
    assert list(run.named_buffers()) == []


def test_a45_the_simplified_form_follows_the_gradient_mode() -> None:
    x = np.array([3.0, 4.0])
    module = Line().requires_grad_()
    run = jm.aot.aot_module_simplified(module, (x,), eager)
    with jm.no_grad():
        assert not run(x).requires_grad
    assert run(x).requires_grad
    with jm.no_grad():
        plain = jm.aot.aot_module_simplified(module, (x,), eager)
        assert plain(x).item() == 11
    with pytest.raises(jm.UserError, match=r"compiled Line under jm.no_grad\(\).*outside of no_grad"):
        plain(x)


def test_a46_sources_are_unique_and_complete() -> None:
    x = np.ones(2)
    with pytest.raises(jm.InternalError, match="same source"):
        jm.aot.aot_module_simplified(Line(), (x,), eager, sources=["w", "w"])
    with pytest.raises(jm.InternalError, match="1 sources for 2"):
        jm.aot.aot_module_simplified(Line(), (x,), eager, sources=["w"])


class Norm(jm.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = jm.nn.Parameter(np.ones(3))
        self.unused = jm.nn.Parameter(np.ones(2))
        self.register_buffer("mean", np.zeros(3))

    def forward(self, x):
        self.mean[...] = 0.9 * self.mean + 0.1 * x.mean(axis=0)
        return ((x - self.mean) * self.w,)


def test_a47_an_exported_graph_is_flat_and_functional() -> None:
    x = np.arange(6.0).reshape(2, 3)
    module = Norm()
    graph, signature = jm.aot.aot_export_module(module, (x,), trace_joint=False)
    before = [module.w, module.unused, module.mean.copy(), x]
    mean, y = interpret(graph, before)
    expected = module(x)[0]
    np.testing.assert_array_equal(mean, module.mean)
    np.testing.assert_array_equal(y, expected)
    assert len(graph.inputs) == 4
    assert not graph.bindings
    assert not any(node.written() for node in graph.nodes)
    assert list(signature.buffers_to_mutate.values()) == ["mean"]


def test_a48_names_of_the_signature_round_trip() -> None:
    module = Norm()
    graph, signature = jm.aot.aot_export_module(module, (np.ones((2, 3)),), trace_joint=False)
    names = [node.name for node in graph.inputs]
    assert signature.parameters == [n for n, _ in module.named_parameters()]
    assert signature.buffers == [n for n, _ in module.named_buffers()]
    assert list(signature.inputs_to_parameters) == names[:2]
    assert list(signature.inputs_to_parameters.values()) == ["w", "unused"]
    assert list(signature.inputs_to_buffers.items()) == [(names[2], "mean")]
    assert signature.user_inputs == names[3:]
    outputs = [node.name for node in graph.outputs]
    assert [*signature.buffers_to_mutate, *signature.user_outputs] == outputs
    assert signature.backward_signature is None


def module_of(forward, **arrays):
    """A module with these parameters whose forward is a function of it and the input."""
    kind = type("Made", (jm.nn.Module,), {"forward": forward})
    made = kind()
    for name, value in arrays.items():
        setattr(made, name, jm.nn.Parameter(np.array(value, float)))
    return made


def refused(module, args, match, **options):
    with pytest.raises(RuntimeError, match=match):
        jm.aot.aot_export_module(module, args, **{"trace_joint": True, "output_loss_index": 0, **options})


def test_a49_a_joint_graph_needs_one_loss() -> None:
    x = np.ones(2)
    plain = module_of(lambda self, x: (self.w * x).sum(), w=[1, 2])
    refused(plain, (x,), "output_loss_index", output_loss_index=None)
    refused(module_of(lambda self, x: {"a": (self.w * x).sum()}, w=[1, 2]), (x,), "list or a tuple")
    both = module_of(lambda self, x: ((self.w * x).sum(), self.w * x), w=[1, 2])
    refused(both, (x,), "output 1 requires a gradient, but only the loss, output 0.*detach")
    refused(module_of(lambda self, x: (x.sum(), 1.0), w=[1, 2]), (x,), "requires no gradient")
    refused(module_of(lambda self, x: self.w * x, w=[1, 2]), (x,), r"shape \(2,\)")
    refused(plain, x, "args is an object of class ndarray")
    for detached in (lambda y: y.detach(), jm.detach):
        joint = module_of(lambda self, x, of=detached: ((self.w * x).sum(), of(self.w * x)), w=[1, 2])
        for trace_joint in (True, False):
            options = {"output_loss_index": 0} if trace_joint else {}
            graph, _ = jm.aot.aot_export_module(joint, (x,), trace_joint=trace_joint, **options)
            loss, value, *gradients = interpret(graph, [joint.w, x])
            assert [float(loss), value.tolist()] == [3, [1, 2]]
            assert [g.tolist() for g in gradients] == [[1, 1]][: int(trace_joint)]


def test_a50_joint_graphs_take_no_tangents() -> None:
    x = np.array([3.0, 4.0])
    module = module_of(lambda self, x: (self.w * self.w * x).sum(), w=[1, 2])
    graph, signature = jm.aot.aot_export_module(module, (x,), trace_joint=True, output_loss_index=0)
    assert len(graph.inputs) == 2
    loss, gradient = interpret(graph, [module.w, x])
    assert loss == 19
    assert gradient.tolist() == [6, 16]
    backward = signature.backward_signature
    assert backward.loss_output == graph.outputs[0].name
    assert backward.gradients_to_parameters == {graph.outputs[1].name: "w"}
    refused(module_of(lambda self, x: (self.w * x).sum(), w=[1, 2], v=[1]), (x,), "parameter v gets no gradient")


def test_a51_export_refuses_what_needs_a_wrapper() -> None:
    x = np.ones(2)

    def shape(self, x):
        x.shape = (2, 1)
        return (self.w * x).sum()

    def weight(self, x):
        with jm.no_grad():
            self.w *= 2.0
        return (self.w * x).sum()

    def argument(self, x):
        x *= 2.0
        return (self.w * x).sum()

    def transposed(self, x):
        self.w.shape = (2, 1)
        return (self.w * x).sum()

    refused(module_of(shape, w=[1, 2]), (x,), r"sets args\[0\].shape.*(?s:.)*What was found")
    refused(module_of(transposed, w=[1, 2]), (x,), r"sets module.w.shape.*(?s:.)*What was found")
    for joint in (True, False):
        words = r"writes into w, which requires a gradient(?s:.)*What was found:\nw: written"
        refused(module_of(weight, w=[1, 2]), (x,), words, trace_joint=joint)
    refused(module_of(argument, w=[1, 2]), (x,), r"argument 0 \(input 1, after 1 parameters")
    plain = module_of(lambda self, x: (self.w * x).sum(), w=[1, 2])
    refused(plain, (x.view(type("Own", (np.ndarray,), {})),), "Own, a subclass")
    refused(plain, (x,), "functionalize_rng_ops", functionalize_rng_ops=True)
    jm.aot.aot_export_module(Norm(), (np.ones((2, 3)),), trace_joint=False)


def test_a52_ties_and_overlaps_are_named() -> None:
    tied = module_of(lambda self, x: (self.a * x + self.b).sum(), a=[1, 2])
    tied.register_parameter("b", tied.a)
    refused(tied, (np.ones(2),), "a and b are one array")

    def writes(self, x, y):
        x[0] = 1.0
        return (self.w * y).sum()

    x = np.arange(2.0)
    refused(module_of(writes, w=[1, 2]), (x, x[::-1]), "share memory")


def test_a53_the_simple_export_is_called_as_the_function() -> None:
    def f(a, b):
        total = np.zeros(2)
        for k in range(3):
            total += a * b + k
        total[0] += a[1]
        return total, np.exp(a)

    a, b = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    graph = jm.aot.aot_export_joint_simple(f, (a, b), trace_joint=False)
    assert len(graph(a, b)) == 2
    for found, again, expected in zip(graph(a, b), interpret(graph, [a, b]), f(a, b), strict=True):
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(again, expected)
    with pytest.raises(TypeError, match=r"takes 2 arguments \(args_0, args_1\): 1 given"):
        graph(a)
    x = tensor(a)
    joint = jm.aot.aot_export_joint_simple(f, (x, b), trace_joint=True)
    halves = jm.aot.default_partition(jm.aot.JointGraph(joint, 2, 2))
    values = halves.forward(a, b)
    for found, expected in zip(values[:2], f(a, b), strict=True):
        np.testing.assert_array_equal(found, expected)
    (gradient,) = halves.backward(*values[2:], np.ones(2), np.ones(2))
    np.testing.assert_allclose(gradient, [3 * 3 + np.exp(1), 3 * 4 + 1 + np.exp(2)])
    total, exp = halves.forward(x, b)[:2]  # the user's own arguments are Tensors here
    (total.sum() + exp.sum()).backward()
    np.testing.assert_allclose(x.grad, gradient)


def test_a54_the_simple_export_refuses_all_else() -> None:
    def written(x):
        x += 1
        return (x * 2,)

    def simple(function, args, match, **options):
        with pytest.raises(jm.UserError, match=match):
            jm.aot.aot_export_joint_simple(function, args, trace_joint=False, **options)

    x = np.ones(2)
    simple(written, (x,), "writes into arg0")
    simple(lambda x: (x[1:],), (x,), "alias of an input")
    simple(lambda x: (y := x * 2, y[0:1]), (x,), "alias")
    simple(lambda p: (p[0] * 2,), ((x,),), "inputs hold a tuple")
    simple(lambda x: (x * 2,), {"x": x}, "inputs are not in one list")
    simple(lambda x: x * 2, (x,), "outputs are not in one list")
    simple(lambda x: ((x * 2,),), (x,), "outputs hold a tuple")
    graph = jm.aot.aot_export_joint_simple(lambda x: (x * 2,), (tensor(x),), trace_joint=True, debug_assert=True)
    assert len(graph.outputs) == 2


def test_a55_the_log_tells_the_graphs_in_order(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "jitmagic.aot"):
        Recorded(lambda w: (w * w).sum())(tensor([1, 2]))
        Recorded(lambda w: (w * w).sum(), enable_log=False)(tensor([1, 2]))
    kinds = [record.getMessage().split(":")[0].rsplit("_", 1)[1] for record in caplog.records]
    assert kinds == ["forward", "backward"]


def test_a55_graphs_have_names_and_errors_carry_them() -> None:
    def broken(graph, examples):
        def run(arguments):
            raise ZeroDivisionError("a kernel broke")

        return run

    jm.aot.set_model_name("tiny")
    try:
        f = Recorded(lambda w: (w * w).sum())
        f(tensor([1, 2]))
        names = [graph.name for graph in f.graphs]
        number = names[0].split("__")[1].split("_")[0]
        assert names == [f"tiny__{number}_forward", f"tiny__{number}_backward"]
        g = jm.aot.aot_function(lambda w: (w * w).sum(), eager, broken)
        loss = g(tensor([1, 2]))
        with pytest.raises(ZeroDivisionError) as caught:
            loss.backward()
    finally:
        jm.aot.set_model_name("model")
    assert f"in graph tiny__{int(number) + 1}_backward" in caught.value.__notes__[0]
    h = jm.aot.aot_function(lambda w: w * 2, broken)
    with pytest.raises(ZeroDivisionError) as caught:
        h(np.ones(2))
    assert "inference, which takes args[0]" in caught.value.__notes__[0]
    assert jm.aot.get_aot_graph_name() == ""


def test_a56_time_is_counted_per_phase_and_once() -> None:
    f = Recorded(lambda w: (np.tanh(w) * w).sum())
    f(tensor([1, 2]))
    phases = f.entry.phases
    wanted = {"analysis", "joint trace", "partition", "forward compile", "backward compile"}
    assert set(phases.elapsed_ns) == wanted
    assert sum(phases.elapsed_ns.values()) == phases.total_ns
    assert "partition" in str(phases)


def test_a42_a_tensor_is_one_where_the_function_asks() -> None:
    for f in (
        lambda t, x: (t.detach() * t + (x * t).detach()).sum(),
        lambda t, x: isinstance(t * 2, jm.Tensor) * t.sum() + isinstance(x, jm.Tensor) * t.sum(),
        lambda t, x: (type(t) is jm.Tensor) * t.sum() + (type(x) is np.ndarray) * (t * t).sum(),
    ):
        found, expected = tensor([1, 2]), tensor([1, 2])
        compiled = jm.aot.aot_function(f, jm.aot.aot_eager)
        value, plain = compiled(found, np.ones(2)), f(expected, np.ones(2))
        value.backward()
        plain.backward()
        assert float(value) == float(plain)
        assert found.grad.numpy().tolist() == expected.grad.numpy().tolist()
        assert len(compiled.entries) == 1
    with pytest.raises(AttributeError, match="detach"):
        jm.aot.aot_function(lambda t, x: (x * 2).detach() * t, jm.aot.aot_eager)(tensor([1, 2]), np.ones(2))
