"""The frame around the code keeps its word: README, Makefile, pyproject.toml, .ci/run."""

from __future__ import annotations

import os
import re
import tomllib

from tests.structure.sources import ROOT

COMMANDS = {"demo", "lab", "test", "bench", "format"}


def targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))


def test_commands_in_the_readme_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\bmake ([a-z]+)\b", "\n".join(re.findall(r"`[^`]*`|^    .*", readme, re.M))))
    assert named <= targets()
    assert {"demo", "test"} <= named


def test_every_command_exists_and_is_explained() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    explained = set(re.findall(r'@echo "make ([a-z]+) ', makefile))
    assert targets() >= COMMANDS
    assert explained >= COMMANDS


def test_files_named_in_the_readme_exist() -> None:
    """Links and the folder map point at something."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"\]\((?!https?:|#)([^)]+)\)", readme)
    assert linked
    assert not [name for name in linked if not (ROOT / name).exists()]


def test_extras_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["optional-dependencies"]) >= {"test", "lab", "cuda", "dask"}


def test_ignores_in_pyproject_carry_a_reason() -> None:
    """A line of pyproject.toml that leaves out a lint rule or a warning says why."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    bare = [
        line
        for section in ("ignore = [", "[tool.ruff.lint.per-file-ignores]", "filterwarnings = [")
        for line in _lines_after(text, section)
        if "#" not in line
    ]
    assert not bare


def test_ci_runs_the_tests_and_can_be_executed() -> None:
    script = ROOT / ".ci/run"
    assert os.access(script, os.X_OK)
    assert "make test" in script.read_text(encoding="utf-8")


def _lines_after(text: str, section: str) -> list[str]:
    """The lines of the list or table after ``section``, up to a blank line or bracket."""
    _, _, rest = text.partition(f"\n{section}\n")
    lines: list[str] = []
    for line in rest.splitlines():
        if line.strip() in {"", "]"}:
            break
        lines.append(line)
    return [line for line in lines if not line.strip().startswith(("#", '"error"'))]
