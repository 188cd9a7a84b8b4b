"""The calls of the table of gradients: those of ``tests.ops.coverage``, and other forms of some."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.ops.coverage.names import GROUPS, texts_of, why_not_called
from tests.ops.derivatives.variants import VARIANTS

__all__ = ["MISSING", "groups"]

# Where the call of the coverage table has no derivative at the operands, or none that does not depend on a phase
INSTEAD: dict[str, tuple[str, ...]] = {
    "linalg.eig": ("np.linalg.eig(s)[0]", "np.abs(np.linalg.eig(s)[1])"),
    "broadcast_arrays": ("np.add(*np.broadcast_arrays(x, x[0]))",),
    "linalg.eigh": ("np.linalg.eigh(s)[0]", "np.abs(np.linalg.eigh(s)[1])"),
}

# Why a gradient is missing that there could be; the test fails for every other call
MISSING: dict[str, str] = {
    text: reason
    for reason, texts in {
        "no rule yet": (
            "np.histogram_bin_edges(v, 4)",
            "np.histogramdd((v, w), 3)",
            "np.poly(v[:3])",
            "np.polydiv(v, w[:3])",
            "np.polymul(v, w)",
            "np.roots(v[:3])",
            "np.linalg.tensorsolve(s, s[0])",
            "np.linalg.lstsq(x, x[:, 0])",
            "np.linalg.qr(x)",
            "np.linalg.svd(x)",
        ),
        "Tensors lack it": ("np.from_dlpack(x)", "x.getfield(np.int32, 4)", 'x.to_device("cpu")', "x.T.base"),
        "real parts that are replaced": ("np.nan_to_num(n)",),
        "NumPy's flag that warns of writing": ("np.broadcast_arrays(x, x[0])",),
    }.items()
    for text in texts
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
