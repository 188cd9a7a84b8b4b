"""The input transformer: it marks cells that await, and leaves everything else exactly as it is."""

from __future__ import annotations

import pytest

from jitmagic.magic.awaiting import AwaitTransform
from tests.magic.conftest import Notebook

CALL = "get_ipython().run_cell_magic('compile', '', {!r})\n"


def transformed(body: str) -> list[str]:
    return AwaitTransform(lambda text: text)([CALL.format(body)])


def test_a_cell_that_awaits_is_awaited() -> None:
    assert transformed("await x\n") == ["await " + CALL.format("await x\n")]


@pytest.mark.parametrize("body", ["x = 1\n", "async def f():\n    await x\n", "'await'\n", "await (\n"])
def test_other_cells_stay(body: str) -> None:
    assert transformed(body) == [CALL.format(body)]


@pytest.mark.parametrize("lines", [[], ["x = 1\n"], ["get_ipython().run_cell_magic('time', '', 'await x')\n"]])
def test_lines_that_are_no_compile_cell_are_given_back(lines: list[str]) -> None:
    assert AwaitTransform(lambda text: text)(lines) is lines


def test_it_never_raises() -> None:
    def broken(text: str) -> str:
        raise RuntimeError(text)

    lines = [CALL.format("await x\n"), "more\n"]
    assert AwaitTransform(broken)(lines) is lines
    assert AwaitTransform(str)(["get_ipython().run_cell_magic('compile', odd\n"])


def test_the_compiler_warns_as_often_as_of_the_plain_cell(notebook: Notebook) -> None:
    cell = "%%compile\nimport asyncio, warnings\nt = '\\d'\nawait asyncio.sleep(0)"
    seen = []
    for head in ("# ", ""):
        with pytest.warns((DeprecationWarning, SyntaxWarning), match="invalid escape") as warned:
            notebook.run(head + cell)
        seen.append([(w.category, str(w.message), w.lineno) for w in warned])
    assert seen[0] == seen[1]


def test_without_autoawait_it_is_the_plain_syntax_error(notebook: Notebook) -> None:
    notebook.shell.autoawait = False
    plain = notebook.run("# %%compile\nawait x")
    compiled = notebook.run("%%compile\nawait x")
    assert type(compiled.error).__name__ == type(plain.error).__name__ == "SyntaxError"
    assert "'await' outside function" in compiled.out
