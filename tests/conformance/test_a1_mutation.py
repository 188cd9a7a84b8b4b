"""Rows A01 to A10: what is written."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib import NumpyVersion

import jitmagic as jm
from tests.conformance.pipeline import Recorded, same_as_plain, tensor


def test_a01_a_written_input_is_an_output_and_is_copied_back() -> None:
    def f(x):
        x -= 1
        return np.exp(x)

    recorded = same_as_plain(f, np.arange(3.0))
    graph = recorded.graph("inference")
    assert len(graph.outputs) == 2
    assert not any(node.written() for node in graph.nodes)
    for x in (np.arange(3.0), np.arange(9.0)[::-3], np.arange(6.0).reshape(3, 2).T):
        before = x.__array_interface__["data"], x.strides, repr(x.flags), id(x.base)
        wanted = x - 1
        recorded(x)
        assert (x.__array_interface__["data"], x.strides, repr(x.flags), id(x.base)) == before
        assert x.tolist() == wanted.tolist()


def test_a02_many_writes_are_one_copy() -> None:
    def f(x):
        a = x.sum()
        x += 1
        b = x.sum()
        x *= 2
        return a, b

    assert len(same_as_plain(f, np.arange(3.0)).entry.plan.copy_backs) == 1


def test_a03_writes_through_views_are_writes_to_the_owner() -> None:
    def shifted(x):
        x[1:] += x[:-1]

    def transposed(x):
        x.T[0] = 1
        x.reshape(-1)[2] = 9
        np.add(x, x, out=x)
        np.copyto(x[0], x[1])

    def copies(x):
        x[[0, 1]] += 0
        y = x.T.reshape(-1)
        y[0] = 7
        return y

    x = np.arange(5.0)
    Recorded(shifted)(x)
    assert x.tolist() == [0, 1, 3, 5, 7]
    same_as_plain(shifted, np.arange(5.0))
    same_as_plain(transposed, np.arange(6.0).reshape(2, 3))
    same_as_plain(copies, np.arange(6.0).reshape(2, 3))


def test_a04_write_rules_are_numpys() -> None:
    def casting(x, y):
        y += 1
        x += 1.5

    f = jm.compile(casting)
    for function in (casting, f, f):
        x, y = np.arange(3), np.zeros(3)
        with pytest.raises(TypeError, match="Cannot cast"):
            function(x, y)
        assert y.tolist() == [1, 1, 1]
        assert x.tolist() == [0, 1, 2]
    read_only = np.zeros(3)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(read_only, read_only)

    def too_wide(x, y):
        y += 1
        x += np.ones((3, 3))

    for function in (too_wide, jm.compile(too_wide), Recorded(too_wide)):
        x, y = np.zeros(3), np.zeros(2)
        with pytest.raises(ValueError, match="non-broadcastable output"):
            function(x, y)
        assert (x.tolist(), y.tolist()) == ([0, 0, 0], [1, 1])


def test_a05_updated_inputs_take_part_in_backward() -> None:
    def f(x):
        x *= 3.0
        return x.sum()

    w = tensor([1, 2, 3])
    x = w * 1
    recorded = Recorded(f)
    (recorded(x) + (x * 2).sum()).backward()
    assert w.grad.tolist() == [9, 9, 9]
    assert x.tolist() == [3, 6, 9]
    assert len(recorded.entry.training.made.tangents) == 2


def test_a06_writes_that_tracking_must_not_see() -> None:
    def step(w, x, mean):
        with jm.no_grad():
            mean *= 0.9
            mean += 0.1 * x.mean(axis=0)
        return ((x - mean) * w).sum()

    w, mean = tensor([1, 2, 3]), jm.Tensor(np.ones(3))
    x = tensor(np.arange(6.0).reshape(2, 3))
    recorded = Recorded(step)
    recorded(w, x, mean).backward()
    np.testing.assert_allclose(mean.numpy(), 0.9 + 0.1 * np.array([1.5, 2.5, 3.5]))
    assert not mean.requires_grad
    assert len(recorded.entry.training.made.tangents) == 1
    np.testing.assert_allclose(x.grad.numpy(), [[1, 2, 3], [1, 2, 3]])


def test_a06_writes_through_a_detached_alias() -> None:
    def step(x, w):
        alias = x.detach()
        alias *= 2.0
        return (x * w).sum()

    found = []
    for function in (step, jm.compile(step), recorded := Recorded(step)):
        leaf = tensor([1, 2, 3])
        x = leaf * 1.0
        value = function(x, np.ones(3))
        value.backward()
        found.append((value.item(), x.tolist(), leaf.grad.tolist()))
    assert found == [(12, [2, 4, 6], [1, 1, 1])] * 3
    assert len(recorded.entry.training.made.tangents) == 1


def test_a07_writing_into_a_leaf_is_refused_as_it_is_uncompiled() -> None:
    def f(w):
        w += 1
        return w.sum()

    for function in (f, Recorded(f)):
        w = tensor([1, 2])
        with pytest.raises(jm.GradientError, match="leaf"):
            function(w)
        assert w.tolist() == [1, 2]


@pytest.mark.filterwarnings("ignore:Setting the")
def test_a08_metadata_of_inputs_changes_as_in_a_plain_run() -> None:
    def f(x):
        x.shape = (3, 2)
        return x.sum(axis=0)

    compiled, ahead = jm.compile(f), Recorded(f)
    for function in (f, compiled, compiled, ahead, ahead):
        x = np.arange(6.0).reshape(2, 3)
        before = x.__array_interface__["data"]
        assert function(x).tolist() == [6, 9]
        assert x.shape == (3, 2)
        assert x.__array_interface__["data"] == before
    assert ahead.kinds == ["inference"]
    assert "reshape" in ahead.text("inference")
    warns = NumpyVersion(np.__version__) >= "2.5.0.dev0"  # at the line of the assignment, so that is plain Python
    assert len(compiled.jit.breaks()) == int(warns)


@pytest.mark.filterwarnings("ignore:Setting the")
def test_a08_other_metadata_changes_as_in_a_plain_run() -> None:
    def dtype(x):
        x.dtype = np.int64
        return x + 1

    def flag(x):
        x += 1
        x.flags.writeable = False
        return x * 2

    def strides(x):
        x.strides = x.strides[::-1]
        return x * 2

    def size(x):
        x.resize((3, 3), refcheck=False)
        return x * 2

    for f in (dtype, flag, strides, size):
        plain = _described(f)
        assert _described(jm.compile(f)) == plain
        if f is dtype:
            assert _described(jm.aot.aot_function(f, jm.aot.aot_eager)) == plain
        else:  # there is no graph of these: said before anything happened
            with pytest.raises(jm.UserError, match=rf"{f.__name__} cannot be captured as one graph.*line \d+"):
                _described(jm.aot.aot_function(f, jm.aot.aot_eager))


def _described(function):
    """What two calls show of their argument and result."""
    found = []
    for _ in range(2):
        x = np.arange(9.0).reshape(3, 3)
        result = function(x)
        found.append((x.shape, x.dtype, x.strides, x.flags.writeable, x.tobytes(), result.tobytes(), result.dtype))
    return found


def test_a09_metadata_and_data_changes_have_the_gradients_of_the_plain_run() -> None:
    def f(w):
        x = w * 1.0
        x.shape = (3, 2)
        x *= 2
        return (x[0] * np.array([1.0, 5.0])).sum()

    def both(x):
        x.shape = (3, 2)
        x *= 2
        return (x[0] * np.array([1.0, 5.0])).sum()

    def only_metadata(x):
        x.shape = (3, 2)
        return (x[0] * np.array([1.0, 5.0])).sum()

    for g, tangents in ((both, 2), (only_metadata, 1)):
        found = []
        for function in (g, jm.compile(g), recorded := Recorded(g)):
            leaf = tensor(np.arange(6.0).reshape(2, 3))
            x = leaf * 1.0
            (function(x) + (x * 1.0).sum()).backward()
            found.append((x.shape, x.tolist(), leaf.grad.tolist()))
        assert found[0] == found[1] == found[2]
        assert len(recorded.entry.training.made.tangents) == tangents

    w = np.arange(6.0).reshape(2, 3)
    assert jm.grad(f)(w).tolist() == [[2, 10, 0], [0, 0, 0]]
    compiled = jm.compile(lambda x: x.resize((2, 5)))
    x = np.arange(6.0)
    y = x[:2]
    with pytest.raises(ValueError, match="resize"):
        compiled(x)
    assert y.tolist() == [0, 1]


def test_a10_inference_may_keep_writes_in_the_graph() -> None:
    def f(x):
        x += 1
        return x * 2

    kept = same_as_plain(f, np.arange(3.0), keep_inference_input_mutations=True)
    graph = kept.graph("inference")
    assert graph.nodes[-1].op.name == "copy_into"
    assert not kept.entry.plan.copy_backs
    trained = Recorded(f, keep_inference_input_mutations=True)
    w = tensor([1, 2, 3])
    trained(w * 1.0).sum().backward()
    assert w.grad.tolist() == [2, 2, 2]
    assert not any(node.written() for node in trained.graph("forward").nodes)
