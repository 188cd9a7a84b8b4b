"""The calls of the table of gradients: those of ``tests.ops.coverage``, and other forms of some."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.ops.coverage.names import GROUPS, texts_of, why_not_called
from tests.ops.derivatives.variants import VARIANTS

__all__ = ["groups"]

# Where the call of the coverage table has no derivative at the operands, or none that does not depend on a phase
INSTEAD: dict[str, tuple[str, ...]] = {
    "linalg.eig": ("np.linalg.eig(s)[0]", "np.abs(np.linalg.eig(s)[1])"),
    "broadcast_arrays": ("np.add(*np.broadcast_arrays(x, x[0]))",),
    "linalg.svd": ("np.linalg.svd(x)[1]", "np.abs(np.linalg.svd(x)[0][:, :3])", "np.abs(np.linalg.svd(x)[2])"),
    "linalg.eigh": ("np.linalg.eigh(s)[0]", "np.abs(np.linalg.eigh(s)[1])"),
}

NO_GRADIENTS = ("Generator", "np.random")  # draws: what comes out depends on the state


def groups() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """For each group the names, in order, each with a call."""
    for title, members in GROUPS.items():
        if title not in NO_GRADIENTS:
            yield title, [(name, text) for name in sorted(members) for text in _texts(name, members[name])]
    yield "other forms", [(text.partition("(")[0], text) for text in VARIANTS]


def _texts(name: str, value: Any) -> Iterator[str]:
    if not why_not_called(name, value):
        yield from INSTEAD.get(name) or texts_of(name, value)
