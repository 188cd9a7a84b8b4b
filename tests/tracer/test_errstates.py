"""Under ``np.errstate(divide="raise")`` a call is captured; where the condition is met, Python makes the call."""

from __future__ import annotations

import pytest

from tests.conformance.programs import explained, same_everywhere

HEAD = "from tests.conformance.runner import sample as A\n"
PROGRAMS = {
    "met or not": (
        """
log = []
def f(x, y):
    try:
        with np.errstate(divide='raise', invalid='raise', over='raise'):
            z = x / y
            log.append(1)
            w = np.sqrt(z)
    except FloatingPointError as e:
        return str(e), x + y
    return w, z
""",
        ("abs(A(3)), np.ones(3)", "abs(A(3)), np.zeros(3)", "-abs(A(3)), np.ones(3)", "abs(A(3)), np.ones(3)"),
    ),
    "in a loop": (
        """
def f(x, n):
    s = 0.0
    with np.errstate(over='raise'):
        for i in range(n):
            s = s + np.exp(x[i])
    return s
""",
        ("np.array([1., 2., 3.]), 3", "np.array([1., 2000., 3.]), 3", "np.array([1., 2., 3., 4.]), 4"),
    ),
    "warned of": (
        "def f(x, y):\n    with np.errstate(divide='warn'):\n        return x / y\n",
        ("abs(A(3)), np.ones(3)", "abs(A(3)), np.zeros(3)", "abs(A(3)), np.ones(3)"),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_conditions_raise_where_python_raises_them(name: str) -> None:
    program, calls = PROGRAMS[name]
    same_everywhere(HEAD + program, [f"f({call})" for call in calls for _ in range(2)])
    assert explained(HEAD + program, f"f({calls[0]})").break_count == 0


def test_nobody_hears_of_a_condition_that_the_caller_ignores() -> None:
    program = """
def f(x, y):
    try:
        with np.errstate(divide='raise'): return x / y
    except FloatingPointError: return 'raised', x + y
def g(y, how):
    with np.errstate(divide=how): return f(abs(A(3)), y)
"""
    calls = [f"g(np.{y}(3), {how!r})" for how in ("warn", "ignore", "raise", "warn") for y in ("ones", "zeros", "ones")]
    same_everywhere(HEAD + program, calls)


def test_a_condition_that_is_ignored_around_it_is_left_to_python() -> None:
    """``under`` is ignored unless somebody asks for it."""
    inside = (
        "    with np.errstate(divide='ignore'):\n        with np.errstate(divide='raise'):\n            return x / y\n"
    )
    for program in (
        f"def f(x, y):\n{inside}",
        "def f(x, y):\n    with np.errstate(under='raise'):\n        return x / y\n",
    ):
        assert explained(program, "f(np.ones(2), np.ones(2))").break_count == 1
        same_everywhere(
            program, ["f(np.ones(2), np.ones(2))", "f(np.ones(2), np.zeros(2))", "f(np.ones(2), np.ones(2))"]
        )
