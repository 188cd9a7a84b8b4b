"""Takes the graph of a capture and the options, gives the callable that runs it."""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jitmagic.aot import CompiledGraph, compile_inference
from jitmagic.aot.eager import aot_eager
from jitmagic.aot.joint.views import gradient_record
from jitmagic.backends import base
from jitmagic.backends.base import Bail
from jitmagic.errors import Span, Unsupported
from jitmagic.events import GradientRecord
from jitmagic.graph.flow_call import FlowCall
from jitmagic.graph.graph import Graph
from jitmagic.graph.interpreter import interpret
from jitmagic.graph.node import Node
from jitmagic.graph.region_call import RegionCall
from jitmagic.ops.derivatives import GRADIENT
from jitmagic.ops.functional import PureCall
from jitmagic.ops.pullback import PULLBACK
from jitmagic.ops.quiet import outspoken
from jitmagic.runtime.marks import lines_of
from jitmagic.runtime.undoing import undoing
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
    code_bytes: int = 0  # of its machine code
    place: int = 0  # equal for kernels that are one


@dataclass(frozen=True, slots=True)
class Lowered:
    """``run`` takes one list of arguments and gives the list of outputs; the rest is for the report.

    ``run`` raises ``Bail`` if the call is to run plainly; nothing was changed then. ``places`` tells what became of
    each operation: a kernel, ``loop``, ``flow``, ``extern`` or ``python``. ``direct`` is the backend's own function,
    where a call needs nothing around it: ``direct(*arguments)`` is what ``run`` gives.
    """

    run: Callable[[list[Any]], list[Any]]
    kernels: Sequence[Kernel] = ()
    extern_count: int = 0
    places: Sequence[tuple[Span, str]] = ()
    host: str = ""
    direct: Callable[..., Any] | None = None
    gradient: GradientRecord | None = None
    loops: Sequence[Kernel] = ()
    beside: list[Kernel] = field(default_factory=list)  # of loops, of pieces and variants: grows while calls are made

    @property
    def kernel_count(self) -> int:
        return len(self.kernels)

    @property
    def lines(self) -> tuple[tuple[int, str], ...]:
        """What became of each line, whatever file it is in."""
        return lines_of(self.places)

    def count(self, mark: str) -> int:
        """How many operations became a ``mark``."""
        return sum(found == mark for _, found in self.places)


def lower(graph: Graph, examples: Sequence[Any], options: Options) -> Lowered:
    """Compile ``graph`` with the backend that the options name.

    Raises UserError for an unknown backend, Unsupported where arguments share memory in a way without a form.
    """
    entry = _backend(_name(options))
    if not entry.pure and any(n.op in (GRADIENT, PULLBACK) for n in graph.calls()):
        entry = _OWN["aot_eager"]  # derivatives are taken of pure graphs
    undoable = _writes_only_its_own(graph)
    leaving = FlowCall if undoable else (FlowCall, RegionCall)
    if not entry.pure and any(isinstance(call, leaving) for call in _callables(graph)):
        entry = _OWN["aot_eager"]  # a flow or a loop that leaves must not have changed anything
    if not entry.pure:
        plain = entry.compile(graph, examples)
        return Lowered(undoing(_or_bail(_telling(plain)), graph) if undoable else plain)
    if entry.name == "numba":
        importlib.import_module("jitmagic.runtime.native.code").compile_apart()
        _compile_regions(graph)
    loops = _loop_kernels(graph)
    beside = list(loops)
    _lower_flows(graph, options, beside)
    variants = _Variants(graph, _compiler(entry, options), examples, beside)
    compiled = variants.known[0].compiled
    direct = _direct(compiled)
    run = undoing(direct or _or_bail(variants), graph)
    described = _described(run, compiled.program, run is direct)
    return replace(described, gradient=gradient_record(compiled.pure_graph), loops=loops, beside=beside)


def _compiler(entry: base.Entry, options: Options) -> Callable[[Graph, Sequence[Any]], CompiledGraph]:
    """Our own backend approximates if asked to; others do not know the word."""
    backend: Any = entry.compile
    if options.fastmath and entry.name == "numba":
        backend = functools.partial(backend, fastmath=True)
    return functools.partial(compile_inference, backend=backend, keep_input_mutations=entry.keeps_writes)


def _interpreted(graph: Graph, examples: Sequence[Any] | None = None) -> Callable[[Sequence[Any]], list[Any]]:
    return functools.partial(interpret, graph)


