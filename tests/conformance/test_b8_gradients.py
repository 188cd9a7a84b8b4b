"""Rows B06, B10, B11, B18, B29, B43, B50, B56, B57, B61, B81: Tensors, promises, exports, gradients, optimisers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.graph import interpret
from tests.conformance.programs import BACKENDS, explained, load, same_everywhere


def test_b06_a_write_to_an_attribute_of_a_tensor_is_seen_through_its_other_name() -> None:
    text = """
x = jm.Tensor(np.ones(3)); x.tag = 0
def f(y):
    y.tag = y.tag + 1
    x.tag = x.tag * 10
    return y * x.tag, y.tag
def ask(t): return [v.numpy() if isinstance(v, jm.Tensor) else v for v in f(t)]
"""
    same_everywhere(text, ["ask(x)", "ask(x)", "x.tag", "ask(x)", "x.tag"])
    assert explained(text, "f(x)").break_count == 0


def test_b10_arrays_and_tensors_share_one_code_path_and_stay_two_classes() -> None:
    text = """
a = np.arange(3.0)
def f(x):
    x += 1
    return x * 2, x
def ask(x): return [(type(v).__name__, np.asarray(v)) for v in f(x)]
"""
    found = same_everywhere(text, ["ask(a)", "ask(jm.Tensor(a))", "ask(a)", "a"])
    assert found.f.jit.compiles == 2
    assert [[name for name, _ in outcome] for outcome in found.outcomes[:3]] == [
        ["ndarray"] * 2,
        ["Tensor"] * 2,
        ["ndarray"] * 2,
    ]


def test_b11_an_array_with_a_promised_address_is_held_by_the_entry() -> None:
    text = "w = np.arange(3.0); jm.mark_static_address(w)\ndef f(x, w): return x * w"
    calls = ["f(np.ones(3), w)", "w[0] = 5", "f(np.ones(3), w)", "f(np.ones(3), w * 2)", "f(np.ones(3), w * 3)"]
    same_everywhere(text, calls, [1, 1, 2, 2])
    guards = {(g.source, g.kind) for g in explained(text, "f(np.ones(3), w)").guards}
    assert ("w", "ID_MATCH") in guards
    names = load(text)
    f = jm.compile(names["f"], backend="eager")
    f(np.ones(3), names["w"])
    program = f.jit.frame.entries[0].capture.program
    assert program.count("B[") == program.count("w") == 0, program
    written = "w = np.zeros(3); jm.mark_static_address(w)\ndef f(x):\n    w[0] += 1\n    return x * w, w"
    same_everywhere(written, ["f(np.ones(3))", "f(np.ones(3))", "w = np.ones(3)", "f(np.ones(3))", "w"])


def test_b11_an_array_of_a_specialised_module_is_held_unless_it_is_another_one_now() -> None:
    text = """
from jitmagic import nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(np.ones(3))
    def forward(self, x): return x * self.w
m = M(); x = np.ones(3)
def f(x): return m(x)
def ask(): return np.asarray(jm.detach(f(x)))
"""
    same_everywhere(text, ["ask()", "m.w.data[0] = 5", "ask()", "m.w = nn.Parameter(np.zeros(3))", "ask()"])
    guards = {(g.source, g.kind) for g in explained(text, "f(x)").guards}
    assert ("m.w", "ID_MATCH") in guards


def test_b18_an_attribute_of_a_tensor_that_was_read_is_guarded() -> None:
    text = """
