"""Calls that are given their outputs: the very arrays come back, and overlap changes no bit."""

from __future__ import annotations

import pytest

from tests.conformance.programs import same_everywhere

SEVERAL = {
    "a tuple": "return np.divmod(x, 2, out=(a, b))",
    "a tuple that comes from outside": "return np.modf(x, out=o)",
    "by position": "return np.modf(x, a, b)",
    "taken apart": "q, r = np.divmod(x, 2, out=(a, b))\n    return r is b, q is a, q + r",
    "used later": "r = np.modf(x, out=(a, b))\n    r[0][1:] += 1\n    return r, a.sum(), r[1][::2]",
    "one in a tuple": "return np.exp(x, out=(a,))",
    "only the second": "return np.modf(x, out=(None, b))",
    "twice the same": "return np.modf(x, out=(a, a)) is None",
}


@pytest.mark.parametrize("body", SEVERAL.values(), ids=SEVERAL)
def test_several_outputs_come_back_as_the_arrays_that_were_given(body: str) -> None:
    text = f"x = np.arange(5.0) - 1.5\na, b = o = np.ones(5), np.ones(5)\ndef f(x, a, b, o):\n    {body}\n"
    same_everywhere(text, ["f(x, a, b, o)", "f(x * 2, a, b, o)", "f(x, b, a, (b, a))"])


OVERLAPS = {
    "one element later": ("x[1:]", "x[:-1]"),
    "one element earlier": ("x[:-1]", "x[1:]"),
    "interleaved": ("x[::2]", "x[1::2]"),
    "backwards": ("x[::-1]", "x"),
    "the same": ("x[1:]", "x[1:]"),
    "side by side": ("x[:33]", "x[33:]"),
    "columns": ("x.reshape(33, 2)[:, 0]", "x.reshape(33, 2)[:, 1]"),
}


@pytest.mark.parametrize(
    "call", ["np.exp(a, out=b)", "np.cbrt(a, b)", "np.power(a, 1.7, out=b)", "np.add(a, b, out=b)"]
)
@pytest.mark.parametrize(("a", "b"), OVERLAPS.values(), ids=OVERLAPS)
def test_an_output_that_overlaps_with_what_is_read(call: str, a: str, b: str) -> None:
    """NumPy computes some functions in another way then, whose last bit may differ."""
    data = "x = np.random.default_rng(7).random(66) * 3 + 0.1\n"
    inside = f"{data}def f(x):\n    a, b = {a}, {b}\n    return {call}\n"
    same_everywhere(inside, ["f(x)", "f(x / 2)"])
    same_everywhere(f"{data}def f(a, b):\n    return {call}\n", [f"f({a}, {b})", f"f({a}, {b})", "f(x[:9], x[20:29])"])
