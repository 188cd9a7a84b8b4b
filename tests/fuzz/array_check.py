"""Takes the text of a program, a seed and a backend, gives the differences between plain Python and compiled.

Run as a program it looks at many seeds, and prints the shortest form of each program that shows a difference; the
error stream tells how far it is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

import jitmagic as jm
from tests.fuzz.array_arguments import make_arguments
from tests.fuzz.array_outcomes import FILTERS, define, differing, outcome
from tests.fuzz.array_programs import ArrayProgram, make_array_program, text_of

__all__ = ["Found", "check", "look_at", "shortened"]

CALLS = (0, 1, 2, 0)  # the same types twice, then others, then the first again


class Found(NamedTuple):
    """``compiled`` says whether anything was; ``differences`` are those of the first call that shows some."""

    differences: list[str]
    compiled: bool


def check(text: str, seed: int, backend: str) -> Found:
    """Call the function of ``text`` plainly and compiled, with equal arguments and warning filters."""
    filters = FILTERS[seed % len(FILTERS)]
    plain, compiled = define(text, str(seed)), jm.compile(define(text, str(seed)), backend=backend)
    with jm.configure(demote=False):
        for number, call in enumerate(CALLS):
            wanted = outcome(plain, make_arguments(seed, call), filters)
            found = differing(wanted, outcome(compiled, make_arguments(seed, call), filters))
            if found:
                return Found([f"call {number}", *found], bool(compiled.jit.compiles))
    return Found([], bool(compiled.jit.compiles))


def shortened(program: ArrayProgram, backend: str) -> str:
    """The text with as few statements and results as show some difference."""
    statements, results = list(program.statements), program.result.split(", ")
    if any("(" in part for part in results):
        results = [program.result]

    def differs(statements: Sequence[str], results: Sequence[str]) -> bool:
        try:
            return bool(check(text_of(statements, ", ".join(results)), program.seed, backend).differences)
        except SyntaxError:
            return False

    for parts in (statements, results):
        for place in reversed(range(len(parts))):
            part = parts.pop(place)
            if not results or not differs(statements, results):
                parts.insert(place, part)
    return text_of(statements, ", ".join(results))


def look_at(first: int, last: int, backend: str = "aot_eager") -> None:
    """Look at the programs of these seeds."""
    for seed in range(first, last):
        print(f"\r{seed - first} of {last - first}, seed {seed}", end="", file=sys.stderr, flush=True)
        program = make_array_program(seed)
        if check(program.text, seed, backend).differences:
            text = shortened(program, backend)
            print(f"seed {seed}", text, *check(text, seed, backend).differences, sep="\n", flush=True)
    print(f"\r{max(last - first, 0)} programs", file=sys.stderr)


if __name__ == "__main__":
    look_at(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:4])