x = jm.Tensor(np.ones(3)); x.unit = "m"; x.other = 1
def f(x): return x * 2 if x.unit == "m" else x * 3
def ask(): return f(x).numpy()
"""
    calls = ["ask()", "ask()", "x.other = 2", "ask()", "x.unit = 's'", "ask()", "del x.unit", "ask()"]
    found = same_everywhere(text, calls)
    assert found.f.jit.compiles >= 2
    assert explained(text, "f(x)").break_count == 0


def test_b29_unknown_ints_of_an_export_serve_every_size() -> None:
    def make(n: int) -> tuple[object]:
        return (np.zeros(n) + 1,)

    graph = jm.aot.aot_export_joint_simple(make, [5], trace_joint=False, unknown_ints=True)
    for n in (0, 1, 5):
        (found,) = interpret(graph, [n])
        assert found.tolist() == [1.0] * n

    def decide(n: int) -> tuple[object]:
        return (np.zeros(n) if n > 1 else np.ones(2),)

    with pytest.raises(RuntimeError, match="`n > 1` decides which way to go"):
        jm.aot.aot_export_joint_simple(decide, [5], trace_joint=False, unknown_ints=True)
    assert len(jm.aot.aot_export_joint_simple(decide, [5], trace_joint=False).outputs) == 1


def test_b29_a_number_that_is_no_argument_is_refused_by_value_and_source() -> None:
    names = load("K = np.float64(3)\ndef f(x): return (x * K,)")
    with pytest.raises(RuntimeError, match=r"K = np.float64\(3.0\) .*no argument"):
        jm.aot.aot_export_joint_simple(names["f"], [np.ones(3)], trace_joint=False)


def test_b43_a_container_that_is_registered_after_a_compile_is_noticed() -> None:
    text = """
class Pair:
    def __init__(self, a, b): self.a, self.b = a, b
p = Pair(np.arange(3.0), np.ones(3))
def loss(p): return (p.a * p.a * p.b).sum()
def f(p):
    g = jm.grad(loss)(p)
    return g.a, g.b, type(g).__name__
register = lambda: jm.register_container(Pair, lambda p: ((p.a, p.b), None), lambda rest, parts: Pair(*parts))
"""
    found = same_everywhere(text, ["type(f(p)) if 0 else 0", "register()", "f(p)", "f(p)"])
    assert found.outcomes[2][2] == "Pair"
    names = load(text)
    f = jm.compile(names["f"])
    with pytest.raises(jm.GradientError):
        f(names["p"])
    names["register"]()
    assert f(names["p"])[0].tolist() == [0.0, 2.0, 4.0]


@pytest.fixture
def restored() -> Iterator[None]:
    yield
    jm.substitute(math.sin)


@pytest.mark.parametrize("backend", BACKENDS)
def test_b50_a_function_is_traced_as_another_until_that_ends(backend: str, restored: None) -> None:
    names = load("import math\ndef f(x): return x * math.sin(0.5)")
    f = jm.compile(names["f"], backend=backend)
    x = np.ones(2)
    plain = f(x).tolist()
    jm.substitute(math.sin, np.cos)
    assert f(x).tolist() == [np.cos(0.5)] * 2
    explanation = jm.explain(names["f"])(x)
    assert explanation.break_count == 0
    assert explanation.graphs[0].count("cos(") == 1
    jm.substitute(math.sin)
    assert f(x).tolist() == plain
    (why,) = jm.recompiles(f)
    assert (why.guard, why.then) == ("what stands for sin", "cos")
    with pytest.raises(jm.UserError, match="function"):
        jm.substitute(math.sin, 3)


RULE = """
class Rule(jm.Function):
    @staticmethod
    def forward(ctx, x, k):
        ctx.save_for_backward(x)
        ctx.k = k
        return x * k
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 100 * ctx.k + x * 0, None
apply = Rule.apply
x = jm.Tensor(np.arange(3.0), requires_grad=True); a = np.arange(3.0)
"""


def test_b56_a_gradient_rule_of_the_user_is_used_through_an_alias_of_apply() -> None:
    text = (
        RULE
        + """
def f(x): return (apply(x + 1, 3.0) ** 2).sum()
def step():
    x.grad = None
    f(x).backward()
    return x.grad.numpy(), f(a)
