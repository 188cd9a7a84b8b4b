"""A function whose lines have the numbers of lines in ``helpers_of_marks``."""

from typing import Any

import numpy as np


def far_below(x: Any) -> Any:
    """Work on several lines."""
    y = np.sqrt(x) + 1
    z = np.exp(y) * 2
    z = z - x
    return z / y
