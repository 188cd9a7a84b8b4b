"""Graph breaks: the statement that stops the capture runs plainly, everything around it stays compiled."""

from __future__ import annotations

import ast
import contextlib
import copy
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jitmagic as jm

BIG = np.random.default_rng(0).random(5000)


def opaque(x: Any) -> Any:
    """A call that cannot be looked into."""
    return eval("x + 1")


def in_an_expression(x):
    y = np.sin(x) + opaque(x * 2)[0] * 3
    return y + 1


def in_a_loop(x):
    out = []
    for i in range(3):
        x = x + i
        if i == 2:
            break
        out.append(opaque(x))
    return out, x


def in_a_while_on_data(x):
    n = 0
    while (x * x).sum() > 1e-3:
        x = x * 0.5
        n += 1
        if n > 50:
            return "many"
    return x, n


def in_a_while_on_what_is_opaque(x):
    n = 0
    while (x * x).sum() > 1e-3:
        opaque(x)
        x = x * 0.5
        n += 1
        if n > 50:
            return "many"
    return x, n


def in_try_and_finally(x):
    try:
        y = opaque(x)
        z = y[10]
    except IndexError as error:
        z = str(error)
    finally:
        x = x + 1
    return z, x


def with_a_shared_variable(x):
    def h(v):
        return v + c

    c = opaque(x)
    d = h(x)
    c = 5.0
    return h(d)


def in_a_return(x):
    y = x * 2
    return opaque(y) + y


def in_a_test(x):
    if opaque(x)[0] > 0:
        return x + 1
    x = x - 1
    return x


def on_the_data(x):
    a = x * 2
    b = a + 1 if a.sum() > 0 else a - 1
    return b * 3


def unbound_after(x):
    b = opaque(x)
    a = x + 1
    del a
    try:
        return a  # noqa: F821 - unbound on purpose
    except UnboundLocalError as error:
        return b, str(error)


def large_body_in_a_loop(x):
    for i in range(4):
        x = x * 1.5 + i
        opaque(x)
        if i == 2:
            continue
        x = x - 1
    else:
        x = x + 100
    return x


def early_return_from_a_loop(x):
    for i in range(10):
        x = x * 2
        opaque(x)
        if i == 3:
            return x, i
    return None


class Counter:
    def __init__(self) -> None:
        self.calls = 0

    def tick(self, x):
        self.calls += 1
        y = opaque(x) * 2
        self.calls += 1
        return y + self.calls


def recursive(x, n):
    y = opaque(x)
    return y if n == 0 else recursive(x * 1.0, n - 1) + 1


def with_keyword_defaults(x, *rest, scale=2.0, **named):
    y = x * scale
    y = opaque(y)
    return y + sum(rest) + named.get("shift", 0)


def without_a_break(x):
    return x * 2 + 1


ARANGE = np.arange(3.0)
PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...], int]] = [
    (in_an_expression, (ARANGE,), 1),
    (in_a_loop, (ARANGE,), 1),
    (in_a_while_on_data, (ARANGE,), 0),
    (in_a_while_on_what_is_opaque, (ARANGE,), 1),
    (in_try_and_finally, (ARANGE,), 1),
    (with_a_shared_variable, (ARANGE,), 1),
    (in_a_return, (ARANGE,), 1),
    (in_a_test, (ARANGE,), 1),
    (in_a_test, (ARANGE - 7,), 1),
    (on_the_data, (ARANGE,), 0),
    (on_the_data, (-ARANGE,), 0),
    (unbound_after, (ARANGE,), 1),
    (large_body_in_a_loop, (BIG,), 1),
    (early_return_from_a_loop, (BIG,), 1),
    (recursive, (ARANGE, 3), 2),
    (recursive, (ARANGE, 100), 2),
    (with_keyword_defaults, (ARANGE, 1.0, 2.0), 1),
]


def same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, tuple | list):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


@pytest.mark.parametrize(("program", "arguments", "breaks"), PROGRAMS, ids=lambda p: getattr(p, "__name__", None))
@pytest.mark.parametrize("backend", ["eager", "numba"])
def test_a_broken_function_gives_the_plain_answer(program: Any, arguments: Any, breaks: int, backend: str) -> None:
    compiled = jm.compile(program, backend=backend)
    for _ in range(3):
        assert same(compiled(*copy.deepcopy(arguments)), program(*copy.deepcopy(arguments)))


@pytest.mark.parametrize(("program", "arguments", "breaks"), PROGRAMS, ids=lambda p: getattr(p, "__name__", None))
def test_the_number_of_breaks_is_as_stated(program: Any, arguments: Any, breaks: int) -> None:
    assert jm.explain(program)(*copy.deepcopy(arguments)).break_count == breaks


def test_effects_before_and_after_a_break_happen_once() -> None:
    compiled, plain = Counter(), Counter()
    tick = jm.compile(Counter.tick, backend="eager")
    for k in range(3):
        x = ARANGE + k
        assert same(tick(compiled, x), plain.tick(x))
        assert compiled.calls == plain.calls


def test_the_error_of_a_plain_statement_points_at_the_users_line() -> None:
    def fails(x):
        y = x + 1
        opaque(y)
        z = eval("1/0")
        return z + y

    compiled = jm.compile(fails, backend="eager")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError) as caught:
            compiled(ARANGE)
        lines = [entry.lineno + 1 for entry in caught.traceback if entry.name == "fails"]
        assert lines == [fails.__code__.co_firstlineno + 3]


