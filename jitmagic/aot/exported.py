"""Takes code and examples for an export, gives its pure graph with each input and output in its place.

The graph's inputs are all parameters, buffers and arguments, used or not. Its outputs: new values of buffers, what the
code gives, gradients. What else the code does, no graph can say: it is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from jitmagic.aot.aliases import find_aliases
from jitmagic.aot.inference import Purified, purify
from jitmagic.aot.plan import InferencePlan
from jitmagic.aot.signature import ExportError
from jitmagic.aot.standins import mode_of
from jitmagic.aot.tracing import Traced, in_words, trace
from jitmagic.autograd.recorded import Recorded, raw
from jitmagic.autograd.tensor import Tensor
from jitmagic.autograd.trees import leaves_of, map_leaves
from jitmagic.errors import Span, UserError
from jitmagic.graph import ArrayMeta, Graph, Node, PyMeta, verify
from jitmagic.graph.graph import Placeholder
from jitmagic.ops.draws import advances_a_generator
from jitmagic.tracer.guards.explain import evaluate

__all__ = ["Export", "Mark", "distinct", "export_of", "finished", "numbered"]

NO_DRAWS = (
    "which an exported graph cannot: it has no state to advance. Draw outside and pass the numbers as an argument"
)
_OWN = str(Path(__file__).parents[1])
_ARGUMENT = re.compile(r"args\[(\d+)\]")
_HELD = re.compile(r"K\d+")  # an object that the code holds


@dataclass(frozen=True, slots=True)
class Mark:
    """Stands for an output of the captured graph in the result."""

    is_tree_leaf: ClassVar[bool] = True
    index: int


@dataclass(slots=True)
class Export:
    """One export in progress. ``names`` and ``values`` are those of all inputs, parameters and buffers first.

    ``structure`` is the result with a ``Mark`` for each output of the captured graph; ``assigned`` tells for each
    buffer that the code replaced which output it gets.
    """

    traced: Traced
    purified: Purified
    names: list[str]
    values: list[Any]
    members: int
    structure: Any = None
    assigned: dict[str, Mark] = field(default_factory=dict)

    @property
    def plan(self) -> InferencePlan:
        return self.purified.plan

    @property
    def written(self) -> list[int]:
        """The positions of the inputs whose data the code changes, in the order of the pure graph's first outputs."""
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
        found = _ARGUMENT.fullmatch(self.traced.captured.placeholders[captured].source)
        if found is not None:
            return self.members + int(found.group(1))
        value = raw(self.traced.values[captured])
        return next((i for i, v in enumerate(self.values[: self.members]) if raw(v) is value), -1)

    def place_of(self, leaf: Any) -> int | None:
        """The output of the pure graph that a leaf of the result is; None for an input that comes back unchanged."""
        if isinstance(leaf, Mark):
            return len(self.written) + leaf.index
        place = self.input_of(leaf)
        return self.written.index(place) if place in self.written else None

    def input_of(self, leaf: Any) -> int:
        """The position of the input that a leaf of the result is; -1 for any other object."""
        return next((i for i, v in enumerate(self.values) if v is leaf or raw(v) is leaf), -1)

    def needs(self, place: int) -> bool:
        """Whether an input requires a gradient."""
        value = self.values[place] if place >= 0 else None
        return isinstance(value, Recorded) and value._history() is not None

    def refuse(self, text: str) -> ExportError:
        found = str(replace(self.plan, names=tuple(map(self._name, range(len(self.plan.names))))))
        return ExportError(f"{text}\nWhat was found:\n{found}" if found else text)

    def _name(self, captured: int) -> str:
        """A parameter, buffer or argument as the caller knows it."""
        place = self.position(captured)
        return self.names[place] if place >= 0 else self.plan.names[captured]


def distinct(values: Sequence[Any], taken: Sequence[Any]) -> list[Any]:
    """The examples, each an array of its own: the graph is for any arrays, also where two examples are one."""
    seen = {id(raw(value)) for value in taken}
    found = []
    for value in values:
        data = raw(value)
        if isinstance(data, np.ndarray) and id(data) in seen:
            value = Tensor(data.copy(), value.requires_grad) if isinstance(value, Tensor) else data.copy()
        seen.add(id(data))
        found.append(value)
    return found


def export_of(
    function: Callable[..., Any],
    members: Mapping[str, Any],
    args: tuple[Any, ...],
    decompositions: Any,
    *,
    tables: Sequence[dict[str, Any]] = (),
    parameters: Collection[str] = (),
    unknown_ints: bool = False,
) -> Export:
    """``function(*args)`` captured and made pure. ``tables`` hold the members; the code may replace those that are not
    named in ``parameters``.

    Raises ExportError for what is no pure graph of the members and arguments.
    """
    names = [*(name.replace(".", "_") for name in members), *(f"arg{i}" for i in range(len(args)))]
    values = [*members.values(), *args]
    mode = mode_of(values)
    try:
        dynamic = mode is not None and mode.env is not None
        traced = trace(function, args, {}, dynamic=dynamic, unknown_ints=unknown_ints)
    except UserError as error:
        raise ExportError(str(error)) from None
    try:
        with in_words(traced.name):
            purified = purify(traced.captured, traced.examples, decompositions=decompositions, flat=True)
    except UserError as error:
        _check_effects(traced, args, tables, ExportError)
        raise ExportError(str(error)) from None
    export = Export(traced, purified, names, values, len(members))
    _check_effects(traced, args, tables, export.refuse)
    _check_inputs(export)
    _check_draws(export)
    if export.plan.guard.groups:
        shared = ", ".join(export.plan.names[w.input] for w in export.plan.guard.groups[0].windows)
        raise export.refuse(f"{shared} share memory and one of them is written, which no exported graph can say")
    _run_on_marks(export, args, members, tables, parameters)
    return export


