"""What a Tensor has of ndarray besides operators: ``flat``, parts of complex numbers, classes, copies."""

import copy
import math

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd import transforms
from tests.gradients.differences import check_program

X = np.array([0.5, 1.5, 2.75])


def parts_assigned(x):
    z = x * (1 + 0j)
    z.real = x * 3
    z.imag = x * x
    z.imag[0] = x[1] * 5
    z.real[1:] *= x[1:]
    return (np.abs(z) ** 2).sum() + (z * z * z).imag.sum()


def parts_by_index(x):
    z = x * (1 + 2j)
    z.imag[[0, 2]] = x[:2] ** 2
    z.imag[np.array([1])] = x[2] * 2
    z.real[x > 1] = 3 * x[x > 1]
    return (z * z * z).imag.sum() + (z * z).real.sum()


def parts_as_targets(x):
    z = x * (1 + 2j)
    np.multiply(z.imag, x, out=z.imag)
    np.copyto(z.real, x**3)
    z.imag[...] *= x
    return (z * z * z).imag.sum() + (z * z).real.sum()


def pairs(x):
    z = x * (1 + 2j)
    z.view(float)[1::2] = x * x
    z.view(float)[0] *= x[2]
    return (z * z * z).imag.sum() + (z * z).real.sum()


def flat(x):
    y = x * 1
    y.flat[0] = x[1]
    y.flat[1:] = x[:1] * x[1]
    y = y.reshape(3, 1) * x
    y.flat[::2] = x * 3
    y.T.flat[1] = x[0] * 7
    return (y * y).sum() + sum(v * v for v in x.flat) + (y.flat[3] * y.flat[[1, 2]]).sum()


def flat_repeated(x):
    y = x.reshape(3, 1) * x
    y.flat = x
    y.flat[1:6] = x[:2]
    return (y * np.arange(9.0).reshape(3, 3)).sum()


def pieces(x):
    return np.piecewise(x, [x < 1, x >= 2], [lambda v: v * v, lambda v: v * 3, 7.0]).sum()


def copies(x):
    y = copy.copy(x)
    y *= x
    z = copy.deepcopy(x)
    z += y
    return (z * y).sum() * x[0] + math.floor(x[2]) * x[1]


def looked_at(x):
    assert isinstance(x, np.ndarray)
    assert isinstance(x[0], float)
    assert type(x > 1) is np.ndarray
    assert type(np.argmax(x)) is np.int64
    assert repr(x).startswith("array([")
    return (x * np.argmax(x)).sum() if (x > 1).any() else x.sum()


PROGRAMS = [parts_assigned, parts_by_index, parts_as_targets, pairs, flat, flat_repeated, pieces, copies, looked_at]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("transform", [transforms.value_and_grad, jm.value_and_grad], ids=["tape", "compiled"])
def test_gradients_are_central_differences(program, transform):
    check_program(program, (X,), transform)


def test_elements_are_not_stored_in_plain_arrays_unnoticed():
    t = jm.Tensor(X, requires_grad=True)
    for target in (np.zeros(3), np.zeros(3, complex), np.zeros((3, 1))):
        with pytest.raises((jm.GradientError, ValueError)) as caught:
            target[0] = t[1]
        errors = [caught.value, caught.value.__cause__]
        assert any(isinstance(each, jm.GradientError) for each in errors)
        assert not target.any()
    values = [0.0]
    values[0] = float(t[1])
    with jm.no_grad():
        plain = np.zeros(3)
        plain[0] = t[1]
    assert (values[0], plain[0]) == (1.5, 1.5)


def test_what_a_tensor_has_not_says_what_to_use():
    with pytest.raises(AttributeError, match=r"numpy\(\)\.resize"):
        jm.Tensor(X).resize(2)
    assert not hasattr(jm.Tensor(X), "nonsense")
