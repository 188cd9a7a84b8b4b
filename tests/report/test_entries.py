"""Entries of one function: what each was made for, its own counts, and whose graph a picture is."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.report import Report
from jitmagic.report.parts import Details
from tests.report.scenes import GRAPH, SOURCES, compiled, kernel, recompiled


def flat(text: str) -> str:
    return " ".join(text.split())


def three_entries() -> Report:
    """Entries 0 and 1 compute the same on other dtypes, entry 2 something else."""
    again = replace(recompiled("float64", "float32", 2, "x.dtype"), entry=1)
    other = replace(recompiled("helper", "another helper", 3, "helper"), entry=2)
    first = compiled(graph=GRAPH)
    second = replace(compiled(graph=GRAPH.replace("float64", "float32")), entry=1, call=2)
    third = replace(compiled(graph=GRAPH.replace("sin", "cos")), entry=2, call=3, kernel_count=2, extern_count=1)
    return Report([first, second, again, third, other, kernel()], sources=SOURCES)


def test_each_entry_says_why_it_was_made_and_what_it_has() -> None:
    text = flat(three_entries().text)
    assert text.startswith("smooth: 3 entries, 4 kernels, 1 NumPy call")
    assert "entry 0, for call 1: 7 operations, 1 kernel, 3 guards; the first call" in text
    assert "entry 1, for call 2: 7 operations, 1 kernel, 3 guards; x.dtype was float64, is float32" in text
    assert "entry 2, for call 3: 7 operations, 2 kernels, 1 NumPy call, 3 guards; helper was helper" in text
    assert "(The marks are those of entry 2, the newest.)" in text


def test_a_picture_says_of_which_entries_it_is() -> None:
    sections = [part for part in three_entries().parts() if isinstance(part, Details)]
    titles = [str(part.summary[0]) for part in sections if str(part.summary[0]).startswith("Graph")]
    assert titles == ["Graph of entry 2 (7 operations)", "Graph of entries 0, 1 (7 operations)"]
    assert "drawn for entry 1; the others differ in dtypes, sizes or places only" in three_entries().html


def test_a_function_with_one_entry_speaks_of_none() -> None:
    text = Report([compiled(), kernel()], sources=SOURCES, kind="full").text
    assert "entry 1" not in text
    assert "entries" not in text
    assert "graph: 7 operations" in text


def test_a_later_entry_alone_has_its_number() -> None:
    again = replace(recompiled("float64", "float32", 2, "x.dtype"), entry=1)
    text = Report([replace(compiled(), entry=1, call=2), again], sources=SOURCES).text
    assert "graph of entry 1: 7 operations" in text


@pytest.fixture
def helper_twice() -> Iterator[Any]:
    """A function whose helper was defined again, in another cell of a notebook."""
    names: dict[str, Any] = {"np": np}

    def run(name: str, text: str) -> None:
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        exec(compile(text, name, "exec"), names)

    run("<first>", "def helper(x): return x + 1\ndef f(x): return helper(x) * 2\n")
    function = jm.compile(names["f"], backend="eager")
    function(np.ones(3))
    run("<second>", "def helper(x): return x + 2\n")
    function(np.ones(3))
    yield function.jit  # noqa: PT022  # the function lives as long as the test


def test_entries_of_a_helper_that_was_defined_again_are_told_apart(helper_twice: Any) -> None:
    for text in (flat(helper_twice.report().text), flat(helper_twice.guards().text)):
        assert "helper was helper as compiled, is helper with other code" in text
    assert "made because helper was helper" in flat(helper_twice.guards().text)
