"""Takes a function and the arguments of one call, gives its captured graph and what makes calls of it again."""

from __future__ import annotations

import builtins
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.aot.guarded import Checks
from jitmagic.autograd.recorded import Recorded, raw
from jitmagic.autograd.trees import leaves_of
from jitmagic.errors import FullGraphError, Unsupported, UserError
from jitmagic.graph import Graph
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.nn.module import Module
from jitmagic.tracer.breaks import describe
from jitmagic.tracer.capture import Capture, FrameState, Options
from jitmagic.tracer.guards.kinds import NAMES
from jitmagic.tracer.program import make_program
from jitmagic.tracer.trace import capture

__all__ = ["RaisingCall", "Traced", "in_words", "trace"]

Run = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class Traced:
    """``captured`` with the examples of its inputs; ``values`` are these before Tensors were looked into."""

    name: str
    caller: FunctionType
    record: Capture
    examples: list[Any]
    values: list[Any]

    @property
    def captured(self) -> Graph:
        return self.record.graph

    @property
    def needs(self) -> list[bool]:
        """Which inputs are Tensors that require a gradient."""
        return [isinstance(v, Recorded) and v._history() is not None for v in self.values]

    @property
    def names(self) -> dict[str, Any]:
        """What the program and the guards read besides the arguments."""
        return {**NAMES, "G": self.caller.__globals__, "B": vars(builtins), "C": self.caller.__closure__ or ()}

    @property
    def names_and_constants(self) -> dict[str, Any]:
        """The same with the objects that the trace holds itself."""
        return self.names | {f"K{i}": value for i, value in enumerate(self.record.constants)}

    def program(self, run: Run) -> Callable[[tuple[Any, ...], dict[str, Any]], Any]:
        """``program(args, kwargs)`` loads the inputs, calls ``run(inputs)``, builds the result."""
        return make_program(
            self.record,
            ("args", "kwargs"),
            self.names,
            run,
            title=self.name,
            takes_cells=False,
            block=lambda body: body,
        )

    def checks(self) -> Checks:
        """The guards; call it when the graph is compiled, which may ask for more."""
        return Checks(self.record, self.names)


def trace(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    dynamic: bool,
    unknown_ints: bool = False,
    state: FrameState | None = None,
) -> Traced:
    """Capture ``function(*args, **kwargs)`` whole; Tensors count as arrays.

    With ``unknown_ints`` the ints among the arguments are sizes that no decision depends on. ``state`` is what earlier
    traces of the function have seen.

    Raises UserError if there is a graph break: it names what is in the way.
    """

    call = _calling_module(function) if isinstance(function, Module) else _calling(function)
    _refuse_subclasses((args, kwargs))
    name = getattr(function, "__qualname__", type(function).__qualname__)
    options = Options(dynamic=bool(dynamic), fullgraph=True, tensors=True, unknown_ints=unknown_ints)
    try:
        found = capture(call, {"args": args, "kwargs": kwargs}, options, state or FrameState())
    except FullGraphError as error:
        raise UserError(f"{name} cannot be captured as one graph: {error.cause}") from None
    if found.plain_code == "raises":
        raise RaisingCall(f"{name} cannot be captured as one graph: {found.plain_reason}")
    if found.plain_reason:
        hint = f"; {found.plain_hint}" if found.plain_hint else ""
        raise UserError(f"{name} cannot be captured as one graph: {found.plain_reason}{hint}")
    examples = list(found.examples)
    made = Traced(name, call, found, examples, examples)
    values: list[Any] = []

    def note(inputs: list[Any]) -> list[Any]:
        values.extend(inputs)
        raise _Stop

    if found.graph.placeholders:
        with contextlib.suppress(_Stop):
            made.program(note)(args, kwargs)
    return Traced(name, call, found, examples, values or examples)


def _calling(function: Any) -> FunctionType:
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    assert isinstance(call, FunctionType)
    return call


def _calling_module(module: Any) -> FunctionType:
    """The same; what is said about its parameters names them after the variable."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return module(*args, **kwargs)

    assert isinstance(call, FunctionType)
    return call


def _refuse_subclasses(tree: Any) -> None:
    """Row A37: views of what a subclass computes follow rules of its own."""
    kinds = [type(raw(leaf)) for leaf in leaves_of(tree)]
    if any(issubclass(kind, np.ndarray) and kind is not np.ndarray for kind in kinds):
        found = ", ".join(kind.__name__ for kind in kinds)
        raise UserError(f"subclasses of ndarray have rules of their own; the arguments are {found}: pass plain arrays")


@contextlib.contextmanager
def in_words(name: str) -> Iterator[None]:
    """What the pipeline cannot express, as an error that says where, why, and what to try."""
    try:
        yield
    except (Unsupported, DataDependentSize) as cause:
        error = cause if isinstance(cause, Unsupported) else Unsupported("data-size", str(cause))
        reason = describe(error)
        place = f"{error.span.shown}: " if error.span is not None else ""
        raise UserError(f"{name} cannot be captured as one graph: {place}{reason.text}. Try: {reason.hint}") from None


class RaisingCall(UserError):
    """There is no graph of a call that raises; a plain run shows its error."""


class _Stop(Exception):
    """The inputs are known: the rest of the program is not to run."""
