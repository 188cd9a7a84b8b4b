"""Takes the graph of a capture and the options, gives the callable that runs it."""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitmagic.aot import CompiledGraph, compile_inference
from jitmagic.aot.eager import aot_eager
from jitmagic.backends import base
from jitmagic.backends.base import Bail
from jitmagic.graph.graph import Graph
from jitmagic.graph.interpreter import interpret
from jitmagic.graph.node import Node
from jitmagic.tracer.capture import Options

__all__ = ["Kernel", "Lowered", "backend_names", "lower"]

_VARIANTS = 8  # ways in which arguments may share memory, before others run plainly


@dataclass(frozen=True, slots=True)
class Kernel:
    """A generated kernel, for the report."""

    name: str
    source: str
    elapsed_ns: int = 0
    cached: bool = False


@dataclass(frozen=True, slots=True)
class Lowered:
    """``run`` takes one list of arguments and gives the list of outputs; the rest is for the report.

    ``run`` raises ``Bail`` if the call is to run plainly; nothing was changed then. ``lines`` maps a source line to
    the kernel, ``extern`` or ``python`` that it became.
    """

    run: Callable[[list[Any]], list[Any]]
    kernels: Sequence[Kernel] = ()
    extern_count: int = 0
    lines: Sequence[tuple[int, str]] = ()
    host: str = ""

    @property
    def kernel_count(self) -> int:
        return len(self.kernels)


def lower(graph: Graph, examples: Sequence[Any], options: Options) -> Lowered:
    """Compile ``graph`` with the backend that the options name.

    Raises UserError for an unknown backend, Unsupported where arguments share memory in a way without a form.
    """
    entry = _backend(options.backend)
    if not entry.pure:
        return Lowered(_safely(graph, entry.compile(graph, examples)))
    backend = aot_eager if _has_effects(graph) else entry.compile
    variants = _Variants(graph, backend)
    compiled = variants.compile(examples)
    return _described(variants, compiled.program)


def _interpreted(graph: Graph, examples: Sequence[Any] | None = None) -> Callable[[Sequence[Any]], list[Any]]:
    return functools.partial(interpret, graph)


def _pure_interpreted(graph: Graph, examples: Sequence[Any] | None = None) -> Any:
    return aot_eager(graph, examples)


# Backends that need no code generator.
_OWN = {
    "eager": base.Entry("eager", _interpreted, pure=False),
    "aot_eager": base.Entry("aot_eager", _pure_interpreted, pure=True),
}


def backend_names() -> list[str]:
    """What ``backend=`` may be."""
    return list(dict.fromkeys(("numba", *_OWN, *base.list_backends())))


def _backend(name: str) -> base.Entry:
    """Code generators register themselves when they are loaded; that is at the first compile, since it takes time."""
    if name not in _OWN:
        importlib.import_module("jitmagic.backends")
    own = _OWN.get(name) or (_OWN["aot_eager"] if name not in base.list_backends() else None)
    return own or base.get_backend(name)


def _has_effects(graph: Graph) -> bool:
    """True if a second run would not do the same: such a graph must not bail (random draws)."""
    return any(node.op is not None and node.op.effects for node in graph.nodes)


def _safely(graph: Graph, run: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
    """An error in a graph without writes and effects is raised again by the plain run, at the user's line."""
    if not all(node.is_pure for node in graph.nodes):
        return run

    def run_or_bail(arguments: list[Any]) -> list[Any]:
        try:
            return run(arguments)
        except Exception as error:
            raise Bail from error

    return run_or_bail


@dataclass(slots=True)
class _Variants:
    """One captured graph, compiled once for each way in which its arguments shared memory."""

    graph: Graph
    backend: Any
    known: list[CompiledGraph] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def compile(self, arguments: Sequence[Any]) -> CompiledGraph:
        made = compile_inference(self.graph, arguments, self.backend)
        self.known.insert(0, made)
        return made

    def __call__(self, arguments: list[Any]) -> list[Any]:
        compiled = self.known[0]
        if compiled.plan.guard and not compiled.plan.guard.holds(arguments):
            compiled = self._other(arguments)
        if _has_effects(self.graph):
            return compiled.run(arguments)
        try:
            return compiled.run(arguments)
        except Exception as error:  # nothing was changed: the plain run raises it at the user's line
            raise Bail from error

    def _other(self, arguments: list[Any]) -> CompiledGraph:
        """The variant for arguments that share memory in another way."""
        with self.lock:
            for compiled in self.known:
                if compiled.plan.guard.holds(arguments):
                    return compiled
            if len(self.known) >= _VARIANTS:
                raise Bail
            try:
                return self.compile(arguments)
            except Exception as error:  # there is no form for this way: plain Python has one
                raise Bail from error


def _described(variants: _Variants, program: Any) -> Lowered:
    """What the report wants to know of a backend's program; backends that tell nothing are fine."""
    program = getattr(program, "plain", program)  # what aot.as_boxed put around it
    marks: dict[Node, str] = getattr(program, "marks", {})
    kernels = [
        Kernel(k.name, k.source, getattr(k, "elapsed_ns", 0), getattr(k, "cached", False))
        for k in getattr(program, "kernels", ())
    ]
    lines = {node.span.line: mark for node, mark in marks.items() if node.span and mark != "view"}
    return Lowered(
        variants,
        kernels,
        getattr(program, "extern_count", 0),
        tuple(sorted(lines.items())),
        getattr(program, "source", ""),
    )
