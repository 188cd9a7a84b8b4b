"""Settings of an optimizer that change from step to step."""

from __future__ import annotations

from typing import Any

__all__ = ["run_time"]


def run_time(value: Any) -> Any:
    """``value``; in a compiled step an input of every call, so that another value costs no compile."""
    return value
