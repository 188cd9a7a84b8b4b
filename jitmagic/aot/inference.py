"""Takes a captured graph and real arguments, gives a callable without gradients and its calling convention.

The order of the wrappers (row A26): the tracer passes one object once; then overlapping arguments become one base;
then the backend's program runs; then results are written back and outputs that are aliases are made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from jitmagic.aot.aliases import Aliases, find_aliases
from jitmagic.aot.boxed import Program, as_boxed
from jitmagic.aot.clashes import inputs_to_keep_apart
from jitmagic.aot.examples import examples_of
from jitmagic.aot.functionalise import PureBuilder
from jitmagic.aot.in_steps import IN_STEPS
from jitmagic.aot.joint.decompose import BUILT_IN, Decompose, Table, merged
from jitmagic.aot.joint.pullbacks import compile_pullbacks, split_pullback
from jitmagic.aot.liveness import donated_inputs
from jitmagic.aot.overlap import AliasGroup, AliasGuard, analyse_overlap
from jitmagic.aot.plan import InferencePlan
from jitmagic.aot.planner import Planner
from jitmagic.aot.simplify import simplify_pure
from jitmagic.aot.spreads import INFERENCE
from jitmagic.aot.wrapper import Run, wrap
from jitmagic.aot.writes import write_rule
from jitmagic.graph import ArrayMeta, Graph, Node, ShapeEnv, SymInt, verify
from jitmagic.ops.functional import BYTE_WINDOW, WINDOW, ViewStep

__all__ = ["Backend", "CompiledGraph", "Purified", "compile_inference", "make_pure", "purify"]

Backend: TypeAlias = Callable[[Graph, Sequence[Any]], Callable[..., Sequence[Any]]]


@dataclass(frozen=True, slots=True)
class CompiledGraph:
    """A captured graph made ready to run; valid for arguments for which ``plan.guard`` holds.

    ``run(arguments)`` gives the captured graph's outputs, changes the arguments as it does, and empties the list. If
    it raises, no argument was changed (with writes kept in the graph, that is the backend's promise). ``text`` is the
    source of ``run``.
    """

    captured: Graph
    pure_graph: Graph
    plan: InferencePlan
    program: Program
    run: Run
    text: str


def compile_inference(
    graph: Graph,
    example_inputs: Sequence[Any],
    backend: Backend,
    *,
    keep_input_mutations: bool = False,
    decompositions: Table | None = None,
) -> CompiledGraph:
    """``graph`` without gradients, run by ``backend(pure graph, its example inputs)``.

    With ``keep_input_mutations`` (row A10) the pure graph ends in ``copy_into`` nodes for the inputs it writes.
    Raises Unsupported where the arguments' aliasing or a write cannot be expressed; then run the function plainly.
    """
    pure, plan = make_pure(
        graph, example_inputs, keep_input_mutations=keep_input_mutations, decompositions=decompositions
    )
    examples = [group.base(example_inputs) for group in plan.guard.groups]
    examples += [example_inputs[i] for i in plan.direct]
    compile_pullbacks(pure, lambda backward: as_boxed(backend(backward, examples_of(backward)), backward))
    program = as_boxed(backend(pure, examples))
    wrapper = wrap(plan, program, graph.name)
    return CompiledGraph(graph, pure, plan, program, wrapper.run, wrapper.text)


@dataclass(slots=True)
class Purified:
    """A pure graph before it is simplified, the plan around it, and the environment of its sizes."""

    pure: Graph
    plan: InferencePlan
    env: ShapeEnv

    def examples(self, example_inputs: Sequence[Any]) -> list[Any]:
        """What the graph takes, for these arguments."""
        bases = [group.base(example_inputs) for group in self.plan.guard.groups]
        return bases + [example_inputs[i] for i in self.plan.direct]


def purify(
    graph: Graph,
    example_inputs: Sequence[Any],
    *,
    keep_input_mutations: bool = False,
    decompositions: Table | None = None,
    flat: bool = False,
) -> Purified:
    """The pure graph, as it comes from the captured one.

    With ``flat`` its outputs are the new values of written inputs and then the captured outputs, aliases or not.
    """
    verify(graph)
    aliases = find_aliases(graph)
    guard = _alias_guard(graph, aliases, example_inputs)
    builder = PureBuilder(aliases.copy(), Graph(graph.name), _env(graph))
    inputs = _start(builder, graph, guard.groups)
    builder.build(graph, write_rule)
    plan = Planner(graph, aliases, builder, inputs).plan(guard, keep_input_mutations)
    if flat:
        builder.pure.outputs = _flat_outputs(builder, graph, aliases)
    pure = Decompose(merged(BUILT_IN, decompositions or {}), builder.env).run(builder.pure)
    return Purified(pure, plan, builder.env)


def _flat_outputs(builder: PureBuilder, graph: Graph, aliases: Aliases) -> list[Node]:
    written = [s for s in aliases.written_storages(graph) if s.kind == "input"]
    return [builder.read(node) for node in (*written, *graph.outputs)]


def make_pure(
    graph: Graph,
    example_inputs: Sequence[Any],
    *,
    keep_input_mutations: bool = False,
    decompositions: Table | None = None,
) -> tuple[Graph, InferencePlan]:
    """The pure graph, simplified and verified, and the plan around it."""
    table = {**INFERENCE, **IN_STEPS, **(decompositions or {})}
    made = purify(graph, example_inputs, keep_input_mutations=keep_input_mutations, decompositions=table)
    plan = made.plan
    pure = split_pullback(simplify_pure(made.pure, kept_writes=bool(plan.kept)))
    return pure, replace(plan, donated=donated_inputs(pure, plan))


def _alias_guard(graph: Graph, aliases: Aliases, example_inputs: Sequence[Any]) -> AliasGuard:
    inputs = graph.inputs
    written = [inputs.index(s) for s in aliases.written_storages(graph) if s.kind == "input"]
    constants = [n.value for n in graph.nodes if n.kind == "constant" and isinstance(n.value, np.ndarray)]
    names = [p.source for p in graph.placeholders]
    return analyse_overlap(example_inputs, written, constants, names, inputs_to_keep_apart(graph, aliases))


def _env(graph: Graph) -> ShapeEnv:
    """The environment of the graph's symbolic sizes, or a new one."""
    shapes = [node.meta.shape for node in graph.nodes if isinstance(node.meta, ArrayMeta)]
    return next((n.env for shape in shapes for n in shape if isinstance(n, SymInt)), None) or ShapeEnv()


def _start(builder: PureBuilder, graph: Graph, groups: Sequence[AliasGroup]) -> dict[Node, int]:
    """Introduce the pure graph's inputs: bases with their windows, then the other arguments, which are returned."""
    merged: set[int] = set()
    for number, group in enumerate(groups):
        merged |= {w.input for w in group.windows}
        _start_base(builder, graph, f"base{number}", group)
    inputs: dict[Node, int] = {}
    for position, placeholder in enumerate(graph.placeholders):
        if position not in merged:
            assert placeholder.node.meta is not None
            pure = builder.pure.input(placeholder.source, placeholder.node.meta, placeholder.node.span)
            builder.start(placeholder.node, pure)
            inputs[pure] = position
    return inputs


def _start_base(builder: PureBuilder, graph: Graph, name: str, group: AliasGroup) -> None:
    members = [graph.inputs[w.input] for w in group.windows]
    meta = ArrayMeta(group.dtype, (group.length,), (group.dtype.itemsize,), writeable=False)
    storage = Node(name, "input", meta)
    builder.start(storage, builder.pure.input(name, meta))
    for member, window in zip(members, group.windows, strict=True):
        place = (window.offset, window.shape, window.strides)
        step = ViewStep(BYTE_WINDOW, (*place, window.dtype)) if group.is_of_bytes else ViewStep(WINDOW, place)
        builder.aliases.view(member, storage, step)
        builder.steps[member] = step
