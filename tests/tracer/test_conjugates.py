"""``x.conj()`` is the array itself unless its numbers are complex; ``np.conj(x)`` never is."""

import numpy as np
import pytest

import jitmagic as jm


def itself(x):
    return x.conj() is x, x.conjugate()


def written(x):
    y = x.conj()
    y[0] = y[1]
    return x


def turned(x):
    return x.conj().T, np.conj(x)


def of_an_element(x):
    return x[0].conj(), x[-1].conjugate()


def mask(x):
    chosen = (x == x[1]).conj()
    return x[chosen], chosen @ chosen.conj()


def into(x):
    return x.conj(np.empty_like(x))


def by_keyword(x):
    return x.conj(out=x)


def unbound(x):
    return np.ndarray.conj(x)


PROGRAMS = [itself, written, turned, of_an_element, mask, into, unbound]
DTYPES = ["?", "i1", "u8", "f2", "f4", "f8", "g", "c8", "c16", "O", "M8[s]", "U3"]


def shown(function, x):
    try:
        result = function(x)
    except Exception as error:
        return type(error), str(error)
    results = result if isinstance(result, tuple) else (result,)
    return [(type(r), np.asarray(r).dtype, np.asarray(r).tolist(), r is x, np.shares_memory(np.asarray(r), x))
            for r in results], x.tolist()  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_conjugates_are_those_of_a_plain_run(program, dtype):
    for backend in ("numba", "eager"):
        compiled = jm.compile(program, backend=backend)
        for _ in range(2):
            x, twin = (np.array([0, 1, 1], dtype=np.dtype(dtype)) for _ in range(2))
            assert shown(compiled, x) == shown(program, twin)


@pytest.mark.parametrize("number", [np.float64(2), np.int8(2), np.bool_(True), np.complex64(1j)])
def test_a_number_is_another_object_unless_there_is_one_only(number):
    compiled = jm.compile(itself)
    for _ in range(2):
        assert compiled(number) == itself(number)


@pytest.mark.parametrize("dtype", ["?", "i1", "f8", "c16"])
def test_the_method_takes_no_keywords(dtype):
    x = np.ones(2, dtype)
    assert shown(jm.compile(by_keyword), x) == shown(by_keyword, x)


@pytest.mark.parametrize("capture", [True, False])
def test_what_is_written_through_a_conjugate_shows_in_gradients(capture):
    def f(x):
        y = x * 1
        z = y.conj()
        z[0] = y[1] * 3
        if not capture:
            print(end="")
        return y.sum()

    assert f(np.array([2.0, 5.0])) == 20
    np.testing.assert_array_equal(jm.grad(f)(np.array([2.0, 5.0])), [0.0, 4.0])


def test_a_tensor_of_real_numbers_is_its_own_conjugate():
    t = jm.Tensor(np.ones(2), requires_grad=True)
    assert t.conj() is t
    z = jm.Tensor(np.array([1 + 2j]))
    assert z.conj().numpy().tolist() == [1 - 2j]


def test_open_is_called_where_the_notebook_wraps_it():
    def opened(x, path):
        with wrapped(path) as file:
            file.read(0)
        return x + 1

    import functools
    import io
    import os

    @functools.wraps(io.open)
    def wrapped(*args, **kwargs):
        return open(*args, **kwargs)

    f = jm.compile(opened)
    np.testing.assert_array_equal(f(np.ones(2), os.devnull), [2.0, 2.0])
    assert not any("failed" in each.reason for each in f.jit.breaks())