def _check_effects(
    traced: Traced,
    args: tuple[Any, ...],
    tables: Sequence[dict[str, Any]],
    refusal: Callable[[str], ExportError],
) -> None:
    """Only buffers may be replaced."""
    for effect, container in zip(traced.record.effects, traced.record.changed, strict=True):
        if container is not None:
            changed = evaluate(container, {"args": args, "kwargs": {}}, traced.names_and_constants)
            if any(changed is table for table in tables):
                continue
        where = _place(effect.span)
        raise refusal(
            f"{traced.name} {effect.text}{where}, which no exported graph can do: give the new value as an output, or "
            "keep it in a buffer of the module"
        )


def _check_inputs(export: Export) -> None:
    """What the graph reads has to be a parameter, a buffer or an argument (row B29)."""
    for place, value in enumerate(export.traced.values):
        if export.position(place) >= 0:
            continue
        name, data = export.traced.captured.placeholders[place].source, raw(value)
        if isinstance(data, int | float | complex | np.generic):
            what = repr(data) if _HELD.fullmatch(name) else f"{name} = {data!r}"
            raise ExportError(
                f"{what} would be an input of the graph, but it is no argument: pass it as one, or "
                "make it a plain number, which is taken as a constant"
            )
        if isinstance(data, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
            raise ExportError(f"the code draws random numbers ({name}), {NO_DRAWS}")
        raise ExportError(
            f"{name}, {_kind(data)}, would be an input of the graph, but it is no argument: pass it as one"
            f"{', or register it as a buffer' if isinstance(data, np.ndarray) else ''}"
        )


def _place(span: Span | None) -> str:
    """Where the user wrote it; nothing for lines of ours."""
    return "" if span is None or span.filename.startswith(_OWN) else f" at {span.shown}"


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    return f"a {type(value).__name__}"


def _check_draws(export: Export) -> None:
    for node in export.purified.pure.nodes:
        if node.op is not None and advances_a_generator(node.op):
            raise ExportError(f"np.{node.op.name}{_place(node.span)} draws random numbers, {NO_DRAWS}")


def _run_on_marks(
    export: Export,
    args: tuple[Any, ...],
    members: Mapping[str, Any],
    tables: Sequence[dict[str, Any]],
    parameters: Collection[str],
) -> None:
    """Fill in the structure and which buffers were replaced; the tables are as before afterwards."""
    marks = [Mark(i) for i in range(len(export.traced.captured.outputs))]
    before = [dict(table) for table in tables]
    try:
        export.structure = export.traced.program(lambda inputs: list(marks))(args, {})
        changes = [(old, dict(table)) for old, table in zip(before, tables, strict=True)]
    finally:
        for table, kept in zip(tables, before, strict=True):
            table.clear()
            table.update(kept)
    names = {id(value): name for name, value in members.items() if name not in parameters}
    for old, new in changes:
        if list(old) != list(new):
            raise export.refuse("the code adds or removes buffers of the module: register them before the export")
        for key, value in new.items():
            if value is old[key]:
                continue
            if id(old[key]) not in names:
                raise export.refuse(f"the code replaces {key} of the module; only registered buffers may be replaced")
            if not isinstance(value, Mark):
                raise export.refuse(
                    f"the buffer {key} gets a value that the graph does not compute, {_kind(raw(value))}: assign a copy"
                )
            _check_assigned(export, key, raw(old[key]), value)
            export.assigned[names[id(old[key])]] = value


def _check_assigned(export: Export, name: str, old: Any, mark: Mark) -> None:
    """A buffer keeps its shape and dtype, and its array is its own."""
    other = next((n for n, m in export.assigned.items() if m == mark), None)
    if other is not None:
        raise export.refuse(f"the buffers {other} and {name} get one array: assign a copy to one of them")
    meta = export.traced.captured.outputs[mark.index].meta
    found = (getattr(meta, "shape", ()), getattr(meta, "dtype", None))
    if found != (old.shape, old.dtype):
        raise export.refuse(
            f"the buffer {name} of shape {old.shape} and dtype {old.dtype} gets shape {found[0]} and dtype {found[1]}; "
            "in an export buffers keep theirs: convert the value, or register the buffer like it"
        )


def finished(export: Export, graph: Graph, choose: Callable[[Export, Graph], Sequence[Node | int]]) -> Graph:
    """The graph with one input for each name, in order, used or not, and the outputs that ``choose`` gives.

    Outputs are nodes, or positions of inputs.
    """
    outputs = choose(export, graph)
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
    graph.outputs = [order[each].node if isinstance(each, int) else each for each in outputs]
    verify(graph, pure=True)
    return graph


def _described(value: Any) -> Any:
    is_array = isinstance(value, np.ndarray | np.generic)
    return ArrayMeta.of(value) if is_array else PyMeta(type(value))


def numbered(structure: Any, results: Sequence[Any]) -> Any:
    """The structure whose marks count ``results``, its leaves that are outputs of the graph."""
    count = iter(range(len(results)))
    kept = {id(each) for each in results}
    return map_leaves(structure, lambda leaf: Mark(next(count)) if id(leaf) in kept else leaf)
