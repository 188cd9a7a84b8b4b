"""Python numbers that are known only at run time: symbolic ints (sizes, arguments) and weak floats."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.graph.node import Node
from jitmagic.graph.shapes import DataDependentSize, Dim, SymInt
from jitmagic.ops.python_numbers import NUMBER_OPS, PARTS
from jitmagic.tracer.guards import Source
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["RunTimeNumber", "SymbolicInt", "asked", "found_at_run_time", "is_measured", "wrap_size"]


def wrap_size(value: Dim) -> VariableTracker:
    """A size as the traced program sees it."""
    return SymbolicInt(value) if isinstance(value, SymInt) else Constant(value)


class SymbolicInt(VariableTracker):
    """An int that may differ from call to call; decisions on it become guards (see ``graph.shapes``)."""

    def __init__(self, value: SymInt, source: Source | None = None) -> None:
        self.value = value
        self.source = source

    def python_type(self) -> type:
        return int

    def fix(self) -> int:
        """Take the value of this trace, with a guard."""
        return int(self.value)

    def constant(self) -> Any:
        return self.fix()

    @property
    def is_constant(self) -> bool:
        return False

    def truth(self, tx: Evaluator) -> bool:
        try:
            return bool(self.value)
        except DataDependentSize:
            raise Unsupported("data-branch", self.describe()) from None

    def binary(self, name: str, other: VariableTracker, reflected: bool) -> VariableTracker | None:
        """Integer arithmetic with an int or another symbolic int; None for other operands."""
        if isinstance(other, SymbolicInt):
            right: Any = other.value
        elif isinstance(other, Constant) and type(other.value) in (int, bool):
            right = int(other.value)
        elif isinstance(other, Constant) and type(other.value) in (float, complex):
            return _fixed(name, self.fix(), other.value, reflected)
        else:
            return None
        function = getattr(operator, name)
        try:
            result = function(right, self.value) if reflected else function(self.value, right)
        except (ArithmeticError, TypeError) as error:
            raise Raised(error) from None
        if result is NotImplemented:
            return None
        return wrap_size(result) if isinstance(result, SymInt) else Constant(result)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        return Constant(self.fix()).attribute(tx, name)

    def reconstruct(self, emit: Emitter) -> str:
        return emit.size(self.value)


def _fixed(name: str, left: Any, right: Any, reflected: bool) -> VariableTracker:
    function = getattr(operator, name)
    try:
        return Constant(function(right, left) if reflected else function(left, right))
    except (ArithmeticError, TypeError) as error:
        raise Raised(error) from None


class RunTimeNumber(VariableTracker):
    """A Python float (or bool, complex) made by a node; NumPy treats it as weak."""

    def __init__(self, node: Node, kind: type, source: Source | None = None, words: str = "") -> None:
        self.node = node
        self.kind = kind
        self.source = source
        self.words = words

    def describe(self) -> str:
        return self.words or super().describe()

    def python_type(self) -> type:
        return self.kind

    def truth(self, tx: Evaluator) -> bool:
        raise Unsupported("data-branch", self.describe())

    def binary(self, tx: Evaluator, name: str, other: VariableTracker, reflected: bool) -> VariableTracker | None:
        """Python's own arithmetic on Python numbers, as a node; None for other operands."""
        if not isinstance(other, RunTimeNumber | SymbolicInt) and not (
            isinstance(other, Constant) and type(other.value) in (int, float, complex, bool)
        ):
            return None
        row = NUMBER_OPS.get(name)
        if row is None:
            return None
        pair = (other, self) if reflected else (self, other)
        return number_call(tx, row, pair)

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name == "real" and self.kind is float:
            return self
        if name in ("real", "imag") and self.kind is complex:
            return self.part(tx, name)
        if name == "conjugate" and self.kind is complex:
            return ConjugateMethod(self)
        return super().attribute(tx, name)

    def part(self, tx: Evaluator, name: str) -> VariableTracker:
        """Another number. The rows have no derivative: they are for numbers that nobody differentiates."""
        if tx.output.needs_rules:
            raise Unsupported("attribute", f"{self.describe()}.{name}")
        return number_call(tx, PARTS[name], [self])

    def reconstruct(self, emit: Emitter) -> str:
        return emit.output(self.node)


class ConjugateMethod(VariableTracker):
    """``c.conjugate`` of a complex number, not called yet."""

    def __init__(self, number: RunTimeNumber) -> None:
        self.number = number

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if args or kwargs:
            raise Unsupported("call", "conjugate with arguments")
        return self.number.part(tx, "conjugate")

    def reconstruct(self, emit: Emitter) -> str:
        return f"{emit.value(self.number)}.conjugate"


def is_measured(value: VariableTracker) -> bool:
    """Whether it is a size that only the data tell."""
    return isinstance(value, SymbolicInt) and value.value.is_run_time


def asked(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """What stands for ``value`` where its truth is asked: a decision on a size that only the data tell is theirs."""
    if not is_measured(value):
        return value
    try:
        return Constant(bool(value.value))  # type: ignore[attr-defined]  # a symbolic int
    except DataDependentSize as error:
        return number_call(tx, NUMBER_OPS["ne"], (value, Constant(0)), str(error))


def found_at_run_time(tx: Evaluator, value: VariableTracker, size: Dim) -> VariableTracker:
    """The int ``value`` as a number that nobody knows before ``size``, which only the data tell."""
    nothing = number_call(tx, NUMBER_OPS["mul"], (wrap_size(size), Constant(0)))
    return number_call(tx, NUMBER_OPS["add"], (nothing, value))


def number_call(tx: Evaluator, row: Any, operands: Sequence[VariableTracker], words: str = "") -> VariableTracker:
    """A node that computes on Python numbers, with Python's own operator; ``words`` name the result for people."""
    args = tuple(tx.operand(v) for v in operands)
    kinds: list[type] = [v.python_type() for v in operands]
    result: type = row.result(*kinds)
    node = tx.add_node(row.op, args, {}, row.meta(result))
    return RunTimeNumber(node, result, words=words)


Compute = Callable[..., Any]
