"""Takes the Python lines of a cell, gives them with ``await`` before a ``%%compile`` whose body awaits.

IPython turns a cell magic into a plain call, so that a magic could only give back a coroutine that nobody
runs. The lines seen here are those after that step.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable

from jitmagic.magic.refusing import call_of_magic
from jitmagic.magic.rewrite import needs_await

__all__ = ["AwaitTransform"]

_MAY_AWAIT = re.compile(r"\b(await|async)\b")


class AwaitTransform:
    """An entry of ``input_transformers_post``; ``to_python`` is the shell's ``transform_cell``."""

    def __init__(self, to_python: Callable[[str], str]) -> None:
        self._to_python = to_python

    def __call__(self, lines: list[str]) -> list[str]:
        """Never raises: an exception here would break every later cell of the session."""
        call = call_of_magic(lines)
        if call is None:
            return lines
        try:
            return ["await " + lines[0], *lines[1:]] if self._awaits(call[1]) else lines
        except Exception:  # not Python (yet): the runner will say so
            return lines

    def _awaits(self, body: str) -> bool:
        if not _MAY_AWAIT.search(body):
            return False
        with warnings.catch_warnings():  # the runner parses it again, and warns once
            warnings.simplefilter("ignore")
            return needs_await(ast.parse(self._to_python(body)))
