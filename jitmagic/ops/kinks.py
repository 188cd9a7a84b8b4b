"""Takes the registry, gives the conventions of derivatives in Markdown (``python -m jitmagic.ops.kinks``)."""

from __future__ import annotations

import sys

import numpy as np

from jitmagic.ops import Op, all_ops
from jitmagic.ops.differentiable import DIFFERENTIABLE

__all__ = ["kinks", "reasons"]

SAYS = ("derivative", "gradient", "counts as 0", "phase")
WRITTEN = frozenset(dir(np))


def kinks() -> str:
    """What holds where a function has no derivative, or more than one: a table of operations."""
    found: dict[str, list[str]] = {}
    for row in all_ops():
        if row.vjp and row.name in WRITTEN:
            _note(found, row.name, row.note)
    for module, table in DIFFERENTIABLE.items():
        for name, each in table.items():
            _note(found, f"{module.removeprefix('numpy.')}.{name}", each.note)
    lines = [f"| {', '.join(f'`{n}`' for n in names)} | {text} |" for text, names in found.items()]
    return "\n".join(["| functions | convention |", "|---|---|", *lines])


def _note(found: dict[str, list[str]], name: str, note: str) -> None:
    parts = [part for part in note.split("; ") if any(word in part for word in SAYS)]
    if parts:
        found.setdefault("; ".join(parts), []).append(name)


def reasons() -> str:
    """Which functions with real results have no derivative, and why."""
    lines = [f"| `{row.name}` | {row.no_vjp} |" for row in _without() if row.name in WRITTEN or row.name == "byteswap"]
    return "\n".join(["| function | why |", "|---|---|", *lines])


def _without() -> list[Op]:
    return [row for row in all_ops() if row.no_vjp]


if __name__ == "__main__":
    sys.stdout.write(f"{kinks()}\n\n{reasons()}\n")
