"""``aot_export_module``, ``aot_export_joint_simple``: takes code and examples, gives its graph and nothing around it.

What a wrapper would do at run time (write back, make aliases again, merge overlapping arguments) an exported graph
cannot do: code that needs it is refused, each case in words of its own (rows A49 to A54).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from jitmagic.aot.constraints import AxisRange, SameSize, constrained
from jitmagic.aot.exported import Export, Mark, distinct, export_of, finished, numbered
from jitmagic.aot.joint.decompose import Table
from jitmagic.aot.joint.joint_graph import JointGraph
from jitmagic.aot.joint.partitioners import default_partition
from jitmagic.aot.modules import Lifted, members_of, parameter_tensors
from jitmagic.aot.naming import new_build
from jitmagic.aot.signature import BackwardSignature, ExportError, GraphSignature
from jitmagic.aot.simplify import simplify_pure
from jitmagic.aot.standins import StandIn, stand_in_argument
from jitmagic.aot.training import Joint, make_joint, named
from jitmagic.autograd.modes import no_grad
from jitmagic.autograd.recorded import raw
from jitmagic.autograd.trees import children_of
from jitmagic.graph import Graph, Node, interpret
from jitmagic.nn.module import Module

__all__ = ["aot_export_joint_simple", "aot_export_module"]


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
    kept = members | parameter_tensors(mod)
    given = tuple(distinct([stand_in_argument(arg) for arg in args], list(kept.values())))
    tables = [table for each in mod.modules() for table in (each._parameters, each._buffers)]
    parameters = frozenset(name for name, _ in mod.named_parameters(remove_duplicate=False))
    restore = Lifted(mod).swapped(kept)
    try:
        with nullcontext() if trace_joint else no_grad():
            export = export_of(mod, kept, given, decompositions, tables=tables, parameters=parameters)
    finally:
        restore()
    _check_writes(export, members)
    _check_results(export)
    if not trace_joint:
        graph = finished(export, simplify_pure(export.purified.pure), _outputs)
        return named(graph, new_build(), "inference"), _signature(mod, export, graph, members, None, None)
    loss = _loss(export, output_loss_index)  # type: ignore[arg-type]  # checked above
    needs = [export.needs(export.position(i)) for i in range(len(export.traced.values))]
    made = make_joint(export.purified, needs, loss=export.place_of(export.leaves[loss]))
    if made is None:
        raise export.refuse(f"the loss, output {loss}, requires no gradient: it depends on no parameter that has one")
    _check_gradients(export, made, members, loss)
    graph = named(finished(export, made.joint.graph, _outputs), new_build(), "joint")
    return graph, _signature(mod, export, graph, members, made, loss)


def _check_ties(members: dict[str, Any]) -> None:
    seen: dict[int, str] = {}
    for name, value in members.items():
        if id(value) in seen:
            raise ExportError(f"the parameters {seen[id(value)]} and {name} are one array; untie them first")
        seen[id(value)] = name


def _check_arguments(args: Sequence[Any]) -> None:
    if not isinstance(args, tuple | list):
        raise ExportError(f"args is {_shown(args)}; it is the tuple of the arguments: (x,) for one")
    for i, arg in enumerate(args):
        data = raw(arg)
        if isinstance(data, np.ndarray) and type(data) is not np.ndarray:
            raise ExportError(f"argument {i} is a {type(data).__name__}, a subclass of ndarray: pass a plain array")
        if arg is not None and not isinstance(arg, StandIn) and children_of(arg) is not None:
            raise ExportError(
                f"argument {i} is a {type(arg).__name__}; the inputs of an exported graph are flat: pass its entries "
                "as arguments of their own"
            )


def _check_writes(export: Export, members: dict[str, Any]) -> None:
    for place in export.written:
        if place < 0 or place >= len(members):
            number = place - len(members)
            raise export.refuse(
                f"the module writes into its argument {number} (input {place}, after {len(members)} parameters and "
                "buffers); only buffers may be written in an export: copy the argument first"
            )
        if export.needs(place):
            raise export.refuse(
                f"the module writes into {list(members)[place]}, which requires a gradient; only buffers may be written"
            )


def _check_results(export: Export) -> None:
    for i, leaf in enumerate(export.leaves):
        if not isinstance(leaf, Mark) and isinstance(raw(leaf), np.ndarray) and export.input_of(leaf) < 0:
            raise export.refuse(f"output {i} is an array that the graph does not compute: give a copy (np.copy)")


def _outputs(export: Export, graph: Graph) -> list[Node | int]:
    """New values of buffers that are written, of those that are replaced, what the module gives, gradients."""
    pure, count = list(graph.outputs), len(export.written)
    replaced: list[Node | int] = [pure[count + mark.index] for mark in export.assigned.values()]
    results: list[Node | int] = []
    for leaf in _results(export):
        place = export.place_of(leaf)
        results.append(export.input_of(leaf) if place is None else pure[place])
    return [*pure[:count], *replaced, *results, *pure[count + len(export.traced.captured.outputs) :]]


def _results(export: Export) -> list[Any]:
    """The leaves that are outputs of the graph: arrays and what it computes."""
    return [leaf for leaf in export.leaves if isinstance(leaf, Mark) or export.input_of(leaf) >= 0]


def _loss(export: Export, index: int) -> int:
    """The leaf of the result that is the loss. Row A49."""
    result = export.structure
    if not isinstance(result, tuple | list | Mark):
        raise export.refuse(f"forward() gives {_shown(result)}; for a joint graph an array, a list or a tuple")
    leaves = export.leaves
    if not -len(leaves) <= index < len(leaves):
        raise export.refuse(f"output_loss_index={index}, but forward() gives {len(leaves)} outputs")
    index %= len(leaves)
    if not isinstance(leaves[index], Mark):
        raise export.refuse(f"the loss, output {index}, requires no gradient: it is not computed in the graph")
    node = export.traced.captured.outputs[leaves[index].index]
    shape = tuple(getattr(node.meta, "shape", ()))
    if any(not (isinstance(n, int) and n == 1) for n in shape):
        raise export.refuse(f"the loss, output {index}, has the shape {shape}; it has to have one element")
    return index


def _check_gradients(export: Export, made: Joint, members: dict[str, Any], loss: int) -> None:
    reached = {export.position(index) for _, index in made.gradients}
    places = {i: export.place_of(leaf) for i, leaf in enumerate(export.leaves)}
    with_gradient = [i for i, place in places.items() if i != loss and place in made.differentiable]
    if with_gradient:
        raise export.refuse(
            f"output {with_gradient[0]} requires a gradient, but only the loss, output {loss}, may: detach it "
            f"(jm.detach) in forward()"
        )
    for name, mark in export.assigned.items():
        if export.place_of(mark) in made.differentiable:
            raise export.refuse(f"the buffer {name} gets a value that requires a gradient: detach it (jm.detach)")
    if places[loss] not in made.differentiable:
        raise export.refuse(f"the loss, output {loss}, requires no gradient: it depends on no parameter that has one")
    for place, name in enumerate(members):
        if export.needs(place) and place not in reached:
            raise export.refuse(f"the parameter {name} gets no gradient from the loss; leave it out of the module")


def _signature(
    mod: Module, export: Export, graph: Graph, members: dict[str, Any], made: Joint | None, loss: int | None
) -> GraphSignature:
    inputs = [p.node.name for p in graph.placeholders]
    outputs = [node.name for node in graph.outputs]
    parameters = [name for name, _ in mod.named_parameters(remove_duplicate=False)]
    changed = [*(list(members)[place] for place in export.written), *export.assigned]
    results = _results(export)
    user = outputs[len(changed) : len(changed) + len(results)]
    backward = None
    if made is not None and loss is not None:
        gradients = outputs[len(outputs) - len(made.gradients) :]
        places = [export.position(index) for _, index in made.gradients]
        pairs = list(zip(gradients, places, strict=True))
        backward = BackwardSignature(
            {g: list(members)[p] for g, p in pairs if p < len(members)},
            {g: inputs[p] for g, p in pairs if p >= len(members)},
            outputs[len(changed) + next(i for i, leaf in enumerate(results) if leaf is export.leaves[loss])],
        )
    names = dict(zip(inputs, members, strict=False))
    return GraphSignature(
        parameters=parameters,
        buffers=[n for n in members if n not in parameters],
        user_inputs=inputs[len(members) :],
        user_outputs=user,
        inputs_to_parameters={i: n for i, n in names.items() if n in parameters},
        inputs_to_buffers={i: n for i, n in names.items() if n not in parameters},
        buffers_to_mutate=dict(zip(outputs, changed, strict=False)),
        in_spec=tuple(inputs[len(members) :]),
        out_spec=numbered(export.structure, results),
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
    given = tuple(distinct([stand_in_argument(arg) for arg in sizes.symbolic(args)], []))
    with nullcontext() if trace_joint else no_grad():
        export = export_of(func, {}, given, decompositions, unknown_ints=unknown_ints)
    sizes.check_decisions(export.traced.captured, export.position)
    _check_flat(export.structure, "the outputs")
    if export.written:
        names = ", ".join(export.names[p] for p in export.written)
        raise export.refuse(f"the function writes into {names}; copy it first")
    _check_aliases(export)
    if not trace_joint:
        return named(finished(export, simplify_pure(export.purified.pure), _outputs), new_build(), "inference")
    needs = [export.needs(export.position(i)) for i in range(len(export.traced.values))]
    made = make_joint(export.purified, needs)
    if made is None:
        raise export.refuse("no output requires a gradient: mark an argument with jm.Tensor(x, requires_grad=True)")
    graph = named(finished(export, made.joint.graph, _outputs), new_build(), "joint")
    if debug_assert:
        halves = default_partition(JointGraph(graph, len(given), made.joint.forward_outputs))
        interpret(halves.forward, [raw(v) for v in given])
    return graph


def _check_flat(values: Any, what: str) -> None:
    if not isinstance(values, tuple | list):
        raise ExportError(f"{what} are not in one list or tuple: it is {_shown(values)}")
    for i, value in enumerate(values):
        if isinstance(value, tuple | list | dict):
            raise ExportError(f"{what} hold a {type(value).__name__} at place {i}; they have to be flat")


def _check_aliases(export: Export) -> None:
    plan = export.plan
    result = list(export.structure)
    for place, leaf in enumerate(result):
        if not isinstance(leaf, Mark):
            what = "an input" if export.input_of(leaf) >= 0 else f"no array that the graph computes, but {_shown(leaf)}"
            is_alias = "an alias of " if export.input_of(leaf) >= 0 else ""
            raise export.refuse(f"output {place} is {is_alias}{what}; give a copy (np.copy), or leave it out")
        if leaf in result[:place]:
            raise export.refuse(f"output {place} is an alias of output {result.index(leaf)}; give a copy (np.copy)")
    for place, index in enumerate(plan.returns):
        made = plan.objects[index]
        if made.is_alias or made.base.kind == "argument" or plan.returns.index(index) != place:
            what = "an input" if made.base.kind == "argument" else "another value of the graph"
            raise export.refuse(f"output {place} is an alias of {what}; give a copy (np.copy)")


def _shown(value: Any) -> str:
    """For messages; what the graph computes is an array."""
    if isinstance(value, Mark):
        return "an array"
    return "None" if value is None else f"an object of class {type(value).__name__}"
