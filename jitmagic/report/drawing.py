"""Takes boxes and arrows, gives the neutral drawing that layout, SVG and the text exports share.

A drawing holds text only: whoever owns a graph says what each box shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from jitmagic.report.words import plural

__all__ = ["FOLD_LIMIT", "ROLES", "Box", "Drawing"]

FOLD_LIMIT = 60  # boxes above which a drawing is folded; larger pictures were not legible in a cell

ROLES = {  # role: its name in a legend
    "input": "input",
    "constant": "constant",
    "op": "operation",
    "reduction": "reduction",
    "extern": "NumPy call",
    "break": "graph break",
    "output": "output",
}

_FOLDABLE = frozenset({"op", "reduction", "constant"})
_CROWD = 8  # inputs or outputs above which a folded drawing shows one box for all


@dataclass(frozen=True, slots=True)
class Box:
    """One node: ``label`` in bold, ``sub`` (dtype, shape) small, ``group`` such as ``k0``.

    ``expression`` is what a line of text says after the equals sign, with every operand.
    """

    id: str
    label: str
    sub: str = ""
    role: str = "op"
    group: str = ""
    tooltip: str = ""
    expression: str = ""

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            known = ", ".join(ROLES)
            raise ValueError(f"box {self.id!r}: role {self.role!r} is not one of {known}")


@dataclass(frozen=True, slots=True)
class Drawing:
    """Boxes and the arrows between them, each arrow a pair of box ids. ``note`` says what was left
    out.

    Raises ValueError if two boxes share an id or an arrow has no box at one end.
    """

    nodes: tuple[Box, ...]
    edges: tuple[tuple[str, str], ...] = ()
    note: str = ""

    def __post_init__(self) -> None:
        counts = Counter(n.id for n in self.nodes)
        double = [i for i, times in counts.items() if times > 1]
        loose = [e for e in self.edges if e[0] not in counts or e[1] not in counts]
        if double:
            raise ValueError(f"two boxes share the id {double[0]!r}")
        if loose:
            raise ValueError(f"the arrow {loose[0]} has no box at one of its ends")

    @classmethod
    def of(cls, nodes: Iterable[Box], edges: Iterable[tuple[str, str]] = (), note: str = "") -> Drawing:
        """A drawing from any iterables."""
        return cls(tuple(nodes), tuple(edges), note)

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that occur, in the order of ROLES."""
        present = {n.role for n in self.nodes}
        return tuple(r for r in ROLES if r in present)

    def describe(self) -> str:
        """What the picture shows, in words, for readers who do not see it."""
        kinds = Counter(n.role for n in self.nodes)
        counted = ", ".join(plural(kinds[r], ROLES[r]) for r in self.roles)
        return f"{plural(len(self.nodes), 'box', 'boxes')} ({counted})" if self.nodes else "no boxes"

    def fitting(self, limit: int = FOLD_LIMIT) -> Drawing:
        """This drawing if it has at most ``limit`` boxes, else its folded form."""
        return self if len(self.nodes) <= limit else self.folded()

    def folded(self) -> Drawing:
        """One box for each group; inputs, outputs, breaks and NumPy calls outside groups stay.

        Large crowds of one kind of these become one box too. The note says how much was folded.
        """
        new_id = {n.id: _fold_key(n, self._crowds()) for n in self.nodes}
        members: dict[str, list[Box]] = {}
        for node in self.nodes:
            members.setdefault(new_id[node.id], []).append(node)
        boxes = tuple(_merged(key, inside) for key, inside in members.items())
        arrows = dict.fromkeys((new_id[a], new_id[b]) for a, b in self.edges)
        note = f"folded: {len(self.nodes)} nodes drawn as {plural(len(boxes), 'box', 'boxes')}"
        return Drawing(boxes, tuple(e for e in arrows if e[0] != e[1]), note)

    def _crowds(self) -> frozenset[str]:
        single = Counter(n.role for n in self.nodes if not n.group)
        return _FOLDABLE | {role for role, times in single.items() if times > _CROWD}


def _fold_key(node: Box, crowds: frozenset[str]) -> str:
    if node.role == "break":
        return node.id
    if node.group:
        return f"group {node.group}"
    if node.role not in crowds:
        return node.id
    return f"all {'op' if node.role in _FOLDABLE else node.role}"


def _merged(key: str, inside: list[Box]) -> Box:
    first = inside[0]
    if key == first.id:
        return first
    work = [n for n in inside if n.role != "constant"]
    role = first.role if all(n.role == first.role for n in inside) else "op"
    counted = plural(len(work), ROLES[role] if role != "reduction" else "operation")
    tooltip = ", ".join(dict.fromkeys(n.expression.partition("(")[0] or n.label for n in work))
    merged = replace(first, id=key, label=counted, sub="", role=role, tooltip=tooltip, expression="")
    return replace(merged, label=first.group, sub=counted, group="") if first.group else merged
