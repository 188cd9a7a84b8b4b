"""Takes what one traced call found, gives the ``Explanation`` of ``explain(f)(*args)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from jitmagic.errors import Span
from jitmagic.events import BreakEvent, EffectRecord, GuardRecord
from jitmagic.graph import Graph, print_graph
from jitmagic.report.folded import distinct_guards, graph_parts
from jitmagic.report.graphtext import read_graph
from jitmagic.report.parts import Code, Details, Headline, Inline, Mono, Part, Strong, Table
from jitmagic.report.sections import break_section
from jitmagic.report.sources import Sources, SourceText
from jitmagic.report.story import distinct_breaks
from jitmagic.report.terms import Setting
from jitmagic.report.view import View
from jitmagic.report.words import plural, short_name

__all__ = ["Explanation", "FrozenRecord", "LayerRecord"]


@dataclass(frozen=True, slots=True)
class FrozenRecord:
    """A value of the user's that became a constant of the graph: where from, its value, why."""

    expression: str
    value: str
    why: str = ""
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """One call of a layer: its name, its class, and how many operations it became."""

    name: str
    kind: str
    operations: int


class Explanation(View):
    """What would be compiled, without compiling it.

    ``graphs`` holds one graph for each captured piece: a ``Graph``, or anything whose ``str()`` is a printed one.
    ``flags`` are remarks on the whole function, shown with the counts; ``memory`` tells what is written ("x: written")
    and what shares memory ("out0: view of x").
    """

    def __init__(
        self,
        function: str,
        *,
        graphs: Sequence[object] = (),
        breaks: Sequence[BreakEvent] = (),
        guards: Sequence[GuardRecord] = (),
        effects: Sequence[EffectRecord] = (),
        frozen: Sequence[FrozenRecord] = (),
        layers: Sequence[LayerRecord] = (),
        flags: Sequence[str] = (),
        memory: Sequence[str] = (),
        sources: Mapping[str, SourceText | str] | None = None,
    ) -> None:
        self.function = short_name(function)
        self.graphs = list(graphs)
        self.breaks = list(breaks)
        self.guards = list(guards)
        self.effects = list(effects)
        self.frozen = list(frozen)
        self.layers = list(layers)
        self.flags = list(flags)
        self.memory = list(memory)
        self._sources = Sources(sources)

    @property
    def graph_count(self) -> int:
        """How many pieces were captured."""
        return len(self.graphs)

    @property
    def break_count(self) -> int:
        """How many graph breaks there are."""
        return len(self.breaks)

    def parts(self) -> Sequence[Part]:
        """Counts first, then breaks, graphs, guards, effects and constants."""
        setting = Setting(self._sources)
        parts: list[Part] = [self._headline()]
        parts += [break_section(e, n, setting) for e, n in distinct_breaks(self.breaks)]
        for index, graph in enumerate(self.graphs):
            parts += self._graph(index, _printed(graph))
        if self.layers:
            parts.append(self._layers())
        if self.guards:
            body = [distinct_guards(self.guards), *setting.define("guard"), *setting.define_kinds(self.guards)]
            parts.append(Details((Strong(f"guards ({len(self.guards)})"),), body, open=True))
        if self.effects:
            rows = tuple((Mono(e.text), self._line(e.span)) for e in self.effects)
            body = [Table(("effect", "where"), rows), *setting.define("side effect")]
            parts.append(Details((Strong(f"side effects ({len(self.effects)})"),), body, open=True))
        if self.memory:
            body = [Code("\n".join(self.memory))]
            parts.append(Details((Strong("what is written and what shares memory"),), body, open=True))
        if self.frozen:
            parts.append(self._frozen())
        return parts

    def _headline(self) -> Headline:
        found: list[Inline] = [plural(self.graph_count, "graph")]
        breaks = plural(self.break_count, "graph break")
        found.append(Strong(breaks, "bad") if self.breaks else breaks)
        found += [plural(len(self.guards), "guard"), *self.flags]
        return Headline(self.function, tuple(found))

    def _graph(self, index: int, text: str) -> list[Part]:
        """The printed graph in both forms; the picture in HTML only."""
        drawing = read_graph(text)
        printed = Details((Strong(f"graph {index}"),), [Code(text)], open=True)
        picture = [Details((f"picture of graph {index}",), graph_parts(drawing))] if drawing else []
        return [printed, *picture]

    def _layers(self) -> Details:
        rows = tuple((Mono(r.name), r.kind, str(r.operations)) for r in self.layers)
        table = Table(("layer", "class", "operations"), rows, frozenset({"operations"}))
        return Details((Strong(f"layers ({len(self.layers)})"),), [table], open=True)

    def _frozen(self) -> Details:
        rows = tuple((Mono(f.expression), Mono(f.value), f.why, self._line(f.span)) for f in self.frozen)
        heads = ("constant in the graph", "value", "because", "where")
        shown = [i for i in range(len(heads)) if any(row[i] != "" for row in rows)]
        table = Table(tuple(heads[i] for i in shown), tuple(tuple(row[i] for i in shown) for row in rows))
        return Details((Strong(f"constants ({len(self.frozen)})"),), [table], open=True)

    def _line(self, span: Span | None) -> str:
        return f"line {span.line}" if span else ""


def _printed(graph: object) -> str:
    return print_graph(graph) if isinstance(graph, Graph) else str(graph)
