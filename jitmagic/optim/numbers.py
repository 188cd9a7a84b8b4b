"""Settings of an optimizer that change from step to step."""

from __future__ import annotations

from typing import Any

__all__ = ["is_on", "run_time"]


def run_time(group: dict[str, Any], name: str) -> Any:
    """``group[name]``; in a compiled step an input of every call, so that another value costs no compile."""
    return group[name]


def is_on(group: dict[str, Any], name: str) -> bool:
    """Whether ``group[name]`` is not 0; in a compiled step that is all that is asked of the number."""
    return bool(group[name] != 0)
