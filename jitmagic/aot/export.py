"""``aot_export_module``, ``aot_export_joint_simple``: takes code and examples, gives its graph and nothing around it.

What a wrapper would do at run time (write back, make aliases again, merge overlapping arguments) an exported graph
cannot do: code that needs it is refused, each case in words of its own (rows A49 to A54).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from jitmagic.aot.aliases import find_aliases
from jitmagic.aot.constraints import AxisRange, SameSize, constrained
from jitmagic.aot.inference import Purified, purify
from jitmagic.aot.joint.decompose import Table
from jitmagic.aot.joint.joint_graph import JointGraph
from jitmagic.aot.joint.partitioners import default_partition
from jitmagic.aot.modules import Lifted, members_of, parameter_tensors
from jitmagic.aot.naming import new_build
from jitmagic.aot.plan import InferencePlan
from jitmagic.aot.signature import BackwardSignature, ExportError, GraphSignature
from jitmagic.aot.simplify import simplify_pure
from jitmagic.aot.standins import mode_of, stand_in_argument
from jitmagic.aot.tracing import Traced, trace
from jitmagic.aot.training import Joint, make_joint, named
from jitmagic.autograd.modes import no_grad
from jitmagic.autograd.recorded import Recorded, raw
from jitmagic.autograd.trees import leaves_of
from jitmagic.errors import UserError
from jitmagic.graph import ArrayMeta, Graph, PyMeta, interpret, verify
from jitmagic.graph.graph import Placeholder
from jitmagic.nn.module import Module

__all__ = ["aot_export_joint_simple", "aot_export_module"]


@dataclass(frozen=True, slots=True)
class _Mark:
    """Stands for an output of the captured graph in the result."""

    is_tree_leaf: ClassVar[bool] = True
    index: int


@dataclass(slots=True)
class _Export:
    """One export in progress. ``names`` and ``values`` are those of all inputs, parameters and buffers first."""

    traced: Traced
    purified: Purified
    names: list[str]
    values: list[Any]
    structure: Any
    parameters: list[str] = field(default_factory=list)

    @property
    def plan(self) -> InferencePlan:
        return self.purified.plan

    @property
    def written(self) -> list[int]:
        """The positions of the inputs whose data the code changes, in the order of the graph's first outputs."""
        graph = self.traced.captured
        return [
            self.position(graph.inputs.index(s))
            for s in find_aliases(graph).written_storages(graph)
            if s.kind == "input"
        ]

    @property
    def leaves(self) -> list[Any]:
        return list(leaves_of(self.structure))

    def position(self, captured: int) -> int:
        """Where an input of the captured graph stands among all inputs; -1 for what came in another way."""
        value = raw(self.traced.values[captured])
        return next((i for i, v in enumerate(self.values) if raw(v) is value), -1)

    def refuse(self, text: str) -> ExportError:
        return ExportError(f"{text}\nWhat was found:\n{self.plan}")


def _export(
    function: Callable[..., Any],
    names: list[str],
    values: list[Any],
    args: tuple[Any, ...],
    table: Any,
    unknown_ints: bool = False,
) -> _Export:
    mode = mode_of(values)
    try:
        dynamic = mode is not None and mode.env is not None
        traced = trace(function, args, {}, dynamic=dynamic, unknown_ints=unknown_ints)
    except UserError as error:
        raise ExportError(str(error)) from None
    purified = purify(traced.captured, traced.examples, decompositions=table, flat=True)
    _check_scalars(traced, values)
    marks = [_Mark(i) for i in range(len(traced.captured.outputs))]
    structure = traced.program(lambda inputs: list(marks))(args, {})
    export = _Export(traced, purified, names, values, structure)
    if purified.plan.guard.groups:
        shared = ", ".join(purified.plan.names[w.input] for w in purified.plan.guard.groups[0].windows)
        raise export.refuse(f"{shared} share memory and one of them is written, which no exported graph can say")
    return export


