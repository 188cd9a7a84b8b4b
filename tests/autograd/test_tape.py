"""``tape_vjp``: value and pullback of a function that is run on Tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from jitmagic.autograd.tape import tape_vjp
from jitmagic.errors import GradientError
from jitmagic.ops import all_ops
from jitmagic.ops.gradients import Elementwise
from tests.ops.gradients.differences import is_real, result_of


def test_value_and_pullback() -> None:
    value, pullback = tape_vjp(lambda x, y: (x * y).sum(), [np.array([1.0, 2.0]), np.array([3.0, 4.0])])
    assert value._values == 11
    for _ in range(2):
        found = pullback(2.0)
        assert [g.tolist() for g in found] == [[6, 8], [2, 4]]


def test_what_does_not_matter_gets_zeros() -> None:
    _, pullback = tape_vjp(lambda x, y: x.sum(), [np.ones(2), np.ones(3)])
    assert pullback(1.0)[1].tolist() == [0, 0, 0]
    _, pullback = tape_vjp(lambda x: np.floor(x).sum() + np.argmax(x), [np.ones(2)])
    assert pullback(1.0)[0].tolist() == [0, 0]


def test_arguments_are_written_for_real() -> None:
    def scaled(x: Any) -> Any:
        x *= 2
        return (x**2).sum()

    x = np.array([1.0, 2.0])
    _, pullback = tape_vjp(scaled, [x])
    assert x.tolist() == [2, 4]
    assert pullback(1.0)[0].tolist() == [8, 16]


def test_nested_values_take_a_cotangent_each() -> None:
    _, pullback = tape_vjp(lambda x: {"a": x * 2, "b": [x.sum()]}, [np.array([1.0, 2.0])])
    assert pullback([np.array([1.0, 10.0]), 100.0])[0].tolist() == [102, 120]


def test_numbers_do_not_leave_the_record_unnoticed() -> None:
    for f in (
        lambda x: math.sqrt(x.sum()),
        lambda x: float(x[0]) * x[1],
        lambda x: sum(map(float, x)),
    ):
        with pytest.raises(GradientError, match="Python number"):
            tape_vjp(f, [np.array([1.0, 2.0])])

    def stored(x: Any) -> Any:
        out = np.zeros(2)
        out[0] = x[0]
        return out

    with pytest.raises(GradientError):
        tape_vjp(stored, [np.array([1.0, 2.0])])


def test_python_control_flow() -> None:
    def newton(x: Any) -> Any:
        y = x
        while abs(y * y - x) > 1e-12:
            y = (y + x / y) / 2
        return y

    _, pullback = tape_vjp(newton, [np.float64(2.0)])
    np.testing.assert_allclose(pullback(1.0)[0], 0.5 / math.sqrt(2.0), rtol=1e-8)


SMOOTH = [
    row
    for row in all_ops()
    if row.vjp
    and row.samples
    and not row.writes
    and not row.name.startswith("scalar_")
    and (
        any(isinstance(r, Elementwise) for r in row.vjp)
        or row.name in ("matmul", "sum", "mean", "prod", "var", "cumsum")
    )
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", SMOOTH, ids=lambda row: row.name)
def test_rules_of_rules_agree_with_differences(row: Any) -> None:
    """The rules run on Tensors: second derivatives of elementwise functions, folds and products."""
    args = row.samples[0].args(np.random.default_rng(5))
    places = [i for i, a in enumerate(args) if is_real(a)]
    rng = np.random.default_rng(1)

    def value(*given: Any) -> Any:
        whole = list(args)
        for place, x in zip(places, given, strict=True):
            whole[place] = x
        result = row.call(*whole, **row.samples[0].kwargs)
        result = result[-1] if isinstance(result, tuple) else result
        return result

    weight = None
    ans = result_of(row, args, dict(row.samples[0].kwargs))
    ans = ans[-1] if isinstance(ans, tuple) else ans
    if not is_real(ans):
        pytest.skip("no real result")
    weight = rng.standard_normal(np.shape(ans))
    pushes = [rng.standard_normal(np.shape(args[p])) for p in places]

    def directional(*given: Any) -> Any:
        _, pullback = tape_vjp(lambda *xs: (np.asarray(weight) * value(*xs)).sum(), given)
        found = pullback(1.0)
        return sum((g * p).sum() for g, p in zip(found, pushes, strict=True))

    given = [args[p] for p in places]
    total, pullback = tape_vjp(directional, given)
    second = pullback(1.0) if hasattr(total, "_values") else [np.zeros_like(x) for x in given]
    for i in range(len(given)):
        direction = rng.standard_normal(np.shape(given[i]))
        step = 1e-5
        up = [x + step * direction if j == i else x for j, x in enumerate(given)]
        down = [x - step * direction if j == i else x for j, x in enumerate(given)]
        expected = (float(directional(*up)) - float(directional(*down))) / (2 * step)
        np.testing.assert_allclose(np.sum(second[i] * direction), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("zeros", [(), (1,), (0, 2), (0, 1, 2)])
def test_second_derivatives_of_products_with_zeros(zeros: tuple[int, ...]) -> None:
    x = np.array([2.0, 3.0, 5.0, 7.0])
    x[list(zeros)] = 0

    def gradient_of_product(x: Any) -> Any:
        _, pullback = tape_vjp(lambda x: np.prod(x), [x])
        return pullback(1.0)[0]

    _, pullback = tape_vjp(gradient_of_product, [x])
    rows = [pullback(row)[0] for row in np.eye(4)]
    expected = [[0 if i == j else np.prod(np.delete(x, [i, j])) for j in range(4)] for i in range(4)]
    np.testing.assert_allclose(rows, expected)
