"""The README as a new reader takes it: its Python runs from top to bottom, and what it names exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from jitmagic.magic.verbs import VERBS
from jitmagic.report import Report
from jitmagic.report.guardwords import GUARD_KINDS
from tests.magic.conftest import Notebook

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def reader() -> Iterator[Notebook]:
    """A notebook in which every block was run as a cell, in order."""
    notebook = Notebook(extension=False)
    for number, block in enumerate(BLOCKS):
        ran = notebook.run(block)
        assert ran.error is None, f"block {number} of README.md: {ran.error!r}"
        assert not ran.err, f"block {number} of README.md: {ran.err}"
    yield notebook
    notebook.close()


def test_every_block_runs_and_its_functions_are_compiled(reader: Notebook) -> None:
    assert len(BLOCKS) == README.count("```python") >= 4
    compiled = {name for name, value in reader.ns.items() if hasattr(value, "jit")}
    assert compiled >= {"smooth", "distance"}
    for name in compiled:
        handle = reader.ns[name].jit
        assert (handle.compiles, handle.record.fallbacks) == (1, []), name


def test_the_line_of_a_card_is_what_a_reader_sees(reader: Notebook) -> None:
    """As the README shows it, but for the time."""
    shown = re.search(r"^    (smooth: 1 kernel.*)$", README, re.MULTILINE)
    assert shown is not None
    handle = reader.ns["smooth"].jit
    line = str(Report(handle.events, kind="line"))
    assert _without_times(line) == _without_times(shown.group(1))


def test_shown_output_is_what_the_line_prints(reader: Notebook) -> None:
    """Each ```text block is the output of the `%jit` line before it; trailing explanations may be left out."""
    blocks = re.findall(r"`(%jit [^`]+)` prints in a terminal:\n\n```text\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    assert len(blocks) == README.count("```text") >= 1
    for line, shown in blocks:
        printed = str(reader.run(line).value)
        assert printed.startswith(shown.rstrip()), line


def test_the_first_example_gives_the_same_bits(reader: Notebook) -> None:
    smooth, z = reader.ns["smooth"], np.random.default_rng(1).random((300, 200))
    assert smooth(z).tobytes() == smooth.jit.plain(z).tobytes()


def test_what_it_says_about_jit_exists(reader: Notebook) -> None:
    """Every ``smooth.jit.<verb>()`` of the table gives a view or a widget that has a text form."""
    named = set(re.findall(r"smooth\.jit\.(\w+)\(\)", README)) - {"clear"}  # shows nothing
    assert named >= {"report", "why", "breaks", "guards", "graph", "source", "explore"}
    handle = reader.ns["smooth"].jit
    for verb in named:
        assert getattr(handle, verb)()._repr_mimebundle_()["text/plain"]


def _without_times(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"[\d.]+ (ns|us|ms|s)\b", "TIME", text)).strip()


def test_the_page_of_guards_holds_every_kind() -> None:
    page = (Path(__file__).parents[2] / "docs/guards.md").read_text(encoding="utf-8")
    assert dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page, re.MULTILINE)) == GUARD_KINDS


def test_every_verb_is_named(reader: Notebook) -> None:
    named = set(re.findall(r"(?:smooth\.jit\.|%jit )(\w+)", README))
    assert set(VERBS) <= named


def test_lines_of_magic_in_the_text_run(reader: Notebook) -> None:
    lines = set(re.findall(r"`(%jit [^`]+)`", README))
    assert lines
    for line in lines:
        assert line.split()[1] in VERBS
        assert reader.run(line).error is None
