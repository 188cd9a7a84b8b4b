"""Functions of SciPy run as plain Python does: their machine code writes into arguments, without a word of it."""

import numpy as np
import pytest

import jitmagic as jm

ndimage = pytest.importorskip("scipy.ndimage")
fft = pytest.importorskip("scipy.fft")
linalg = pytest.importorskip("scipy.linalg")
special = pytest.importorskip("scipy.special")


def filtered(x):
    return x * 0.5 + ndimage.uniform_filter1d(x, 3)


def filtered_after(x):
    t = x * 0.5
    return t, t + ndimage.gaussian_filter(x, 1.0)


def filtered_into(x):
    o = np.zeros_like(x)
    ndimage.gaussian_filter(x, 1.0, output=o)
    return o * 2 + x


def machine_code(x):
    o = x * 2
    ndimage._nd_image.uniform_filter1d(x, 3, 0, o, 4, 0.0, 0)
    return o * 3


def machine_code_in_a_loop(x):
    t, o = x + 1, np.empty(x.shape)
    for _ in range(3):
        ndimage._nd_image.uniform_filter1d(t, 3, 0, o, 4, 0.0, 0)
        t = t * o
    return t


def resized(x):
    return ndimage.zoom(x, 2)[: x.size] * 2 + ndimage.shift(x, 1.0)


def transformed(x):
    return fft.fft(x) * 2, x * 0.5 + fft.dct(x)


def overwritten(x):
    a = np.asfortranarray(np.outer(x, x) + np.eye(x.size))
    b = a * 2
    linalg.lu_factor(a, overwrite_a=True)
    return a + b


PROGRAMS = [filtered, filtered_after, filtered_into, machine_code, machine_code_in_a_loop, resized, transformed,
            overwritten]  # fmt: skip


def bits(result):
    return [(a.dtype, a.tobytes()) for a in (result if isinstance(result, tuple) else (result,))]


@pytest.mark.parametrize("backend", ["numba", "eager"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_results_are_those_of_a_plain_run(program, backend):
    compiled = jm.compile(program, backend=backend)
    for k in range(3):
        x = np.arange(6.0) ** 2 + k
        assert bits(compiled(x)) == bits(program(x.copy()))


def test_ufuncs_of_scipy_are_operations():
    def f(x):
        return special.erf(x) * 2

    assert jm.explain(f)(np.arange(3.0)).break_count == 0


class Meta(type):
    reads = 0

    @property
    def count(cls):
        Meta.reads += 1
        return Meta.reads


class Counted(metaclass=Meta):
    pass


def test_a_property_of_a_metaclass_is_read_once():
    def f(x):
        return x * Counted.count

    Meta.reads = 0
    compiled = jm.compile(f)
    assert [compiled(np.ones(1)).item() for _ in range(3)] == [1.0, 2.0, 3.0]
    assert Meta.reads == 3
