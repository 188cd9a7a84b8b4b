"""Takes measured gradients, gives ``docs/gradient_coverage.md`` (``python -m tests.ops.derivatives.table``)."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.ops.coverage.table import numpy_version
from tests.ops.derivatives.calls import groups
from tests.ops.derivatives.measure import KINDS, Derived, as_complex, measure, measure_twice, on_tensors

__all__ = ["COLUMNS", "DOCUMENT", "Row", "kinds_on", "markdown", "row"]

DOCUMENT = Path(__file__).parents[3] / "docs" / "gradient_coverage.md"
COLUMNS = ("real", "complex", "sizes that grow", "Tensors")

MEANINGS = {
    "compiled": "one compiled program gives value and gradient",
    "tape": "NumPy runs the function on Tensors, whose record is walked back: the same gradient, more slowly",
    "zero": "nothing that comes out changes smoothly (steps, indices, comparisons, shapes): the gradient is 0",
    "refused": "an error that says why: [Gradients](gradients.md) has the reasons",
    "missing": "an error, although there is a gradient",
    "wrong": "another gradient than that of the differences, or another value than NumPy's",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One call of one function, and what became of its gradient in each of ``COLUMNS``."""

    name: str
    text: str
    found: tuple[Derived, ...]


def row(name: str, text: str) -> Row:
    """Of one call; where there is nothing to differentiate the kinds are empty."""
    real, grown = measure_twice(text)
    if not real.kind:
        return Row(name, text, (real,) * len(COLUMNS))
    return Row(name, text, (real, measure(text, as_complex), grown, on_tensors(text)))


def markdown(measured: Sequence[tuple[str, list[Row]]]) -> str:
    """The whole document."""
    return "\n".join([*_head(), *_summary(measured), *_calls(measured), *_without(measured)]) + "\n"


def kinds_on(page: str) -> dict[str, tuple[str, ...]]:
    """What the page says of each call, by its text."""
    lines = (_LINE.fullmatch(line) for line in page.splitlines())
    found = ((line.group(1).replace("\\|", "|"), line.group(2).split(" | ")) for line in lines if line)
    return {text: tuple("" if kind == "-" else kind for kind in kinds) for text, kinds in found}


_LINE = re.compile(r"\| `[^`]+` \| `(.+)` \| ([a-z-]+(?: \| [a-z-]+)*) \|")


def _head() -> Iterator[str]:
    yield "# Which functions have a gradient"
    yield ""
    yield "Every public function of NumPy's main namespace, `np.linalg` and `np.fft`, and the methods and operators of"
    yield "`ndarray`. A test differentiates each call with `jm.value_and_grad`, compares the gradient with central"
    yield f"differences and the value with plain NumPy's, bit for bit, and writes this page (NumPy {numpy_version()})."
    yield ""
    yield from (f"* **{kind}**: {meaning}" for kind, meaning in MEANINGS.items())
    yield ""
    yield "The columns: real operands; the same operands with imaginary parts; longer operands after a call with"
    yield "shorter ones, so that sizes are symbols of the compiled program; and operands that are `jm.Tensor`, without"
    yield "the compiler (there the tape is all there is). A dash: NumPy takes no such operands."
    yield ""


def _summary(measured: Sequence[tuple[str, list[Row]]]) -> Iterator[str]:
    yield f"| | {' | '.join(KINDS)} |"
    yield "|---" * (len(KINDS) + 1) + "|"
    for i, column in enumerate(COLUMNS):
        counts = Counter(row.found[i].kind for _, found in measured for row in found)
        yield f"| {column} | {' | '.join(str(counts[kind]) for kind in KINDS)} |"
    yield ""


def _calls(measured: Sequence[tuple[str, list[Row]]]) -> Iterator[str]:
    for title, found in measured:
        yield f"## {title}"
        yield ""
        yield f"| name | call | {' | '.join(COLUMNS)} |"
        yield "|---" * (len(COLUMNS) + 2) + "|"
        for row in found:
            if row.found[0].kind:
                kinds = " | ".join(each.kind or "-" for each in row.found)
                yield f"| `{row.name.rpartition('.')[2]}` | `{_shown(row.text)}` | {kinds} |"
        yield ""


def _without(measured: Sequence[tuple[str, list[Row]]]) -> Iterator[str]:
    yield "## Nothing to differentiate"
    yield ""
    yield "No real operand, or nothing with numbers comes out (texts, dates, types, shapes)."
    yield ""
    for title, found in measured:
        names = dict.fromkeys(row.name.rpartition(".")[2] for row in found if not row.found[0].kind)
        yield f"* {title}: {', '.join(f'`{name}`' for name in names)}"


def _shown(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    measured = [(title, [row(*each) for each in called]) for title, called in groups()]
    DOCUMENT.write_text(markdown(measured), encoding="utf-8")
    sys.stdout.write(f"{DOCUMENT}\n")