def _finished(export: _Export, graph: Graph) -> Graph:
    """The graph with one input for each name, in order, used or not."""
    have = {export.position(a): node for node, a in zip(graph.inputs, export.plan.direct, strict=False)}
    extra = graph.placeholders[len(export.plan.direct) :]
    order: list[Placeholder] = []
    for place, (name, value) in enumerate(zip(export.names, export.values, strict=True)):
        node = have.get(place)
        if node is None:
            node = graph.input(name, _described(raw(value)))
            graph.nodes.insert(0, graph.nodes.pop())
        order.append(Placeholder(node, name))
    graph.placeholders = [*order, *extra]
    verify(graph, pure=True)
    return graph


def _described(value: Any) -> Any:
    is_array = isinstance(value, np.ndarray | np.generic)
    return ArrayMeta.of(value) if is_array else PyMeta(type(value))


def _check_scalars(traced: Traced, values: list[Any]) -> None:
    """A number that is no argument would have to be passed at every call (row B29)."""
    known = {id(raw(v)) for v in values}
    for place, value in zip(traced.captured.placeholders, traced.values, strict=False):
        if id(raw(value)) not in known and isinstance(value, int | float | complex | np.generic):
            raise ExportError(
                f"{place.source} = {value!r} would be an input of the graph, but it is no argument: pass it as one, or "
                "make it a plain number, which is taken as a constant"
            )


# -- modules
def aot_export_module(
    mod: Module,
    args: Sequence[Any],
    *,
    decompositions: Table | None = None,
    trace_joint: bool,
    output_loss_index: int | None = None,
    functionalize_rng_ops: bool = False,
) -> tuple[Graph, GraphSignature]:
    """The pure graph of ``mod`` for arguments like ``args``, and what its inputs and outputs are.

    Inputs: parameters, buffers, then ``args``, all flat. Outputs: new values of buffers that are written, what the
    module gives, and with ``trace_joint`` the gradients of the loss, output ``output_loss_index``. Sizes are constants
    unless ``args`` are stand-ins with symbols. Raises ExportError (a RuntimeError) for what such a graph cannot hold.
    """
    if functionalize_rng_ops:
        raise ExportError("export has no form for functionalize_rng_ops; turn it off")
    if trace_joint and output_loss_index is None:
        raise ExportError("trace_joint=True needs output_loss_index: which output of the module is the loss")
    members = members_of(mod)
    _check_ties(members)
    _check_arguments(args)
    kept = members | (parameter_tensors(mod) if trace_joint else {})
    given = tuple(map(stand_in_argument, args))
    names = [*(n.replace(".", "_") for n in members), *(f"arg{i}" for i in range(len(given)))]
    restore = Lifted(mod).swapped(kept)
    try:
        with nullcontext() if trace_joint else no_grad():
            export = _export(mod, names, [*kept.values(), *given], given, decompositions)
    finally:
        restore()
    export.parameters = [name for name, _ in mod.named_parameters(remove_duplicate=False)]
    _check_writes(export, members)
    if not trace_joint:
        graph = _finished(export, simplify_pure(export.purified.pure))
        return named(graph, new_build(), "inference"), _signature(export, graph, members, None, None)
    loss = _loss(export, output_loss_index)  # type: ignore[arg-type]  # checked above
    needs = [_needs(export, export.position(i)) for i in range(len(export.traced.values))]
    made = make_joint(export.purified, needs, loss=len(export.written) + export.leaves[loss].index)
    if made is None:
        raise export.refuse(f"the loss, output {loss}, requires no gradient: it depends on no parameter that has one")
    _check_gradients(export, made, members, loss)
    graph = named(_finished(export, made.joint.graph), new_build(), "joint")
    return graph, _signature(export, graph, members, made, loss)


