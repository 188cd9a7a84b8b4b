"""Takes the body of a cell magic, gives its source under the file name and line numbers of the whole cell."""

from __future__ import annotations

import linecache
import os
import sys
import zlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

__all__ = ["CellSource", "RawCells", "RelativeNames", "cell_label", "cell_names", "locate"]

_RELATIVE_KEPT = 256


@dataclass(slots=True)
class RawCells:
    """The texts of the cells being run, the innermost last (``%%capture`` runs a cell inside a cell)."""

    running: list[Any] = field(default_factory=list)

    def enter(self, info: Any) -> None:
        """A cell starts (``pre_run_cell``)."""
        self.running.append(info)

    def leave(self, result: Any) -> None:
        """A cell has ended (``post_run_cell``); empty cells end without having started."""
        if self.running and self.running[-1] is result.info:
            self.running.pop()

    @property
    def text(self) -> str:
        """The text of the innermost cell, or nothing when none runs."""
        return str(self.running[-1].raw_cell or "") if self.running else ""


@dataclass(slots=True)
class RelativeNames:
    """The latest cells also under a path relative to the working directory.

    Numba asks ``linecache`` for that, and would say "source missing".
    """

    known: deque[str] = field(default_factory=deque)

    def add(self, filename: str) -> None:
        name = _relative(filename)
        linecache.cache[name] = linecache.cache[filename]
        if name == filename or name in self.known:
            return
        self.known.append(name)
        if len(self.known) > _RELATIVE_KEPT:
            linecache.cache.pop(self.known.popleft(), None)


@dataclass(frozen=True, slots=True)
class CellSource:
    """Python source of the cell; line n of ``text`` is line n of the cell as the user sees it."""

    filename: str
    text: str

    def remember(self) -> None:
        """Let tracebacks and ``inspect`` find the lines."""
        lines = [line + "\n" for line in self.text.removesuffix("\n").split("\n")]
        linecache.cache[self.filename] = (len(self.text), None, lines, self.filename)


def cell_label(shell: Any, filename: str) -> str:
    """``Cell In[4]`` for the file name of a cell; other names as they are."""
    return " ".join(shell.compile.format_code_name(filename) or (filename,))


def cell_names(filenames: Iterable[str]) -> dict[str, str]:
    """``Cell In[4]`` for those of the file names that are cells of the running notebook; empty outside of one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    if shell is None:
        return {}
    named = {filename: cell_label(shell, filename) for filename in set(filenames)}
    return {filename: label for filename, label in named.items() if label != filename}


def _relative(filename: str) -> str:
    try:
        return os.path.relpath(filename)
    except ValueError:  # another drive on Windows
        return filename


def locate(shell: Any, raw: str, body: str) -> CellSource:
    """Source for ``body``, which is the end of the cell ``raw`` unless somebody called the magic by hand."""
    text = shell.transform_cell(body)
    filename = _running_file(shell.user_ns)
    head = _lines_above(raw, body)
    if filename is None or head is None:
        return CellSource(f"<jitmagic-{zlib.crc32(body.encode()):08x}>", _blank_start(body) + text)
    return CellSource(filename, "\n" * len(head) + _blank_start(body) + text)


def _running_file(namespace: dict[str, Any]) -> str | None:
    """File name of the cell that is running: the innermost frame in the user's namespace with known source."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        if frame.f_globals is namespace and filename in linecache.cache:
            return filename
        frame = frame.f_back
    return None


def _lines_above(raw: str, body: str) -> list[str] | None:
    """The lines of the cell above its body; None if the cell does not end with this body.

    Lines are compared without their margins, since IPython takes off the indentation of a pasted cell.
    """
    whole, part = raw.rstrip().split("\n"), body.rstrip().split("\n")
    above = len(whole) - len(part)
    if above < 0 or [s.strip() for s in whole[above:]] != [s.strip() for s in part]:
        return None
    return whole[:above]


def _blank_start(body: str) -> str:
    """The empty lines at the start of the body, which ``transform_cell`` drops."""
    lines = body.split("\n")
    count = next((i for i, line in enumerate(lines) if line.strip()), 0)
    return "\n" * count
