"""Takes the text after ``%jit``, gives the view it asks for: of one function, of some, or the table of all."""

from __future__ import annotations

import ast
import contextlib
import difflib
import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError

from jitmagic.events import CompileEvent, RecompileEvent
from jitmagic.magic.engine import Engine
from jitmagic.magic.shown import show
from jitmagic.magic.source import cell_label
from jitmagic.report import FunctionRow, FunctionsTable, GuideView
from jitmagic.report.words import short_name

__all__ = ["VERBS", "JitLine"]

# What each verb shows; the first line of the help page of %jit is made from this.
VERBS = {
    "report": "the card again, with the latest counts (also without a verb)",
    "why": "why it was compiled again, newest first",
    "guards": "the conditions under which each entry is used",
    "graph": "the captured graph",
    "breaks": "where the capture stopped, why, and what avoids it",
    "source": "the generated kernels beside the lines they come from",
    "check": "compare with plain NumPy:  %jit check f(x, y)",
    "time": "time against plain NumPy:  %jit time f(x, y)",
    "explore": "guards, recompiles, cache and graph in one widget; asks whether a call would hit",
    "clear": "drop the compiled entries",
    "help": "this list, the words on a card, and the kinds of guards",
}
_TAKE_A_CALL = ("check", "time")
_OF_FUNCTIONS = frozenset(VERBS) - {"help"}


@dataclass(frozen=True, slots=True)
class JitLine:
    """The line magic; functions are looked up in the notebook's namespace, then among all compiled ones."""

    shell: Any
    engine: Engine

    def run(self, line: str) -> Any:
        """The view to display; UsageError says what is not understood."""
        verb, _, rest = line.strip().partition(" ")
        if verb in _TAKE_A_CALL:
            return _shown([self._called(verb, call) for call in _calls(verb, rest)])
        if not verb:
            return FunctionsTable([self._row(function) for function in self.engine.functions()])
        if verb == "help":
            return GuideView(VERBS)
        is_verb = verb in _OF_FUNCTIONS
        functions = [self.find(name, is_verb) for name in (rest if is_verb else line).split()]
        if verb == "clear" and not functions:
            self.engine.reset()
            return None
        if is_verb and not functions and not self.engine.functions():
            return FunctionsTable([])
        shown = functions or list(self.engine.functions())
        return _shown([getattr(function.jit, verb if is_verb else "report")() for function in shown])

    def _row(self, function: Any) -> FunctionRow:
        """Its line in the table of all."""
        handle, code = function.jit, function.jit.plain.__code__
        events = handle.report().events
        return FunctionRow(
            function.__qualname__,
            f"{cell_label(self.shell, code.co_filename).removeprefix('Cell ')}, line {code.co_firstlineno}",
            _count(handle.entries),
            _count(handle.calls),
            _count(handle.hits),
            sum(isinstance(event, RecompileEvent) for event in events),
            len(handle.breaks()),
            sum(event.elapsed_ns for event in events if isinstance(event, CompileEvent)),
        )

    def find(self, name: str, after_verb: bool = True) -> Any:
        """The compiled function of this name. ``after_verb``: it cannot be a verb."""
        value = _look_up(name, self.shell.user_ns)
        with contextlib.suppress(ValueError):  # wrapped in a circle
            inner = inspect.unwrap(value, stop=lambda each: hasattr(each, "jit"))
            if hasattr(inner, "jit"):
                return inner
        for called in (str, short_name):  # cards say the short name, also of what the notebook has no name for
            found = [each for each in self.engine.functions() if called(each.__qualname__) == name]
            if found:
                return found[-1]
        raise UsageError(self._not_compiled(name, value is not None, after_verb))

    def _not_compiled(self, name: str, exists: bool, after_verb: bool) -> str:
        known = sorted({function.__qualname__ for function in self.engine.functions()})
        near = difflib.get_close_matches(name, known if after_verb else [*known, *VERBS], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        what = f"no compiled function is called {name}"
        if exists:
            what = f"{name} is not compiled"
        elif not after_verb:
            what = f"{name} is neither a compiled function nor a verb"
        verbs = "" if after_verb else f"; verbs: {', '.join(VERBS)}"
        return f"%jit: {what}{hint} (compiled: {', '.join(known) or 'none'}{verbs})"

    def _called(self, verb: str, call: ast.Call) -> Any:
        function = self.find(ast.unparse(call.func))
        given = ast.Call(ast.Name("given", ast.Load()), call.args, call.keywords)
        tree = ast.fix_missing_locations(ast.Expression(given))
        arguments = {"given": lambda *args, **kwargs: (args, kwargs)}
        try:
            args, kwargs = eval(compile(tree, "<%jit>", "eval"), self.shell.user_ns, arguments)
        except Exception as error:  # a slip in the line, not in a program: its traceback would show only our frames
            said = f"{type(error).__name__}: {error}"
            raise UsageError(f"%jit {verb}: the arguments of {ast.unparse(call)} fail with {said}") from None
        return getattr(function.jit, verb)(*args, **kwargs)


def _calls(verb: str, text: str) -> list[ast.Call]:
    """The calls in ``f(x), g(y)``."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        tree = ast.Constant(None)
    calls = tree.elts if isinstance(tree, ast.Tuple) else [tree]
    found = [call for call in calls if isinstance(call, ast.Call)]
    if len(found) != len(calls):
        raise UsageError(f"%jit {verb} needs a call with the arguments to use, as in  %jit {verb} f(x, y)")
    return found


def _look_up(dotted: str, namespace: dict[str, Any]) -> Any:
    first, *attributes = dotted.split(".")
    value = namespace.get(first)
    for attribute in attributes:
        value = getattr(value, attribute, None)
    return value


def _shown(views: Sequence[Any]) -> Any:
    """One view is the value of the line; several are displayed one below the other."""
    if len(views) == 1:
        return views[0]
    for view in views:
        if view is not None:
            show(view)
    return None


def _count(value: int | Iterable[Any]) -> int:
    return value if isinstance(value, int) else len(list(value))