def _check_ties(members: dict[str, Any]) -> None:
    seen: dict[int, str] = {}
    for name, value in members.items():
        if id(value) in seen:
            raise ExportError(f"the parameters {seen[id(value)]} and {name} are one array; untie them first")
        seen[id(value)] = name


def _check_arguments(args: Sequence[Any]) -> None:
    for i, arg in enumerate(args):
        data = raw(arg)
        if isinstance(data, np.ndarray) and type(data) is not np.ndarray:
            raise ExportError(f"argument {i} is a {type(data).__name__}, a subclass of ndarray: pass a plain array")


def _needs(export: _Export, place: int) -> bool:
    value = export.values[place] if place >= 0 else None
    return isinstance(value, Recorded) and value._history() is not None


def _check_writes(export: _Export, members: dict[str, Any]) -> None:
    for place in export.written:
        if place < 0 or place >= len(members):
            number = place - len(members)
            raise export.refuse(
                f"the module writes into its argument {number} (input {place}, after {len(members)} parameters and "
                "buffers); only buffers may be written in an export: copy the argument first"
            )
        if _needs(export, place):
            raise export.refuse(
                f"the module writes into {list(members)[place]}, which requires a gradient; only buffers may be written"
            )


def _loss(export: _Export, index: int) -> int:
    """The leaf of the result that is the loss. Row A49."""
    result = export.structure
    if not isinstance(result, tuple | list | _Mark):
        raise export.refuse(f"forward() gives a {type(result).__name__}; for a joint graph an array, a list or a tuple")
    leaves = export.leaves
    if not -len(leaves) <= index < len(leaves):
        raise export.refuse(f"output_loss_index={index}, but forward() gives {len(leaves)} outputs")
    index %= len(leaves)
    if not isinstance(leaves[index], _Mark):
        raise export.refuse(f"the loss, output {index}, requires no gradient: it is not computed in the graph")
    node = export.traced.captured.outputs[leaves[index].index]
    shape = tuple(getattr(node.meta, "shape", ()))
    if any(not (isinstance(n, int) and n == 1) for n in shape):
        raise export.refuse(f"the loss, output {index}, has the shape {shape}; it has to have one element")
    return index


def _check_gradients(export: _Export, made: Joint, members: dict[str, Any], loss: int) -> None:
    reached = {export.position(index) for _, index in made.gradients}
    others = [i for i, leaf in enumerate(export.leaves) if isinstance(leaf, _Mark) and i != loss]
    with_gradient = [i for i in others if len(export.written) + export.leaves[i].index in made.differentiable]
    if with_gradient:
        raise export.refuse(
            f"output {with_gradient[0]} requires a gradient, but only the loss, output {loss}, may: detach it "
            f"(jm.detach) in forward()"
        )
    if len(export.written) + export.leaves[loss].index not in made.differentiable:
        raise export.refuse(f"the loss, output {loss}, requires no gradient: it depends on no parameter that has one")
    for place, name in enumerate(members):
        if _needs(export, place) and place not in reached:
            raise export.refuse(f"the parameter {name} gets no gradient from the loss; leave it out of the module")


def _signature(
    export: _Export, graph: Graph, members: dict[str, Any], made: Joint | None, loss: int | None
) -> GraphSignature:
    inputs = [p.node.name for p in graph.placeholders]
    parameters = export.parameters
    count = len(export.written)
    outputs = [node.name for node in graph.outputs]
    written = [list(members)[place] for place in export.written]
    leaves = export.leaves
    user = [outputs[count + leaf.index] if isinstance(leaf, _Mark) else "" for leaf in leaves]
    backward = None
    if made is not None and loss is not None:
        gradients = outputs[len(outputs) - len(made.gradients) :]
        places = [export.position(index) for _, index in made.gradients]
        pairs = list(zip(gradients, places, strict=True))
        backward = BackwardSignature(
            {g: list(members)[p] for g, p in pairs if p < len(members)},
            {g: inputs[p] for g, p in pairs if p >= len(members)},
            user[loss],
        )
    names = dict(zip(inputs, members, strict=False))
    return GraphSignature(
        parameters=parameters,
        buffers=[n for n in members if n not in parameters],
        user_inputs=inputs[len(members) :],
        user_outputs=user,
        inputs_to_parameters={i: n for i, n in names.items() if n in parameters},
        inputs_to_buffers={i: n for i, n in names.items() if n not in parameters},
        buffers_to_mutate=dict(zip(outputs[:count], written, strict=True)),
        in_spec=tuple(inputs[len(members) :]),
        out_spec=export.structure,
        backward_signature=backward,
    )


