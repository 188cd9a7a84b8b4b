"""Functions that others call: lines with numbers that are those of lines in other files."""

from typing import Any

import numpy as np

from tests.runtime import more_helpers_of_marks


def sort_and_scale(x: Any) -> Any:
    """One call of NumPy, and a kernel."""
    return np.sort(x) * 3 + 1


def on_line_one(x: Any) -> Any:
    return more_helpers_of_marks.far_below(x)
