"""``examples/run.py``: a notebook in, a page and a summary out, and an exit code that tells."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

RUNNER = Path(__file__).parents[2] / "examples/run.py"
SUMMARY = """
display({"application/vnd.jitmagic.summary+json": {
    "compiled": [{"function": "smooth", "kernels": 1, "breaks": 0, "compile_ms": 61.0}],
    "speedups": [{"function": "smooth", "plain_ms": 8.0, "compiled_ms": 2.0, "same_bits": True}],
    "recompiles": [{"function": "smooth", "guard": "z.dtype", "then": "float64", "now": "float32",
                    "cost_ms": 58.0}],
}}, raw=True)
"""


def run(folder: Path, *cells: str) -> subprocess.CompletedProcess[str]:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(notebook, folder / "example.ipynb")
    command = [sys.executable, RUNNER, "example.ipynb", "--html", "build/example.html"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_it_writes_the_page_and_prints_the_summary(tmp_path: Path) -> None:
    """Also a section without records is named."""
    done = run(tmp_path, "print('seen in the page')", SUMMARY)
    assert done.returncode == 0, done.stderr
    assert "seen in the page" in (tmp_path / "build/example.html").read_text(encoding="utf-8")
    assert done.stdout.splitlines()[2:] == [
        "compiled:",
        "  smooth: 1 kernel, 0 graph breaks, 61 ms",
        "against plain NumPy, measured in this run:",
        "  smooth: 4.0 times as fast (8.00 ms -> 2.00 ms), same bits",
        "compiled again:",
        "  smooth: z.dtype was float64, is float32 (+58 ms)",
        "left to plain Python:",
        "  nothing",
    ]


def test_a_cell_that_raises_ends_the_run(tmp_path: Path) -> None:
    done = run(tmp_path, "1 / 0", SUMMARY)
    assert done.returncode == 1
    assert done.stderr.splitlines()[0] == "example.ipynb: a cell raised"
    assert "ZeroDivisionError: division by zero" in done.stderr


@pytest.fixture(scope="module")
def runner() -> Any:
    """``examples/run.py`` as a module."""
    spec = importlib.util.spec_from_file_location("examples_run", RUNNER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_different_result_is_a_failure(runner: Any, capsys: pytest.CaptureFixture[str]) -> None:
    row = {"function": "smooth", "plain_ms": 8.0, "compiled_ms": 2.0}
    assert runner.tell({"speedups": [{**row, "same_bits": True}]}) == 0
    assert runner.tell({"speedups": [{**row, "same_bits": True}, {**row, "same_bits": False}]}) == 1
    assert "DIFFERENT RESULT" in capsys.readouterr().out


def test_a_notebook_without_summary_is_a_failure(runner: Any, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    assert runner.tell(runner.summary(notebook)) == 1
    assert "vnd.jitmagic.summary" in capsys.readouterr().err
