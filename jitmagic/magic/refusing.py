"""Takes the Python lines of a ``%%compile`` cell, gives those of the plain cell where Python refuses its text.

IPython shows an error in the text of a cell without any frames, but one that comes out of a magic with its own. So a
cell that does not compile is left to IPython: statements above the one that is refused run as they would there.
"""

from __future__ import annotations
import __future__

import ast
import re
from typing import Any

from jitmagic.ops.quiet import Quiet

__all__ = ["RefusedTransform", "call_of_magic"]

_CALL = re.compile(r"get_ipython\(\)\.run_cell_magic\('compile', ")
_REFUSALS = (SyntaxError, ValueError, OverflowError, TypeError, MemoryError)  # those that IPython expects
_FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


def call_of_magic(lines: list[str]) -> tuple[str, str] | None:
    """What follows ``%%compile`` on its line, and the text below; None if the lines are no such cell."""
    if not lines or not _CALL.match(lines[0]):
        return None
    try:
        call: Any = ast.parse("".join(lines)).body[0]
        line, body = (argument.value for argument in call.value.args[1:])
    except (SyntaxError, ValueError, AttributeError):
        return None
    return str(line), str(body)


class RefusedTransform:
    """An entry of ``input_transformers_post``. It raises what IPython's transformers raise for the plain cell."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

    def __call__(self, lines: list[str]) -> list[str]:
        call = call_of_magic(lines)
        if call is None or call[1].lstrip().startswith("%%"):
            return lines
        line, body = call
        text: str = self._shell.transform_cell(f"# %%compile {line}\n{body}")
        if self._refused(text):
            return ["\n", *text.splitlines(keepends=True)[1:]]
        self._shell.should_run_async(text, transformed_cell=text)  # asked of every cell: Python warns of its text then
        return lines

    def _refused(self, text: str) -> bool:
        mode = self._shell.compile.flags | (ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if self._shell.autoawait else 0)
        try:
            with Quiet():  # Python warns when the cell is run
                for statement in self._shell.compile.ast_parse(text).body:
                    code = compile(ast.Module([statement], []), "<cell>", "exec", mode, dont_inherit=True)
                    mode |= code.co_flags & _FUTURES
        except _REFUSALS:
            return True
        return False
