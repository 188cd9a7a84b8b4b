"""Imports go one way through the house, and importing jitmagic stays cheap."""

from __future__ import annotations

import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.structure.sources import Source, module_names, package_sources

# From the ground up; a stage may import those of lower floors and its own.
FLOORS = {
    "own_builtins": 0,
    "errors": 0,
    "config": 1,
    "events": 1,
    "graph": 2,
    "ops": 3,
    "autograd": 4,
    "nn": 5,
    "optim": 5,
    "tracer": 6,
    "aot": 7,
    "backends": 8,
    "runtime": 9,
    "report": 10,
    "magic": 11,
    "widgets": 12,
}
# The public face ties the stages together: it may import all of them, no stage imports it.
TOP = {"": 13, "api": 13, "explaining": 13, "gradients": 13, "verbs": 13}
# Stages that people use without the compiler, and the one that reads events only.
FORBIDDEN = {
    "autograd": {"tracer", "aot", "backends", "runtime", "report", "magic", "widgets"},
    "nn": {"tracer", "aot", "backends", "runtime", "report", "magic", "widgets"},
    "optim": {"tracer", "aot", "backends", "runtime", "report", "magic", "widgets"},
    "report": {"tracer", "aot", "backends", "runtime"},
}
# Imports that go against the direction: "file -> module" with the reason why it is right there.
ALLOWED: dict[str, str] = {}

HEAVY = ("IPython", "ipywidgets", "numba", "llvmlite", "matplotlib", "jupyter_client")


def floor(stage: str) -> int:
    return (FLOORS | TOP)[stage]


def wrong_way(source: Source) -> list[str]:
    """The imports of one module that go up, or to a stage which it must not know."""
    stages = {other.name: other.stage for other in package_sources()}
    found = []
    for imported in source.imports(module_names()):
        target = stages[imported.module]
        beside = target == source.stage or {target, source.stage} <= set(TOP)
        up = not beside and floor(target) >= floor(source.stage)
        arrow = f"{source.place} -> {imported.module}"
        if (up or target in FORBIDDEN.get(source.stage, ())) and arrow not in ALLOWED:
            found.append(f"{source.place}:{imported.line} ({source.stage}) -> {imported.module}")
    return found


def test_every_stage_has_its_floor() -> None:
    """A new folder or file at the top of the package is placed in the order before it is used."""
    unplaced = {s.stage for s in package_sources()} - set(FLOORS) - set(TOP)
    assert not unplaced, f"give {sorted(unplaced)} a floor in {__file__}"


def test_no_arrow_points_up() -> None:
    """errors, config, events <- graph <- ops <- ... <- widgets; ``report`` reads events only."""
    found = [arrow for source in package_sources() for arrow in wrong_way(source)]
    assert not found, "imports against the direction:\n  " + "\n  ".join(found)


def test_every_exception_is_still_needed() -> None:
    arrows = {
        f"{source.place} -> {imported.module}"
        for source in package_sources()
        for imported in source.imports(module_names())
    }
    assert set(ALLOWED) <= arrows


def test_no_cycles() -> None:
    """Not inside a stage either; imports inside functions count, they only hide a cycle. Types may be mutual."""
    known = module_names()
    graph = {s.name: {i.module for i in s.imports(known, for_types=False)} - {s.name} for s in package_sources()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " <- ".join(error.args[1]))


@pytest.mark.parametrize(
    ("module", "text", "expected"),
    [
        ("jitmagic.graph.meta", "from jitmagic.tracer import frame", "jitmagic.tracer"),
        ("jitmagic.graph.meta", "def f():\n    from ..tracer import x", "jitmagic.tracer"),
        ("jitmagic.graph.meta", "import jitmagic.tracer", "jitmagic.tracer"),
        ("jitmagic.graph.meta", "from . import node", "jitmagic.graph.node"),
        ("jitmagic.graph.meta", "from jitmagic import errors", "jitmagic.errors"),
    ],
)
def test_the_reader_finds_every_form_of_import(module: str, text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "meta.py"
    path.write_text(text)
    known = frozenset({"jitmagic", "jitmagic.errors", "jitmagic.tracer", "jitmagic.graph.node"})
    assert [i.module for i in Source(module, path).imports(known)] == [expected]


def test_import_jitmagic_is_light() -> None:
    """``import jitmagic`` loads neither the notebook, nor the widgets, nor a compiler."""
    program = "import sys, jitmagic; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & set(HEAVY)
