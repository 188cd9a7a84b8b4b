"""Hand-made captures: a stand-in for the tracer that multiplies its array arguments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.graph.graph import Graph
from jitmagic.graph.meta import ArrayMeta
from jitmagic.runtime.function import compile_callable
from jitmagic.runtime.lowering import lower
from jitmagic.runtime.serving import Server
from jitmagic.tracer.capture import Capture, FrameState, Options
from jitmagic.tracer.guards import Guard, GuardSet, LocalSource
from jitmagic.tracer.guards.kinds import array_guard, constant_guard

EAGER = Options(backend="eager")


@dataclass(frozen=True)
class Multiply:
    name: str = "multiply"
    call: Callable[..., Any] = np.multiply
    writes: tuple[int, ...] = ()
    effects: bool = False


@dataclass
class Tracer:
    """Captures ``f`` as the product of its array arguments; ``log`` is the number of captures.

    ``change`` may edit each capture before it is handed on.
    """

    change: Callable[[Capture, dict[str, Any]], None] = lambda capture, arguments: None
    log: list[dict[str, Any]] = field(default_factory=list)

    def __call__(
        self, function: FunctionType, arguments: dict[str, Any], options: Options, state: FrameState
    ) -> Capture:
        self.log.append(dict(arguments))
        capture = product_of(arguments)
        self.change(capture, arguments)
        return capture


def product_of(arguments: dict[str, Any]) -> Capture:
    graph, guards, inputs = Graph(), GuardSet(), []
    for name, value in arguments.items():
        source = LocalSource(name)
        if isinstance(value, np.ndarray):
            for guard in array_guard(source, value, value.shape):
                guards.add(guard)
            inputs.append((name, graph.input(name, ArrayMeta.of(value))))
        elif isinstance(value, int | float | str | None):
            guards.add(constant_guard(source, value))
    node = inputs[0][1] if inputs else None
    for _, other in inputs[1:]:
        shape = np.broadcast_shapes(node.meta.shape, other.meta.shape)
        meta = ArrayMeta.dense(np.result_type(node.meta.dtype, other.meta.dtype), shape)
        node = graph.call(Multiply(), (node, other), {}, meta)
    graph.outputs = [node] if node else []
    names = ", ".join(f"arg_{name}" for name, _ in inputs)
    program = f"def program():\n    [result] = graph([{names}])\n    return result\n"
    return Capture(graph, guards, program, [], [arguments[name] for name, _ in inputs])


def compiled(function: Any, tracer: Any = None, options: Options = EAGER) -> Any:
    """``function`` compiled with a hand-made tracer."""
    return compile_callable(function, options, Server(tracer or Tracer(), lower))


def add_guard(guard: Guard) -> Callable[[Capture, dict[str, Any]], None]:
    return lambda capture, arguments: capture.guards.add(guard)
