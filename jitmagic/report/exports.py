"""Takes a drawing, gives it as text for a terminal, as Mermaid, or as Graphviz dot."""

from __future__ import annotations

from jitmagic.report.drawing import Box, Drawing
from jitmagic.report.svg import FILLS
from jitmagic.report.words import clean

__all__ = ["to_dot", "to_mermaid", "to_text"]

_BREAK = "graph break"
_LONG = 52  # characters; what is longer does not push the column beside it to the right


def to_text(drawing: Drawing) -> str:
    """One line for each box, in the order given: ``%3 = add(%1, %2)  f64[1000]  k0``."""
    before: dict[str, list[str]] = {box.id: [] for box in drawing.nodes}
    for start, end in drawing.edges:
        before[end].append(start)
    said = [_one_line(_said(box, before[box.id])) for box in drawing.nodes]
    wide = max((len(line) for line in said if len(line) <= _LONG), default=0)
    lines = []
    for box, line in zip(drawing.nodes, said, strict=True):
        tail = (
            []
            if box.expression and box.role == "break"
            else [box.sub, box.group, _BREAK if box.role == "break" else ""]
        )
        lines.append(_one_line("  ".join([f"{line:<{wide}}", *filter(None, tail)]).rstrip()))
    return "\n".join([*lines, *([f"({drawing.note})"] if drawing.note else [])])


def _said(box: Box, operands: list[str]) -> str:
    """``%3 = add(%1, 2)``; ``return %3``; ``graph break, then on from line 7``."""
    if box.expression and box.role in ("output", "break"):
        return box.expression
    call = box.label if box.role in ("input", "constant") else f"{box.label}({', '.join(operands)})"
    return f"{box.id} = {box.expression or call}"


def to_mermaid(drawing: Drawing) -> str:
    """Mermaid flowchart text, coloured by role."""
    names = {box.id: f"n{i}" for i, box in enumerate(drawing.nodes)}
    lines = ["flowchart TD"]
    for box in drawing.nodes:
        label = "<br/>".join(_mermaid_text(part) for part in (box.label, box.sub) if part)
        lines.append(f'  {names[box.id]}["{label}"]:::{_mermaid_class(box.role)}')
    lines += [f"  {names[a]} --> {names[b]}" for a, b in drawing.edges]
    for role in drawing.roles:
        fill, rim = FILLS[role]
        lines.append(f"  classDef {_mermaid_class(role)} fill:{fill},stroke:{rim},color:#16191d")
    return "\n".join(lines) + "\n"


def to_dot(drawing: Drawing) -> str:
    """Graphviz text, coloured by role."""
    names = {box.id: f"n{i}" for i, box in enumerate(drawing.nodes)}
    lines = [
        "digraph jitmagic {",
        '  node [shape=box style="rounded,filled" fontname="monospace"];',
    ]
    for box in drawing.nodes:
        fill, rim = FILLS[box.role]
        label = r"\n".join(_dot_text(part) for part in (box.label, box.sub) if part)
        lines.append(f'  {names[box.id]} [label="{label}" fillcolor="{fill}" color="{rim}"];')
    lines += [f"  {names[a]} -> {names[b]};" for a, b in drawing.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _one_line(text: str) -> str:
    return clean(text).replace("\n", " ").replace("\t", " ")


def _mermaid_class(role: str) -> str:
    return f"role_{role}"  # a class named "break" or "end" would be a keyword


def _mermaid_text(text: str) -> str:
    return "".join(c if c.isalnum() or c in " _-." else f"#{ord(c)};" for c in _one_line(text))


def _dot_text(text: str) -> str:
    return _one_line(text).replace("\\", "\\\\").replace('"', '\\"')
