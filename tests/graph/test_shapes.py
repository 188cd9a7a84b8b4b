"""Symbolic sizes: arithmetic is exact; every decision on them is true, and its guard keeps it true in other calls."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jitmagic.graph.polynomial import evaluate, format_polynomial, lower_bound
from jitmagic.graph.shapes import DataDependentSize, ShapeEnv, SymInt, apply, hint_of

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
sizes = st.integers(2, 40)


class Pair:
    """A symbolic integer and how to compute it anew from the symbols' values."""

    def __init__(self, symbolic: Any, plain: Callable[[dict[str, int]], int]) -> None:
        self.symbolic = symbolic
        self.plain = plain


@st.composite
def expressions(draw: Any) -> tuple[ShapeEnv, list[Pair], dict[str, int]]:
    """Some expressions over two symbols; divisors are never zero in this trace."""
    env = ShapeEnv()
    hints = {f"s{i}": draw(sizes) for i in range(2)}
    pool = [Pair(env.new_symbol(h), lambda v, n=n: v[n]) for n, h in hints.items()]
    pool += [Pair(c, lambda v, c=c: c) for c in (0, 1, 3, -2)]
    for _ in range(draw(st.integers(1, 6))):
        name = draw(st.sampled_from(sorted(OPERATORS)))
        a, b = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        if name in ("//", "%") and hint_of(b.symbolic) == 0:
            continue
        f = OPERATORS[name]
        pool.append(Pair(f(a.symbolic, b.symbolic), lambda v, f=f, a=a, b=b: f(a.plain(v), b.plain(v))))
    return env, pool, hints


@given(expressions())
def test_the_hint_is_the_value_in_this_trace(drawn: tuple[ShapeEnv, list[Pair], dict[str, int]]) -> None:
    _, pool, hints = drawn
    for pair in pool:
        assert hint_of(pair.symbolic) == pair.plain(hints)


@given(expressions(), sizes, sizes)
def test_the_polynomial_has_the_same_value_in_every_call_that_the_guards_allow(
    drawn: tuple[ShapeEnv, list[Pair], dict[str, int]], first: int, second: int
) -> None:
    env, pool, _ = drawn
    other = {"s0": first, "s1": second}
    assume(all(relation.holds(other) for relation in env.relations))
    for pair in pool:
        if isinstance(pair.symbolic, SymInt):
            assert evaluate(pair.symbolic.poly, other) == pair.plain(other)


@given(expressions(), sizes, sizes)
def test_a_lower_bound_is_never_crossed(
    drawn: tuple[ShapeEnv, list[Pair], dict[str, int]], first: int, second: int
) -> None:
    env, pool, _ = drawn
    other = {"s0": first, "s1": second}
    assume(all(relation.holds(other) for relation in env.relations))
    for pair in pool:
        if isinstance(pair.symbolic, SymInt) and (low := lower_bound(pair.symbolic.poly)) is not None:
            assert evaluate(pair.symbolic.poly, other) >= low


@given(expressions(), st.sampled_from(COMPARISONS), st.data(), sizes, sizes)
def test_a_comparison_answers_for_this_trace_and_its_guard_keeps_the_answer(
    drawn: tuple[ShapeEnv, list[Pair], dict[str, int]],
    compare: Callable[[Any, Any], Any],
    data: st.DataObject,
    first: int,
    second: int,
) -> None:
    env, pool, hints = drawn
    a, b = data.draw(st.sampled_from(pool)), data.draw(st.sampled_from(pool))
    answer = bool(compare(a.symbolic, b.symbolic))
    assert answer == compare(a.plain(hints), b.plain(hints))
    assert all(relation.holds(hints) for relation in env.relations)
    other = {"s0": first, "s1": second}
    if all(relation.holds(other) for relation in env.relations):
        assert compare(a.plain(other), b.plain(other)) == answer


@given(expressions())
def test_the_printed_form_is_python_with_the_same_value(drawn: tuple[ShapeEnv, list[Pair], dict[str, int]]) -> None:
    _, pool, hints = drawn
    for pair in pool:
        if isinstance(pair.symbolic, SymInt):
            assert eval(format_polynomial(pair.symbolic.poly), dict(hints)) == pair.plain(hints)


@given(sizes, sizes)
def test_equal_expressions_have_equal_keys(a: int, b: int) -> None:
    env = ShapeEnv()
    n, m = env.new_symbol(a), env.new_symbol(b)
    assert ((n + m) * (n - m)).key == (n * n - m * m).key
    assert (n * m // m).key == n.key
    assert n * m % n == 0
    assert not [r for r in env.relations if r.op != "!="]


def test_int_fixes_a_size_and_says_so() -> None:
    env = ShapeEnv()
    fixed: list[tuple[str, int]] = []
    env.on_specialise = lambda symbol, value: fixed.append((symbol.name, value))
    n = env.new_symbol(7)
    assert list(range(n - 4)) == [0, 1, 2]
    assert fixed == [("s0", 7)]
    assert [str(r) for r in env.relations] == ["s0 - 4 == 3"]


def test_a_symbol_is_known_to_be_at_least_two() -> None:
    """0 and 1 are special sizes: no symbol has them, so comparing with them costs no guard."""
    env = ShapeEnv()
    n = env.new_symbol(5)
    assert n != 0
    assert n != 1
    assert n > 1
    assert not env.relations


def test_a_size_that_only_the_data_tell_decides_nothing() -> None:
    env = ShapeEnv()
    n = env.new_run_time_symbol()
    assert n >= 0
    with pytest.raises(DataDependentSize):
        bool(n == 3)


@given(sizes, sizes)
def test_max_and_min_stay_undecided(a: int, b: int) -> None:
    env = ShapeEnv()
    n, m = env.new_symbol(a), env.new_symbol(b)
    assert hint_of(apply("max", n, m)) == max(a, b)
    assert hint_of(apply("min", n, 4)) == min(a, 4)
    assert not env.relations


def test_division_by_a_zero_size_raises_as_python_does() -> None:
    env = ShapeEnv()
    n = env.new_symbol(4)
    with pytest.raises(ZeroDivisionError):
        n // (n - 4)