def _pure_interpreted(graph: Graph, examples: Sequence[Any] | None = None) -> Any:
    run = _telling(aot_eager(graph, examples))
    run.boxed = True  # type: ignore[attr-defined]  # how aot knows that it empties the list
    return run


# Backends that need no code generator.
_OWN = {
    "eager": base.Entry("eager", _interpreted, pure=False),
    "aot_eager": base.Entry("aot_eager", _pure_interpreted, pure=True),
}


def backend_names() -> list[str]:
    """What ``backend=`` may be."""
    return list(dict.fromkeys(("numba", *_OWN, *base.list_backends())))


def _name(options: Options) -> str:
    """Our own backend has one name for each target."""
    return "numba_cuda" if options.target == "cuda" and options.backend == "numba" else options.backend


def _backend(name: str) -> base.Entry:
    return _OWN.get(name) or base.get_backend(name)


def _compile_regions(graph: Graph) -> None:
    """Give the loops of the graph their kernels; a loop that has no exact kernel stays plain Python."""
    for node in graph.calls():
        call = node.op.call if node.op is not None else None
        if isinstance(call, RegionCall) and call.compiled is None:
            with contextlib.suppress(Unsupported):
                call.compiled = importlib.import_module("jitmagic.backends.regions").compile_region(call.region)


def _writes_only_its_own(graph: Graph) -> bool:
    """Whether a run that stops halfway has changed no argument."""
    return all(target.storage.kind != "input" for node in graph.nodes for target in node.written())


def _loop_kernels(graph: Graph) -> list[Kernel]:
    """The machine code of the graph's loops, each named by its line."""
    regions = [(node, node.op.call) for node in graph.calls() if node.op and isinstance(node.op.call, RegionCall)]
    kernels = [(node, getattr(call.compiled, "kernel", None)) for node, call in regions]
    return [
        replace(_kernel(kernel), name=f"loop at line {node.span.line}" if node.span else "loop")
        for node, kernel in kernels
        if kernel is not None
    ]


def _callables(graph: Graph) -> list[Any]:
    """What the graph's calls run."""
    return [node.op.call for node in graph.calls() if node.op is not None]


def _lower_flows(graph: Graph, options: Options, beside: list[Kernel]) -> None:
    """Have the pieces of loops and branches over arrays compiled as the graph is, each when it runs first.

    Their kernels are then added to ``beside``.
    """
    for call in _callables(graph):
        if isinstance(call, FlowCall):
            call.lower(functools.partial(_lower_piece, options, beside))


def _lower_piece(
    options: Options, beside: list[Kernel], graph: Graph, examples: Sequence[Any]
) -> Callable[..., Sequence[Any]]:
    """A piece runs inside a call that already listens to NumPy: the backend's function as it is, where that is all."""
    lowered = lower(graph, examples, options)
    beside += [*lowered.kernels, *lowered.beside]
    if lowered.direct is not None:
        bare: Callable[..., Sequence[Any]] = inspect.unwrap(lowered.direct)
        return bare
    run = lowered.run
    return lambda *arguments: run(list(arguments))