"""
    )
    found = same_everywhere(text, ["step()", "step()"])
    expected = 2 * 3.0 * np.arange(1.0, 4.0) * 300
    assert found.outcomes[0][0].tolist() == expected.tolist()
    inside = RULE + "def loss(v): return (apply(v + 1, 3.0) ** 2).sum()\ndef f(v): return jm.grad(loss)(v)"
    found = same_everywhere(inside, ["f(a)", "f(a * 1)"])
    assert found.outcomes[0].tolist() == expected.tolist()
    assert explained(RULE + "def f(v): return apply(v, 2.0) + 1", "f(a)").break_count == 0


def test_b56_a_rule_that_is_defined_again_is_noticed() -> None:
    again = RULE.replace("x * k", "x - k").replace("100", "7")
    text = RULE + "def f(v): return apply(v, 2.0) + 1"
    same_everywhere(text, ["f(a)", "f(a)", again, "f(a)"])


@pytest.mark.parametrize(
    ("backward", "message"), [("return g", "gives 1 gradients for 2"), ("return g, None, g", "gives 3 gradients for 2")]
)
def test_b56_a_wrong_number_of_gradients_is_named(backward: str, message: str) -> None:
    text = RULE[: RULE.index("        (x,)")] + f"        {backward}\n" + RULE[RULE.index("apply =") :]
    names = load(text)
    with pytest.raises(jm.GradientError, match=message):
        names["apply"](names["x"], 3.0).sum().backward()


def test_b57_both_ways_of_cond_are_part_of_the_graph() -> None:
    text = "k = np.ones(3)\ndef f(x): return jm.cond(x.sum() > 2, lambda v: v * k, lambda v: v - k, x)"
    same_everywhere(text, ["f(np.ones(3))", "f(np.zeros(3))", "k[0] = 5", "f(np.ones(3))"], [1, 1, 1])
    found = explained(text, "f(np.ones(3))")
    assert (found.graph_count, found.break_count) == (1, 0)
    assert "input k" in found.graphs[0]


def test_b57_a_checkpoint_computes_again_with_the_same_random_numbers() -> None:
    text = """
x = jm.Tensor(np.arange(3.0), requires_grad=True); w = jm.Tensor(np.ones(3), requires_grad=True)
def g(x): return np.exp(x * w) * np.random.rand(3)
def f(x): return jm.checkpoint(g, x).sum()
def step():
    x.grad = w.grad = None
    f(x).backward()
    return x.grad.numpy(), w.grad.numpy()
"""
    again = same_everywhere(text, ["step()", "step()"])
    kept = same_everywhere(text.replace("jm.checkpoint(g, x)", "g(x)"), ["step()", "step()"])
    for pair, other in zip(again.outcomes[:2], kept.outcomes[:2], strict=True):
        assert [v.tolist() for v in pair] == [v.tolist() for v in other]


def test_b57_a_checkpoint_keeps_nothing_in_between() -> None:
    made: list[object] = []

    def g(x: object) -> object:
        for _ in range(5):
            x = np.exp(x * 0.1)  # type: ignore[operator]  # a Tensor
        made.append(x)
        return x

    x = jm.Tensor(np.ones(3), requires_grad=True)
    node = jm.checkpoint(g, x).grad_fn
    assert [target for target, _ in node.edges] == [x]
    assert made[0].grad_fn is None  # type: ignore[attr-defined]  # a Tensor


def test_b61_the_state_of_an_optimiser_is_found_by_its_parameters() -> None:
    text = """
from jitmagic import optim
w = jm.Tensor(np.arange(3.0), requires_grad=True)
opt = optim.SGD([w], lr=0.1, momentum=0.9)
x = np.ones(3)
def f(x):
    opt.zero_grad()
    ((w - x) ** 2).sum().backward()
    opt.step()
    opt.zero_grad()
    ((w - x) ** 2).sum().backward()
    opt.step()
def ask():
    f(x)
    return w.numpy().copy(), [v.numpy().copy() for s in opt.state.values() for v in s.values() if hasattr(v, "numpy")]
