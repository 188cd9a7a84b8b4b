"""Compiled functions take Tensors: the plain answer, and one node of the record for all that leaves the function."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd.node import FunctionNode
from jitmagic.errors import GradientError


@pytest.fixture(autouse=True)
def _no_demotion() -> Iterator[None]:
    with jm.configure(demote=False, background=False):
        yield


def compiled(f: Callable[..., Any]) -> Any:
    return jm.compile(f, backend="eager")


def leaf(*values: float) -> jm.Tensor:
    return jm.Tensor(np.array(values), requires_grad=True)


def same_as_plain(f: Callable[..., Any], *arrays: Any, breaks: int | None = 0) -> Any:
    """Values, classes and gradients of three compiled calls are those of the plain function; gives the function."""
    run = compiled(f)
    for _ in range(3):
        ours = [jm.Tensor(a.copy(), requires_grad=True) for a in arrays]
        plain = [jm.Tensor(a.copy(), requires_grad=True) for a in arrays]
        found, expected = run(*ours), f(*plain)
        assert_same(found, expected)
        for each, wanted in zip(flat(found), flat(expected), strict=True):
            if isinstance(wanted, jm.Tensor) and wanted.requires_grad:
                each.backward(np.ones_like(wanted._values), retain_graph=True)
                wanted.backward(np.ones_like(wanted._values), retain_graph=True)
        for a, b in zip(ours, plain, strict=True):
            assert (a.grad is None) == (b.grad is None)
            if a.grad is not None and b.grad is not None:
                np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-12)
                assert a.grad.dtype == b.grad.dtype
            np.testing.assert_array_equal(a.numpy(), b.numpy())
    if breaks is not None:
        assert len(run.jit.breaks()) == breaks, run.jit.report()
    return run


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return [v for item in value for v in flat(item)] if isinstance(value, tuple | list) else [value]


def assert_same(found: Any, expected: Any) -> None:
    for a, b in zip(flat(found), flat(expected), strict=True):
        assert type(a) is type(b)
        if isinstance(b, jm.Tensor):
            assert type(a._values) is type(b._values)
            assert a.dtype == b.dtype
            assert a.requires_grad == b.requires_grad
        np.testing.assert_array_equal(np.asarray(getattr(a, "_values", a)), np.asarray(getattr(b, "_values", b)))


X = np.array([[0.5, -1.5, 2.0], [1.0, 0.25, -0.75]])
W = np.array([[1.0, -2.0], [0.5, 0.1], [-1.0, 3.0]])


def test_a_network() -> None:
    """Row A28: one entry, one node of the record."""

    def loss(x: Any, w: Any) -> Any:
        hidden = np.maximum(x @ w, 0)
        return (np.tanh(hidden) ** 2).mean() + np.log(np.exp(hidden).sum(axis=1)).sum()

    run = same_as_plain(loss, X, W)
    assert run.jit.entries == 1
    value = run(jm.Tensor(X, requires_grad=True), jm.Tensor(W))
    assert type(value.grad_fn) is FunctionNode
    assert [edge[1] for edge in value.grad_fn.edges] == [0]


def test_several_results_share_the_node() -> None:
    def f(x: Any) -> Any:
        return {"sum": x.sum(), "rows": [np.sin(x), x.T * 2], "where": np.argmax(x), "above": x > 0}

    run = same_as_plain(f, X)
    found = run(jm.Tensor(X, requires_grad=True))
    assert found["sum"].grad_fn is found["rows"][1].grad_fn
    assert found["above"].grad_fn is None


def test_arrays_stay_arrays() -> None:
    """Row B10: Tensors and arrays share the code, but keep their classes."""
    other = np.arange(3.0)

    def f(x: Any) -> Any:
        return other * 2, x + other, np.cos(other).sum()

    same_as_plain(f, X)
    run = compiled(lambda x: x * 2)
    assert type(run(X)) is np.ndarray
    assert type(run(jm.Tensor(X))) is jm.Tensor
    assert run.jit.entries == 2


def test_what_is_recorded_is_guarded() -> None:
    """Rows A28 and B09: a gradient that is wanted or not, and the gradient mode."""
    run = compiled(lambda x: (x * x).sum())
    assert run(jm.Tensor(X, requires_grad=True)).requires_grad
    assert not run(jm.Tensor(X)).requires_grad
    with jm.no_grad():
        assert not run(jm.Tensor(X, requires_grad=True)).requires_grad
    assert run(jm.Tensor(X, requires_grad=True)).requires_grad
    assert run.jit.entries == 3
    guards = " ".join(r.guard for r in jm.recompiles(run))
    assert "requires_grad" in guards
    assert "the gradient mode" in guards


def test_no_result_depends_on_a_gradient() -> None:
    """Row A29: no backward half is made."""
    run = same_as_plain(lambda x: (np.argmax(x), x > 0, np.zeros_like(x)), X)
    assert "pullback" not in str(run.jit.graph())


def test_tensors_from_everywhere() -> None:
    held = SimpleNamespace(w=jm.Tensor(W.copy(), requires_grad=True), scale=[jm.Tensor(np.array(2.0))])

    def f(x: Any) -> Any:
        return (x @ held.w * held.scale[0]).sum()

    run = compiled(f)
    for _ in range(2):
        held.w.grad = None
        run(X).backward()
        assert held.w.grad is not None
        np.testing.assert_allclose(held.w.grad.numpy(), 2 * X.sum(axis=0)[:, None] * np.ones((3, 2)))
    held.w = jm.Tensor(W * 2, requires_grad=True)
    run(X).backward()
    assert held.w.grad is not None


def test_one_tensor_in_two_places() -> None:
    """Row A25."""
    run = compiled(lambda a, b: (a * b).sum())
    x = leaf(1.0, 2.0)
    run(x, x).backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [2, 4]


def test_breaks_in_between() -> None:
    """What runs plainly sees Tensors whose history goes on through the compiled parts."""

    def f(x: Any) -> Any:
        y = np.exp(x) * 2
        if y.sum() > 0:
            y = y + x
        z = float(np.max(y.detach()))
        return (y * z).sum()

    same_as_plain(f, X, breaks=None)


def test_writes_to_what_is_made_inside() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        y[0] *= 3
        y[1, 1:] = x[0, :2] ** 2
        np.exp(y, out=y)
        return y.sum()

    same_as_plain(f, X)


def test_writes_to_tensors_of_the_caller() -> None:
    """Row A05: gradient flows through the written value to what was there before."""

    def triple(x: Any) -> Any:
        x *= 3
        return x.sum()

    run = compiled(triple)
    for _ in range(2):
        w = leaf(1.0, 2.0)
        x = w * 1
        (run(x) + (x * 2).sum()).backward()
        assert w.grad is not None
        assert w.grad.numpy().tolist() == [9, 9]


def test_leaves_refuse_writes_as_they_do_plainly() -> None:
    """Row A07."""

    def add_one(x: Any) -> Any:
        x += 1
        return x

    run = compiled(add_one)
    for _ in range(2):
        x = leaf(1.0, 2.0)
        with pytest.raises(GradientError, match="leaf"):
            run(x)
        assert x.numpy().tolist() == [1, 2]


def test_a_running_mean_under_no_grad() -> None:
    """Row A06."""
    mean = jm.Tensor(np.zeros(3))

    def step(x: Any) -> Any:
        with jm.no_grad():
            mean[...] = 0.5 * mean + 0.5 * x.mean(axis=0)
        return (x - mean).sum()

    run = compiled(step)
    for _ in range(2):
        run(jm.Tensor(X, requires_grad=True)).backward()
    assert not mean.requires_grad
    np.testing.assert_allclose(mean.numpy(), 0.75 * X.mean(axis=0))


def test_results_that_share_memory() -> None:
    """Views of arguments and of each other stay views, for later writes too."""
    run = compiled(lambda x: (x[1:], x))
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    view, same = run(y)
    assert same is y
    assert np.shares_memory(view.numpy(), y.numpy())
    view *= 10
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.numpy().tolist() == [1, 10, 10]
    pair = compiled(lambda x: (lambda y: (y, y[0]))(x * 2))
    whole, part = pair(jm.Tensor(X, requires_grad=True))
    part += 1
    assert whole.requires_grad
    assert np.shares_memory(whole.numpy(), part.numpy())


def test_later_writes_do_not_reach_what_backward_needs() -> None:
    run = compiled(np_exp := lambda x: np.exp(x) * 1.0)
    x = leaf(0.0, 1.0)
    y = run(x)
    with jm.no_grad():
        y.detach()[...] = 0.0
        x[...] = 100.0
    y.backward(np.ones(2))
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), np.exp([0.0, 1.0]))
    assert np_exp is not run


def test_gradients_of_gradients_are_refused_in_words() -> None:
    run = compiled(lambda x: (x**3).sum())
    with pytest.raises(GradientError, match=r"f\.jit\.plain"):
        run(leaf(1.0, 2.0)).backward(create_graph=True)


def test_conversions_to_plain_arrays() -> None:
    run = compiled(lambda x: np.asarray(x) * 2)
    assert type(run(jm.Tensor(X))) is np.ndarray
    with pytest.raises(GradientError, match="plain array"):
        run(jm.Tensor(X, requires_grad=True))


def test_tensors_inside_a_tape() -> None:
    """A compiled function called by one that is differentiated on the tape."""
    from jitmagic.autograd.tape import tape_vjp

    run = compiled(lambda x: (x**3).sum())
    for _ in range(2):
        _, pullback = tape_vjp(lambda x: run(x) * 2, [np.array([1.0, 2.0])])
        assert pullback(1.0)[0].tolist() == [6, 24]


def test_loops() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for i in range(12):
            total = total + np.sin(x * i).sum()
        return total

    same_as_plain(f, X)


def test_single_and_complex_numbers() -> None:
    same_as_plain(lambda x: (x * 2.5).sum(), X.astype(np.float32))
    same_as_plain(lambda z: (z * np.conj(z)).real.sum(), X + 1j * X)


@pytest.mark.parametrize("backend", ["aot_eager", "numba"])
def test_other_backends(backend: str) -> None:
    f = jm.compile(lambda x, w: (np.tanh(x @ w) ** 2).sum(), backend=backend)
    plain = lambda x, w: (np.tanh(x @ w) ** 2).sum()
    for _ in range(2):
        ours, theirs = (jm.Tensor(W.copy(), requires_grad=True) for _ in range(2))
        found = f(X, ours)
        expected = plain(X, theirs)
        assert found._values == expected._values
        found.backward()
        expected.backward()
        assert ours.grad is not None
        assert theirs.grad is not None
        np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-12)


def test_a_call_that_nobody_needs_dies_at_once() -> None:
    run = compiled(lambda x: np.exp(x).sum())
    run(leaf(1.0, 2.0))
    gc.collect()
    gc.disable()
    try:
        node = weakref.ref(run(leaf(1.0, 2.0)).grad_fn)
        assert node() is None
    finally:
        gc.enable()


def test_detached_values_and_questions_are_no_breaks() -> None:
    def f(x: Any) -> Any:
        if x.requires_grad:
            return (x.detach() * x).sum() + (jm.detach(x * 2) ** 2).sum()
        return x.sum()

    run = same_as_plain(f, X)
    assert run(jm.Tensor(X)).numpy() == X.sum()
    assert run(jm.Tensor(X)).grad_fn is None
    same_as_plain(lambda x: x.detach(), X, breaks=None)