def _or_bail(run: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
    """``run`` that changes nothing if it raises: the plain run then raises the same, at the user's line."""

    def run_or_bail(arguments: list[Any]) -> list[Any]:
        try:
            return run(arguments)
        except Exception as error:
            raise Bail from error

    return run_or_bail


def _direct(compiled: CompiledGraph) -> Callable[[list[Any]], list[Any]] | None:
    """The backend's own function, where nothing surrounds it: each call in between costs as much as a small array."""
    host = _host(compiled)
    if host is None or compiled.plan.guard or not compiled.plan.is_plain:
        return None

    def run_direct(arguments: list[Any]) -> list[Any]:
        try:
            return host(*arguments)
        except Exception as error:
            raise Bail from error

    return run_direct


def _host(compiled: CompiledGraph) -> Callable[..., list[Any]] | None:
    """The backend's own function, which takes the arguments one by one, where there is one."""
    host: Callable[..., list[Any]] | None = getattr(getattr(compiled.program, "plain", None), "run", None)
    return host


def _telling(run: Callable[[list[Any]], list[Any]]) -> Callable[[list[Any]], list[Any]]:
    """``run`` that raises where NumPy would warn, so that the plain run warns at the user's line."""

    heard = outspoken(run)

    def run_telling(arguments: list[Any]) -> list[Any]:
        with np.errstate(**{k: v if v == "ignore" else "raise" for k, v in np.geterr().items()}):  # type: ignore[arg-type]  # its own values
            return heard(arguments)  # type: ignore[no-any-return]  # as run

    return run_telling


@dataclass(frozen=True, slots=True)
class _Variant:
    """A compiled form, with ``are_apart``, which is sure in most calls that the arguments lie as it wants them to."""

    compiled: CompiledGraph
    are_apart: Callable[[list[Any]], int] | None
    run: Callable[[list[Any]], list[Any]]

    @classmethod
    def of(cls, compiled: CompiledGraph) -> _Variant:
        guard, host = compiled.plan.guard, _host(compiled)
        native = importlib.import_module("jitmagic.runtime.native.apart") if guard and host else None
        are_apart = None if native is None else native.apart_check(guard, compiled.captured)
        if host is None or not compiled.plan.is_plain:
            return cls(compiled, are_apart, compiled.run)
        return cls(compiled, are_apart, lambda arguments: host(*arguments))

    def fits(self, arguments: list[Any]) -> bool:
        """Whether the memory of the arguments is as the form wants it."""
        guard = self.compiled.plan.guard
        return not guard or (self.are_apart is not None and self.are_apart(arguments) == 1) or guard.holds(arguments)


class _Variants:
    """One captured graph, compiled once for each way in which its arguments share memory.

    The kernels of all but the first way are added to ``beside``.
    """

    def __init__(
        self,
        graph: Graph,
        compile: Callable[[Graph, Sequence[Any]], CompiledGraph],
        examples: Sequence[Any],
        beside: list[Kernel],
    ) -> None:
        self._beside = beside
        self._graph = graph
        self._compile = compile
        self._lock = threading.Lock()
        self.known: list[_Variant] = [_Variant.of(compile(graph, examples))]

    def __call__(self, arguments: list[Any]) -> list[Any]:
        variant = self.known[0]
        if not variant.fits(arguments):
            variant = self._other(arguments)
        return variant.run(arguments)

    def _other(self, arguments: list[Any]) -> _Variant:
        """The variant for arguments that share memory in another way; the latest one is tried first."""
        with self._lock:
            for variant in self.known:
                if variant.fits(arguments):
                    break
            else:
                variant = self._new(arguments)
            self.known = [variant, *(v for v in self.known if v is not variant)]
            return variant

    def _new(self, arguments: list[Any]) -> _Variant:
        if len(self.known) >= _VARIANTS:
            raise Bail
        try:
            compiled = self._compile(self._graph, arguments)
        except Exception as error:  # there is no form for this way: plain Python has one
            raise Bail from error
        self._beside += _kernels(compiled.program)
        return _Variant.of(compiled)


def _machine_code(kernel: Any) -> tuple[int, int]:
    """Size in bytes and address of the code of a kernel; zeros where a backend tells nothing."""
    address = getattr(getattr(kernel, "native", kernel), "address", 0)
    return getattr(address, "size_bytes", 0), int(address)


def _kernel(kernel: Any) -> Kernel:
    elapsed_ns, cached = getattr(kernel, "elapsed_ns", 0), getattr(kernel, "cached", False)
    return Kernel(kernel.name, kernel.source, elapsed_ns, cached, *_machine_code(kernel))


def _kernels(program: Any) -> list[Kernel]:
    program = getattr(program, "plain", program)  # what aot.as_boxed put around it
    return [_kernel(kernel) for kernel in getattr(program, "kernels", ())]


def _said(node: Node, mark: str) -> str:
    """What a card calls an operation: a loop or flow that the backend calls is one, also with copies around it."""
    call: Any = node.op and node.op.call
    call = call.row.call if isinstance(call, PureCall) else call
    return getattr(call, "mark", mark) if mark == "extern" else mark


def _described(run: Callable[[list[Any]], list[Any]], program: Any, is_direct: bool) -> Lowered:
    """What others want to know of a backend's program; backends that tell nothing are fine."""
    program = getattr(program, "plain", program)  # what aot.as_boxed put around it
    marks: dict[Node, str] = getattr(program, "marks", {})
    kernels = _kernels(program)
    said = {node: _said(node, mark) for node, mark in marks.items()}
    apart = sum(mark == "extern" != said[node] for node, mark in marks.items())
    return Lowered(
        run,
        kernels,
        getattr(program, "extern_count", 0) - apart,
        tuple((node.span, mark) for node, mark in said.items() if node.span and mark != "view"),
        getattr(program, "source", ""),
        getattr(program, "run", None) if is_direct else None,
    )
