"""Takes the text after ``%jit``, gives the view it asks for: of one function, of some, or the table of all."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError

from jitmagic.events import CompileEvent, RecompileEvent
from jitmagic.magic.engine import Engine
from jitmagic.magic.shown import show
from jitmagic.magic.source import cell_label
from jitmagic.report import FunctionRow, FunctionsTable

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
}
_TAKE_A_CALL = ("check", "time")


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
        names = rest.split() if verb in VERBS else line.split()
        verb = verb if verb in VERBS else "report"
        if verb == "clear" and not names:
            self.engine.reset()
            return None
        functions = [self.find(name) for name in names] or list(self.engine.functions())
        return _shown([getattr(function.jit, verb)() for function in functions])

    def _row(self, function: Any) -> FunctionRow:
        """Its line in the table of all."""
        handle, code = function.jit, function.jit.plain.__code__
        events = handle.report().events
        return FunctionRow(
            function.__qualname__,
            f"{cell_label(self.shell, code.co_filename)}, line {code.co_firstlineno}",
            _count(handle.entries),
            _count(handle.calls),
            _count(handle.hits),
            sum(isinstance(event, RecompileEvent) for event in events),
            len(handle.breaks()),
            sum(event.elapsed_ns for event in events if isinstance(event, CompileEvent)),
        )

    def find(self, name: str) -> Any:
        """The compiled function of this name."""
        value = _look_up(name, self.shell.user_ns)
        if hasattr(value, "jit"):
            return value
        for function in self.engine.functions():
            if function.__qualname__ == name:
                return function
        raise UsageError(self._not_compiled(name, value is not None))

    def _not_compiled(self, name: str, exists: bool) -> str:
        known = sorted({function.__qualname__ for function in self.engine.functions()})
        near = difflib.get_close_matches(name, [*known, *VERBS], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        what = "is not compiled" if exists else "is neither a compiled function nor a verb"
        return f"%jit: {name} {what}{hint} (compiled: {', '.join(known) or 'none'}; verbs: {', '.join(VERBS)})"

    def _called(self, verb: str, call: ast.Call) -> Any:
        function = self.find(ast.unparse(call.func))
        given = ast.Call(ast.Name("given", ast.Load()), call.args, call.keywords)
        tree = ast.fix_missing_locations(ast.Expression(given))
        arguments = {"given": lambda *args, **kwargs: (args, kwargs)}
        args, kwargs = eval(compile(tree, "<%jit>", "eval"), self.shell.user_ns, arguments)
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
