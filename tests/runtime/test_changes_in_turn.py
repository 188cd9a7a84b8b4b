"""Programs that go through several changes, one after the other: what they read, where they find it, what it means.

In ``changes_in_turn.txt``, ``==`` starts a program that defines ``f``, ``>`` a change (``.`` continues it), and ``?``
gives the call where it is not ``f(x)``.
"""

from __future__ import annotations

import contextvars
import linecache
import sys
import types
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from tests.runtime.test_campaign import surroundings

BEFORE = (
    "import collections, dataclasses, enum, functools, math, types, weakref\nimport numpy as np\n"
    "x = np.arange(1.0, 7.0).reshape(2, 3)\n"
)
NAME = "changing_itself"  # of the module that each program is


@dataclass
class Program:
    """``changes`` are made one after the other in the namespace of ``text``, each followed by two calls."""

    name: str
    text: str = BEFORE
    changes: list[str] = field(default_factory=list)
    call: str = "f(x)"


def programs() -> list[Program]:
    found: list[Program] = []
    for line in Path(__file__).with_name("changes_in_turn.txt").read_text().splitlines():
        mark, rest = line[:2], line[3 if line.startswith("==") else 2 :]
        if mark == "==":
            found.append(Program(rest))
        elif mark == "> ":
            found[-1].changes.append(rest)
        elif mark == ". ":
            found[-1].changes[-1] += f"\n{rest}"
        elif mark == "? ":
            found[-1].call = rest
        else:
            found[-1].text += f"{line}\n"
    return found


def said(value: Any) -> object:
    """Everything of a result that a program can see."""
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        laid_out = (value.strides, value.flags.writeable) if isinstance(value, np.ndarray) else ()
        metadata = dict(array.dtype.metadata or {})
        return type(value).__name__, array.dtype.str, metadata, array.shape, laid_out, array.tobytes()
    return type(value).__name__, repr(value)


def outcomes(program: Program, compiled: bool) -> list[object]:
    """Two calls at first, and two after each change; a change may fail, as the calls may."""
    filename = f"<{program.name}>"
    linecache.cache[filename] = (len(program.text), None, program.text.splitlines(True), filename)
    module = sys.modules[NAME] = types.ModuleType(NAME)
    names, found = vars(module), []
    exec(compile(program.text, filename, "exec"), names)
    if compiled:
        names["f"] = jm.compile(names["f"])
    for change in ["", *program.changes]:
        try:
            exec(change, names)
        except Exception as error:
            found.append(repr(error))
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    found.append(said(eval(program.call, names)))
                except Exception as error:
                    found.append(repr(error))
            found.append([str(w.message) for w in caught])
    if compiled:
        assert "failed" not in names["f"].jit.frame.closed
    return found


@pytest.mark.parametrize("program", programs(), ids=lambda p: p.name)
def test_the_answers_follow_one_change_after_the_other(program: Program) -> None:
    found = []
    for compiled in (False, True):
        with surroundings():
            found.append(contextvars.copy_context().run(outcomes, program, compiled))
    assert found[1] == found[0]


def test_metadata_of_a_dtype_make_it_another_one() -> None:
    """NumPy hands them on to results, which kernels do not; the reason says what differs."""
    f = jm.compile(lambda x: x * 2.0 + 1.0)
    x = np.arange(4.0)
    marked = x.astype(np.dtype("f8", metadata={"unit": "m"}))
    for each in (x, marked, x, marked.astype(">f8"), marked):
        found, expected = f(each), f.jit.plain(each)
        assert said(found) == said(expected)
    reasons = [str(reason) for reason in jm.recompiles(f)]
    assert "x.dtype" in reasons[0]
    assert "was float64, is float64 with metadata" in reasons[0]
    assert jm.compile(lambda x, d: x.astype(d) * 2.0)(x, marked.dtype).dtype.metadata == {"unit": "m"}
