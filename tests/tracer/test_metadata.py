"""``x.shape = ...`` and ``x.dtype = ...`` are captured: views in the graph, assignments after it."""

import copy

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd.trees import leaves_of

AHEAD_OF_TIME = pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # of NumPy 2.5: it comes late there


def argument(x):
    x.shape = (3, 2)
    return x.sum(axis=0)


def argument_written(x):
    x.shape = 6
    x *= 2
    return x


def argument_by_size_left_out(x):
    x.shape = (-1, 2)
    return x + x.shape[0], x


def fresh(x):
    y = x * 2
    v = y[0]
    y.shape = (-1,)
    y[0] = 7
    return y, v


def fresh_twice(x):
    y = x + 1
    y.shape = (3, 2)
    y.shape = (2, 3, 1)
    return y.sum(1), y, [y]


def view(x):
    x = x[:, ::2]
    x.shape = (2, 1, -1)
    return x


def views_before_and_after(x):
    z = x[1:]
    z.shape = (3,)
    x.shape = (6, 1)
    z += 1
    return x, z, x[2]


def bits(x):
    x.dtype = np.int64
    return x + 1


def smaller_numbers(x):
    y = x * 2
    y.dtype = np.float32
    return y, y.shape


def cannot_be_done(x):
    x.T.shape = (1, 6)
    return x


def wrong_size(x):
    x += 1
    x.shape = (5, 5)
    return x


def in_a_branch(x):
    if x.shape[0] == 2:
        x.shape = (6,)
    return x * 2


def in_a_loop(x):
    for n in (6, (3, 2), (2, 3)):
        x.shape = n
        x *= 2
    return x


def on_the_data(x):
    y = x * 2
    if x.sum() > 0:
        y.shape = (6,)
    return y


PROGRAMS = [argument, argument_written, argument_by_size_left_out, fresh, fresh_twice, view, views_before_and_after,
            bits, smaller_numbers, cannot_be_done, wrong_size, in_a_branch, in_a_loop, on_the_data]  # fmt: skip


def shown(function, x):
    """All that a call shows: result, argument, error; sharing and owners too."""
    try:
        result = function(x)
    except Exception as error:
        return type(error).__name__, str(error), x.tobytes(), x.shape
    arrays = [leaf for leaf in leaves_of((result, x)) if isinstance(leaf, np.ndarray)]
    described = [(a.tobytes(), a.dtype, a.shape, a.strides, a.base is None, a.flags.num) for a in arrays]
    shared = [(i, j) for i, a in enumerate(arrays) for j, b in enumerate(arrays) if np.shares_memory(a, b)]
    same = [(i, j) for i, a in enumerate(arrays) for j, b in enumerate(arrays) if a is b]
    return described, shared, same, [leaf for leaf in leaves_of(result) if not isinstance(leaf, np.ndarray)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("options", [{}, {"dynamic": True}, {"backend": "eager"}], ids=["numba", "dynamic", "eager"])
def test_what_is_assigned_is_as_in_a_plain_run(program, options):
    compiled = jm.compile(program, **options)
    for x in (np.arange(6.0).reshape(2, 3), np.arange(6.0, 12.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)):
        assert shown(compiled, copy.copy(x)) == shown(program, copy.copy(x))


@AHEAD_OF_TIME
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p not in (cannot_be_done, on_the_data)])
def test_ahead_of_time_it_is_the_same(program):
    run = jm.aot.aot_function(program, jm.aot.aot_eager)
    for _ in range(2):
        x = np.arange(6.0).reshape(2, 3)
        assert shown(run, x.copy()) == shown(program, x.copy())


def weighted(x):
    x.shape = (3, 2)
    x *= 2
    return (x[0] * np.array([1.0, 5.0])).sum()


def weighted_on_the_tape(x):
    if x.sum() > 0:
        x.shape = (3, 2)
    x *= 2
    return (x[0] * np.array([1.0, 5.0])).sum()


@AHEAD_OF_TIME
@pytest.mark.parametrize("program", [weighted, weighted_on_the_tape])
def test_a_differentiated_argument_keeps_the_gradient_and_gets_the_shape(program):
    x = np.arange(6.0).reshape(2, 3)
    twin = x.copy()
    value, gradient = jm.value_and_grad(program)(x)
    assert value == program(twin)
    assert (x.shape, x.tobytes()) == (twin.shape, twin.tobytes())
    np.testing.assert_array_equal(gradient, [[2.0, 10.0, 0.0], [0.0, 0.0, 0.0]])


@AHEAD_OF_TIME
def test_the_same_array_at_another_place_has_the_shape_too():
    def f(x, y):
        y.shape = (3, 2)
        return (x.reshape(-1) * y.reshape(-1)).sum() + x.shape[0]

    x, twin = (np.arange(6.0).reshape(2, 3) for _ in range(2))
    value, gradient = jm.value_and_grad(f)(x, x)
    assert value == f(twin, twin)
    np.testing.assert_array_equal(gradient, np.arange(6.0).reshape(2, 3))
