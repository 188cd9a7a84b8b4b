"""Takes what IPython hands to a magic, gives it to the parts that do the work; holds ``%config JitMagic``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from IPython.core import page
from IPython.core.magic import Magics, cell_magic, line_magic, magics_class, no_var_expand
from traitlets import Bool, Enum, Float, Int, default, observe

from jitmagic import config
from jitmagic.magic.cell import CellCompiler
from jitmagic.magic.engine import CardOptions
from jitmagic.magic.nesting import turned_round
from jitmagic.magic.options import (
    GRAPHS,
    REPORTS,
    TARGETS,
    CellOptions,
    compile_arguments,
    read_options,
)
from jitmagic.magic.verbs import VERBS, JitLine

__all__ = ["JitMagic"]

# IPython's types for these say that they take nothing.
_Decorator = Callable[[Callable[..., Any]], Any]
_compile_magic: _Decorator = cell_magic("compile")
_jit_magic: _Decorator = line_magic("jit")


@magics_class
class JitMagic(Magics):  # type: ignore[misc, unused-ignore]  # untyped in some versions of IPython
    """Settings of jitmagic in this session."""

    report = Enum(REPORTS, "auto", help="Card under a cell; none shows no card at all.").tag(config=True)
    graph = Enum(GRAPHS, "fold", help="How a card shows the graph.").tag(config=True)
    progress_after = Float(min=0.0, help="Seconds of compiling after which progress is shown.").tag(config=True)
    entry_limit = Int(min=1, help="Compiled entries that one function may have.").tag(config=True)
    check = Bool(False, help="Compare every result with plain NumPy.").tag(config=True)
    target = Enum(TARGETS, "cpu", help="Where kernels run.").tag(config=True)
    fastmath = Bool(False, help="Allow results that differ in the last bits.").tag(config=True)

    cells: CellCompiler
    lines: JitLine
    undo: ExitStack

    @default("progress_after")
    def _progress_after_now(self) -> float:
        return config.current().progress_after

    @default("entry_limit")
    def _entry_limit_now(self) -> int:
        return config.current().entry_limit

    @observe("progress_after", "entry_limit")
    def _set_everywhere(self, change: Any) -> None:
        config.configure(**{change.name: change.new})

    def card_options(self) -> CardOptions:
        """What holds for a card where its cell says nothing."""
        return CardOptions(self.report, self.graph)

    def _completed(self, options: CellOptions) -> CellOptions:
        """The options with the session's settings where the cell leaves them open."""
        return replace(
            options,
            target=options.target or self.target,
            fastmath=options.fastmath or self.fastmath,
            check=options.check or self.check,
        )

    @no_var_expand
    @compile_arguments
    @_compile_magic
    def compile_cell(self, line: str, cell: str) -> Any:
        """Run the cell with its NumPy functions compiled: the same answers, faster, explained below it.

        All functions and methods that the cell defines are compiled, or only those named. A function that
        never touches an array costs nothing. Results, prints and errors stay those of the plain cell.
        ``%jit`` shows more about a function, ``%config JitMagic`` the settings of the session.
        """
        __tracebackhide__ = True
        options = read_options(self.compile_cell.parser, line)
        if options.help:
            page.page(self.compile_cell.__doc__)
            return None
        turned = turned_round(line, cell)
        if turned is not None:
            assert self.shell is not None
            return self.shell.run_cell_magic(*turned)  # type: ignore[no-untyped-call]  # of IPython
        return self.cells.run(self._completed(options), cell)

    @no_var_expand
    @_jit_magic
    def jit_line(self, line: str) -> Any:
        __tracebackhide__ = True
        if line.strip() in ("-h", "--help"):
            page.page(self.jit_line.__doc__)
            return None
        return self.lines.run(line)

    jit_line.__doc__ = "%jit [VERB] [NAME ...]\n\nWithout anything: a table of all compiled functions.\n\n" + "\n".join(
        f"    %jit {verb:8} {shows}" for verb, shows in VERBS.items()
    )
