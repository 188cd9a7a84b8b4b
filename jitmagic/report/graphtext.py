"""Takes the printed form of a graph, gives a drawing of it.

Events carry graphs as text only. A line reads ``%t = add(%x, %y)  float64[8]  k0  line 3``: name,
expression, what the value is, the kernel that makes it, the source line, the module whose call it is part of; the
last line is ``return %t``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from jitmagic.events import CompileEvent
from jitmagic.report.drawing import Box, Drawing
from jitmagic.report.words import shorten

__all__ = ["read_graph", "read_pieces"]

_LINE = re.compile(r"\s*(?P<id>%[\w.]+) = (?P<rest>.*)")
_RETURN = re.compile(r"\s*return\b(?P<rest>.*)")
_OPERAND = re.compile(r"%[A-Za-z0-9_.]+")
_KERNEL = re.compile(r"k\d+")
_SOURCE_LINE = re.compile(r"line \d+")
_MODULE = re.compile(r"in .+ \(\w+\)")
_ITEM = re.compile(r"%[\w.]+(\[\d+\])")
_IN_ITS_PLACE = "\N{BULLET}"  # an operand that an arrow brings

# Only the colour of a box depends on this.
_REDUCTIONS = frozenset(
    {
        *("sum", "prod", "max", "min", "amax", "amin", "mean", "std", "var", "median", "ptp"),
        *("any", "all", "argmax", "argmin", "count_nonzero"),
        *("nansum", "nanmean", "nanmax", "nanmin"),
        *("add.reduce", "multiply.reduce", "maximum.reduce", "minimum.reduce"),
    }
)


def read_graph(text: str) -> Drawing | None:
    """The drawing of a printed graph; None if the text does not hold one."""
    boxes: dict[str, Box] = {}
    edges: list[tuple[str, str]] = []
    for line in text.splitlines():
        found, end = _LINE.match(line), _RETURN.match(line)
        if found:
            box, operands = _box(found["id"], found["rest"])
        elif end:
            said = line.strip()
            box, operands = Box("return", "return", role="output", expression=said), _OPERAND.findall(end["rest"])
        else:
            continue
        edges += [(name, box.id) for name in operands if name in boxes]
        boxes[box.id] = box
    return Drawing.of(boxes.values(), dict.fromkeys(edges)) if boxes else None


def read_pieces(pieces: Sequence[CompileEvent]) -> Drawing:
    """One drawing of a function that breaks: its pieces from top to bottom, with a box for each break between them.

    Names of later pieces start with the number of their piece: ``%1.x``.
    """
    boxes: list[Box] = []
    edges: list[tuple[str, str]] = []
    for number, piece in enumerate(pieces):
        prefix = f"%{number}." if number else "%"
        drawing = read_graph(re.sub(r"%(?=\w)", prefix, piece.graph_text))
        if drawing is None:
            continue
        renamed = {b.id: f"{b.id} {number}" for b in drawing.nodes if number and not b.id.startswith("%")}
        own = [replace(b, id=renamed.get(b.id, b.id)) for b in drawing.nodes]
        inner = [(renamed.get(a, a), renamed.get(b, b)) for a, b in drawing.edges]
        if boxes:
            said = f"graph break, then on from line {piece.resume}"
            between = Box(f"break {number}", "graph break", f"line {piece.resume}", "break", "", said, said)
            edges += [(boxes[-1].id, between.id), *((between.id, b.id) for b in own if b.role == "input")]
            boxes.append(between)
        boxes += own
        edges += inner
    return Drawing.of(boxes, edges)


def _box(name: str, rest: str) -> tuple[Box, list[str]]:
    expression, *fields = re.split(r"\s{2,}", rest.strip())
    marks = [f for f in fields if _KERNEL.fullmatch(f) or f == "extern"]
    places = [f for f in fields if _SOURCE_LINE.fullmatch(f) or _MODULE.fullmatch(f)]
    meta = next((f for f in fields if f not in (*marks, *places)), "")
    role, label = _role(expression, marks)
    group = next((m for m in marks if m != "extern"), "")
    tooltip = ", ".join([shorten(f"{name} = {expression}", 200), *filter(None, [meta, *marks, *places])])
    return Box(name, label, meta, role, group, tooltip, expression), _OPERAND.findall(expression)


def _role(expression: str, marks: list[str]) -> tuple[str, str]:
    for word, role in (("input ", "input"), ("constant ", "constant")):
        if expression.startswith(word):
            return role, expression[len(word) :]
    item = _ITEM.fullmatch(expression)
    if item:
        return "op", f"item {item.group(1)}"
    name, label = expression.partition("(")[0], _label(expression)
    if "extern" in marks:
        return "extern", label
    return ("reduction" if name in _REDUCTIONS else "op"), label


def _label(expression: str) -> str:
    """The operation with what no arrow brings, ``true_divide(\N{BULLET}, 3)``; only its name if that is nothing."""
    name, _, inside = expression.partition("(")
    if not re.search(r"[^\s(),\[\]]", _OPERAND.sub("", inside)):
        return name
    return _OPERAND.sub(_IN_ITS_PLACE, expression)
