"""Takes options and the body of a ``%%compile`` cell, gives the value of the cell with its functions compiled."""

from __future__ import annotations

import ast
import contextlib
import itertools
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.error import UsageError

from jitmagic.errors import Span
from jitmagic.events import PlainEvent, emit
from jitmagic.magic.collector import Collector
from jitmagic.magic.engine import Engine
from jitmagic.magic.functions import CompileStep, Made
from jitmagic.magic.nesting import remark_on
from jitmagic.magic.options import CellOptions
from jitmagic.magic.rewrite import Definition, find_functions, mark, needs_await, select
from jitmagic.magic.runner import CellProgram, Outcome, parse, run, run_async
from jitmagic.magic.source import RawCells, RelativeNames, locate
from jitmagic.magic.staying import Staying, slow_loop, staying
from jitmagic.magic.timing import CallRecorder, time_calls

__all__ = ["CellCompiler"]

_SERIALS = itertools.count(1_000_000_000)  # negative as those of loops, and apart from them

# IPython 7 has no such test; there a final ; does not silence the value.
_ends_silently: Callable[[str], bool] = getattr(DisplayHook, "semicolon_at_end_of_expression", lambda body: False)


@dataclass(slots=True)
class CellCompiler:
    """What ``%%compile`` does. ``raw`` knows the text of the running cell, ``collector`` shows its card."""

    shell: Any
    engine: Engine
    collector: Collector
    raw: RawCells = field(default_factory=RawCells)
    relative: RelativeNames = field(default_factory=RelativeNames)

    def run(self, options: CellOptions, body: str) -> Any:
        """Run the cell; a coroutine if it awaits at top level (see ``awaiting``)."""
        __tracebackhide__ = True
        source = locate(self.shell, self.raw.text, body)
        source.remember()
        self.relative.add(source.filename)
        tree = parse(self.shell, source)
        made = Made()
        table = self._marked(tree, options, made)
        tell = partial(self._tell_slow, options, source.filename)
        program = CellProgram(tree, source.filename, table, self._loops(options), tell)
        if not table:
            remark_on(body)
        self.collector.defined(source.filename, options)
        if not options.names:
            for found in staying(tree):
                _tell(found, source.filename)
        if self.shell.autoawait and needs_await(tree):
            return self._run_async(program, options, made, body)
        with self._timing(options, made):
            outcome = run(self.shell, program)
        return _value(outcome, body)

    def _loops(self, options: CellOptions) -> Any:
        """What runs loops at top level; nothing where the user has chosen what is compiled, or how."""
        return self.engine.run_loop if options.backend == "numba" and not (options.names or options.check) else None

    def _tell_slow(self, options: CellOptions, filename: str, node: ast.stmt, seconds: float) -> None:
        found = slow_loop(node, self.shell.user_ns, seconds) if self._loops(options) is not None else None
        if found is not None:
            _tell(found, filename)

    async def _run_async(self, program: CellProgram, options: CellOptions, made: Made, body: str) -> Any:
        __tracebackhide__ = True
        with self._timing(options, made):
            outcome = await run_async(self.shell, program)
        return _value(outcome, body)

    def _marked(self, tree: ast.Module, options: CellOptions, made: Made) -> dict[str, CompileStep]:
        """Mark the functions to compile in ``tree``; what each mark stands for."""
        keywords = {
            name: getattr(options, name) for name in ("backend", "target", "dynamic", "fullgraph", "fastmath", "check")
        }
        table = {}
        for definition in _chosen(find_functions(tree), options.names):
            marker = f"jitmagic:{definition.name}:{secrets.token_hex(8)}"
            table[marker] = CompileStep(self.engine.compile, keywords, definition.decorators, made)
            mark(definition, marker)
        return table

    @contextlib.contextmanager
    def _timing(self, options: CellOptions, made: Made) -> Iterator[None]:
        """With ``--time``, keep the arguments of calls made in the block, and time them after the cell."""
        if not options.time:
            yield
            return
        recorder = CallRecorder(made.compiled)
        with recorder.watching():
            yield
        for view in time_calls(recorder):
            self.collector.after_card(view)


def _tell(found: Staying, filename: str) -> None:
    """A line of the card for what stays plain."""
    place = Span(filename, found.node.lineno, found.node.col_offset)
    emit(PlainEvent(found.name, -next(_SERIALS), place, found.why, found.hint))


def _value(outcome: Outcome, body: str) -> Any:
    """What the cell displays: nothing after a final ``;``.

    IPython's own way to do this for a magic would drop the coroutine of a cell that awaits.
    """
    __tracebackhide__ = True
    value = outcome.result()
    return None if _ends_silently(body) else value


def _chosen(found: list[Definition], names: tuple[str, ...]) -> list[Definition]:
    able = [definition for definition in found if not definition.is_generator]
    try:
        return select(able, names)
    except KeyError as missing:
        name = missing.args[0]
    if any(definition.name == name for definition in found):
        raise UsageError(f"%%compile: {name} is a generator; generators stay plain, leave the name out")
    listed = ", ".join(definition.name for definition in able) or "none"
    raise UsageError(f"%%compile: this cell defines no function {name!r} (found: {listed})")
