"""The example notebooks run from top to bottom and show what they promise."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parents[2] / "examples"
SUMMARY = "application/vnd.jitmagic.summary+json"
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("notebooks")]  # each runs once
QUIET = ["--log-level=40"]  # ipykernel else warns that it talks over local TCP


@cache
def executed(path: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=300, kernel_name="python3", extra_arguments=QUIET, resources=place)
    env = {name: value for name, value in os.environ.items() if name != "MPLBACKEND"}  # plots are shown
    # Threads of BLAS spin while they wait: beside another test process one of them is many times faster than two.
    client.execute(env=env | {"OPENBLAS_NUM_THREADS": "1"})
    return notebook


def outputs(path: Path) -> list[Any]:
    return [o for cell in executed(path).cells for o in cell.get("outputs", [])]


def cards(path: Path) -> list[Any]:
    bundles = [output.get("data", {}) for output in outputs(path)]
    return [data for data in bundles if "jitmagic-report" in data.get("text/html", "")]


@pytest.fixture(params=sorted(EXAMPLES.glob("*.ipynb")), ids=lambda path: path.stem)
def notebook(request: pytest.FixtureRequest) -> Path:
    return Path(request.param)


def test_it_runs_without_an_error_or_a_warning(notebook: Path) -> None:
    """A magic that swallows a failure would pass otherwise: the outputs are what counts."""
    bad = [o for o in outputs(notebook) if o.output_type == "error" or o.get("name") == "stderr"]
    assert not bad


def test_cards_have_an_html_and_a_text_form(notebook: Path) -> None:
    assert cards(notebook)
    assert all(data["text/plain"].strip() for data in cards(notebook))


def test_quickstart_shows_a_recompile_and_a_break_and_equal_bits() -> None:
    shown = [output.get("data", {}) for output in outputs(EXAMPLES / "quickstart.ipynb")]
    found = [data[SUMMARY] for data in shown if SUMMARY in data][-1]
    assert {row["function"] for row in found["compiled"] if row["kernels"]} >= {"smooth", "shade"}
    assert all(row["same_bits"] for row in found["speedups"])
    assert any(row["then"] == "float64" and row["now"] == "float32" for row in found["recompiles"])
    assert [row["function"] for row in found["breaks"]] == ["stamped"]


@pytest.mark.parametrize("name", ["train_digits_cnn", "train_transformer"])
def test_digits_are_read_by_a_network_that_a_compiled_step_has_trained(name: str) -> None:
    """The notebook itself asserts at least 97 % and no graph break; here what it tells the reader."""
    shown = [o.get("data", {}).get("text/plain", "") for o in outputs(EXAMPLES / f"{name}.ipynb")]
    told = [re.search(r"([\d.]+)% of 360 new images", text) for text in shown]
    assert [float(found[1]) for found in told if found][-1] >= 97
    assert any("image/png" in o.get("data", {}) for o in outputs(EXAMPLES / f"{name}.ipynb"))
