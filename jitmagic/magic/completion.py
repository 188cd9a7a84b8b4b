"""Takes the text before the cursor, gives what can follow it on a ``%%compile`` or ``%jit`` line."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jitmagic.magic.rewrite import find_functions

try:
    from IPython.core.completer import SimpleCompletion, context_matcher
except ImportError:  # IPython < 8.6: no completion, all the rest works
    context_matcher = None  # type: ignore[assignment]  # a function elsewhere

__all__ = ["Completions", "matcher"]


def _nothing() -> dict[str, Any]:
    """A new one each time: IPython writes into it."""
    return {"completions": []}


_DEF = re.compile(r"^(?:def|class)\s+(\w+)", re.MULTILINE)


class Completions:
    """What the two magics accept, as texts. ``verbs`` and ``functions`` are asked at each completion."""

    def __init__(
        self,
        parser: argparse.ArgumentParser,
        verbs: Sequence[str],
        backends: Callable[[], Iterable[str]],
        functions: Callable[[], Iterable[str]],
    ) -> None:
        self._options = {flag: a for a in parser._actions for flag in a.option_strings}
        self._verbs = verbs
        self._backends = backends
        self._functions = functions

    def after(self, text: str, cell: str) -> list[str]:
        """Completions of the last word of ``text``, the magic's line up to the cursor."""
        magic, *words = re.split(r"\s+", text.lstrip())
        if not words:
            return []
        if magic == "%%compile":
            found = self._for_cell(words, cell)
        elif magic == "%jit":
            found = self._for_line(words)
        else:
            return []
        return sorted({c for c in found if c.startswith(words[-1])}, key=str.lower)

    def attribute(self, text: str) -> tuple[str, list[str]]:
        """The word after the last dot, and ``jit`` if it begins so: ``dir`` of a compiled function does not tell it."""
        found = re.search(r"([\w.]+)\.(\w*)$", text)
        if found is None or not "jit".startswith(found[2]) or found[1] not in self._functions():
            return "", []
        return found[2], ["jit"]

    def _for_cell(self, words: Sequence[str], cell: str) -> Iterable[str]:
        action = self._options.get(words[-2]) if len(words) > 1 else None
        if action is not None and action.nargs != 0:
            return self._values(action)
        return self._options if words[-1].startswith("-") else _functions_in(cell)

    def _for_line(self, words: Sequence[str]) -> Iterable[str]:
        return [*(self._verbs if len(words) == 1 else ()), *self._functions()]

    def _values(self, action: argparse.Action) -> Iterable[str]:
        if action.dest == "backend":
            return self._backends()
        return action.choices or ()


def _functions_in(cell: str) -> list[str]:
    """Functions, classes and methods that the body defines; of unfinished code those at the margin."""
    body = cell.partition("\n")[2]
    try:
        names = [definition.name for definition in find_functions(ast.parse(body))]
    except SyntaxError:
        return _DEF.findall(body)
    return names + [name.partition(".")[0] for name in names]


def matcher(completions: Completions) -> Callable[[Any], dict[str, Any]] | None:
    """An entry of ``ip.Completer.custom_matchers``; None where IPython knows none. It never raises."""
    if context_matcher is None:
        return None

    @context_matcher(identifier="jitmagic")  # type: ignore[untyped-decorator, unused-ignore]  # IPython's types differ by version
    def match(context: Any) -> dict[str, Any]:
        lines = context.full_text.split("\n")
        text = lines[context.cursor_line][: context.cursor_position]
        try:
            found = completions.after(text, _from_line(lines, context.cursor_line))
        except Exception:  # a completer that raises would take all other completions with it
            return _nothing()
        if not found:
            return _attribute(completions, text)
        return {
            "completions": [SimpleCompletion(c, type="magic option") for c in found],
            "matched_fragment": re.split(r"\s+", text)[-1],
            "suppress": True,
        }

    return match  # type: ignore[no-any-return, unused-ignore]  # the same reason


def _attribute(completions: Completions, text: str) -> dict[str, Any]:
    try:
        word, found = completions.attribute(text)
    except Exception:  # as above
        return _nothing()
    entries = [SimpleCompletion(c, type="instance") for c in found]
    return {"completions": entries, "matched_fragment": word, "suppress": False} if found else _nothing()


def _from_line(lines: Sequence[str], number: int) -> str:
    return "\n".join(lines[number:])