"""
    found = same_everywhere(text, ["ask()", "ask()", "ask()", "opt.param_groups[0]['lr'] = 0.2", "ask()"])
    assert explained(text, "f(x)").break_count == 0
    after = []
    names = load(text)
    names["f"] = jm.compile(names["f"])
    for _ in range(5):
        names["ask"]()
        after.append(names["f"].jit.compiles)
    assert after[2] == after[3] == after[4], after
    assert found.outcomes[0][0].tolist() != found.outcomes[1][0].tolist()


def _both(x: np.ndarray, y: np.ndarray) -> tuple[object]:
    return (x * 2 + y.sum(),)


def test_b81_ranges_of_one_axis_are_intersected_also_through_an_axis_of_the_same_size() -> None:
    x, y = np.ones((5, 3)), np.ones(5)
    jm.mark_static(x, 0)  # constraints beat marks
    ranges = [jm.aot.dynamic_axis(x, 0, low=2, high=10, name="batch"), jm.aot.dynamic_axis(y, 0, low=4, high=20)]
    shared = [*ranges, jm.aot.same_size(x, 0, y, 0)]
    graph = jm.aot.aot_export_joint_simple(_both, [x, y], trace_joint=False, constraints=shared)
    for n in range(4, 11):
        (found,) = interpret(graph, [np.ones((n, 3)), np.ones(n)])
        assert found.tolist() == _both(np.ones((n, 3)), np.ones(n))[0].tolist()
    for n in (3, 11):
        with pytest.raises(ValueError, match=rf"batch .*is {n}, but it has to be 4 to 10"):
            interpret(graph, [np.ones((n, 3)), np.ones(n)])
    with pytest.raises(ValueError, match=r"batch .*is 6, but it has to be 5"):
        interpret(graph, [np.ones((5, 3)), np.ones(6)])


@pytest.mark.parametrize(
    ("what", "message"),
    [
        (
            lambda a, x, y: [a(x, 0, name="n"), a(y, 0, name="m"), jm.aot.same_size(x, 0, y, 0)],
            "two names, 'n' and 'm'",
        ),
        (lambda a, x, y: [a(x, 0, high=8, name="n"), a(x, 0, low=9)], "no size is left for n"),
        (lambda a, x, y: [a(x, 0, low=8, name="n")], "n .*is 5, but it has to be at least 8"),
        (lambda a, x, y: [a(x, 7)], "2 axes; axis 7"),
        (lambda a, x, y: [a(x.copy(), 0)], "none of the arguments"),
    ],
)
def test_b81_constraints_that_cannot_be_met_are_errors(what: Any, message: str) -> None:
    x, y = np.ones((5, 3)), np.ones(5)
    constraints = what(jm.aot.dynamic_axis, x, y)
    with pytest.raises(RuntimeError, match=message):
        jm.aot.aot_export_joint_simple(_both, [x, y], trace_joint=False, constraints=constraints)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x if x.shape[0] == 5 else -x", "needs it to be 5"),
        ("x if x.shape[0] > 4 else -x", "another way where n .* is 2: it decides that s0 > 4"),
        ("x[:, 0] + z", "needs it to be 5"),
        ("x[:, 0] + y", "compares .*same_size"),
    ],
)
def test_b81_code_that_decides_on_a_constrained_size_is_refused(code: str, message: str) -> None:
    f = load(f"def f(x, y, z): return ({code},)")["f"]
    x, y, z = np.ones((5, 3)), np.ones(5), np.ones(5)
    free = [jm.aot.dynamic_axis(x, 0, name="n"), jm.aot.dynamic_axis(y, 0, name="m")]
    with pytest.raises(RuntimeError, match=message):
        jm.aot.aot_export_joint_simple(f, [x, y, z], trace_joint=False, constraints=free)


def test_b81_a_check_in_the_code_stays_in_the_graph() -> None:
    f = load("def f(x): return (x * jm.aot.constrain(x.shape[0], 2, 4, 'width'),)")["f"]
    graph = jm.aot.aot_export_joint_simple(f, [np.ones(3)], trace_joint=False)
    assert [n.op.name for n in graph.nodes if n.op is not None] == ["constrain", "multiply"]
    with pytest.raises(ValueError, match="width is 9, but it has to be 2 to 4"):
        jm.aot.constrain(9, 2, 4, "width")
    compiled = jm.compile(f)
    assert compiled(np.ones(3))[0].tolist() == [3.0] * 3
    with pytest.raises(ValueError, match="width is 5"):
        compiled(np.ones(5))
