"""Takes what became of each operation of a piece, gives the marks of the source lines that a card shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from types import CodeType

from jitmagic.errors import Span

__all__ = ["lines_of", "own_places"]

_COVERING = frozenset({"loop", "flow", "python"})  # marks of whole statements
_SHOWN = 3  # marks of one line


def own_places(
    places: Iterable[tuple[Span, str]], function: CodeType, reached_from: Mapping[Span, Collection[int]]
) -> Iterator[tuple[Span, str]]:
    """The places inside ``function``, and for each place in a callee the lines that reached it."""
    inside = range(function.co_firstlineno, _last_line(function) + 1)
    for place, mark in places:
        if place.filename == function.co_filename and place.line in inside:
            yield place, mark
        for line in reached_from.get(place, ()):
            yield Span(function.co_filename, line), mark


def _last_line(code: CodeType) -> int:
    """The last line of a function's body, functions in it included."""
    ends = (end or 0 for _, end, _, _ in code.co_positions())
    return max(*ends, *(_last_line(inner) for inner in code.co_consts if isinstance(inner, CodeType)), 0)


def lines_of(places: Iterable[tuple[Span, str]]) -> tuple[tuple[int, str], ...]:
    """Line -> its mark, or its marks: ``k0, extern``. A statement that became one thing has that mark on all lines."""
    found: dict[int, set[str]] = {}
    for place, mark in places:
        last = place.end_line if mark in _COVERING else place.line
        for line in range(place.line, max(last, place.line) + 1):
            found.setdefault(line, set()).add(mark)
    return tuple((line, _joined(found[line])) for line in sorted(found))


def _joined(marks: Collection[str]) -> str:
    listed = sorted(marks, key=_rank)
    return ", ".join(listed if len(listed) <= _SHOWN else [*listed[: _SHOWN - 1], "..."])


def _rank(mark: str) -> tuple[bool, int, str]:
    """Kernels by number, then words."""
    number = mark[1:]
    return (False, int(number), "") if mark[:1] == "k" and number.isdigit() else (True, 0, mark)
