"""The errors that jitmagic raises.

    JitMagicError
    ├── UserError          a request that cannot be met: a wrong option, a broken promise
    │   ├── FullGraphError a graph break where ``fullgraph=True`` allows none
    │   └── GradientError  a gradient that does not exist, or whose values are gone (also a RuntimeError)
    ├── Unsupported        a graph break: the tracer met something that it cannot capture
    └── InternalError      a fault of ours; the call that met it still ran as plain Python

``Bail`` and ``LoopStopped`` are none of them: no caller sees them. Every message of the others says what happened,
where, why, and what to try.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import dataclass

__all__ = [
    "Bail",
    "FullGraphError",
    "GradientError",
    "InternalError",
    "JitMagicError",
    "LoopStopped",
    "Span",
    "Unsupported",
    "UserError",
]


@dataclass(frozen=True, slots=True)
class Span:
    """A place in the source; lines count from 1, columns from 0 in UTF-8 bytes (as ``ast``)."""

    filename: str
    line: int
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.filename}, line {self.line}"

    @property
    def shown(self) -> str:
        """The same for people: in a notebook ``Cell In[4], line 3``, where the file has only a name made up for it."""
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython else None
        name = shell.compile.format_code_name(self.filename) if shell is not None else None
        return f"{' '.join(name or (self.filename,))}, line {self.line}"


class JitMagicError(Exception):
    """Base of every error raised by jitmagic itself."""


class UserError(JitMagicError):
    """The request cannot be met as it stands; the message says what to change."""


class FullGraphError(UserError):
    """A graph break was met although ``fullgraph=True`` was asked for; ``cause`` says where, why, and what to try."""

    def __init__(self, text: str, cause: str = "") -> None:
        super().__init__(text)
        self.cause = cause or text


class GradientError(UserError, RuntimeError):
    """The gradient asked for does not exist; the message says which operation is the reason."""


class InternalError(JitMagicError):
    """A fault of jitmagic. It never reaches a user's call, which falls back to plain Python."""


class Unsupported(JitMagicError):
    """Capture stops here.

    ``code`` names a row of the catalogue in ``jitmagic.tracer.breaks``; ``detail`` fills its text.
    """

    def __init__(self, code: str, detail: str = "", span: Span | None = None) -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail
        self.span = span
        self.statement: ast.stmt | None = None  # what has to run as plain Python instead
        self.node: ast.expr | None = None  # the expression that could not be evaluated
        self.around: ast.stmt | None = None  # the innermost statement that holds that expression
        self.inner: Unsupported | None = None  # the break inside a callee that made its call one
        self.is_named = False  # whether ``detail`` is in the words of the program
        self.outline = False  # whether the body of ``statement`` is worth compiling on its own


class Bail(Exception):
    """Nothing was changed and nothing is returned: run the function plainly instead.

    Raised when a kernel met a condition that NumPy reports (a floating-point flag that somebody listens to, an index
    out of bounds), so that the plain run shows the warning or the exception exactly where plain Python does.
    """


class LoopStopped(BaseException):
    """Ctrl-C has raised ``error`` in a loop of a cell that ran as a kernel, at the head of the loop on ``line``."""

    def __init__(self, error: BaseException, line: int) -> None:
        super().__init__(error, line)
        self.error = error
        self.line = line
