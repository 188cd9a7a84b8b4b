"""Takes the text after ``%jit``, gives the view it asks for: of one function, of some, or the table of all."""

from __future__ import annotations

import ast
import difflib
import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError

from jitmagic.magic.engine import Engine
from jitmagic.magic.shown import show

__all__ = ["VERBS", "FunctionTable", "JitLine"]

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
    "explore": "all of it in one widget",
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
            return FunctionTable(tuple(self.engine.functions()))
        names = rest.split() if verb in VERBS else line.split()
        verb = verb if verb in VERBS else "report"
        if verb == "clear" and not names:
            self.engine.reset()
            return None
        functions = [self.find(name) for name in names] or list(self.engine.functions())
        return _shown([getattr(function.jit, verb)() for function in functions])

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


@dataclass(frozen=True, slots=True)
class FunctionTable:
    """All compiled functions with their counts."""

    functions: tuple[Any, ...]

    def rows(self) -> list[tuple[str, ...]]:
        """A row of texts for each function, below the row of titles."""
        return [tuple(title for title, _ in _COLUMNS)] + [
            tuple(str(value(function)) for _, value in _COLUMNS) for function in self.functions
        ]

    def __str__(self) -> str:
        if not self.functions:
            return "no compiled functions yet: put %%compile on top of a cell that defines some"
        rows = self.rows()
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        padded = (map(_justified, range(len(row)), row, widths) for row in rows)
        return "\n".join("  ".join(row).rstrip() for row in padded)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {
            "text/html": self._html() if self.functions else _paragraph(str(self)),
            "text/plain": str(self),
        }

    def _html(self) -> str:
        title, *rows = self.rows()
        body = [_html_row("th", title), *(_html_row("td", row) for row in rows)]
        return "<table>" + "".join(body) + "</table>"


# Title of each column, and what stands in it.
_COLUMNS: tuple[tuple[str, Callable[[Any], Any]], ...] = (
    ("function", lambda f: f.__qualname__),
    ("module", lambda f: f.__module__),
    ("line", lambda f: f.jit.plain.__code__.co_firstlineno),
    ("entries", lambda f: _count(f.jit.entries)),
    ("compiles", lambda f: _count(f.jit.compiles)),
    ("calls", lambda f: _count(f.jit.calls)),
    ("hits", lambda f: _count(f.jit.hits)),
    ("breaks", lambda f: len(f.jit.breaks())),
)


def _count(value: int | Iterable[Any]) -> int:
    return value if isinstance(value, int) else len(list(value))


def _justified(column: int, text: str, width: int) -> str:
    return text.ljust(width) if column < 2 else text.rjust(width)


def _paragraph(text: str) -> str:
    return f"<p>{html.escape(text)}</p>"


def _html_row(tag: str, texts: Iterable[str]) -> str:
    cells = (f'<{tag} style="text-align:left">{html.escape(text)}</{tag}>' for text in texts)
    return f"<tr>{''.join(cells)}</tr>"
