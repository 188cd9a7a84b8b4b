"""Takes the registry, gives the table of operations in Markdown: ``python -m jitmagic.ops.table`` prints it."""

from __future__ import annotations

import sys

from jitmagic.ops import Op, all_ops
from jitmagic.ops.lowering import InnerLoop, Lowering, Pointwise, Reduction, Scan

__all__ = ["markdown"]

HEADER = ("operation", "also written", "runs as", "may warn of", "may raise", "note")


def markdown() -> str:
    """One row for each operation, in order of name."""
    rows = [HEADER, tuple("---" for _ in HEADER), *(cells(row) for row in sorted(all_ops(), key=lambda r: r.name))]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def cells(row: Op) -> tuple[str, ...]:
    """What the table says of one operation."""
    written = ", ".join(f"`{_form(form.target)}`" for form in row.forms)
    warns = ", ".join(sorted(row.warns))
    return (f"`{row.name}`", written, runs_as(row.lower), warns, _raises(row), row.note)


def runs_as(lower: Lowering | None) -> str:
    """The lowering in words."""
    if lower is None:
        return "NumPy"
    if isinstance(lower, Pointwise):
        shown = lower.expression.replace("|", "\\|")
        return f"loop `{shown}` for kinds {lower.kinds}"
    if isinstance(lower, Reduction | Scan):
        return f"{type(lower).__name__.lower()} {lower.kind}"
    return "NumPy's inner loop" if isinstance(lower, InnerLoop) else type(lower).__name__.lower()


def _raises(row: Op) -> str:
    return "for some arguments" if callable(row.raises) else "yes" if row.raises else ""


def _form(target: object) -> str:
    return target if isinstance(target, str) else f"np.{getattr(target, '__name__', target)}"


if __name__ == "__main__":
    sys.stdout.write(f"{markdown()}\n")
