"""Rows B21 to B32: Python constants, ints, floats, random values."""

from __future__ import annotations

import numpy as np
import pytest

import jitmagic as jm
from tests.conformance.programs import load, same_everywhere


def test_b21_constants_match_by_class_and_value() -> None:
    text = "x = np.ones(3, np.float32)\ndef f(x, k): return x * k, np.add(x, k), k"
    same_everywhere(text, ["f(x, True)", "f(x, 1)", "f(x, 1.0)", "f(x, True)"], [1, 2, 3, 3])
    axes = "AXES = (0, 2); x = np.arange(24.0).reshape(2, 3, 4)\ndef f(x): return x.sum(axis=AXES)"
    same_everywhere(axes, ["f(x)", "AXES = (1,)", "f(x)", "AXES = (0, 2)", "f(x)"], [1, 2, 2])
    other = "x = np.ones(3)\ndef f(x, k): return x.astype(k) if k is not None else x"
    calls = ["f(x, None)", "f(x, 'f4')", "f(x, np.dtype('f4'))", "f(x, np.float32)", "f(x, np.dtype('>f4'))"]
    same_everywhere(other, calls, [1, 2, 3, 4, 5])


def test_b22_floats_are_compared_by_bits() -> None:
    text = "x = np.ones(3)\ndef f(x, k): return np.copysign(x, k)"
    nan = ["f(x, float('nan'))"] * 3
    same_everywhere(text, nan, [1, 1, 1])
    same_everywhere(text, ["f(x, 0.0)", "f(x, -0.0)", "f(x, 0.0)"], [1, 2, 2])
    with jm.configure(automatic_dynamic_floats=False):
        same_everywhere(text, ["f(x, 0.0)", "f(x, -0.0)", "f(x, 0.0)", "f(x, -1.0)"], [1, 2, 2, 3])


def test_b23_a_learning_rate_becomes_a_weak_run_time_input() -> None:
    text = "x = np.ones(3, np.float32)\ndef f(x, lr): return x - lr * x"
    found = same_everywhere(text, [f"f(x, {k / 10})" for k in range(1, 11)], [1] + [2] * 9)
    assert all(o.dtype == np.float32 for o in found.outcomes[:-1])
    with jm.configure(automatic_dynamic_floats=False):
        same_everywhere(text, [f"f(x, {k / 10})" for k in range(1, 5)], [1, 2, 3, 4])


def test_b24_an_int_argument_becomes_a_symbol_at_its_second_value() -> None:
    text = "x = np.arange(20.0)\ndef f(x, n): return x[:n] * n"
    same_everywhere(text, [f"f(x, {n})" for n in (5, 7, 9, 11, 5)], [1, 2, 2, 2, 2])


def test_b25_zero_and_one_stay_constants() -> None:
    text = "x = np.ones(3)\ndef f(x, n): return x * n"
    found = same_everywhere(text, [f"f(x, {n})" for n in (5, 1, 5, 7, 1, 0, 8)])
    assert found.compiles[:5] == [1, 2, 2, 3, 3]
    assert found.compiles[-1] <= 4


def test_b26_ints_that_are_no_arguments_are_constants_up_to_the_third_value() -> None:
    text = "K = 5; x = np.ones(3)\ndef f(x): return x * K"
    calls = [part for k in range(5, 12) for part in (f"K = {k}", "f(x)")]
    same_everywhere(text, calls, [1, 2, 3, 4, 4, 4, 4])
    text = "class M: pass\nm = M()\nm.k = 5; x = np.ones(3)\ndef f(x): return x * m.k"
    calls = [part for k in range(5, 8) for part in (f"m.k = {k}", "f(x)")]
    same_everywhere(text, calls, [1, 2, 3])


@pytest.mark.parametrize(
    ("made", "counted"),
    [
        ("class M: pass\nm = M(); m.k = {}", "m.k"),
        ("class M(nn.Module): pass\nm = M(); m.k = {}", "m.k"),
        ("m = dict(k={})", "m['k']"),
        ("m = [{}]", "m[0]"),
        ("k = {}", "k"),
    ],
)
def test_b26_a_counter_of_the_function_itself_is_a_number_that_changes(made: str, counted: str) -> None:
    declared = "    global k\n" if counted == "k" else ""
    for start, step, compiles in ((5, 1, [1, 2, 2, 2]), (2.5, 0.5, [1, 2, 2, 2]), (0, 1, [1, 2, 3, 3])):
        body = f"def f(x):\n{declared}    {counted} += {step}\n    return x * {counted}"
        text = f"from jitmagic import nn\n{made.format(start)}\nx = np.ones(3)\n{body}"
        same_everywhere(text, [*["f(x)"] * 4, counted], compiles)


def test_b27_specialize_int_makes_every_int_a_constant() -> None:
    with jm.configure(specialize_int=True):
        same_everywhere("x = np.ones(3)\ndef f(x, n): return x * n", ["f(x, 5)", "f(x, 7)", "f(x, 9)"], [1, 2, 3])


def test_b28_a_symbol_keeps_the_meaning_of_python_ints() -> None:
    text = "x = np.ones(3, np.int8)\ndef f(x, n): return x + n"
    same_everywhere(text, [f"f(x, {n})" for n in (3, 5, 300, 127, -128, -129)])
    text = "x = np.ones(3)\ndef f(x, n): return x * n, n ** -1, n * n, n << 3, n // 3, n % 3, -n, float(n)"
    values = (2, 3, 4, -5, 2**31, 2**62, 2**63 - 1, -(2**63), 2**63, 2**70)
    same_everywhere(text, [f"f(x, {n})" for n in values])


def test_b31_random_numbers_are_drawn_anew_at_each_call() -> None:
    text = "import random\nx = np.ones(3)\ndef f(x): return x * random.random()"
    found = same_everywhere(text, ["f(x)", "f(x)"], [1, 1])
    assert found.outcomes[0][0] != found.outcomes[1][0]
    text = "import random\nx = np.ones(3)\ndef f(x): return x * random.randint(0, 9) + random.gauss(0, 1)"
    same_everywhere(text, ["f(x)", "f(x)", "f(x)"])


def test_b32_a_shape_from_outside_follows_the_rules_of_ints() -> None:
    text = "x = np.arange(24.0)\ndef f(x, shape): return x.reshape(shape) * 2, len(shape)"
    calls = [f"f(x, np.empty({s}).shape)" for s in ((4, 6), (6, 4), (3, 8), (8, 3))]
    found = same_everywhere(text, calls)
    assert found.compiles[-1] <= 2
    same_everywhere(text, [*calls, "f(x, (2, 3, 4))"])


def test_b28_an_int_that_is_read_twice_is_one_input() -> None:
    names = load("x = np.ones(9)\ndef f(x, n): return x[:n] * n + n")
    f = jm.compile(names["f"], backend="eager", dynamic=True)
    f(names["x"], 3)
    inputs = [node for node in f.jit.frame.entries[0].capture.graph.nodes if node.kind == "input"]
    assert [node.name for node in inputs] == ["x", "n"]


def test_b30_a_bool_from_a_size_that_is_handed_to_a_compiled_callee() -> None:
    text = """
@jm.compile
def g(x, big): return x * 2 if big else x + 1
def f(x): return g(x, x.shape[0] > 3) + 1
"""
    found = same_everywhere(text, [f"f(np.ones({n}))" for n in (5, 6, 7, 2, 3, 9)])
    assert found.compiles == [1, 2, 2, 3, 3, 3]
