"""What an optimiser remembers: one dict for each parameter, made when it is asked for."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

__all__ = ["State"]


class State(defaultdict[Any, dict[str, Any]]):
    """``state[p]`` for a Tensor ``p``, which is found by identity."""
