"""Takes the shell of ``%load_ext jitmagic``, gives it the magics.

IPython is imported when an extension is loaded and not before, so that ``import jitmagic`` works without it.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext jitmagic``."""
    _loader().load(shell, default_engine())


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext jitmagic``: takes away every trace; functions already compiled stay compiled."""
    _loader().unload(shell)


def _loader() -> Any:
    return importlib.import_module("jitmagic.magic.loader")
