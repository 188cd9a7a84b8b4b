"""Takes a pure graph, gives a ``Program``: a callable with its host text, its kernels and what became of each node."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitmagic.backends.loops.ir import Kernel as LoopKernel
from jitmagic.backends.loops.recipes import approximated
from jitmagic.backends.loops.schedule import Launch, Schedule, schedule
from jitmagic.backends.native.compile import Kernel, compile_kernel
from jitmagic.backends.native.worker import defer
from jitmagic.backends.numba_cpu.emit import emit
from jitmagic.backends.numba_cpu.host import combine_texts, write_host
from jitmagic.graph import Graph, Node

__all__ = ["KernelRecord", "Program", "compile_graph"]


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One kernel of a program: its name in the host text, its loop IR and text, and the nodes it computes."""

    name: str
    loops: LoopKernel
    source: str
    native: Kernel = field(repr=False)
    nodes: tuple[Node, ...] = ()

    @property
    def elapsed_ns(self) -> int:
        """From text to machine code."""
        return self.native.elapsed_ns

    @property
    def cached(self) -> bool:
        """No compiler ran for it in this process."""
        return self.native.cached


@dataclass(frozen=True, slots=True)
class Program:
    """``program(inputs) -> outputs``; raises ``Bail``, before any effect on inputs, where NumPy would complain.

    ``marks`` maps nodes to ``"k0"``, ``"extern"`` or ``"view"``. After a Bail the graph may be run again from the
    start only if ``bail_safe``: otherwise it holds operations with effects (random draws).
    """

    run: Callable[..., list[Any]] = field(repr=False)
    source: str
    kernels: tuple[KernelRecord, ...]
    marks: dict[Node, str]
    extern_count: int
    bail_safe: bool

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        return self.run(*inputs)


def compile_graph(
    graph: Graph, examples: Sequence[Any] | None = None, *, smallest: int = 2, fastmath: bool = False
) -> Program:
    """Fuse, emit and compile; ``examples`` are not looked at. ``smallest``: see ``schedule``.

    With ``fastmath`` kernels approximate, contract and reassociate, and report no floating-point conditions.
    Raises Pending where the compile worker has to make a kernel first.
    """
    plan = schedule(graph, smallest, approximated if fastmath else None)
    kernels = tuple(_compile(plan, fastmath))
    host = write_host(plan, {k.name: k.native for k in kernels})
    return Program(
        run=host.run,
        source=host.source,
        kernels=kernels,
        marks=plan.marks,
        extern_count=sum(mark == "extern" for mark in plan.marks.values()),
        bail_safe=not any(n.op is not None and n.op.effects for n in graph.nodes),
    )


def _compile(plan: Schedule, fastmath: bool) -> list[KernelRecord]:
    launches = list(plan.launches)
    if fastmath:
        for step in launches:
            step.built.kernel.flags = 0
    texts = [emit(step.built.kernel) for step in launches]
    defer([*((text, fastmath) for text in texts), *((text, False) for text in combine_texts(plan))])
    return [_record(step, text, fastmath) for step, text in zip(launches, texts, strict=True)]


def _record(step: Launch, text: str, fastmath: bool) -> KernelRecord:
    loops = step.built.kernel
    return KernelRecord(loops.name, loops, text, compile_kernel(text, "kernel", fastmath=fastmath), step.nodes)
