"""Takes trackers, gives what a flow can carry from round to round: arrays and numbers, with their descriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.flow import Require
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta, layout_key
from jitmagic.graph.node import Node
from jitmagic.graph.shapes import Dim, SymInt
from jitmagic.tracer.operands import wrap_node
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.either import Either
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.flow.record import Recorder

__all__ = ["Unavailable", "Unsure", "join_of", "meta_of", "peek", "refuse", "same_meta", "value_of"]


class Unavailable(Lazy):
    """A variable that is of another kind on each way that leads here; using it says so."""

    def __init__(self, name: str) -> None:
        self.name = name

    def realize(self) -> VariableTracker:
        raise refuse(self.describe())

    @property
    def is_realized(self) -> bool:
        return False

    def describe(self) -> str:
        return f"{self.name}, whose type, dtype or shape is not the same every time"


class Unsure(Lazy):
    """A variable that may have no value, after a loop without rounds; using it says that it must have one."""

    def __init__(self, tracker: VariableTracker, node: Node, recorder: Recorder) -> None:
        self.tracker = tracker
        self.node = node
        self.recorder = recorder
        self.block: Any = None

    def realize(self) -> VariableTracker:
        if self.block is not self.recorder.body:
            self.block = self.recorder.body
            self.recorder.add(Require((self.node,)))
        return self.tracker

    @property
    def is_realized(self) -> bool:
        return True


def peek(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """The tracker of a variable, without using it."""
    if isinstance(value, Unavailable):
        return value
    return value.tracker if isinstance(value, Unsure) else tx.realize(value)


def refuse(detail: str) -> Unsupported:
    return Unsupported("region", detail)


def meta_of(tracker: VariableTracker | None) -> Meta | None:
    """The description of an array or a number; None for everything else."""
    if isinstance(tracker, Either):  # which object it is cannot be carried on
        return None
    if isinstance(tracker, ArrayTracker):
        return tracker.meta
    if isinstance(tracker, RunTimeNumber):
        return PyMeta(tracker.kind)
    if isinstance(tracker, SymbolicInt):
        return PyMeta(int)
    if isinstance(tracker, Constant):
        if isinstance(tracker.value, np.generic):
            return ArrayMeta.of(tracker.value)
        if type(tracker.value) in (bool, int, float, complex):
            return PyMeta(type(tracker.value))
    return None


def value_of(tx: Evaluator, tracker: VariableTracker) -> Any:
    """The node, symbolic int or constant behind a tracker that has a description."""
    return tx.operand(tracker)


def join_of(tx: Evaluator, name: str, meta: Meta) -> tuple[Node, VariableTracker]:
    """A new variable of the flow, and what the traced program sees of it."""
    node = Node(name, "input", meta)
    return node, wrap_node(tx, node, meta)


def same_meta(a: Meta | None, b: Meta | None) -> bool:
    """Whether code traced for one is right for the other; decides nothing about symbolic sizes."""
    if not isinstance(a, ArrayMeta) or not isinstance(b, ArrayMeta):
        return a is not None and a == b
    if (a.dtype, a.scalar, a.writeable, a.ndim) != (b.dtype, b.scalar, b.writeable, b.ndim):
        return False
    if not all(map(_same_size, a.shape, b.shape)):
        return False
    return layout_key(a.hint_shape, a.strides) == layout_key(b.hint_shape, b.strides) and a.contiguous == b.contiguous


def _same_size(a: Dim, b: Dim) -> bool:
    if isinstance(a, SymInt) or isinstance(b, SymInt):
        return isinstance(a, SymInt) and isinstance(b, SymInt) and a.key == b.key
    return a == b
