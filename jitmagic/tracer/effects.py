"""Side effects on things that existed before the call: recorded in the trace, replayed once, in order, after the graph.

Each effect writes the statements that replay it. Until then the outside world is untouched, so an attempt that is
thrown away leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jitmagic.autograd.writing import writable
from jitmagic.errors import Span

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.guards.source import Source
    from jitmagic.tracer.variables.base import VariableTracker

__all__ = [
    "AttributeEffect",
    "CallEffect",
    "CellEffect",
    "ContentsEffect",
    "Effect",
    "GlobalEffect",
    "GradientEffect",
    "HelperEffect",
    "ItemEffect",
    "MetadataEffect",
    "MethodEffect",
    "WriteEffect",
]


@dataclass(eq=False)
class Effect:
    """Base. ``span`` is where the user wrote it."""

    span: Span | None = field(default=None, kw_only=True)

    def describe(self) -> str:
        raise NotImplementedError

    def places(self) -> Iterable[str]:
        """The texts of the sources whose values it changes, where a number may stand."""
        return ()

    def container(self) -> Source | None:
        """Where the container is whose contents it replaces; None if it does anything else."""
        return None

    def replay(self, emit: Emitter) -> None:
        """Write the statements."""
        raise NotImplementedError


@dataclass(eq=False)
class ContentsEffect(Effect):
    """A list, dict, set or deque of the caller gets its final contents; its identity is kept.

    ``tracker.refill`` says how: "grown" where ``reconstruct`` gives only what is new at its end.
    """

    tracker: Any  # of a list, dict, set or deque

    def describe(self) -> str:
        return f"changes the contents of {self.tracker.describe()}"

    def places(self) -> Iterable[str]:
        return self.tracker.new_places() if self.tracker.source is not None else ()

    def container(self) -> Source | None:
        source: Source | None = self.tracker.source
        return source

    def replay(self, emit: Emitter) -> None:
        target = emit.value(self.tracker)
        contents = self.tracker.reconstruct(emit)
        for line in _REFILL[self.tracker.refill]:
            emit.line(line.format(target=target, contents=contents))


_REFILL: Mapping[str, Sequence[str]] = {
    "list": ("{target}[:] = {contents}",),
    "grown": ("{target}.extend({contents})",),
    "dict": ("contents = {contents}", "{target}.clear()", "{target}.update(contents)"),
    "set": ("contents = {contents}", "{target}.clear()", "{target}.update(contents)"),
    "deque": ("contents = {contents}", "{target}.clear()", "{target}.extend(contents)"),
}


@dataclass(eq=False)
class AttributeEffect(Effect):
    """``target.name = value``, or ``del target.name`` when ``value`` is None."""

    target: VariableTracker
    name: str
    value: VariableTracker | None

    def describe(self) -> str:
        verb = "sets" if self.value is not None else "deletes"
        return f"{verb} {self.target.describe()}.{self.name}"

    def places(self) -> Iterable[str]:
        return (f"{self.target.source.text}.{self.name}",) if self.target.source is not None else ()

    def replay(self, emit: Emitter) -> None:
        target = emit.value(self.target)
        if self.value is None:
            emit.line(f"{_owner_of(self.target)}.__delattr__({target}, {self.name!r})")
        else:
            emit.line(f"{_owner_of(self.target)}.__setattr__({target}, {self.name!r}, {emit.value(self.value)})")


def _owner_of(target: VariableTracker) -> str:
    """The rules of the target's class have been traced: what is left is to store."""
    return "type" if issubclass(target.python_type(), type) else "object"


@dataclass(eq=False)
class CellEffect(Effect):
    """A variable of an enclosing function gets a new value (``nonlocal``)."""

    cell: Any
    name: str

    def describe(self) -> str:
        return f"rebinds {self.name} of the enclosing function"

    def replay(self, emit: Emitter) -> None:
        target = self.cell.cell_code(emit)
        if self.cell.content is None:
            emit.line(f"del {target}.cell_contents")
        else:
            emit.line(f"{target}.cell_contents = {emit.value(self.cell.content)}")


@dataclass(eq=False)
class GlobalEffect(Effect):
    """A global name is bound (``value``) or deleted (None)."""

    namespace: str
    name: str
    value: VariableTracker | None

    def describe(self) -> str:
        return f"{'sets' if self.value is not None else 'deletes'} the global {self.name}"

    def places(self) -> Iterable[str]:
        return (self.name,)

    def replay(self, emit: Emitter) -> None:
        if self.value is None:
            emit.line(f"del {self.namespace}[{self.name!r}]")
        else:
            emit.line(f"{self.namespace}[{self.name!r}] = {emit.value(self.value)}")


@dataclass(eq=False)
class CallEffect(Effect):
    """A call whose result nobody uses and whose order among the effects matters: ``print``."""

    function: str
    args: Sequence[VariableTracker]
    kwargs: Mapping[str, VariableTracker]

    def describe(self) -> str:
        return f"calls {self.function}"

    def replay(self, emit: Emitter) -> None:
        parts = [emit.value(a) for a in self.args]
        parts += [f"{k}={emit.value(v)}" for k, v in self.kwargs.items()]
        emit.line(f"{self.function}({', '.join(parts)})")


@dataclass(eq=False)
class HelperEffect(CallEffect):
    """The same by a function of ours that does what ``function`` does."""

    helper: Callable[..., None] = field(kw_only=True)

    def replay(self, emit: Emitter) -> None:
        emit.line(f"{emit.constant(self.helper)}({', '.join(emit.value(a) for a in self.args)})")


@dataclass(eq=False)
class ItemEffect(Effect):
    """``target[key] = value``."""

    target: VariableTracker
    key: VariableTracker
    value: VariableTracker

    def describe(self) -> str:
        return f"sets {self.target.describe()}[{self.key.describe()}]"

    def replay(self, emit: Emitter) -> None:
        emit.line(f"{emit.value(self.target)}[{emit.value(self.key)}] = {emit.value(self.value)}")


@dataclass(eq=False)
class GradientEffect(Effect):
    """A Tensor of the caller gets the ``grad`` that the trace left it with."""

    tensor: Any

    def describe(self) -> str:
        return f"sets {self.tensor.describe()}.grad"

    def replay(self, emit: Emitter) -> None:
        emit.line(f"{emit.value(self.tensor)}.grad = {emit.value(self.tensor.grad)}")


@dataclass(eq=False)
class MetadataEffect(Effect):
    """``x.shape = ...`` or ``x.dtype = ...`` of an array of the caller; the graph computes with the view it becomes."""

    array: VariableTracker
    name: str
    value: VariableTracker

    def describe(self) -> str:
        return f"sets {self.array.describe()}.{self.name}"

    def replay(self, emit: Emitter) -> None:
        emit.line(f"{emit.value(self.array)}.{self.name} = {emit.value(self.value)}")


@dataclass(eq=False)
class WriteEffect(Effect):
    """The array behind a Tensor of the caller is written by the graph: before that its record is told."""

    tensor: Any

    def describe(self) -> str:
        return f"writes {self.tensor.describe()}"

    def replay(self, emit: Emitter) -> None:
        emit.loads.append(f"{emit.constant(writable)}({emit.value(self.tensor)})")


@dataclass(eq=False)
class MethodEffect(Effect):
    """A method of an object of the caller is called."""

    target: VariableTracker
    name: str
    args: Sequence[VariableTracker]

    def describe(self) -> str:
        return f"calls {self.target.describe()}.{self.name}"

    def replay(self, emit: Emitter) -> None:
        emit.line(f"{emit.value(self.target)}.{self.name}({', '.join(emit.value(a) for a in self.args)})")
