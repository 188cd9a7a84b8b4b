"""Takes the guards of all entries of a frame, gives Python text that selects the entry which matches.

The guards of the entries are merged into one decision tree: what two entries test alike at the start is tested once.
A value that is read more than once (a shared prefix of sources, the metadata of an array) is read into a local
variable. The text is the body of a ``try``: whatever raises is a guard that does not hold.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitmagic.tracer.guards.guard import NOTHING, Guard
from jitmagic.tracer.guards.holding import Held
from jitmagic.tracer.guards.source import ConstantSource, GlobalSource, InsideSource, LocalSource, Source

__all__ = ["Candidate", "Selection", "reads_own", "select"]

_METADATA = re.compile(r"\{(v\d*)\}\.(shape|dtype|strides|flags|ndim)\b")
_ENTRY_CONSTANT = re.compile(r"K(\d+)")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One entry: its guards, the constants behind its ``K0``, ``K1``, ..., and the statements for a match."""

    guards: Sequence[Held]
    constants: Sequence[Any]
    then: Sequence[str]


@dataclass(slots=True)
class Selection:
    """``lines`` of Python, and the ``names`` that they use besides parameters, ``G``, ``B`` and ``C``."""

    lines: list[str] = field(default_factory=list)
    names: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _Tree:
    """Guards in a row, then either the statements of a match or further trees, tried one after the other."""

    guards: list[tuple[Held, int]] = field(default_factory=list)
    children: list[_Tree] = field(default_factory=list)
    leaf: int | None = None


def select(candidates: Sequence[Candidate], parameters: Mapping[str, str]) -> Selection:
    """Lines that run ``then`` of the first candidate whose guards all hold; ``then`` must leave the block.

    ``parameters`` maps the frame's parameters to the names they have in the generated code.
    """
    writer = _Writer(candidates, parameters)
    for group in _groups(candidates, list(range(len(candidates))), 0):
        writer.write(_grow(candidates, group, 0), {}, "")
    return writer.selection


def _groups(candidates: Sequence[Candidate], chosen: list[int], depth: int) -> list[list[int]]:
    """The chosen candidates by their guard at ``depth``, in the order of their first members."""
    groups: dict[Any, list[int]] = {}
    for index in chosen:
        guards = candidates[index].guards
        key = _key(guards[depth], index) if depth < len(guards) else ("leaf", index)
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _key(held: Held, index: int) -> tuple[Any, ...]:
    """Guards that read an entry's own constants are not shared with other entries."""
    return (*held.key, index) if reads_own(held.guard) else held.key


def reads_own(guard: Guard) -> bool:
    """Whether the guard reads constants of its entry."""
    return any(_is_own(step) for s in (guard.source, *guard.others) for step in s.path)


def _is_own(step: Source) -> bool:
    return isinstance(step, ConstantSource) or (
        isinstance(step, GlobalSource) and _ENTRY_CONSTANT.fullmatch(step.namespace) is not None
    )


def _grow(candidates: Sequence[Candidate], group: list[int], depth: int) -> _Tree:
    """The tree of candidates that agree on all guards before ``depth``, and on the one there."""
    tree = _Tree()
    while True:
        guards = candidates[group[0]].guards
        if depth >= len(guards):
            tree.leaf = group[0]
            return tree
        tree.guards.append((guards[depth], group[0]))
        depth += 1
        parts = _groups(candidates, group, depth)
        if len(parts) > 1:
            tree.children = [_grow(candidates, part, depth) for part in parts]
            return tree


