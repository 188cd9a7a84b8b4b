"""Takes the shell of ``%load_ext jitmagic``, gives it the magics.

IPython is imported when the extension is loaded and not before, so that ``import jitmagic`` works
without it; the public face (``jitmagic.api``) stands above this stage and is looked up then too.
"""

from __future__ import annotations

import importlib
from typing import Any

from jitmagic.magic.engine import Engine
from jitmagic.runtime.registry import compiled_functions

__all__ = ["load_ipython_extension", "unload_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext jitmagic``."""
    _loader().load(shell, _engine())


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext jitmagic`` takes away every trace; functions already compiled stay compiled."""
    _loader().unload(shell)


def _loader() -> Any:
    return importlib.import_module("jitmagic.magic.loader")


def _engine() -> Engine:
    api = importlib.import_module("jitmagic.api")
    return Engine(api.compile, compiled_functions, _loader().draw_card, api.list_backends, api.reset, _run_loop)


def _run_loop(statement: Any, namespace: dict[str, Any], filename: str, is_long: bool) -> bool:
    """Run a loop as one kernel, if it is known to take long or looks so."""
    once = importlib.import_module("jitmagic.runtime.once")
    ran: bool = (once.run_once if is_long else once.run_if_long)(statement, namespace, filename)
    return ran
