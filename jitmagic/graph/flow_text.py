"""Takes a flow, gives it as a Python function that calls its pieces: the driver, which people can read too.

def loop(x0, n):
    x = x0
    for i in range(0, n, 1):
        (y, t) = piece0(x)
        if t:
            break
        x = y
    return (x,)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from jitmagic.graph.flow import (
    MISSING,
    Append,
    Begin,
    Branch,
    Count,
    Exit,
    Flow,
    Forever,
    Gather,
    Leave,
    Move,
    Piece,
    Require,
    Rounds,
    Statement,
)
from jitmagic.graph.node import Node
from jitmagic.graph.shapes import SymInt

__all__ = ["DriverText"]


class DriverText:
    """``text`` is the source; ``pieces`` and ``constants`` are what its names ``piece0`` and ``k0`` mean."""

    def __init__(self, flow: Flow, name: str) -> None:
        self.pieces: list[Piece] = []
        self.constants: list[Any] = []
        self._names: dict[Node, str] = {}
        self._used: set[str] = {"missing", "Left", "range", "gathered"}
        self._flags = 0
        lines = [f"def {name}({', '.join(map(self.value, flow.operands))}):"]
        if flow.joins:
            lines.append(f"    {' = '.join(map(self.value, flow.joins))} = missing")
        lines += self.block(flow.body, "    ")
        results = "".join(f"{self.value(r)}, " for r in flow.results)
        self.text = "\n".join([*lines, f"    return ({results})", ""])

    def value(self, value: Any) -> str:
        if isinstance(value, SymInt):
            return repr(value)
        if value is MISSING:
            return "missing"
        if not isinstance(value, Node):
            self.constants.append(value)
            return f"k{len(self.constants) - 1}"
        if value not in self._names:
            self._names[value] = self._fresh(re.sub(r"\W", "_", value.name))
        return self._names[value]

    def _fresh(self, wanted: str) -> str:
        name, serial = wanted, 1
        while name in self._used or re.fullmatch(r"k\d+|piece\d+|first\d*|[sun]\d+", name):
            serial += 1
            name = f"{wanted}_{serial}"
        self._used.add(name)
        return name

    def block(self, body: Sequence[Statement], indent: str) -> list[str]:
        lines = [line for statement in body for line in _LINES[type(statement)](self, statement, indent)]
        return lines or [f"{indent}pass"]

    def flag(self) -> str:
        self._flags += 1
        return f"first{self._flags}"


def _piece(text: DriverText, piece: Piece, indent: str) -> list[str]:
    call = f"piece{len(text.pieces)}({', '.join(map(text.value, piece.inputs))})"
    text.pieces.append(piece)
    outputs = "".join(f"{text.value(o)}, " for o in piece.graph.outputs)
    return [f"{indent}({outputs}) = {call}" if outputs else f"{indent}{call}"]


def _move(text: DriverText, move: Move, indent: str) -> list[str]:
    pairs = [(t, v) for t, v in zip(move.targets, move.values, strict=True) if t is not v]
    if not pairs:
        return []
    targets, values = zip(*((text.value(t), text.value(v)) for t, v in pairs), strict=True)
    return [f"{indent}{', '.join(targets)} = {', '.join(values)}"]


def _branch(text: DriverText, branch: Branch, indent: str) -> list[str]:
    if not branch.body:
        return [f"{indent}if not {text.value(branch.test)}:", *text.block(branch.orelse, indent + "    ")]
    lines = [f"{indent}if {text.value(branch.test)}:", *text.block(branch.body, indent + "    ")]
    if branch.orelse:
        lines += [f"{indent}else:", *text.block(branch.orelse, indent + "    ")]
    return lines


def _looped(text: DriverText, body: list[Statement], head: str, indent: str) -> list[str]:
    inner = indent + "    "
    if len(body) == 1 and isinstance(body[0], Rounds):
        flag, rounds = text.flag(), body[0]
        return [
            f"{indent}{flag} = True",
            f"{indent}{head}:",
            f"{inner}if {flag}:",
            f"{inner}    {flag} = False",
            *text.block(rounds.first, inner + "    "),
            f"{inner}else:",
            *text.block(rounds.rest, inner + "    "),
        ]
    return [f"{indent}{head}:", *text.block(body, inner)]


def _count(text: DriverText, count: Count, indent: str) -> list[str]:
    bounds = ", ".join(map(text.value, count.bounds))
    return _looped(text, count.body, f"for {text.value(count.index)} in range({bounds})", indent)


def _require(text: DriverText, require: Require, indent: str) -> list[str]:
    tests = " or ".join(f"{text.value(j)} is missing" for j in require.joins)
    return [f"{indent}if {tests}:", f"{indent}    raise Left"] if tests else []


def _begin(text: DriverText, begin: Begin, indent: str) -> list[str]:
    return [f"{indent}{text.value(begin.target)} = [{', '.join(map(text.value, begin.values))}]"]


def _append(text: DriverText, append: Append, indent: str) -> list[str]:
    return [f"{indent}{text.value(append.target)}.append({text.value(append.value)})"]


def _gather(text: DriverText, gather: Gather, indent: str) -> list[str]:
    result, source = text.value(gather.result), text.value(gather.source)
    return [f"{indent}{result} = gathered({source}, {text.value(gather.result.meta)})"]


_LINES: dict[type, Callable[[DriverText, Any, str], list[str]]] = {
    Piece: _piece,
    Move: _move,
    Branch: _branch,
    Count: _count,
    Forever: lambda text, forever, indent: _looped(text, forever.body, "while True", indent),
    Exit: lambda text, exit, indent: [f"{indent}{exit.kind}"],
    Require: _require,
    Begin: _begin,
    Append: _append,
    Gather: _gather,
    Leave: lambda text, leave, indent: [f"{indent}raise Left"],
}
