"""Takes a drawing, gives it as text for a terminal, as Mermaid, or as Graphviz dot."""

from __future__ import annotations

from jitmagic.report.drawing import Drawing
from jitmagic.report.svg import FILLS
from jitmagic.report.words import clean

__all__ = ["to_dot", "to_mermaid", "to_text"]


def to_text(drawing: Drawing) -> str:
    """One line for each box, in the order given: ``%3 = add(%1, %2)  f64[1000]  k0``."""
    before: dict[str, list[str]] = {box.id: [] for box in drawing.nodes}
    for start, end in drawing.edges:
        before[end].append(start)
    wide = max((len(box.id) for box in drawing.nodes), default=0)
    lines = []
    for box in drawing.nodes:
        said = "graph break" if box.role == "break" else ""
        call = f"{box.label}({', '.join(before[box.id])})"
        shown = box.label if box.role in ("input", "constant") else call
        tail = "".join(f"  {part}" for part in (box.sub, box.group, said) if part)
        lines.append(_one_line(f"{box.id:<{wide}} = {shown}{tail}"))
    return "\n".join([*lines, *([f"({drawing.note})"] if drawing.note else [])])


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
