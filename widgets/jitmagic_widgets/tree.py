"""Takes the guards of an entry with their outcomes, gives them as a tree: guards on one value stand together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from jitmagic.report.guardwords import GUARD_KINDS
from jitmagic.report.guardwords import SESSION_KINDS as _OF_SESSION
from jitmagic.report.parts import Details, Inline, Mono, Part, Strong, Table, Term
from jitmagic.report.words import plural
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.source import Source
from jitmagic.tracer.part_names import readable

__all__ = ["Branch", "Outcome", "grow", "matching", "tree_parts"]

_HEADS = ("value", "guard", "expects", "kind", "last outcome")
_INDENT = "\N{NO-BREAK SPACE}" * 2  # survives in HTML
_KINDS = {"local": "argument", "global": "global"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one guard when it was last looked at. ``tone`` is ``""``, ``good`` or ``bad``."""

    text: str
    tone: str = ""

    @property
    def inline(self) -> Inline:
        return Strong(self.text, self.tone) if self.tone else self.text


@dataclass(slots=True)
class Branch:
    """One step of the way to a value: ``guards`` are positions in the list, ``steps`` lead further on."""

    source: Source
    guards: list[int] = field(default_factory=list)
    steps: dict[Source, Branch] = field(default_factory=dict)

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Branch]]:
        """This branch and those below, each with its depth."""
        yield depth, self
        for step in self.steps.values():
            yield from step.walk(depth + 1)

    @property
    def step(self) -> str:
        """The last step alone: ``.sqrt`` of ``np.sqrt``."""
        base = self.source.base
        text = self.source.text
        return text.removeprefix(base.text) if base is not None else text


def grow(guards: Sequence[Guard], chosen: Sequence[int]) -> list[Branch]:
    """The trees over the chosen guards, in the order of their first guard."""
    roots: dict[Source, Branch] = {}
    for position in chosen:
        level = roots
        for source in guards[position].source.path:
            branch = level.setdefault(source, Branch(source))
            level = branch.steps
        branch.guards.append(position)
    return list(roots.values())


def matching(guards: Sequence[Guard], wanted: str) -> list[int]:
    """Positions of the guards that hold every word of ``wanted``."""
    words = wanted.casefold().split()
    texts = (f"{g.text} {g.source.text} {g.kind} {g.then}".casefold() for g in guards)
    return [i for i, text in enumerate(texts) if all(word in text for word in words)]


def tree_parts(guards: Sequence[Guard], outcomes: Sequence[Outcome], wanted: str = "") -> list[Part]:
    """One open section for each root, with a row for each guard."""
    chosen = matching(guards, wanted)
    of_values = [i for i in chosen if guards[i].kind not in _OF_SESSION]
    sections: list[Part] = [_section(root, guards, outcomes) for root in grow(guards, of_values)]
    rest = [i for i in chosen if guards[i].kind in _OF_SESSION]
    return [*sections, *([_session_section(rest, guards, outcomes)] if rest else [])]


def _session_section(chosen: Sequence[int], guards: Sequence[Guard], outcomes: Sequence[Outcome]) -> Details:
    rows = tuple(_cells(guards[i], outcomes[i]) for i in chosen)
    return Details((f"state of the session: {plural(len(chosen), 'guard')}",), [Table(_HEADS[1:], rows)], True)


def _section(root: Branch, guards: Sequence[Guard], outcomes: Sequence[Outcome]) -> Details:
    rows = [row for depth, branch in root.walk() for row in _rows(depth, branch, guards, outcomes)]
    count = sum(len(branch.guards) for _, branch in root.walk())
    kind = _KINDS.get(root.source.category, root.source.category)
    return Details(
        (Mono(readable(root.source.text)), f" ({kind}): {plural(count, 'guard')}"), [Table(_HEADS, tuple(rows))], True
    )


def _rows(
    depth: int, branch: Branch, guards: Sequence[Guard], outcomes: Sequence[Outcome]
) -> Iterator[tuple[Inline, ...]]:
    label = Mono(_INDENT * depth + readable(branch.step))
    if not branch.guards:
        yield (label, "", "", "", "")
    for position in branch.guards:
        yield (label, *_cells(guards[position], outcomes[position]))
        label = Mono("")


def _cells(guard: Guard, outcome: Outcome) -> tuple[Inline, ...]:
    kind = Term(guard.kind, GUARD_KINDS.get(guard.kind, ""))
    return (Mono(readable(guard.text)), Mono(readable(guard.then)), kind, outcome.inline)
