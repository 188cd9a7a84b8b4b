"""Takes a notebook, runs it from top to bottom, gives an HTML page and a summary in the terminal.

    python examples/run.py examples/quickstart.ipynb --html build/quickstart.html

The notebook tells what it found by displaying one bundle of the type ``SUMMARY``, for example in
its last cell:

    display({"application/vnd.jitmagic.summary+json": {
        "compiled": [{"function": "smooth", "kernels": 1, "breaks": 0, "compile_ms": 61.0}],
        "speedups": [{"function": "smooth", "plain_ms": 8.2, "compiled_ms": 1.1,
                      "same_bits": True}],
        "recompiles": [{"function": "smooth", "guard": "z.dtype", "then": "float64",
                        "now": "float32", "cost_ms": 58.0}],
        "breaks": [{"function": "report", "line": 4, "reason": "a function without source"}],
    }, "text/plain": "..."}, raw=True)

Both times of a speed-up are measured in that same run. The exit code is not zero if a cell raised
(cells tagged ``raises-exception`` may), or if a result was not equal bit for bit.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

SUMMARY = "application/vnd.jitmagic.summary+json"
CELL_SECONDS = 300
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
QUIET = ["--log-level=40"]  # ipykernel else warns in each run that it talks over local TCP

# section of the summary -> its heading and one line for each of its records
SECTIONS = {
    "compiled": (
        "compiled",
        "{function}: {kernels_text}, {breaks_text}, {compile_ms:.0f} ms",
    ),
    "speedups": (
        "against plain NumPy, measured in this run",
        "{function}: {ratio:.1f} times as fast ({plain_ms:.2f} ms -> {compiled_ms:.2f} ms), {bits}",
    ),
    "recompiles": (
        "compiled again",
        "{function}: {guard} was {then}, is {now} (+{cost_ms:.0f} ms)",
    ),
    "breaks": ("left to plain Python", "{function}, line {line}: {reason}"),
}


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a fresh run, in a kernel of this environment."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        extra_arguments=QUIET,
        store_widget_state=False,  # with it the page would need scripts from elsewhere
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    return notebook


def summary(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    """The last summary that a cell displayed; empty if there is none."""
    found = [
        output.data[SUMMARY]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if SUMMARY in output.get("data", {})
    ]
    return dict(found[-1]) if found else {}


def summary_lines(found: dict[str, Any]) -> Iterable[str]:
    """The summary as people read it in a terminal; a section without records says so."""
    for section, (heading, form) in SECTIONS.items():
        yield f"{heading}:"
        records = found.get(section, [])
        yield from (f"  {form.format(**record, **derived(record))}" for record in records)
        if not records:
            yield "  nothing"


def derived(record: dict[str, Any]) -> dict[str, Any]:
    """What a line shows beside the fields of its record."""
    shown: dict[str, Any] = {}
    if "plain_ms" in record:
        shown["ratio"] = record["plain_ms"] / record["compiled_ms"]
        shown["bits"] = "same bits" if record.get("same_bits") else "DIFFERENT RESULT"
    if "kernels" in record:
        shown["kernels_text"] = counted(record["kernels"], "kernel")
        shown["breaks_text"] = counted(record["breaks"], "graph break")
    return shown


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def write_html(notebook: nbformat.NotebookNode, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    body, _ = HTMLExporter().from_notebook_node(notebook)
    path.write_text(body, encoding="utf-8")


def tell(found: dict[str, Any]) -> int:
    """Print the summary; the exit code says whether there is one and all results were equal."""
    if not found:
        print(f"no cell displays a bundle of type {SUMMARY}", file=sys.stderr)
        return 1
    print("\n".join(summary_lines(found)))
    return 0 if all(record.get("same_bits") for record in found.get("speedups", [])) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--html", type=Path, help="where the page is written")
    arguments = parser.parse_args()

    begin = time.perf_counter()
    try:
        notebook = run(arguments.notebook)
    except CellExecutionError as error:
        text = str(error) if sys.stderr.isatty() else COLOURS.sub("", str(error))
        print(f"{arguments.notebook}: a cell raised\n{text}", file=sys.stderr)
        return 1
    print(f"{arguments.notebook}: all cells ran in {time.perf_counter() - begin:.0f} s")
    if arguments.html:
        write_html(notebook, arguments.html)
        print(f"written: {arguments.html}")
    return tell(summary(notebook))


if __name__ == "__main__":
    sys.exit(main())
