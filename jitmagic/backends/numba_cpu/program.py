"""Takes a pure graph, gives a ``Program``: a callable with its host text, its kernels and what became of each node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jitmagic.backends.loops.inputs_in_place import InPlace, inputs_in_place, keep_old, put_last
from jitmagic.backends.loops.ir import Kernel as LoopKernel
from jitmagic.backends.loops.recipes import approximated
from jitmagic.backends.loops.scalar_casts import read_before_casts
from jitmagic.backends.loops.schedule import Call, Launch, Schedule, schedule
from jitmagic.backends.loops.targets import fills_first, targets
from jitmagic.backends.loops.updates import loop_of, results_over_operands, updates_in_place
from jitmagic.backends.native.compile import Kernel, compile_kernel
from jitmagic.backends.native.worker import Text, defer
from jitmagic.backends.numba_cpu.chains import Chain, chained, chains
from jitmagic.backends.numba_cpu.committing import copies_texts, without_copies
from jitmagic.backends.numba_cpu.convolving import convolving_texts
from jitmagic.backends.numba_cpu.emit import emit, emit_chain
from jitmagic.backends.numba_cpu.folds import combine_texts
from jitmagic.backends.numba_cpu.host import write_host
from jitmagic.backends.numba_cpu.joining import join_texts
from jitmagic.backends.numba_cpu.picking import picking_texts
from jitmagic.backends.numba_cpu.pooling import pooling_texts
from jitmagic.backends.numba_cpu.short_rows import have_short_rows
from jitmagic.backends.numba_cpu.streaming import streamed_results
from jitmagic.graph import Graph, Node

__all__ = ["KernelRecord", "Program", "compile_graph"]

TEXTS = (combine_texts, join_texts, picking_texts, convolving_texts, pooling_texts)  # of kernels beside those of loops


@dataclass(frozen=True, slots=True)
class KernelRecord:
    """One kernel of a program: its name in the host text, its loop IR and text, and the nodes it computes.

    Of loops that take turns in one kernel, ``loops`` is the first.
    """

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

    ``marks`` maps nodes to ``"k0"``, ``"extern"`` or ``"view"``.
    """

    run: Callable[..., list[Any]] = field(repr=False)
    source: str
    kernels: tuple[KernelRecord, ...]
    marks: dict[Node, str]
    extern_count: int

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        return self.run(*inputs)


def compile_graph(
    graph: Graph, examples: Sequence[Any] | None = None, *, smallest: int = 2, fastmath: bool = False
) -> Program:
    """Fuse, emit and compile; ``examples`` are not looked at. ``smallest``: see ``schedule``.

    With ``fastmath`` kernels approximate, contract and reassociate, and report no floating-point conditions.
    The graph may end in ``copy_into`` nodes for inputs. Raises Pending where the compile worker has to make a kernel
    first.
    """
    pure, copies = without_copies(graph)
    plan = schedule(pure, smallest, approximated if fastmath else None)
    plan.stored = len(pure.outputs) - len(graph.outputs)
    read_before_casts(plan)
    if fastmath:
        for step in plan.launches:
            step.built.kernel.flags = 0
            step.built.kernel.reassociates = True
    plan.steps = fills_first(plan.steps)
    together = chains(plan.steps)
    in_inputs = inputs_in_place(plan, copies, chained(together).keys())
    put_last(plan, in_inputs)
    over = results_over_operands(plan, {key: chain.launches for key, chain in chained(together).items()})
    direct = targets(plan, chained(together))
    in_place = updates_in_place(plan)
    old: dict[int, dict[str, InPlace]] = {}
    for step in plan.launches:
        step.built.kernel.over = over.get(id(step), {})
        _aim(step, direct, in_place)
        if id(step) in in_inputs:
            old[id(step)] = keep_old(step, in_inputs[id(step)])
        step.built.kernel.streamed = streamed_results(plan, step)
        step.built.kernel.short_rows = have_short_rows(step.built.kernel, step.built.sizes)
    kernels = tuple(_compile(plan, together, copies, fastmath))
    host = write_host(plan, {k.name: k.native for k in kernels}, together, direct, copies, old)
    return Program(
        run=host.run,
        source=host.source,
        kernels=kernels,
        marks=plan.marks,
        extern_count=sum(mark == "extern" for mark in plan.marks.values()),
    )


def _aim(step: Launch, direct: Mapping[Node, Node], in_place: Collection[Node]) -> None:
    """Let a kernel write into a part of an array: its result has gaps, and may lie where one of its operands is."""
    built, kernel = step.built, step.built.kernel
    for name, node in built.outputs.items():
        if node in direct:
            base = direct[node].args[0] if direct[node] in in_place else None
            inside = next((operand for operand, read in built.inputs.items() if read is base), None)
            others = {result: operand for result, operand in kernel.over.items() if result != name}
            kernel.over = others if inside is None else others | {name: inside}
            kernel.operands = [replace(o, dense=None) if o.name == name else o for o in kernel.operands]


def _compile(plan: Schedule, together: Sequence[Chain], copies: Sequence[Node], fastmath: bool) -> list[KernelRecord]:
    chain_of = chained(together)
    leaders = {id(chain.launches[0]) for chain in together}
    alone = [step for step in plan.launches if id(step) not in chain_of or id(step) in leaders]
    texts = [emit_chain(chain_of[id(step)]) if id(step) in leaders else emit(step.built.kernel) for step in alone]
    others = [
        *(text for texts_of in TEXTS for text in texts_of(plan)),
        *copies_texts(copies),
    ]
    has_loops = any(isinstance(step, Call) and loop_of(step.node) is not None for step in plan.steps)
    defer([*(Text(text, fastmath) for text in texts), *map(Text, others)], cannot_wait=has_loops)
    for chain in together:
        plan.marks |= dict.fromkeys(chain.nodes, chain.launches[0].built.kernel.name)
    return [_record(step, chain_of.get(id(step)), text, fastmath) for step, text in zip(alone, texts, strict=True)]


def _record(step: Launch, chain: Chain | None, text: str, fastmath: bool) -> KernelRecord:
    loops, nodes = step.built.kernel, step.nodes if chain is None else chain.nodes
    return KernelRecord(loops.name, loops, text, compile_kernel(text, "kernel", fastmath=fastmath), nodes)
