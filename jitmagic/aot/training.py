"""Takes a captured graph and which arguments need gradients, gives its forward and backward halves, compiled.

Tangents belong to what the forward half computes: the new values of written arguments, outputs that are no aliases,
and the bases of outputs that are views of intermediates (row A16). Aliases are made again around them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from jitmagic.aot.boxed import Program, as_boxed, results_of
from jitmagic.aot.examples import examples_of
from jitmagic.aot.inference import Backend, Purified, purify
from jitmagic.aot.joint.decompose import Table
from jitmagic.aot.joint.expand import fresh
from jitmagic.aot.joint.joint_graph import Halves, JointGraph, PartitionFn, check_halves
from jitmagic.aot.joint.partitioners import default_partition
from jitmagic.aot.joint.reverse import is_differentiable, reached_from
from jitmagic.aot.joint.reverse import pull as pull_back
from jitmagic.aot.joint.staged import Stage
from jitmagic.aot.naming import Build, new_build
from jitmagic.aot.phases import Phases
from jitmagic.aot.plan import InferencePlan
from jitmagic.aot.simplify import simplify_pure
from jitmagic.errors import Unsupported, UserError
from jitmagic.graph import ArrayMeta, Graph, Node
from jitmagic.ops.derivatives import HISTORY_OF, gradient_meta

LOG = logging.getLogger("jitmagic.aot")

__all__ = ["Compilers", "Joint", "Training", "compile_training", "make_joint"]


@dataclass(frozen=True, slots=True)
class Compilers:
    """What turns the graphs of one build into programs. ``backward`` and ``inference`` default to ``forward``."""

    forward: Backend
    backward: Backend
    inference: Backend
    partition: PartitionFn = default_partition
    decompositions: Table = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        forward: Any,
        backward: Any = None,
        inference: Any = None,
        partition: Any = None,
        decompositions: Table | None = None,
    ) -> Compilers:
        given = {"fw_compiler": forward, "bw_compiler": backward, "inference_compiler": inference}
        for name, compiler in (given | {"partition_fn": partition}).items():
            if not callable(compiler) and (compiler is not None or name == "fw_compiler"):
                raise UserError(
                    f"{name} is {_shown(compiler)}, which cannot be called: {_WANTED[name == 'partition_fn']}"
                )
        return cls(
            forward, backward or forward, inference or forward, partition or default_partition, decompositions or {}
        )


_WANTED = (
    "it takes a graph and example arguments and gives a function of a list of arguments that returns the list of "
    "results, such as jm.aot.aot_eager or jitmagic.backends.get_backend('numba').compile",
    "it takes the joint graph and gives its halves, such as jm.aot.default_partition or "
    "jm.aot.min_cut_rematerialization_partition",
)


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, str | None) else f"a {type(value).__name__}"


@dataclass(frozen=True, slots=True)
class Joint:
    """The joint graph, the plan around its forward outputs, and who gets which tangent and gradient.

    ``tangents`` are the results of the plan that have a tangent, in order. ``gradients`` tells for each gradient the
    argument that it belongs to, or the base of a group of overlapping ones.
    """

    joint: JointGraph
    plan: InferencePlan
    tangents: tuple[int, ...]
    gradients: tuple[tuple[str, int], ...]
    differentiable: tuple[int, ...] = ()  # the results that depend on an argument which needs a gradient


@dataclass(frozen=True, slots=True)
class Training:
    """A compiled pair. ``forward(list)`` gives results and saved values, ``backward(list)`` the gradients."""

    build: Build
    made: Joint
    halves: Halves
    forward: Program
    backward: Program
    phases: Phases

    @property
    def saved_bytes(self) -> int:
        """The memory that is held between forward and backward, at the sizes of this build."""
        saved = self.halves.forward.outputs[len(self.halves.forward.outputs) - self.halves.saved :]
        found: dict[Node, int] = {}
        for node in saved:
            if isinstance(node.meta, ArrayMeta):
                size = node.meta.dtype.itemsize
                for n in node.meta.hint_shape:
                    size *= n
                found[node] = size
        return sum(found.values())


def make_joint(purified: Purified, needs: Sequence[bool], loss: int | None = None) -> Joint | None:
    """The joint graph; None if no result depends on an argument that needs a gradient.

    ``loss`` is the result whose cotangent is 1, where the graph takes no tangents (row A50).
    """
    pure, plan = purified.pure, purified.plan
    targets = _targets(pure, plan, needs)
    stage = Stage(pure, purified.env)
    reached = reached_from(pure.nodes, [node for node, _ in targets])
    results = list(pure.outputs)
    wanted = [i for i, node in enumerate(results) if node in reached and is_differentiable(node)]
    if not wanted:
        return None
    differentiable = tuple(wanted)
    unseen = {c.result for c in plan.copy_backs if _keeps_its_history(results[c.result], pure.inputs)}
    wanted = [i for i in wanted if i not in unseen]
    if not wanted and loss is None:
        return None
    seeds: dict[Node, Any] = {}
    if loss is not None:
        seeds[results[loss]] = stage.one_like(results[loss])
        wanted = []
    for i in wanted:
        tangent = stage.value(pure.input(f"tangent{i}", gradient_meta(results[i].meta)))
        seeds[results[i]] = tangent if results[i] not in seeds else seeds[results[i]] + tangent
    found = pull_back(stage, seeds, [node for node, _ in targets])
    taken: set[Node] = set()
    gradients = [fresh(stage, g, node, taken) for g, (node, _) in zip(found, targets, strict=True) if g is not None]
    owners = tuple(owner for g, (_, owner) in zip(found, targets, strict=True) if g is not None)
    pure.outputs = [*results, *gradients]
    primals = len(plan.guard.groups) + len(plan.direct)
    whole = JointGraph(simplify_pure(pure), primals, len(results))
    return Joint(whole, plan, tuple(wanted), owners, differentiable)


def _keeps_its_history(node: Node, inputs: Sequence[Node]) -> bool:
    """Whether an input was only written where nobody records it: under ``no_grad``, or through a detached alias."""
    was_written = node.op is HISTORY_OF
    while node.op is HISTORY_OF:
        node = node.args[1]
    return was_written and node in inputs


def _targets(pure: Graph, plan: InferencePlan, needs: Sequence[bool]) -> list[tuple[Node, tuple[str, int]]]:
    """The inputs of the pure graph that need a gradient, with what they are: a base, or an argument."""
    count = len(plan.guard.groups)
    found: list[tuple[Node, tuple[str, int]]] = []
    for number, group in enumerate(plan.guard.groups):
        if group.is_of_bytes and any(needs[w.input] for w in group.windows):
            names = " and ".join(plan.names[w.input] for w in group.windows)
            raise Unsupported("aliased-inputs", f"{names}, which differ in dtype and need a gradient,")
        if any(needs[w.input] for w in group.windows) and is_differentiable(pure.inputs[number]):
            found.append((pure.inputs[number], ("base", number)))
    for node, argument in zip(pure.inputs[count:], plan.direct, strict=False):
        if needs[argument] and is_differentiable(node):
            found.append((node, ("argument", argument)))
    return found


def compile_training(
    graph: Graph,
    example_inputs: Sequence[Any],
    needs: Sequence[bool],
    compilers: Compilers,
    *,
    build: Build | None = None,
    phases: Phases | None = None,
) -> Training | None:
    """The compiled halves, or None if no result needs a gradient (row A29: then inference is meant).

    Raises Unsupported for an operation without a rule, UserError for halves that do not fit together.
    """
    build, phases = build or new_build(), phases or Phases()
    with phases.phase("analysis"):
        purified = purify(graph, example_inputs, decompositions=compilers.decompositions)
    with phases.phase("joint trace"), build.working_on("joint"):
        joint = make_joint(purified, needs)
    if joint is None:
        return None
    with phases.phase("partition"):
        halves = compilers.partition(joint.joint)
    if not isinstance(halves, Halves):
        raise UserError(
            f"the partition function gave a {type(halves).__name__}; it gives Halves(forward, backward, saved)"
        )
    check_halves(joint.joint, halves)
    examples = purified.examples(example_inputs)
    forward, backward = named(halves.forward, build, "forward"), named(halves.backward, build, "backward")
    with phases.phase("forward compile"), build.working_on("forward"):
        run_forward = as_boxed(compilers.forward(forward, examples), forward)
    with phases.phase("backward compile"), build.working_on("backward"):
        run_backward = as_boxed(compilers.backward(backward, examples_of(backward)), backward)
    return Training(
        build, joint, replace(halves, forward=forward, backward=backward), run_forward, run_backward, phases
    )


def named(graph: Graph, build: Build, kind: str) -> Graph:
    """``graph`` under the name of its build, which is told to the log."""
    graph.name = build.name(kind)
    if build.is_logged:
        LOG.info("%s: %d operations", graph.name, sum(1 for _ in graph.calls()))
    return graph


def checked(program: Program, arguments: list[Any], wanted: int, name: str, sources: Mapping[int, str]) -> list[Any]:
    """The results of a program; errors carry the name of the graph, and lengths must match (rows A41 and A55)."""
    try:
        results = program(arguments)
    except Exception as error:
        takes = ", ".join(sources.values())
        error.add_note(f"in graph {name}, which takes {takes}" if takes else f"in graph {name}")
        raise
    return results_of(results, wanted, f"graph {name}")
