"""The source of a function is found however its text was compiled."""

from __future__ import annotations

import ast
import linecache
from typing import Any

import pytest

from jitmagic.errors import Unsupported
from jitmagic.tracer.frame import frame_of

CELL = """import numpy as np
keep = lambda f: f

@keep
def root(x):
    return np.sqrt(x)

class Both:
    def root(self, x):
        return np.sqrt(x)
"""


def run(text: str, name: str, one_by_one: bool) -> dict[str, Any]:
    """The namespace after the text has run, at once as a file or statement by statement as a notebook cell."""
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {}
    body = ast.parse(text).body
    for part in [[statement] for statement in body] if one_by_one else [body]:
        exec(compile(ast.Module(part, []), name, "exec"), namespace)
    return namespace


@pytest.mark.parametrize("one_by_one", [False, True], ids=["file", "cell"])
def test_a_function_beside_the_import_that_it_uses_is_found(one_by_one: bool) -> None:
    """Python compiles ``np.sqrt`` in another way where it sees ``import numpy as np`` in the same text."""
    namespace = run(CELL, f"<cell {one_by_one}>", one_by_one)
    assert frame_of(namespace["root"]).node.lineno == 5
    assert frame_of(namespace["Both"].root).node.lineno == 9


@pytest.mark.parametrize("one_by_one", [False, True], ids=["file", "cell"])
def test_an_edited_source_is_refused(one_by_one: bool) -> None:
    name = f"<edited {one_by_one}>"
    text = CELL.replace("root", f"root_{one_by_one}")  # equal functions are looked up once
    root = run(text, name, one_by_one)[f"root_{one_by_one}"]
    edited = text.replace("np.sqrt(x)", "np.exp(x)")
    linecache.cache[name] = (len(edited), None, edited.splitlines(keepends=True), name)
    with pytest.raises(Unsupported, match="edited-source"):
        frame_of(root)


TEN, SEVEN = lambda: 10, lambda: 7
NUMBERS = [lambda x: 1.0, lambda x: 2.0, lambda x: 3.0]


def test_lambdas_with_constant_bodies_on_one_line_are_told_apart() -> None:
    """Python 3.12 keeps no columns for them."""
    for function, value in ((TEN, 10), (SEVEN, 7), *zip(NUMBERS, (1.0, 2.0, 3.0), strict=True)):
        body = frame_of(function).node.body
        assert isinstance(body, ast.Constant)
        assert body.value == value