# -- functions
def aot_export_joint_simple(
    func: Callable[..., Any],
    args: Sequence[Any],
    *,
    trace_joint: bool,
    num_params_buffers: int = 0,
    decompositions: Table | None = None,
    debug_assert: bool = False,
    unknown_ints: bool = False,
    constraints: Sequence[AxisRange | SameSize] = (),
) -> Graph:
    """The pure graph of ``func(*args)``; with ``trace_joint`` the joint one, which takes tangents after the arguments.

    Nothing surrounds it: the inference graph, or the forward half of the joint one, is called just as ``func``. With
    ``debug_assert`` the joint graph is cut and its forward half run once on the examples. With ``unknown_ints``
    ints are inputs of the graph that may have any value from 0 on; without it they are constants. ``constraints``
    (see ``jm.aot.dynamic_axis``) say which sizes may differ, and how far; the graph raises ValueError for others.

    Raises ExportError for a function that writes into its arguments or gives aliases, and for nested containers.
    """
    _check_flat(args, "the inputs")
    sizes = constrained(args, constraints)
    func = sizes.checked(func) if constraints else func
    given = tuple(map(stand_in_argument, sizes.symbolic(args)))
    with nullcontext() if trace_joint else no_grad():
        export = _export(func, [f"arg{i}" for i in range(len(given))], list(given), given, decompositions, unknown_ints)
    sizes.check_decisions(export.traced.captured, export.position)
    _check_flat(export.structure, "the outputs")
    if export.written:
        names = ", ".join(export.names[p] for p in export.written)
        raise export.refuse(f"the function writes into {names}; copy it first")
    _check_aliases(export)
    if not trace_joint:
        return named(_finished(export, simplify_pure(export.purified.pure)), new_build(), "inference")
    needs = [_needs(export, export.position(i)) for i in range(len(export.traced.values))]
    made = make_joint(export.purified, needs)
    if made is None:
        raise export.refuse("no output requires a gradient: mark an argument with jm.Tensor(x, requires_grad=True)")
    graph = named(_finished(export, made.joint.graph), new_build(), "joint")
    if debug_assert:
        halves = default_partition(JointGraph(graph, len(given), made.joint.forward_outputs))
        interpret(halves.forward, [raw(v) for v in given])
    return graph


def _check_flat(values: Any, what: str) -> None:
    if not isinstance(values, tuple | list):
        raise ExportError(f"{what} are not in one list or tuple but in a {type(values).__name__}")
    for i, value in enumerate(values):
        if isinstance(value, tuple | list | dict):
            raise ExportError(f"{what} hold a {type(value).__name__} at place {i}; they have to be flat")


def _check_aliases(export: _Export) -> None:
    plan = export.plan
    for place, index in enumerate(plan.returns):
        made = plan.objects[index]
        if made.is_alias or made.base.kind == "argument" or plan.returns.index(index) != place:
            what = "an input" if made.base.kind == "argument" else "another value of the graph"
            raise export.refuse(f"output {place} is an alias of {what}; give a copy (np.copy)")
    for place, leaf in enumerate(export.leaves):
        if not isinstance(leaf, _Mark):
            raise export.refuse(
                f"output {place} is an alias of an input, or no array of the graph; give a copy (np.copy)"
            )
