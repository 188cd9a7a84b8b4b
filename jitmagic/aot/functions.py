"""``aot_function`` and its kin: takes a function and compilers of graphs, gives the function run by what they make."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jitmagic.aot.boxed import as_boxed
from jitmagic.aot.guarded import Checks, Forms, relying_on
from jitmagic.aot.inference import compile_inference
from jitmagic.aot.joint.decompose import Table
from jitmagic.aot.joint.joint_graph import PartitionFn
from jitmagic.aot.naming import Build, new_build
from jitmagic.aot.phases import Phases
from jitmagic.aot.plan import InferencePlan
from jitmagic.aot.random_values import Run, random_values
from jitmagic.aot.tensors import TensorRun, on_tensors
from jitmagic.aot.tracing import RaisingCall, Traced, in_words, trace
from jitmagic.aot.training import Compilers, Training, compile_training, named
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.recorded import Recorded, raw
from jitmagic.autograd.trees import children_of
from jitmagic.errors import UserError
from jitmagic.graph import Graph
from jitmagic.tracer import marks
from jitmagic.tracer.capture import FrameState

__all__ = ["AotEntry", "aot_function", "build_entry", "compiled_function"]

Compiler = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class AotOptions:
    """What the caller of ``aot_function`` asked for."""

    compilers: Compilers
    dynamic: bool = False
    keep_inference_input_mutations: bool = False
    num_params_buffers: int = 0
    enable_log: bool = True
    functionalize_rng_ops: bool = False


@dataclass(frozen=True, slots=True)
class AotEntry:
    """One compiled form. ``call(args, kwargs)`` is the function; the rest is for whoever wants to know.

    ``kind`` is ``training`` or ``inference``; ``plan`` prints what is written and what is an alias (row A30);
    ``checks`` are the guards on what was read: arguments, globals, attributes, the floating-point state.
    """

    kind: str
    build: Build
    plan: Any
    phases: Phases
    call: Callable[[tuple[Any, ...], dict[str, Any]], Any]
    checks: Checks
    training: Training | None = None
    graph: Graph | None = None


def build_entry(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    options: AotOptions,
    state: FrameState | None = None,
) -> AotEntry:
    """Trace and compile one call: a training pair where an argument requires a gradient, else an inference graph."""
    phases = Phases()
    with phases.phase("analysis"):
        for leaf in list(_leaves((args, kwargs)))[: options.num_params_buffers]:
            if isinstance(raw(leaf), np.ndarray) and not marks.dynamic_axes(raw(leaf)):
                for axis in range(raw(leaf).ndim):
                    marks.mark(raw(leaf), "static", axis)
        traced = trace(function, args, kwargs, dynamic=options.dynamic, state=state)
        captured = _captured(traced, options)
    build = new_build(is_logged=options.enable_log)
    with in_words(traced.name):
        return _entry(traced, captured, options, build, phases)


def _entry(traced: Traced, captured: _Captured, options: AotOptions, build: Build, phases: Phases) -> AotEntry:
    if is_grad_enabled() and any(traced.needs):
        graph, examples, compilers = captured.graph, captured.examples, options.compilers
        pair = compile_training(graph, examples, captured.needs, compilers, build=build, phases=phases)
        if pair is not None:
            call = traced.program(captured.around(relying_on(pair.made.plan.guard, TensorRun(pair))))
            plan = replace(_on_record(pair.made.plan, traced), tangents=pair.made.tangents)
            return AotEntry("training", build, plan, phases, call, traced.checks(), pair)
    return _inference_entry(traced, captured, options, build, phases)


@dataclass(frozen=True, slots=True)
class _Captured:
    """The graph that is compiled, its inputs, and ``around(run)``, which makes of its run one of the captured graph."""

    graph: Graph
    examples: list[Any]
    needs: list[bool]
    around: Callable[[Run], Run]


def _captured(traced: Traced, options: AotOptions) -> _Captured:
    values = random_values(traced.captured) if options.functionalize_rng_ops else None
    if values is None:
        return _Captured(traced.captured, traced.examples, traced.needs, lambda run: run)
    examples = values.inputs(traced.examples)
    needs = [*traced.needs, *([False] * (len(examples) - len(traced.needs)))]
    return _Captured(values.graph, examples, needs, values.around)


def _inference_entry(
    traced: Traced, captured: _Captured, options: AotOptions, build: Build, phases: Phases
) -> AotEntry:
    compile = options.compilers.inference

    def compiler(graph: Graph, examples: Any) -> Any:
        with phases.phase("inference compile"), build.working_on("inference"):
            program = as_boxed(compile(named(graph, build, "inference"), examples), graph)
        return _noted(program, graph.name, [p.source for p in graph.placeholders])

    with phases.phase("analysis"):
        made = compile_inference(
            captured.graph,
            captured.examples,
            compiler,
            keep_input_mutations=options.keep_inference_input_mutations,
            decompositions=options.compilers.decompositions,
        )
    run = relying_on(made.plan.guard, functools.partial(on_tensors, made.run))
    call = traced.program(captured.around(run))
    plan = _on_record(made.plan, traced)
    return AotEntry("inference", build, plan, phases, call, traced.checks(), graph=made.pure_graph)


def _on_record(plan: InferencePlan, traced: Traced) -> InferencePlan:
    """The plan with what the analysis found besides (row A30)."""
    needs = tuple(i for i, is_needed in enumerate(traced.needs) if is_needed)
    return replace(plan, needs=needs, effects=tuple(effect.text for effect in traced.record.effects))


def _noted(program: Any, name: str, sources: list[str]) -> Any:
    """``program`` whose errors say in which graph they happened."""

    def run(arguments: list[Any]) -> Any:
        try:
            return program(arguments)
        except Exception as error:
            error.add_note(f"in graph {name}, which takes {', '.join(sources) or 'nothing'}")
            raise

    run.boxed = True  # type: ignore[attr-defined]  # how it is known that it empties the list
    return run


def aot_function(
    fn: Callable[..., Any],
    fw_compiler: Compiler,
    bw_compiler: Compiler | None = None,
    partition_fn: PartitionFn | None = None,
    decompositions: Table | None = None,
    num_params_buffers: int = 0,
    keep_inference_input_mutations: bool = False,
    inference_compiler: Compiler | None = None,
    *,
    dynamic: bool = False,
    enable_log: bool = True,
    functionalize_rng_ops: bool = False,
) -> Callable[..., Any]:
    """``fn``, captured whole at its first call, split into forward and backward and run by what the compilers make.

    A compiler is called with a pure graph and example arguments and gives ``run(list of arguments) -> list of
    results``; ``jm.aot.aot_eager`` is one. With Tensors that require a gradient the forward and the backward graph are
    compiled, otherwise one inference graph. The form of a call is compiled once: containers and their keys, dtypes,
    ranks, which Tensors require a gradient, and sizes unless ``dynamic``. What the function reads besides its arguments
    (globals, attributes, lists) is guarded: where it changed, the call is compiled again. Its effects on Python objects
    happen at every call, after the graph.

    Each graph is told to the log ``jitmagic.aot``, unless ``enable_log`` is false.

    With ``functionalize_rng_ops`` the state of each random generator is an input and the new one an output, so that a
    partition may draw the same numbers again in the backward half; the streams go on after the call.

    Raises UserError for a function that cannot be captured as one graph.
    """
    if not callable(fn):
        raise UserError(f"aot_function got a {type(fn).__name__}; it takes a function of NumPy code")
    options = AotOptions(
        Compilers.of(fw_compiler, bw_compiler, inference_compiler, partition_fn, decompositions),
        dynamic,
        keep_inference_input_mutations,
        num_params_buffers,
        enable_log,
        functionalize_rng_ops,
    )
    entries, state = Forms(), FrameState()

    @functools.wraps(fn)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        key = (is_grad_enabled(), form_of(args, dynamic), form_of(kwargs, dynamic), sharing((args, kwargs)))
        try:
            return entries.call(key, args, kwargs, lambda: build_entry(fn, args, kwargs, options, state))
        except RaisingCall:
            return fn(*args, **kwargs)

    compiled.entries = entries  # type: ignore[attr-defined]  # for whoever wants to look
    return compiled


compiled_function = aot_function


def form_of(tree: Any, dynamic: bool) -> Any:
    """A key that is equal for calls that one compiled form serves (row A43)."""
    parts = children_of(tree)
    if parts is None or tree is None:
        return _leaf_form(tree, dynamic)
    return (type(tree), *((key, form_of(part, dynamic)) for key, part in parts.items()))


def _leaf_form(leaf: Any, dynamic: bool) -> Any:
    data = raw(leaf)
    if isinstance(data, np.ndarray):
        needs = isinstance(leaf, Recorded) and leaf._history() is not None
        sizes = tuple(n if n in (0, 1) else -1 for n in data.shape) if dynamic else data.shape
        order = data.flags.c_contiguous, data.flags.f_contiguous, data.flags.writeable, data.flags.aligned
        steps = () if any(order[:2]) else tuple(np.sign(data.strides))
        return type(leaf), data.dtype, sizes, order, steps, needs
    if isinstance(data, np.generic):
        return type(leaf), data.dtype
    if dynamic and type(leaf) in (int, float) and leaf not in (0, 1):
        return type(leaf)
    try:
        hash(leaf)
    except TypeError:
        return type(leaf), id(leaf)
    return type(leaf), leaf


def sharing(tree: Any) -> tuple[Any, ...]:
    """Which arrays are one, and which may share memory: the graph was made for that (row A23)."""
    arrays = [data for leaf in _leaves(tree) if isinstance(data := raw(leaf), np.ndarray)]
    found: list[tuple[Any, ...]] = []
    for i, a in enumerate(arrays):
        for j in range(i):
            if a is arrays[j]:
                found.append((j, i, "same"))
            elif np.may_share_memory(a, arrays[j]):
                at = [x.__array_interface__["data"][0] for x in (a, arrays[j])]
                found.append((j, i, at[0] - at[1], a.strides, arrays[j].strides))
    return tuple(found)


def _leaves(tree: Any) -> Any:
    parts = children_of(tree)
    if parts is None or tree is None:
        return [tree]
    return [leaf for part in parts.values() for leaf in _leaves(part)]
