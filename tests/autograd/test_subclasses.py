"""Subclasses of ndarray have rules of their own that no gradient knows: each way to lose them is refused in words."""

import numpy as np
import pytest

import jitmagic as jm


class Tagged(np.ndarray):
    """An array with a rule of its own."""

    def __mul__(self, other):
        return super().__mul__(other) + 1


FOREIGN = {
    "Tagged": np.arange(1.0, 5.0).reshape(2, 2).view(Tagged),
    "matrix": np.array([[1.0, 2.0], [3.0, 4.0]]).view(np.matrix),
    "MaskedArray": np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]]),
}


def square(x):
    return (x * x).sum()


REQUESTS = {
    "grad": lambda m: jm.grad(square)(m),
    "value_and_grad": lambda m: jm.value_and_grad(square)(m),
    "vjp": lambda m: jm.vjp(square, m),
    "jacobian": lambda m: jm.jacobian(square)(m),
    "hessian": lambda m: jm.hessian(square)(m),
    "in a container": lambda m: jm.grad(lambda p: square(p["a"]))({"a": m}),
    "Tensor": lambda m: jm.Tensor(m),
    "Tensor that requires a gradient": lambda m: jm.Tensor(m, requires_grad=True),
    "other argument": lambda m: jm.grad(lambda x, y: (x * y).sum())(np.ones((2, 2)), m),
    "with a Tensor": lambda m: (jm.Tensor(np.ones((2, 2)), requires_grad=True) * m).sum().backward(),
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_subclasses_are_refused_by_name(request_name, kind):
    with pytest.raises(jm.GradientError, match=kind):
        REQUESTS[request_name](FOREIGN[kind])


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", FOREIGN)
def test_subclasses_on_the_left_lose_no_history(kind):
    with pytest.raises(jm.GradientError, match=f"{kind}|became a plain array"):
        jm.grad(lambda x, y: (y * x).sum())(np.ones((2, 2)), FOREIGN[kind])


def test_what_is_made_plain_first_counts_as_plain():
    def f(x, m):
        return (np.asarray(m) * x).sum()

    np.testing.assert_array_equal(jm.grad(f)(np.ones((2, 2)), FOREIGN["matrix"]), np.asarray(FOREIGN["matrix"]))


def test_arrays_in_files_are_plain(tmp_path):
    stored = np.memmap(tmp_path / "x", dtype=float, mode="w+", shape=(3,))
    stored[:] = [1.0, 2.0, 3.0]
    np.testing.assert_array_equal(jm.grad(square)(stored), [2.0, 4.0, 6.0])
    np.testing.assert_array_equal(jm.grad(lambda x, y: (x * y).sum())(np.ones(3), stored), [1.0, 2.0, 3.0])