def test_fullgraph_names_the_line_and_the_remedy() -> None:
    compiled = jm.compile(in_a_return, fullgraph=True, backend="eager")
    with pytest.raises(jm.errors.FullGraphError, match=r"eval.*Try:"):
        compiled(ARANGE)


@pytest.mark.filterwarnings("ignore:The chararray class is deprecated:DeprecationWarning")
def test_reasons_of_parts_name_no_variable_of_ours() -> None:
    def shout(words: Any) -> Any:
        return np.char.array(words).upper()

    reasons = [each.reason for each in jm.explain(shout)(np.array(["a", "b"])).breaks]
    assert reasons
    assert not any("_jm" in reason for reason in reasons)


def test_the_split_function_can_be_shown_as_python() -> None:
    compiled = jm.compile(in_an_expression, backend="eager")
    compiled(ARANGE)
    text = compiled.jit.split()
    assert "opaque" in text.partition("\n\n")[0]
    assert "return y + 1" in text.partition("\n\n")[2]
    ast.parse(text)


def test_a_function_without_a_break_is_not_split() -> None:
    compiled = jm.compile(without_a_break, backend="eager")
    compiled(ARANGE)
    assert compiled.jit.split() == ""


def reads_out_of_bounds(x, i):
    x[i]
    return x + 1


def loops_out_of_bounds(x, n):
    for i in range(n):
        y = x[i + 1]  # noqa: F841 - read for the error
    return 1


def divides(x):
    1 / x
    return x + 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "numba"])
def test_what_nobody_reads_still_raises_and_warns(backend: str) -> None:
    """A result that is thrown away is computed all the same where NumPy might complain about it."""
    for program, arguments in (
        (reads_out_of_bounds, (ARANGE, np.array([0, 9]))),
        (loops_out_of_bounds, (BIG[:20], 20)),
    ):
        with pytest.raises(IndexError, match="out of bounds"):
            jm.compile(program, backend=backend)(*arguments)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        jm.compile(divides, backend=backend)(np.zeros(3))


def rebinds_an_array(x):
    for i in range(20):
        x = x * 2
        if i == 17:
            return x, i
    return None


def test_a_loop_that_rebinds_an_array_is_no_loop_over_numbers() -> None:
    assert same(jm.compile(rebinds_an_array)(ARANGE), rebinds_an_array(ARANGE))


def doubled(x):
    y = x * 2
    return y + 1


def test_a_call_with_another_class_does_not_spoil_the_calls_after_it() -> None:
    """What was learnt from a subclass holds for that class only."""
    compiled = jm.compile(doubled, backend="eager")
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    assert repr(compiled(masked)) == repr(doubled(masked))
    assert same(compiled(ARANGE), doubled(ARANGE))
    assert compiled.jit.record.compiled[-1].node_count == 2


def test_an_import_that_must_run_is_to_stand_at_the_top_of_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    def parts_on_demand(x: Any) -> Any:
        from loads_its_parts import shift

        return x + shift

    def not_loaded(x: Any) -> Any:
        import this_is_not_there

        return x + this_is_not_there.shift

    def on_demand(name: str) -> float:
        if name == "shift":
            return 2.0
        raise AttributeError(name)

    lazy = types.ModuleType("loads_its_parts")
    vars(lazy)["__getattr__"] = on_demand
    monkeypatch.setitem(sys.modules, "loads_its_parts", lazy)
    np.testing.assert_array_equal(jm.compile(parts_on_demand)(ARANGE), ARANGE + 2.0)
    [lazily] = jm.explain(parts_on_demand)(ARANGE).breaks
    with pytest.raises(jm.errors.FullGraphError, match="import it at the top of the cell"):
        jm.compile(not_loaded, fullgraph=True)(ARANGE)
    assert lazily.hint == "import it at the top of the cell, outside the function"


def test_reasons_name_nothing_of_ours() -> None:
    """Symbols of sizes, constants of an entry and parts of statements have no names that a reader knows."""

    def counted(x):
        s = np.bincount(x)
        s[0] = 0
        return s

    def told(x):
        return np.array(x, copy=np._CopyMode.IF_NEEDED)

    for f, words in ((counted, "n > 0"), (told, "not a _CopyMode")):
        (found,) = jm.explain(f)(np.arange(4)).breaks
        assert words in found.reason


def times_none(x):
    return x * None


def root_of_none(x):
    return np.sqrt(None) * x


def sets_imaginary(x):
    y = x + 1
    y.imag = 2
    return y


NO_NUMBER = "a captured operation takes arrays and plain numbers, not None"
REASONS = (
    (times_none, NO_NUMBER),
    (root_of_none, NO_NUMBER),
    (sets_imaginary, "(a computed array of complex128).imag = ... sets an attribute of an array in place"),
)


@pytest.mark.parametrize(("program", "reason"), REASONS)
def test_no_value_is_called_an_operator_and_no_elements_a_description(program: Any, reason: str) -> None:
    compiled = jm.compile(program, backend="eager")
    with contextlib.suppress(TypeError):
        compiled(np.ones(3) * 1j)
    assert [found.reason for found in compiled.jit.breaks()] == [reason]
