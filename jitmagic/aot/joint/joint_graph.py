"""The joint graph: forward and backward of a function in one pure graph, and the two halves that it is cut into."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from jitmagic.errors import InternalError, UserError
from jitmagic.graph import ArrayMeta, Graph, Node, SymInt
from jitmagic.graph.graph import Binding, Placeholder
from jitmagic.graph.passes.rewrite import Copier
from jitmagic.graph.polynomial import symbols_of
from jitmagic.graph.verifier import verify
from jitmagic.ops.draws import advances_a_generator

__all__ = ["Halves", "JointGraph", "PartitionFn", "ancestors", "check_halves", "cut", "memory_of"]


@dataclass(frozen=True, slots=True)
class JointGraph:
    """``graph`` takes ``primals`` arguments, then one tangent for each forward output that has one.

    Its first ``forward_outputs`` outputs are those of the forward computation, the others are gradients.
    """

    graph: Graph
    primals: int
    forward_outputs: int

    @property
    def primal_inputs(self) -> list[Node]:
        return self.graph.inputs[: self.primals]

    @property
    def tangent_inputs(self) -> list[Node]:
        return self.graph.inputs[self.primals :]

    @property
    def gradients(self) -> list[Node]:
        return self.graph.outputs[self.forward_outputs :]

    def needed_forward(self) -> set[Node]:
        """What the forward outputs are made of, what must run anyway, and the entries of tuples among these."""
        wanted = set(self.graph.outputs[: self.forward_outputs]) | set(self.must_run())
        found = ancestors(self.graph, wanted)
        return found | {n for n in self.graph.nodes if n.kind == "item" and n.args[0] in found}

    def must_run(self) -> list[Node]:
        """What may warn, raise or have an effect, of the computation itself: derivatives do nothing of the kind."""
        after = self.after_tangents()
        return [n for n in self.graph.nodes if not n.is_silent and n not in after]

    def after_tangents(self) -> set[Node]:
        """What depends on a tangent: it can only run in the backward half."""
        found = set(self.tangent_inputs)
        for node in self.graph.nodes:
            if not found.isdisjoint(node.operands()):
                found.add(node)
        return found


@dataclass(frozen=True, slots=True)
class Halves:
    """``forward`` gives its outputs, then the ``saved`` values; ``backward`` takes these, then the tangents."""

    forward: Graph
    backward: Graph
    saved: int


PartitionFn: TypeAlias = Callable[[JointGraph], Halves]


def ancestors(graph: Graph, wanted: Iterable[Node], stop: Iterable[Node] = ()) -> set[Node]:
    """``wanted`` and everything that they are made of, not looking behind ``stop``."""
    found, ends = set(wanted), set(stop)
    for node in reversed(graph.nodes):
        if node in found and node not in ends:
            found.update(node.operands())
    return found


def memory_of(nodes: Sequence[Node]) -> set[Node]:
    """The nodes that made the memory which these show."""
    found = set()
    for node in nodes:
        while node.view_of is not None or node.kind == "item":
            node = node.args[0] if node.view_of is None else node.view_of
        found.add(node)
    return found


def cut(joint: JointGraph, saved: Sequence[Node]) -> Halves:
    """The halves that hand over ``saved``: what backward needs besides is computed again there from these.

    Sizes that backward uses are read off what it is handed; an argument is saved too where no saved array shows one.
    """
    graph = joint.graph
    kept = list(dict.fromkeys(saved))
    kept += [n for n in _sources_of_sizes(joint, kept) if n not in kept]
    outputs = [*graph.outputs[: joint.forward_outputs], *kept]
    forward = _extract(graph, f"{graph.name}_forward", joint.primal_inputs, outputs, joint.must_run())
    backward = _extract(graph, f"{graph.name}_backward", [*kept, *joint.tangent_inputs], joint.gradients, [])
    halves = Halves(forward, backward, len(kept))
    check_halves(joint, halves)
    return halves


def _extract(graph: Graph, name: str, inputs: Sequence[Node], outputs: Sequence[Node], must: Sequence[Node]) -> Graph:
    """The part of ``graph`` that makes ``outputs`` (and runs what it must) from ``inputs``."""
    needed = ancestors(graph, [*outputs, *must], inputs)
    copier = Copier(graph)
    copier.new.name = name
    sources = {p.node: p.source for p in graph.placeholders}
    for node in inputs:
        made = Node(node.name, "input", _meta(node), span=node.span)
        copier.new.nodes.append(made)
        copier.new.placeholders.append(Placeholder(made, sources.get(node, node.name)))
        copier.copies[node] = made
    for node in graph.nodes:
        if node in needed and node not in copier.copies:
            if node.kind == "input":
                raise InternalError(f"graph {name!r} needs {node!r}, which it is not given")
            copier.copy(node)
    copier.new.outputs = [copier.copies[node] for node in outputs]
    _bind(graph, copier, inputs)
    verify(copier.new, pure=True)
    return copier.new


def _meta(node: Node) -> ArrayMeta | None:
    return ArrayMeta.of(node.value) if node.meta is None and node.kind == "constant" else node.meta  # type: ignore[return-value]  # a Meta


def _bind(graph: Graph, copier: Copier, inputs: Sequence[Node]) -> None:
    """Give each symbol its value: where it had it, or from an input that shows it."""
    shown: dict[str, Binding] = {}
    for node in inputs:
        for axis, n in enumerate(getattr(node.meta, "shape", ())):
            name = _single_symbol(n)
            if name is not None:
                shown.setdefault(name, Binding(name, copier.copies[node], axis))
    for binding in graph.bindings:
        if binding.node in copier.copies:
            shown[binding.symbol] = Binding(binding.symbol, copier.copies[binding.node], binding.axis)
    copier.new.bindings = list(shown.values())


def _single_symbol(n: object) -> str | None:
    """The name of the symbol that a size is, if it is just that."""
    if not isinstance(n, SymInt) or len(n.poly) != 1 or n.poly[0][1] != 1 or len(n.poly[0][0]) != 1:
        return None
    return getattr(n.poly[0][0][0], "name", None)


def _sources_of_sizes(joint: JointGraph, kept: Sequence[Node]) -> list[Node]:
    """The nodes that symbols of the backward half get their value from, where nothing that is handed over shows it."""
    graph = joint.graph
    inside = ancestors(graph, joint.gradients, [*kept, *joint.tangent_inputs])
    used = {name for node in inside for name in _symbols_in((node.args, node.kwargs, _shape(node)))}
    shown = {_single_symbol(n) for node in [*kept, *joint.tangent_inputs] for n in getattr(node.meta, "shape", ())}
    return [b.node for b in graph.bindings if b.symbol in used - shown and b.node not in inside - set(kept)]


def _shape(node: Node) -> tuple[object, ...]:
    return tuple(getattr(node.meta, "shape", ()))


def _symbols_in(value: object) -> set[str]:
    found: set[str] = set()
    if isinstance(value, SymInt):
        found |= {s.name for s in symbols_of(value.poly)}
    elif isinstance(value, slice):
        found |= _symbols_in((value.start, value.stop, value.step))
    elif isinstance(value, tuple | list):
        for item in value:
            found |= _symbols_in(item)
    elif isinstance(value, dict):
        found |= _symbols_in(tuple(value.values()))
    return found


def check_halves(joint: JointGraph, halves: Halves) -> None:
    """Raises UserError if what a partition function gave does not fit together (row A41)."""
    tangents, gradients = len(joint.tangent_inputs), len(joint.gradients)
    wanted = {
        "inputs of the forward graph": (len(halves.forward.inputs), joint.primals),
        "outputs of the forward graph": (len(halves.forward.outputs), joint.forward_outputs + halves.saved),
        "inputs of the backward graph": (len(halves.backward.inputs), halves.saved + tangents),
        "outputs of the backward graph": (len(halves.backward.outputs), gradients),
    }
    for what, (found, expected) in wanted.items():
        if found != expected:
            raise UserError(f"the partition function gave {found} {what}, where the joint graph asks for {expected}")
    again = next((n for n in halves.backward.nodes if advances_a_generator(n.op)), None)
    if again is not None:
        raise UserError(
            f"the partition function leaves np.{again.op.name} (%{again.name}{_place(again)}) to the backward graph, "  # type: ignore[union-attr]  # found above
            "where it would draw other random numbers than the forward graph did: save its result, or pass "
            "functionalize_rng_ops=True, which makes the state of the generator a value"
        )


def _place(node: Node) -> str:
    return f" at {node.span.shown}" if node.span is not None else ""
