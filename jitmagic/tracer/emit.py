"""Takes the end of a trace, gives the text of the program around the graph: loads, graph call, effects, result.

Everything that is read from the outside is read first, before the graph runs and before any effect is replayed, so
that a value which the call itself changes is the one from before the call (row G20). Trackers that were one object
in the trace are one object in the program.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import CellType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from jitmagic.graph.graph import Graph
from jitmagic.graph.node import Node
from jitmagic.graph.polynomial import symbols_of
from jitmagic.graph.shapes import SymInt
from jitmagic.tracer.guards import ConstantSource, Source
from jitmagic.tracer.output import OutputGraph
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.classes import NestedClass
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import Cell
from jitmagic.tracer.variables.lazy import Lazy

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["PROGRAM_NAMES", "Emitter"]

PROGRAM_NAMES: dict[str, Any] = {
    "new_function": FunctionType,
    "new_cell": CellType,
    "new_object": object.__new__,
    "bind_method": MethodType,
    "partial": functools.partial,
    "block": lambda body: body,  # gives the compiled form of an outlined body; the runtime has its own
}  # what programs use besides G, B, C, K0..., graph and Python's builtins


class Emitter:
    """Collects the statements of one program."""

    def __init__(self, output: OutputGraph, tx: Evaluator) -> None:
        self.output_graph = output
        self.tx = tx
        self.loads: list[str] = []
        self.lines: list[str] = []
        self._sources: dict[Source, str] = {}
        self._values: dict[int, tuple[VariableTracker, str]] = {}
        self._cells: dict[int, tuple[Cell, str]] = {}
        self._outputs: dict[Node, int] = {}
        self._symbols: dict[str, str] = {}
        self._serial = 0
        self.results: Mapping[Node, Node] = {}  # what stands in the graph for nodes inside one of its flows
        self.graphs: Sequence[Graph] = (output.graph,)  # that bind symbols

    # -- text
    def temporary(self) -> str:
        self._serial += 1
        return f"v{self._serial}"

    def line(self, text: str) -> None:
        """One statement after the graph."""
        self.lines.append(text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """The statements under ``head``, the last of which returns: what they make is unknown after them."""
        outer, self.lines = self.lines, []
        tables: tuple[dict[Any, Any], ...] = (self._values, self._cells, self._symbols)
        known = [(table, dict(table)) for table in tables]
        yield
        self.lines = [*outer, head, *(f"    {line}" for line in self.lines)]
        for table, before in known:
            table.clear()
            table.update(before)

    def text(self, inputs: Sequence[Source]) -> str:
        """The whole program. Call once, at the end."""
        arguments = ", ".join(self.source(s) for s in inputs)
        run = (
            [f"g = graph([{arguments}])"]
            if self._outputs or any(not n.is_silent for n in self.output_graph.graph.nodes)
            else []
        )
        body = [*self.loads, *run, *self.lines]
        return "\n".join(["def program():", *(f"    {line}" for line in body)])

    # -- values
    def constant(self, value: Any) -> str:
        made = self.output_graph.builder.stand_ins.get(id(value))
        if made is not None and isinstance(made[1], NestedClass):
            return self.value(made[1])
        return self.output_graph.constant_source(value).code("")

    def source(self, source: Source) -> str:
        """The value at a source, loaded before anything else happens."""
        if isinstance(source, ConstantSource):
            return source.code("")
        if source not in self._sources:
            base = "" if source.base is None else self.source(source.base)
            name = self.temporary()
            self.loads.append(f"{name} = {source.code(base)}")
            self._sources[source] = name
        return self._sources[source]

    def output(self, node: Node) -> str:
        node = self.results.get(node, node)
        if node in self.output_graph.input_nodes:  # a variable of a flow is of that kind, too
            return self.source(self.output_graph.input_nodes[node])
        index = self._outputs.setdefault(node, len(self._outputs))
        return f"g[{index}]"

    @property
    def outputs(self) -> list[Node]:
        """The nodes that the program reads from the graph, in order."""
        return list(self._outputs)

    def size(self, value: SymInt) -> str:
        """A symbolic int as an expression over the sizes of this call."""
        for symbol in symbols_of(value.poly):
            if symbol.name in self._symbols:
                continue
            self._symbols[symbol.name] = symbol.name
            if symbol.name in self.output_graph.symbol_sources:
                origin, axis = self.output_graph.symbol_sources[symbol.name]
                code = self.source(origin)
                self.loads.append(f"{symbol.name} = {code if axis is None else f'{code}.shape[{axis}]'}")
            else:
                binding = next(b for g in self.graphs for b in g.bindings if b.symbol == symbol.name)
                code = self.output(binding.node)
                self.lines.append(
                    f"{symbol.name} = {code if binding.axis is None else f'{code}.shape[{binding.axis}]'}"
                )
        return f"({value!r})"

    def value(self, tracker: VariableTracker) -> str:
        """The value of a tracker; the same tracker always gives the same object."""
        if isinstance(tracker, Lazy):
            if not tracker.is_realized:
                return self.source(tracker.source)
            tracker = tracker.realize()
        known = self._values.get(id(tracker))
        if known is not None:
            return known[1]
        if isinstance(tracker, Constant):
            return tracker.reconstruct(self)
        text = self.source(tracker.source) if tracker.source is not None else tracker.reconstruct(self)
        if tracker.source is None and not text.isidentifier():
            name = self.temporary()
            self.line(f"{name} = {text}")
            text = name
        self.remember(tracker, text)
        return text

    def remember(self, tracker: VariableTracker, name: str) -> None:
        """Say under which name a tracker's value is; before its parts are made, for objects in cycles."""
        self._values[id(tracker)] = (tracker, name)

    def value_list(self, items: Sequence[VariableTracker]) -> str:
        return f"[{', '.join(self.value(v) for v in items)}]"

    def cell(self, cell: Cell) -> str:
        """The cell object of a variable that inner functions share."""
        if cell.code is not None:
            return cell.code
        known = self._cells.get(id(cell))
        if known is not None:
            return known[1]
        name = self.temporary()
        self._cells[id(cell)] = (cell, name)
        self.line(f"{name} = new_cell()")
        if cell.content is not None:
            self.line(f"{name}.cell_contents = {self.value(cell.content)}")
        return name
