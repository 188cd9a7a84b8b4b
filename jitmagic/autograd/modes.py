"""Takes nothing, tells and changes whether operations on Tensors are recorded; each thread has its own mode."""

from __future__ import annotations

from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from threading import Lock
from typing import Any

import numpy as np

__all__ = ["BLOCKS", "enable_grad", "is_grad_enabled", "no_grad"]

# How many blocks are open in all threads together: where it is 0, recording is on. Compiled checks read the word.
BLOCKS = np.zeros(1, np.int64)
_counting = Lock()
_enabled: ContextVar[bool] = ContextVar("jitmagic_grad_mode", default=True)


def is_grad_enabled() -> bool:
    """Whether operations on Tensors that require a gradient are recorded."""
    return _enabled.get()


class _Mode(ContextDecorator):
    """A context manager and decorator; one object may be entered again inside itself."""

    wanted = True

    def __init__(self) -> None:
        self._tokens: list[Token[bool]] = []

    def _recreate_cm(self) -> _Mode:
        return type(self)()

    def __enter__(self) -> None:
        with _counting:
            BLOCKS[0] += 1
        self._tokens.append(_enabled.set(self.wanted))

    def __exit__(self, *error: Any) -> None:
        _enabled.reset(self._tokens.pop())
        with _counting:
            BLOCKS[0] -= 1


class no_grad(_Mode):
    """Nothing is recorded inside: ``with jm.no_grad(): ...``, or ``@jm.no_grad()`` on a function."""

    wanted = False


class enable_grad(_Mode):
    """Recording, inside ``no_grad`` too: ``with jm.enable_grad(): ...``, or ``@jm.enable_grad()``."""
