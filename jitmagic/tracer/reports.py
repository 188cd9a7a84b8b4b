"""What a compiled program calls to give the warnings and log records of the user's program, each as from its line."""

from __future__ import annotations

import logging
import warnings
from typing import Any

__all__ = ["give_log", "give_root_log", "give_warning", "is_loud"]


def is_loud() -> bool:
    """Whether a filter makes an exception of some warning."""
    return any(entry[0] == "error" for entry in warnings.filters)


def give_warning(message: Any, category: type[Warning], line: int, filename: str, namespace: dict[str, Any]) -> None:
    """``warnings.warn`` in a frame with these globals: filters, and the record of what was shown, are those of it."""
    registry = namespace.setdefault("__warningregistry__", {})
    module = namespace.get("__name__") or "<string>"
    warnings.warn_explicit(message, category, filename, line, module, registry)


def give_log(logger: logging.Logger, level: int, place: tuple[str, int, str], message: Any, *args: Any) -> None:
    """A record of ``logger`` as from ``place``: file, line and function."""
    if logger.isEnabledFor(level):
        filename, line, function = place
        logger.handle(logger.makeRecord(logger.name, level, filename, line, message, args, None, function))


def give_root_log(level: int, place: tuple[str, int, str], message: Any, *args: Any) -> None:
    """The same by a function of the module ``logging``."""
    if not logging.root.handlers:
        logging.basicConfig()
    give_log(logging.root, level, place, message, *args)
