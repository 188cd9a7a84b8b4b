"""Runs a flow and keeps what its derivative needs: the pieces that ran, in order, each with what it saved.

The driver is that of the plain flow; its variables hold *boxes*. Two names of one array hold one box, and a piece that
writes an array puts a new one into its box, so that boxes tell what is the same array without looking at memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType, FunctionType
from typing import Any, Protocol

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.flow import Flow, Piece, walk
from jitmagic.graph.flow_call import FlowCall, owner_of
from jitmagic.graph.flow_text import DriverText
from jitmagic.graph.node import Node

__all__ = ["FlowAdjoint", "Tape", "TapedFlow", "TapedPiece", "check_views"]


class Box:
    """A variable of the driver: an array or a number, which is tested and counted with as that."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return int(self.value.__index__())


class TapedPiece(Protocol):
    """A straight piece as a function of values. ``written`` and ``wanted`` are positions of its inputs.

    ``forward(inputs)`` gives the new values of the written inputs, the outputs, and what ``backward`` needs; that is
    None where no derivative flows. ``backward(saved, cotangents)`` takes one cotangent or None for each of these
    values, and gives one for each wanted input.
    """

    written: Sequence[int]
    wanted: Sequence[int]

    def forward(self, inputs: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any] | None]: ...

    def backward(self, saved: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]: ...


@dataclass(frozen=True, slots=True)
class Step:
    """One run of a piece. ``targets`` are the boxes that got a value: of written inputs, then of outputs."""

    piece: TapedPiece
    inputs: tuple[Any, ...]
    targets: tuple[Box, ...]
    saved: Sequence[Any]


@dataclass(frozen=True, slots=True)
class Tape:
    """What a run of a flow did. ``results`` are the boxes of what the node gives: written operands come first."""

    steps: Sequence[Step]
    operands: Sequence[Any]
    forms: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
    results: Sequence[Any]


class TapedFlow:
    """``run(*operands)`` gives the new values of the written operands, the results, and the tape.

    Operands stay as they are. Raises Unsupported as the flow itself does, and for a piece that gets one array under
    two names and writes it.
    """

    def __init__(self, call: FlowCall, pieces: Sequence[TapedPiece], wanted: frozenset[int]) -> None:
        self.plain = call
        self.flow = call.flow
        self.wanted = wanted
        self.__name__ = f"{call.__name__}_taped"
        self._pieces = pieces
        text = DriverText(call.flow, call.__name__)
        code = compile(text.text, f"<jitmagic {self.__name__}>", "exec")
        self._code = next(c for c in code.co_consts if isinstance(c, CodeType))
        self._scope = call.scope | {f"k{i}": value for i, value in enumerate(text.constants)}

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        steps: list[Step] = []
        boxes = [Box(o) if isinstance(n, Node) else o for o, n in zip(operands, self.flow.operands, strict=True)]
        pieces = {f"piece{i}": partial(_run, steps, piece) for i, piece in enumerate(self._pieces)}
        drive = FunctionType(self._code, self._scope | pieces)
        found = drive(*boxes)
        written = [boxes[i] for i in self.flow.written]
        current = [_value(b) for b in boxes]
        given = (*map(_value, written), *self.plain.checked([_value(r) for r in found], current))
        _keep_apart(steps, [*operands, *given])
        forms = [(np.shape(o), o.dtype) if isinstance(o, np.ndarray) else ((), np.dtype(type(o))) for o in operands]
        return (*given, Tape(steps, boxes, forms, (*written, *found)))


def _value(box: Any) -> Any:
    return box.value if type(box) is Box else box


def _run(steps: list[Step], piece: TapedPiece, *inputs: Any) -> tuple[Box, ...]:
    written = [inputs[place] for place in piece.written]
    if any(sum(each is box for each in inputs) > 1 for box in written):
        raise Unsupported("aliased-inputs", "an array that a piece of a loop writes and reads under two names")
    new, outputs, saved = piece.forward([_value(i) for i in inputs])
    for box, value in zip(written, new, strict=True):
        box.value = value
    made = tuple(map(Box, outputs))
    if saved is not None:
        steps.append(Step(piece, inputs, (*written, *made), list(saved)))
    return made


def _keep_apart(steps: Iterable[Step], known: Sequence[Any]) -> None:
    """Copy what was saved of arrays that others know of: they may be written before the derivative is asked for."""
    owners = {id(owner_of(a)) for a in known if isinstance(a, np.ndarray)}
    copies: dict[int, Any] = {}
    for step in steps:
        for i, value in enumerate(step.saved):
            if isinstance(value, np.ndarray) and id(owner_of(value)) in owners:
                step.saved[i] = copies.setdefault(id(value), value.copy(order="K"))  # type: ignore[index]  # a list, made in _run


@dataclass(frozen=True, slots=True)
class FlowAdjoint:
    """``run(tape, *cotangents)``: those of the operands ``wanted``; ``given`` tells which results they belong to."""

    wanted: tuple[int, ...]
    given: tuple[int, ...]
    __name__: str = "flow_adjoint"

    def __call__(self, tape: Tape, *cotangents: Any) -> tuple[Any, ...]:
        arrived: dict[Box, Any] = {}
        for place, cotangent in zip(self.given, cotangents, strict=True):
            _add(arrived, tape.results[place], cotangent)
        with np.errstate(all="ignore"):
            for step in reversed(tape.steps):
                _pull(arrived, step)
            return self._gradients(tape, arrived, cotangents)

    def _gradients(self, tape: Tape, arrived: dict[Box, Any], cotangents: Sequence[Any]) -> tuple[Any, ...]:
        """Arrays of their own."""
        taken = {id(c) for c in cotangents}
        found = []
        for place in self.wanted:
            shape, dtype = tape.forms[place]
            gradient = arrived.get(tape.operands[place])
            if gradient is None:
                gradient = np.zeros(shape, dtype)
            if shape or isinstance(tape.operands[place].value, np.ndarray):
                gradient = np.array(gradient, dtype, order="C", copy=True if id(gradient) in taken else None)
            else:
                gradient = dtype.type(gradient)
            taken.add(id(gradient))
            found.append(gradient)
        return tuple(found)


def _add(arrived: dict[Box, Any], box: Any, cotangent: Any) -> None:
    if type(box) is Box and cotangent is not None:
        known = arrived.get(box)
        arrived[box] = cotangent if known is None else known + cotangent


def _pull(arrived: dict[Box, Any], step: Step) -> None:
    cotangents = [arrived.pop(box, None) for box in step.targets]
    if all(c is None for c in cotangents):
        return
    for place, gradient in zip(step.piece.wanted, step.piece.backward(step.saved, cotangents), strict=True):
        _add(arrived, step.inputs[place], gradient)


def check_views(flow: Flow) -> None:
    """Raises Unsupported for a flow that writes arrays while variables show parts of some: boxes do not tell those."""
    pieces = [s.graph for s in walk(flow.body) if isinstance(s, Piece)]
    if not any(node.written() for graph in pieces for node in graph.nodes):
        return
    for graph in pieces:
        shown = [node.storage for node in graph.outputs]
        if len(set(shown)) < len(shown) or any(node.kind == "input" for node in shown):
            raise Unsupported("no-derivative", "a loop that writes arrays and keeps views of arrays")
