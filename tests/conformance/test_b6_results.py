"""Rows B67 to B72: results of captured operations."""

from __future__ import annotations

import random

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.graph import interpret
from tests.conformance.programs import BACKENDS, explained, load, same_everywhere


def test_b67_compiling_leaves_the_random_streams_alone() -> None:
    names = load("x = np.ones(2)\ndef f(x): return np.sort(x * 2)[::-1] + np.random.rand(2)")
    f = jm.compile(names["f"])
    np.random.seed(5), random.seed(5)
    f(names["x"])
    found = np.random.rand(), random.random()
    np.random.seed(5), random.seed(5)
    f.jit.plain(names["x"])
    assert found == (np.random.rand(), random.random())


def test_b67_an_error_of_an_operation_can_be_caught() -> None:
    text = """
a, b = np.ones(3), np.ones(4)
def f(a, b):
    try:
        return a + b
    except ValueError as error:
        return a * 2, str(error)
"""
    same_everywhere(text, ["f(a, b)", "f(a, a)", "f(a, b)"])
    text = "a, b = np.ones(3), np.ones(4)\ndef f(a, b): return a + b"
    same_everywhere(text, ["f(a, b)", "f(a, a)", "f(a, b)"])


@pytest.mark.parametrize("backend", BACKENDS)
def test_b67_an_error_of_an_operation_is_raised_at_its_line(backend: str) -> None:
    names = load("def f(a, b):\n    c = a * 2\n    d = (c +\n        b)\n    return d")
    f = jm.compile(names["f"], backend=backend)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"shapes \(3,\) \(4,\)") as caught:
            f(np.ones(3), np.ones(4))
        lines = [entry.lineno + 1 for entry in caught.traceback if str(entry.path).startswith("<conformance")]
        assert lines == [3]


def test_b68_multiple_results_keep_their_class() -> None:
    text = """
x = np.array([[2.0, 1.0], [1.0, 3.0]])
def f(x):
    u, s, v = np.linalg.svd(x)
    e = np.linalg.eigh(x)
    return u, s, v, np.linalg.svd(x).S, e, e.eigenvalues, e._fields, np.linalg.slogdet(x), divmod(x, 2)
"""
    same_everywhere(text, ["f(x)", "f(x * 2)"])
    text = """
x = np.array([3.0, 1.0, 3.0])
def f(x):
    v, i, c = np.unique(x, return_inverse=True, return_counts=True)
    return v, i, c, np.meshgrid(x, x), np.unique(x), np.modf(x), np.frexp(x), np.histogram(x, 2), np.nonzero(x > 1)
"""
    same_everywhere(text, ["f(x)", "f(x[:2])"])


def test_b69_seeding_in_the_middle_stays_in_order() -> None:
    text = """
x = np.ones(3)
def f(x):
    a = np.random.rand(3)
    np.random.seed(0)
    b = np.random.rand(3)
    return x * a, x * b
"""
    same_everywhere(text, ["f(x)", "f(x)"])


def test_b70_results_that_are_no_arrays() -> None:
    text = "x = np.ones((2, 3))\ndef f(x): return x * x.size + x.ndim, x.itemsize, x.nbytes, x.shape[0] % 2, x.dtype"
    same_everywhere(text, ["f(x)", "f(x.T)"])
    assert explained(text, "f(x)").break_count == 0
    text = "@jm.allow_in_graph\ndef g(x): return 'text'\nx = np.ones(2)\ndef f(x): return g(x), x * 2"
    same_everywhere(text, ["f(x)", "f(x)"])
    (found,) = explained(text, "f(x)").breaks
    assert (found.code, found.span.line) == ("extern-unknown", 4)
    assert "the result of g" in found.reason
    assert "a str" in found.reason


def test_b72_a_shape_assigned_in_the_function_is_not_the_shape_of_the_argument() -> None:
    text = """
x = np.arange(6.0)
def f(x):
    x.shape = (2, 3)
    return x * 2
"""
    same_everywhere(text, ["f(x)", "x = np.arange(6.0)", "f(x)", "f(np.asfortranarray(np.ones((3, 2))))"])
    is_deprecated = np.lib.NumpyVersion(np.__version__) >= "2.5.0"  # NumPy warns at that line, which runs plainly
    compiles = [1, 1, 1] if is_deprecated else [1, 1, 2]
    same_everywhere(text, ["f(np.ones((3, 2)))", "f(np.zeros((3, 2)))", "f(np.ones((2, 3)))"], compiles)


def test_b72_an_export_holds_nothing_of_its_example() -> None:
    def f(x: np.ndarray) -> tuple[object]:
        return (x * 2 + x[0],)

    example = np.arange(3.0)
    graph = jm.aot.aot_export_joint_simple(f, [example], trace_joint=False)
    example[...] = 99
    (found,) = interpret(graph, [np.arange(3.0)])
    assert found.tolist() == [0.0, 2.0, 4.0]


def test_b71_questions_to_the_process_break_and_are_answered_plainly() -> None:
    text = "import os\nx = np.ones(2)\ndef f(x):\n    y = x * 2\n    return y + os.getpid()"
    same_everywhere(text, ["f(x)", "f(x)"])
    assert explained(text, "f(x)").break_count == 1


def test_b67_analysis_repeats_no_warning_about_the_text() -> None:
    text = "x = np.ones(2)\ndef f(x):\n    y = x * (4 is not None)\n    jm.graph_break()\n    return y + (5 is None)"
    assert same_everywhere(text, ["f(x)", "f(x)"]).warned == []
