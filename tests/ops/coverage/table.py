"""Takes the measured calls, gives ``docs/coverage.md``; ``python -m tests.ops.coverage.table`` writes it."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tests.ops.coverage.measure import KINDS, Measured, measure
from tests.ops.coverage.names import GROUPS, texts_of, why_not_called

__all__ = ["DOCUMENT", "Row", "markdown", "numpy_version", "rows"]

DOCUMENT = Path(__file__).parents[3] / "docs" / "coverage.md"
Row = tuple[str, Measured]  # the name and one call of it

MEANINGS = {
    "lowered": "has a compiled loop",
    "view": "another look at the same memory; costs nothing",
    "traced": "NumPy's own Python code is traced through; its parts are compiled or run by NumPy",
    "extern": "one call of NumPy inside the compiled function",
    "known": "answered while compiling: it depends on dtypes and sizes only",
    "broken": "a graph break: runs as plain Python, the code before and after is compiled",
}


def numpy_version() -> str:
    """The part of the version that says which functions there are."""
    return ".".join(np.__version__.split(".")[:2])


def rows() -> Iterator[tuple[str, list[Row]]]:
    """For each group its calls, in order of name."""
    for group, members in GROUPS.items():
        called = {name: value for name, value in members.items() if not why_not_called(name, value)}
        yield group, [(n, measure(text)) for n in sorted(called) for text in texts_of(n, called[n])]


def markdown(measured: Sequence[tuple[str, list[Row]]]) -> str:
    """The whole document."""
    return "\n".join([*_head(), *_summary(measured), *_calls(measured), *_not_called()]) + "\n"


def _head() -> Iterator[str]:
    yield "# What works inside a compiled function"
    yield ""
    yield "Every public function of NumPy's main namespace, `np.linalg`, `np.fft`, the methods and operators of"
    yield "`ndarray`, and the random generators. A test calls each of them inside a compiled function, compares with"
    yield f"plain NumPy, and writes this page (NumPy {numpy_version()})."
    yield ""
    yield from (f"* **{kind}**: {meaning}" for kind, meaning in MEANINGS.items())
    yield ""


def _summary(measured: Sequence[tuple[str, list[Row]]]) -> Iterator[str]:
    yield f"| | calls | {' | '.join(KINDS)} | without a break |"
    yield "|---" * (len(KINDS) + 3) + "|"
    every = [row for _, found in measured for row in found]
    for title, found in (*measured, ("all", every)):
        counts = Counter(call.kind for _, call in found)
        share = 100 * (len(found) - counts["broken"]) / len(found)
        cells = " | ".join(str(counts[kind]) for kind in KINDS)
        yield f"| {title} | {len(found)} | {cells} | {share:.1f} % |"
    yield ""


def _calls(measured: Sequence[tuple[str, list[Row]]]) -> Iterator[str]:
    for title, found in measured:
        yield f"## {title}"
        yield ""
        yield "| name | call | becomes |"
        yield "|---|---|---|"
        for name, call in found:
            shown = call.text.replace("|", "\\|")
            yield f"| `{name.rpartition('.')[2]}` | `{shown}` | {call.kind} |"
        yield ""


def _not_called() -> Iterator[str]:
    yield "## Names that are no functions on arrays"
    yield ""
    reasons: dict[str, list[str]] = {}
    for members in GROUPS.values():
        for name, value in members.items():
            why = why_not_called(name, value)
            if why:
                reasons.setdefault(why, []).append(name)
    for why, names in sorted(reasons.items()):
        yield f"* {why}: {', '.join(f'`{n}`' for n in sorted(names))}"


if __name__ == "__main__":
    DOCUMENT.write_text(markdown(list(rows())), encoding="utf-8")
    sys.stdout.write(f"{DOCUMENT}\n")
