"""Takes the Python lines of a cell, gives them with ``await`` before a ``%%compile`` whose body awaits.

IPython turns a cell magic into a plain call, so that a magic could only give back a coroutine that nobody
runs. The lines seen here are those after that step.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable
from typing import Any

from jitmagic.magic.rewrite import needs_await

__all__ = ["AwaitTransform"]

_CALL = re.compile(r"get_ipython\(\)\.run_cell_magic\('compile', ")
_MAY_AWAIT = re.compile(r"\b(await|async)\b")


class AwaitTransform:
    """An entry of ``input_transformers_post``; ``to_python`` is the shell's ``transform_cell``."""

    def __init__(self, to_python: Callable[[str], str]) -> None:
        self._to_python = to_python

    def __call__(self, lines: list[str]) -> list[str]:
        """Never raises: an exception here would break every later cell of the session."""
        if not lines or not _CALL.match(lines[0]):
            return lines
        try:
            return ["await " + lines[0], *lines[1:]] if self._awaits(lines) else lines
        except Exception:  # not Python (yet): the runner will say so
            return lines

    def _awaits(self, lines: list[str]) -> bool:
        call: Any = ast.parse("".join(lines)).body[0]
        body = call.value.args[2].value
        if not _MAY_AWAIT.search(body):
            return False
        with warnings.catch_warnings():  # the runner parses it again, and warns once
            warnings.simplefilter("ignore")
            return needs_await(ast.parse(self._to_python(body)))
