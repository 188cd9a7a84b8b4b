"""Text in the files: docstrings, reasons beside ignores, nothing half-done, no machine's paths."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.structure.sources import ROOT, Source, package_sources, python_files, text_files

# A code, then a reason of at least two words; the last test of this file shows the forms.
IGNORE = re.compile(r"#\s*(noqa|type:\s*ignore|mypy:\s*|ruff:\s*noqa)", re.IGNORECASE)
REASONED = (
    re.compile(r"#\s*(?:ruff:\s*)?noqa:\s*[A-Z]+\d+(?:,\s*[A-Z]+\d+)*\s*[-–—:#(]*\s*\w+\s+\w+"),
    re.compile(r"#\s*type:\s*ignore\[[\w,\s-]+\]\s+#\s*\w+.*\s+\w+"),
    re.compile(r"#\s*mypy:\s*disable-error-code=\S+\s+#\s*\w+.*\s+\w+"),
)
CODED = re.compile(r"#\s*(?:noqa:\s*[A-Z]+\d+|type:\s*ignore\[)")
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE_PATH = re.compile(r"(?<![\w.:/~}-])/(?:work|home|root|tmp|opt|mnt|Users)/\w")


def comments(path: Path) -> Iterator[tuple[int, str]]:
    with tokenize.open(path) as file:
        text = file.read()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def lines(pattern: re.Pattern[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if pattern.search(line)
    ]


def stages() -> list[Source]:
    return [s for s in package_sources() if s.is_package and s.name.count(".") == 1]


def test_each_stage_says_in_one_line_what_it_takes_and_gives() -> None:
    """Details stand in the docstrings of its modules."""
    docstrings = {s.place: ast.get_docstring(s.tree) for s in stages()}
    assert not [place for place, text in docstrings.items() if len((text or "").splitlines()) != 1]


def test_each_module_has_a_docstring() -> None:
    missing = [s.place for s in package_sources() if not ast.get_docstring(s.tree)]
    assert not missing


def test_the_package_does_not_print() -> None:
    """What people see goes through the report; only a remark to stderr may be printed."""
    found = [
        f"{source.place}:{node.lineno}"
        for source in package_sources()
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print"
        if "file" not in {keyword.arg for keyword in node.keywords}
    ]
    assert not found


def test_nothing_is_left_unfinished() -> None:
    assert not lines(UNFINISHED, text_files())


def test_no_file_knows_one_machine() -> None:
    assert not lines(MACHINE_PATH, text_files())


def bare_ignores(path: Path) -> list[str]:
    """Ignores that lack a code, or a reason behind it or in a comment right above."""
    remarks = dict(comments(path))
    text = path.read_text(encoding="utf-8").splitlines()
    return [
        f"{path.relative_to(ROOT)}:{number}: {comment}"
        for number, comment in remarks.items()
        if IGNORE.match(comment) and not any(form.match(comment) for form in REASONED)
        if not (CODED.match(comment) and text[number - 2].strip().startswith("# "))
    ]


def test_every_ignore_carries_code_and_reason() -> None:
    found = [bare for path in python_files() for bare in bare_ignores(path)]
    assert not found, "write `# noqa: B018 - why`, `# type: ignore[code]  # why`, or why above it"


@pytest.mark.parametrize(
    ("comment", "is_reasoned"),
    [
        ("# noqa: B018 - evaluated for its effect", True),
        ("# type: ignore[misc]  # the base has no stubs", True),
        ("# noqa", False),
        ("# noqa: B018", False),
        ("# type: ignore", False),
        ("# type: ignore[misc]", False),
    ],
)
def test_the_reader_knows_a_reason(comment: str, is_reasoned: bool) -> None:
    assert IGNORE.match(comment)
    assert any(form.match(comment) for form in REASONED) is is_reasoned
