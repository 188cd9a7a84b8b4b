"""Results that hold numbers where no rule follows them: an error, where the gradient would be 0 without a word."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm

SQUARE = np.frompyfunc(lambda v: v * v, 1, 1)
LOST = {
    "cast": lambda x: x.astype(object).sum() ** 2,
    "ufunc of Python": lambda x: SQUARE(x).sum(),
    "ufunc of a number": lambda x: SQUARE(x[0]),
    "operand": lambda x: (x * np.array([1, 2, 3], dtype=object)).sum(),
    "dtype of a ufunc": lambda x: np.add(x, x, dtype=object).sum(),
    "fields": lambda x: x.view([("a", "f8")])["a"].sum() ** 2,
}


@pytest.mark.parametrize("lost", LOST)
def test_a_lost_gradient_is_an_error(lost: str) -> None:
    x = np.array([1.0, 2.0, 3.0])
    with pytest.raises(jm.GradientError, match=r"history|has no gradient"):
        jm.grad(LOST[lost])(x)
    for function in (LOST[lost], jm.compile(LOST[lost])):
        with pytest.raises(jm.GradientError, match=r"history|has no gradient"):
            function(jm.Tensor(x.copy(), requires_grad=True)).backward()


@pytest.mark.parametrize("lost", LOST)
def test_without_a_gradient_it_is_numpy(lost: str) -> None:
    x = np.array([1.0, 2.0, 3.0])
    assert LOST[lost](jm.Tensor(x)) == LOST[lost](x)
    with jm.no_grad():
        assert LOST[lost](jm.Tensor(x, requires_grad=True)) == LOST[lost](x)


def test_what_the_result_does_not_depend_on_smoothly_stays() -> None:
    x = np.array([1.0, 2.0, 3.0])
    found = jm.grad(lambda x: np.sum(np.equal(x, np.array([1, 2, 3], dtype=object)) * x))(x)
    np.testing.assert_array_equal(found, [1, 1, 1])
    made = np.empty(3, dtype=object)

    def kept(x):
        for i in range(3):
            made[i] = x[i] * 2
        return made.sum()

    np.testing.assert_array_equal(jm.grad(kept)(x), [2, 2, 2])


def test_a_wrong_result_is_named_as_the_user_knows_it() -> None:
    with pytest.raises(jm.GradientError) as error:
        jm.grad(lambda x: x * 2, has_aux=True)(np.ones(3))
    assert "Watched" not in str(error.value)
