"""Compares programs with graph breaks at random places, compiled and plain.

Run as a program it looks at the programs of some seeds and prints those that differ::

    python -m tests.fuzz.break_check FIRST LAST [BACKEND]
"""

from __future__ import annotations

import collections
import sys
import traceback

from tests.fuzz.break_programs import make_break_program
from tests.fuzz.twins import differences, run

__all__ = ["check"]


def check(seed: int, backend: str) -> tuple[list[str], int, bool]:
    """What differs between plain and compiled, how many breaks there were, and whether anything was compiled."""
    program = make_break_program(seed)
    plain, compiled = run(program), run(program, backend)
    return differences(plain, compiled), len(compiled.breaks), compiled.captured


def _main(first: int, last: int, backend: str = "eager") -> int:
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(first, last):
        try:
            found, breaks, captured = check(seed, backend)
        except Exception:  # a fault of the compiler or of this program: shown, and the next one is tried
            found, breaks, captured = [traceback.format_exc()], 0, False
        counts["different"] += bool(found)
        counts["with breaks"] += breaks > 0
        counts["captured"] += captured
        if found:
            print(f"seed {seed}:", *(line[:300] for line in found[:2]), sep="\n    ", flush=True)
    print(f"{last - first} programs:", dict(counts))
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(_main(int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
