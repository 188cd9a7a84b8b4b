"""Takes a ``%%compile`` line and a body that is a cell magic itself, gives that magic's cell with the body compiled."""

from __future__ import annotations

import re
import sys

__all__ = ["remark_on", "turned_round"]

_FIRST = re.compile(r"\s*%%(\w+)[ \t]*([^\n]*)\n?")
_RUN_PYTHON = ("time", "capture", "prun")  # they run their body once, as a cell of Python
_REMARKS = {
    "timeit": "it would define and compile the functions again in each of its rounds; define them in a %%compile cell "
    "of their own and time a call with %timeit"
}


def turned_round(line: str, body: str) -> tuple[str, str, str] | None:
    """Name, line and body of the magic below ``%%compile``, to be run with ``%%compile`` below it; None for others."""
    found = _FIRST.match(body)
    if found is None or found[1] not in _RUN_PYTHON:
        return None
    return found[1], found[2], f"%%compile {line}\n{body[found.end() :]}"


def remark_on(body: str) -> None:
    """Tell when the functions of the cell are out of sight, in the body of another cell magic."""
    found = _FIRST.match(body)
    if found is not None:
        why = _REMARKS.get(
            found[1], "its text is not run as a cell of Python; write %%compile above the functions alone"
        )
        print(  # noqa: T201 - a remark for the user, beside the output of the cell
            f"%%compile: nothing is compiled below %%{found[1]}: {why}", file=sys.stderr
        )
