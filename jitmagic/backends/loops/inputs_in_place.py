"""Takes a schedule and the copies into inputs that follow it, gives the results that are computed right in the inputs.

    %u = add(%x, %g); copy_into(%x, %u)     =>     a kernel that reads and writes x, and keeps what was there

Nothing may stop a program after an input was changed, but for the kernels that change inputs: those run last of all,
and should one of them meet a condition that NumPy reports, the old values are put back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jitmagic.backends.loops.ir import Access, Cast, Index, Load, Operand, Statement, Store, Strided
from jitmagic.backends.loops.schedule import Launch, Schedule, Step
from jitmagic.backends.loops.updates import fits_over, is_alike
from jitmagic.graph import ArrayMeta, Node
from jitmagic.graph.node import nodes_in

__all__ = ["InPlace", "inputs_in_place", "keep_old", "put_last"]


@dataclass(frozen=True, slots=True)
class InPlace:
    """A result of a kernel that replaces ``target``, which the kernel reads as ``operand``."""

    result: str
    operand: str
    target: Node


def inputs_in_place(plan: Schedule, copies: Sequence[Node], together: Collection[int]) -> dict[int, list[InPlace]]:
    """The results that each kernel may compute in place, by the kernel's identity.

    ``together`` are the kernels that take turns with others, and stay where they are.
    """
    handed_out = {node.storage for node in plan.results}
    values = {value: target for value, target in _values(copies).items() if value not in handed_out}
    shown = handed_out | {node.storage for node in (*_other_reads(copies), *_in_tuples(plan))}
    reads = [_read(step) for step in plan.steps]
    found: dict[int, list[InPlace]] = {}
    for k, step in enumerate(plan.steps):
        if not isinstance(step, Launch) or id(step) in together or not _cannot_stop_halfway(step):
            continue
        others = {node.storage for j, read in enumerate(reads) if j != k for node in read}
        if others.isdisjoint(step.built.outputs.values()):
            found[id(step)] = [p for p in _places(step, values) if p.target not in shown]
    return {key: places for key, places in _without_late_readers(plan, found).items() if places}


def _values(copies: Sequence[Node]) -> dict[Node, Node]:
    """For each value that becomes the whole of an input, and of one only, this input."""
    targets = [copy.args[0] for copy in copies]
    found: dict[Node, Node] = {}
    for copy in copies:
        target, value, path = (*copy.args, ())[:3]
        if not path and isinstance(value, Node) and value not in found and targets.count(target) == 1:
            found[value] = target
    return found


def _other_reads(copies: Sequence[Node]) -> Iterator[Node]:
    """What copies read besides new values of whole inputs: old inputs among it must be there to the end."""
    for copy in copies:
        yield from nodes_in(copy.args[1:])


def _in_tuples(plan: Schedule) -> Iterator[Node]:
    """What calls with several results read: views may be among these."""
    for step in plan.steps:
        if not isinstance(step, Launch) and step.node.kind == "call" and step.node.meta is None:
            yield from step.node.operands()


def _read(step: Step) -> list[Node]:
    return list(step.built.inputs.values()) if isinstance(step, Launch) else list(step.node.operands())


def _cannot_stop_halfway(step: Launch) -> bool:
    """Whether the kernel runs through, or not at all: what it met, it tells at the end."""
    kernel = step.built.kernel
    return not kernel.shape and not kernel.serial and not any(map(_may_stop, kernel.body))


def _may_stop(statement: Statement) -> bool:
    if isinstance(statement, Cast):
        return not np.can_cast(statement.source.dtype, statement.out.dtype, "safe")
    return isinstance(statement, Strided)


def _places(step: Launch, values: Mapping[Node, Node]) -> Iterator[InPlace]:
    built = step.built
    for name, node in built.outputs.items():
        target = values.get(node)
        operand = next((n for n, read in built.inputs.items() if read is target), None)
        if target is None or operand is None or not isinstance(target.meta, ArrayMeta) or not target.meta.contiguous:
            continue
        alone = sum(read.storage is target for read in built.inputs.values()) == 1
        if alone and fits_over(built.kernel, operand, name) and is_alike(target, node):
            yield InPlace(name, operand, target)


def _without_late_readers(plan: Schedule, found: Mapping[int, list[InPlace]]) -> dict[int, list[InPlace]]:
    """Without what another of these kernels reads, which would run after it or before."""
    readers: dict[Node, set[int]] = {}
    for step in plan.steps:
        for node in _read(step):
            readers.setdefault(node.storage, set()).add(id(step))
    late = {key for key, places in found.items() if places}
    return {key: [p for p in places if readers[p.target] & late == {key}] for key, places in found.items()}


def put_last(plan: Schedule, found: Mapping[int, list[InPlace]]) -> None:
    """Let the kernels that change inputs run after everything else."""
    plan.steps = [s for s in plan.steps if id(s) not in found] + [s for s in plan.steps if id(s) in found]


def keep_old(step: Launch, places: Sequence[InPlace]) -> dict[str, InPlace]:
    """Let the kernel write in place, and what was there into operands of its own, whose names are returned."""
    kernel = step.built.kernel
    kept: dict[str, InPlace] = {}
    for number, place in enumerate(places):
        kernel.over = {**{r: o for r, o in kernel.over.items() if r != place.result}, place.result: place.operand}
        if not kernel.flags:
            continue
        load = next(s for s in kernel.body if isinstance(s, Load) and s.access.operand == place.operand)
        source = kernel.operand(place.operand)
        name = f"old{number}"
        kernel.operands.append(Operand(name, "out", source.dtype, source.ndim, source.dense))
        kernel.body.append(Store(Access(name, tuple(map(Index, range(source.ndim)))), load.out))
        kept[name] = place
    return kept