class _Writer:
    """Writes trees as nested ``if`` statements."""

    def __init__(self, candidates: Sequence[Candidate], parameters: Mapping[str, str]) -> None:
        self.selection = Selection()
        self._candidates = candidates
        self._parameters = parameters
        self._reads = _count_reads(h.guard for c in candidates for h in c.guards)
        self._serial = 0
        self._constants: dict[tuple[Any, ...], str] = {}

    def write(self, tree: _Tree, known: dict[Any, str], indent: str) -> None:
        """``known`` maps what has been read on the way to this tree to the variable that holds it."""
        known = dict(known)
        tests: list[str] = []
        for held, index in tree.guards:
            self._test(held.guard, index, known, tests)
        if tests:
            self.selection.lines.append(f"{indent}if {' and '.join(tests)}:")
            indent += " "
        if tree.leaf is not None:
            self.selection.lines += [indent + line for line in self._candidates[tree.leaf].then]
        for child in tree.children:
            self.write(child, known, indent)

    def _test(self, guard: Guard, index: int, known: dict[Any, str], tests: list[str]) -> None:
        values = {
            "v" if position == 0 else f"v{position}": self._value(source, index, known, tests)
            for position, source in enumerate((guard.source, *guard.others))
        }
        text = guard.test
        if guard.kind == "ARRAY_MATCH":
            text = self._share_metadata(text, guard.source, values["v"], known, tests)
        constant = "" if guard.constant is NOTHING else self._constant(guard)
        tests.append(f"({text.format(k=constant, **values)})")

    def _share_metadata(self, text: str, source: Source, value: str, known: dict[Any, str], tests: list[str]) -> str:
        """Read each piece of an array's metadata once; only after the guard on its class has held."""
        if text.startswith("type("):
            return text
        for name, attribute in set(_METADATA.findall(text)):
            place = (source, attribute)
            if name == "v" and self._reads[place] > 1:
                if place not in known:
                    self._assign(place, f"{value}.{attribute}", known, tests)
                text = text.replace(f"{{v}}.{attribute}", known[place])
        return text

    def _value(self, source: Source, index: int, known: dict[Any, str], tests: list[str]) -> str:
        """Python for the value of ``source``; reads that are needed first are added to ``tests``."""
        if source in known:
            return known[source]
        if _is_own(source):
            known[source] = self._own(source, index)
            return known[source]
        if isinstance(source, LocalSource):
            return self._parameters[source.name]
        if isinstance(source, InsideSource):
            return self._value(source.origin, index, known, tests)
        base = "" if source.base is None else self._value(source.base, index, known, tests)
        code = source.code(base)
        if self._reads[source] > 1:
            return self._assign(source, code, known, tests)
        return code

    def _own(self, source: Source, index: int) -> str:
        """A source that starts at a constant of its entry."""
        assert isinstance(source, ConstantSource | GlobalSource)
        number = source.index if isinstance(source, ConstantSource) else int(source.namespace[1:])
        value = self._candidates[index].constants[number]
        name = self._named(("own", id(value)), value)
        return name if isinstance(source, ConstantSource) else f"{name}[{source.name!r}]"

    def _assign(self, place: Any, code: str, known: dict[Any, str], tests: list[str]) -> str:
        self._serial += 1
        name = known[place] = f"t{self._serial}"
        tests.append(f"({name} := {code}) is {name}")
        return name

    def _constant(self, guard: Guard) -> str:
        return self._named(("constant", id(guard.constant)), guard.constant)

    def _named(self, key: tuple[Any, ...], value: Any) -> str:
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = f"k{len(self._constants)}"
            self.selection.names[name] = value
        return name


def _count_reads(guards: Iterator[Guard]) -> Counter[Any]:
    """How often each source, and each piece of array metadata, is read when all guards are tested."""
    reads: Counter[Any] = Counter()
    seen: set[Source] = set()
    for guard in guards:
        for position, source in enumerate((guard.source, *guard.others)):
            reads[source] += guard.test.count("{v}" if position == 0 else f"{{v{position}}}")
            for step in source.path:
                if step not in seen and step.base is not None:
                    reads[step.base] += 1
                seen.add(step)
        if guard.kind == "ARRAY_MATCH" and not guard.test.startswith("type("):
            for name, attribute in _METADATA.findall(guard.test):
                if name == "v":
                    reads[(guard.source, attribute)] += 1
    return reads
