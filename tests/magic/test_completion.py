"""Completions of the two magics, asked through IPython's own completer."""

from __future__ import annotations

import warnings

import pytest

from tests.magic.conftest import Notebook


def completed(notebook: Notebook, text: str, cursor: int | None = None) -> list[str]:
    at = len(text) if cursor is None else cursor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # IPython calls its completions provisional
        return sorted(c.text for c in notebook.shell.Completer.completions(text, at))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("%%compile --f", ["--fastmath", "--fullgraph"]),
        ("%%compile --graph ", ["fold", "none", "open", "text", "widget"]),
        ("%%compile -r f", ["full"]),
        ("%%compile --dynamic a", ["always", "auto"]),
        ("%%compile --backend ", ["eager", "numba"]),
        ("%%compile -q --tar", ["--target"]),
    ],
)
def test_options_and_their_values(line: str, expected: list[str], notebook: Notebook) -> None:
    assert completed(notebook, line) == expected


def test_functions_of_the_cell(notebook: Notebook) -> None:
    body = "\ndef blur(): pass\nclass Net:\n    def forward(self): pass"
    text = "%%compile " + body
    assert completed(notebook, text, len("%%compile ")) == ["Net", "Net.forward", "blur"]


def test_functions_of_a_cell_that_is_not_finished(notebook: Notebook) -> None:
    text = "%%compile b\ndef blur(x):\n    return (x"
    assert completed(notebook, text, len("%%compile b")) == ["blur"]


def test_verbs_and_compiled_functions(notebook: Notebook) -> None:
    notebook.run("%%compile\ndef grey(): pass\nclass A:\n    def go(self): pass")
    assert completed(notebook, "%jit g") == ["graph", "grey", "guards"]
    assert completed(notebook, "%jit why g") == ["grey"]
    assert completed(notebook, "x = 1\n%jit why A") == ["A.go"]


def test_other_lines_are_left_to_ipython(notebook: Notebook) -> None:
    notebook.run("grey_value = 1")
    assert "grey_value" in completed(notebook, "grey_v")
    text = "%%compile\ngrey_v"
    assert "grey_value" in completed(notebook, text)


def test_the_handle_of_a_compiled_function(notebook: Notebook) -> None:
    notebook.run("%%compile\ndef grey(): pass\ndef deco(g): pass")
    assert [c for c in completed(notebook, "grey.j") if "jit" in c] == ["jit"]
    assert "jit" in completed(notebook, "x = grey.")


def test_other_completions_come_each_time(notebook: Notebook) -> None:
    notebook.run("plain = []")
    for _ in range(2):
        assert completed(notebook, "plain.ap") == ["append"]
        assert completed(notebook, "plain.ind") == ["index"]
        assert not completed(notebook, "plain.j")
