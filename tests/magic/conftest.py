"""A fresh shell for each test, and the same cell run with and without the magic."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

from jitmagic import config
from jitmagic.magic.loader import load, unload
from tests.magic.fakes import ALIVE, Drawings, engine


@dataclass
class Ran:
    """What one cell did."""

    out: str
    err: str
    shown: list[str]
    value: Any
    error: BaseException | None


class Notebook:
    """A shell with the extension loaded."""

    def __init__(self, extension: bool = True, **settings: Any) -> None:
        self.main = sys.modules["__main__"]
        InteractiveShell.clear_instance()
        setup = Config()
        setup.HistoryManager.enabled = False
        setup.InteractiveShell.colors = "nocolor"
        setup.JitMagic.update(settings)
        self.shell = InteractiveShell.instance(config=setup)
        self.cards = Drawings()
        self.before = config.current()
        if extension:
            load(self.shell, engine(self.cards))

    def run(self, cell: str) -> Ran:
        """Run one cell as the front end does; outputs in the order in which they appeared."""
        with capture_output() as captured:
            result = self.shell.run_cell(cell, store_history=True)
        shown = [str(output.data.get("text/plain")) for output in captured.outputs]
        error = result.error_before_exec or result.error_in_exec
        return Ran(captured.stdout, captured.stderr, shown, result.result, error)

    @property
    def ns(self) -> dict[str, Any]:
        namespace: dict[str, Any] = self.shell.user_ns
        return namespace

    def close(self) -> None:
        unload(self.shell)
        config.configure(progress_after=self.before.progress_after, entry_limit=self.before.entry_limit)
        InteractiveShell.clear_instance()
        sys.modules["__main__"] = self.main
        vars(builtins).pop("_", None)  # left by doctest's own display hook; IPython looks at it
        ALIVE.clear()


@pytest.fixture
def open_notebook() -> Iterator[Callable[..., Notebook]]:
    """Makes shells; IPython has one at a time, so each replaces the one before."""
    opened: list[Notebook] = []

    def make(**settings: Any) -> Notebook:
        opened.append(Notebook(**settings))
        return opened[-1]

    yield make
    for notebook in reversed(opened):
        notebook.close()


@pytest.fixture
def notebook(open_notebook: Callable[..., Notebook]) -> Notebook:
    return open_notebook()
