"""Takes an object, displays it where the running cell displays (IPython's ``display`` has no types)."""

from __future__ import annotations

from typing import Any

from IPython import display as _display
from IPython.core.displaypub import CapturingDisplayPublisher

__all__ = ["is_captured", "show", "show_replaceable"]

_show: Any = _display.display


def show(value: Any) -> None:
    """Display ``value``."""
    _show(value)


def show_replaceable(value: Any) -> Any:
    """Display ``value``; the handle's ``update`` puts something else in its place."""
    return _show(value, display_id=True)


def is_captured(shell: Any) -> bool:
    """Whether what is displayed now goes to the user's program (``%%capture``), not to the notebook."""
    return isinstance(shell.display_pub, CapturingDisplayPublisher)
