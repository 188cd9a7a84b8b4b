"""Takes a piece of analysis, lets NumPy run in it without a word: no floating-point conditions, no warnings."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

__all__ = ["Quiet"]

_IGNORE = ("ignore", None, Warning, None, 0)


def _filters() -> Any:
    return warnings.filters


class Quiet:
    """A context in which nothing is reported.

    The filter is put straight into the list: ``warnings.catch_warnings`` would also make Python forget which of the
    user's warnings it has shown already, and show them again.
    """

    __slots__ = ("filters", "state")

    def __enter__(self) -> None:
        self.filters = _filters()
        self.filters.insert(0, _IGNORE)
        self.state = np.errstate(all="ignore")
        self.state.__enter__()

    def __exit__(self, *error: Any) -> None:
        self.state.__exit__(*error)
        self.filters.remove(_IGNORE)
