"""Rows A11 to A27: what shares memory."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.conformance.pipeline import Recorded, same_as_plain, tensor


def test_a11_a_view_of_an_input_is_made_again() -> None:
    f = Recorded(lambda x: (x[1:].T, np.broadcast_to(x[0], (3, 4)), np.diagonal(x)))
    x = np.array(np.arange(16.0).reshape(4, 4))
    for _ in range(2):
        y, wide, diagonal = f(x)
        assert y.base is x
        y[0, 0] = 9
        assert x[1, 0] == 9
        assert wide.strides[0] == 0
        for each in (wide, diagonal):
            with pytest.raises(ValueError, match="read-only"):
                each[0] = 1


def test_a12_an_input_that_is_returned_is_the_same_object() -> None:
    def same(x):
        return np.asarray(x), x.astype(x.dtype, copy=False), x.squeeze(), x.real, x

    def written(x):
        x += 1
        return x

    x = np.arange(6.0).reshape(2, 3)
    f, g = Recorded(same), Recorded(written)
    for _ in range(2):
        assert all(each is x for each in f(x))
        assert g(x) is x
    views = Recorded(lambda x: (x[...], x.ravel()))
    for each in views(x):
        assert each is not x
        assert np.shares_memory(each, x)


def test_a13_a_view_of_an_intermediate_has_that_as_its_base() -> None:
    f = Recorded(lambda x: (x * 2).reshape(-1))
    x = np.arange(6.0).reshape(2, 3)
    assert f(x).base.shape == (2, 3)
    assert f(x).tolist() == (x * 2).reshape(-1).tolist()


def test_a14_views_of_one_intermediate_share_memory() -> None:
    def f(x):
        y = x * 2
        return y, y[0], y.T

    recorded = same_as_plain(f, np.arange(6.0).reshape(2, 3))
    y, row, turned = recorded(np.arange(6.0).reshape(2, 3))
    row[0] = 99
    assert y[0, 0] == turned[0, 0] == 99
    assert len(recorded.graph("inference").outputs) == 1


def test_a15_one_array_twice_is_one_object_twice() -> None:
    def twice(x):
        y = x + 1
        return y, y

    a, b = Recorded(twice)(np.ones(3))
    assert a is b
    a, b = Recorded(lambda x: (x + 1, x + 1))(np.ones(3))
    assert not np.shares_memory(a, b)


def test_a16_gradients_go_through_bases() -> None:
    f = Recorded(lambda x: (x[::-1], np.exp(x).reshape(-1)))
    w = tensor(np.arange(6.0).reshape(2, 3))
    a, b = f(w)
    (a * np.arange(6.0).reshape(2, 3)).sum().backward(retain_graph=True)
    b.sum().backward()
    assert len(f.entry.training.made.tangents) == 1
    np.testing.assert_allclose(w.grad.numpy(), np.arange(6.0).reshape(2, 3)[::-1] + np.exp(w.numpy()))


def test_a17_a_backend_may_choose_the_layout_of_what_it_returns() -> None:
    def fortran(graph, examples):
        run = jm.aot.aot_eager(graph, examples)
        return lambda arguments: [np.asfortranarray(v) for v in run(list(arguments))]

    def f(x):
        y = x * 2
        return y.reshape(-1), y[1]

    x = np.arange(6.0).reshape(2, 3)
    found = jm.aot.aot_function(f, fortran)(x)
    for a, b in zip(found, f(x), strict=True):
        assert a.tolist() == b.tolist()
    assert np.shares_memory(*found)


def test_a18_a_returned_view_may_be_written_later() -> None:
    f = Recorded(lambda x: x[1:])
    x = np.arange(4.0)
    f(x)[0] = 5
    assert x.tolist() == [0, 5, 2, 3]
    w = tensor([1, 2, 3])
    y = f(w)
    with jm.no_grad():
        y[0] = 5
    assert w.tolist() == [1, 5, 3]


def test_a19_overlapping_inputs_become_one_base() -> None:
    def first(a, b):
        a[0] = 7.0
        return a - b

    def second(a, b):
        b[0] = 7.0
        return a - b

    for f in (first, second):
        plain, compiled = np.arange(4.0), np.arange(4.0)
        recorded = Recorded(f)
        expected, found = f(plain, plain[::-1]), recorded(compiled, compiled[::-1])
        assert found.tolist() == expected.tolist()
        assert compiled.tolist() == plain.tolist()
        assert len(recorded.entry.plan.guard.groups) == 1


def test_a20_the_gradient_of_a_base_is_split() -> None:
    def f(a, b):
        a *= 2.0
        return (a * b).sum()

    grads = []
    for function in (f, Recorded(f)):
        w = tensor([1, 2, 3, 4])
        x = w * 1.0
        function(x[:3], x[1:]).backward()
        grads.append(w.grad.tolist())
    assert grads[0] == grads[1]


def test_a21_nothing_is_merged_without_need() -> None:
    def read(a, b):
        return a + b

    def halves(a, b):
        a += b

    x = np.arange(6.0)
    for f, args in ((read, (x, x[::-1])), (halves, (x[:3], x[3:])), (halves, (x[::2], x[1::2]))):
        recorded = Recorded(f)
        recorded(*args)
        assert not recorded.entry.plan.guard.groups


def test_a22_aliases_of_another_dtype_or_of_the_owner() -> None:
    def f(x, bits):
        x += 1.5
        return bits.copy()

    compiled = jm.compile(f)
    for function in (f, compiled, compiled):
        x = np.arange(3.0)
        assert function(x, x.view(np.int64)).tolist() == x.view(np.int64).tolist()
    assert compiled.jit.compiles == 1
    assert "plain Python" not in str(compiled.jit.breaks())
    for function in (jm.aot.aot_function(f, jm.aot.aot_eager), jm.aot.aot_function(f, jm.aot.aot_eager)):
        x = np.arange(3.0)
        assert function(x, x.view(np.int64)).tolist() == x.view(np.int64).tolist()
        assert x.tolist() == [1.5, 2.5, 3.5]

    def g(x, bits):
        bits &= -1 << 40
        x[1:] += x[:-1]
        return x, bits[::-1], x.sum()

    compiled = jm.compile(g)
    for function in (compiled, compiled, jm.aot.aot_function(g, jm.aot.aot_eager)):
        x, y = np.arange(3.0) / 3, np.arange(3.0) / 3
        found, expected = function(x, x.view(np.int64)), g(y, y.view(np.int64))
        assert found[0] is x
        assert found[1].tolist() == expected[1].tolist()
        assert np.shares_memory(found[1], x)
        assert found[2] == expected[2]
        assert x.tolist() == y.tolist()
    w = tensor([1, 2, 3])
    v = w * 1
    with pytest.raises(jm.UserError, match="differ in dtype and need a gradient"):
        jm.aot.aot_function(f, jm.aot.aot_eager)(v, v.numpy().view(np.int64))
    y = np.arange(4.0)
    z = y.copy()
    compiled_sum = jm.compile(lambda whole, part: (whole.__iadd__(1.0), part.sum())[1])
    assert compiled_sum(y, y[1:]) == (z + 1)[1:].sum()


def test_a23_the_alias_relation_is_guarded() -> None:
    def f(a, b):
        a[0] = 7.0
        return a - b

    compiled = jm.compile(f)
    for _ in range(2):
        for make in (lambda: (np.arange(3.0), np.ones(3)), lambda: (x := np.arange(3.0), x[::-1])):
            assert compiled(*make()).tolist() == f(*make()).tolist()
    assert compiled.jit.compiles == 2


def test_a24_one_array_in_two_places_is_passed_once() -> None:
    f = Recorded(lambda a, b: a * b)
    x = np.arange(3.0)
    assert f(x, x).tolist() == [0, 1, 4]
    assert len(f.graph("inference").inputs) == 1
    assert f(x, x + 1).tolist() == [0, 2, 6]


def test_a25_gradients_under_dedupe() -> None:
    def f(a, b):
        return (a * b).sum()

    x = tensor([1, 2, 3])
    Recorded(f)(x, x).backward()
    assert x.grad.tolist() == [2, 4, 6]
    plain = np.array([1.0, 2, 3])
    assert jm.grad(f)(plain, plain).tolist() == [1, 2, 3]
    assert [g.tolist() for g in jm.grad(f, argnums=(0, 1))(plain, plain)] == [[1, 2, 3], [1, 2, 3]]


def test_a26_dedupe_comes_before_synthetic_bases() -> None:
    def f(a, same, part):
        a[0] = 7.0
        return same * 1.0, part * 1.0

    plain, compiled = np.arange(4.0), np.arange(4.0)
    recorded = Recorded(f)
    expected, found = f(plain, plain, plain[::-1]), recorded(compiled, compiled, compiled[::-1])
    assert [v.tolist() for v in found] == [v.tolist() for v in expected]
    assert len(recorded.graph("inference").inputs) == 1


def test_a27_tangents_are_apart_from_primals() -> None:
    def f(values, offsets):
        return values * 2.0, offsets

    values, offsets = tensor([1, 2, 3]), np.array([0, 2, 3])
    recorded = Recorded(f)
    scaled, same = recorded(values, offsets)
    scaled.sum().backward()
    assert same is offsets
    assert values.grad.tolist() == [2, 2, 2]
    forward, backward = recorded.graph("forward"), recorded.graph("backward")
    assert not set(forward.inputs) & set(backward.inputs)
