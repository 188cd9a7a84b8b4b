"""Random programs of writes: views of views, loops, fancy indices, ``out=``, ``ufunc.at``; all against differences."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.autograd.transforms import value_and_grad
from tests.gradients.differences import agree, central_differences

X = np.array([0.31, 1.2, 0.74, 2.03, 0.455, 1.61])

# New arrays of 6 numbers. ``{a}`` is one of those made so far.
STARTS = (
    "np.zeros(6)",
    "np.ones((2, 3))",
    "x * 1.5",
    "np.linspace(0.1, 1, 6)",
    "np.full((2, 3), x[0])",
    "np.arange(6.0).reshape(2, 3).T",
    "np.ones((3, 2), order='F')",
    "np.outer(x[:3], x[4:])",
    "np.array([x[0], x[1], 2.0, x[2], x[3] * x[4], 1])",
    "np.concatenate([x[3:], np.zeros(3)])",
    "np.asfortranarray(x.reshape(3, 2) * 2)",
)
NUMBERS = ("x.sum()", "x[2] * x[1]", "np.sin(x[0])", "2.5", "{a}.mean()", "{a}.ravel()[3] * x[5]")
VECTORS = ("x[:{k}]", "x[::-1][:{k}] * 2", "np.cos(x[6 - {k}:])", "{a}.ravel()[:{k}] * 1.5")
STATEMENTS = (
    "{t}[...] = {t} * 0.5 + {n}",
    "{t}.reshape(6)[{i}:{j}] = {n}",
    "v = {t}.ravel(order='K')[::2]; v *= {v3}",
    "np.put({t}, [0, 3, 3, {i}], {v4})",
    "{t}.flat[...] = {v2}",
    "{t}.flat[[0, 5, 5]] = [x[0], {n}]",
    "np.multiply.at({t}.reshape(-1), [0, 2, 2, {i}], {v4})",
    "np.subtract.at({t}.reshape(-1), [5, 2, 2], {v3})",
    "np.maximum.at({t}.reshape(-1), [1, 1, 4], {v3})",
    "for i in range({j} - 2): {t}.reshape(-1)[i] += {t}.reshape(-1)[i + 1] * x[i]",
    "np.copyto({t}.reshape(-1), {v6}, where=np.array([1, 0, 1, 1, 0, 0], bool))",
    "np.putmask({t}, {t} > 0.9, {v5})",
    "np.place({t}, {t} < 1.1, [{n}, x[1]])",
    "np.fill_diagonal({t}.reshape(2, 3).T, {v2})",
    "w = {t}.reshape(3, 2); w[[2, 0]] = w[[0, 1]] * {n}",
    "w = {t}.reshape(3, 2); w[:, 1] = [x[0], {n}, 1]",
    "w = {t}.reshape(2, 3)[:, ::-1][1:]; w[0] += {v3}; w[0, 1:].fill({n})",
    "np.add({v6}, 1.0, out={t}.reshape(-1))",
    "np.cumsum({v6}, out={t}.reshape(-1)[:])",
    "np.put_along_axis({t}.reshape(2, 3), np.array([[0], [2]]), {n}, 1)",
    "{t}.reshape(-1)[np.array([4, 1, 1])] = {v3}",
    "kept = [{t}, {t}.T]; kept[1][0] = kept[0].sum() * 0.3; {t} **= 2",
    "{t}.reshape(-1)[1:] -= {t}.reshape(-1)[:-1] * x[1]",
)


def source_of(seed: int) -> str:
    """A function of a vector of 6 numbers that gives one number."""
    choice = random.Random(seed)
    lines = [f"    a{i} = {choice.choice(STARTS)}" for i in range(3)]
    for _ in range(choice.randint(4, 8)):
        parts = {f"v{k}": choice.choice(VECTORS).format(k=k, a=f"a{choice.randrange(3)}") for k in range(2, 7)}
        number = choice.choice(NUMBERS).format(a=f"a{choice.randrange(3)}")
        target, i, j = f"a{choice.randrange(3)}", choice.randint(0, 2), choice.randint(3, 6)
        # views of reshaped arrays in Fortran order are copies: what is written there is lost, for NumPy too
        lines.append("    " + choice.choice(STATEMENTS).format(t=target, n=number, i=i, j=j, **parts))
    total = " + ".join(f"np.sum(np.tanh(a{i}) ** 2) * {i + 1}" for i in range(3))
    return "\n".join(["def program(x):", *lines, f"    return {total}"])


def program(seed: int) -> Callable[[Any], Any]:
    names: dict[str, Any] = {"np": np, "__name__": __name__}
    exec(source_of(seed), names)
    return names["program"]  # type: ignore[no-any-return]  # a function


def check(transform: Any, seed: int) -> None:
    function = program(seed)
    plain = function(X.copy())
    value, gradient = transform(function)(X.copy())
    assert np.asarray(value).tobytes() == np.asarray(plain).tobytes(), source_of(seed)
    agree(gradient, central_differences(function, (X,), 0))


@pytest.mark.parametrize("seed", range(60))
def test_random_writes_on_the_tape(seed: int) -> None:
    check(value_and_grad, seed)


@pytest.mark.parametrize("seed", range(100, 112))
def test_random_writes_compiled(seed: int) -> None:
    check(jm.value_and_grad, seed)
