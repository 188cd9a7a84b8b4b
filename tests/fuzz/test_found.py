"""Programs that once gave another answer compiled than plain; ``programs/found.txt`` holds them."""

from __future__ import annotations

from pathlib import Path

import pytest

import jitmagic as jm
from tests.fuzz.twins import Program, differences, read_programs, run

FOUND = read_programs(Path(__file__).parent / "programs" / "found.txt")
PLAIN = {"dead_locals_eval", "warn"}  # they look at their own frames, or at those of their callers


@pytest.mark.parametrize("program", FOUND, ids=lambda p: p.name)
def test_the_compiled_program_shows_what_the_plain_one_shows(program: Program) -> None:
    with jm.configure(demote=False):
        compiled = run(program, "aot_eager")
    assert differences(run(program), compiled) == []
    assert compiled.captured == (program.name not in PLAIN)
