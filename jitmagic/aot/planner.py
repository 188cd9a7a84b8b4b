"""Takes a captured graph translated by a PureBuilder, gives the outputs of the pure graph and the plan around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jitmagic.aot.aliases import Aliases, is_array
from jitmagic.aot.functionalise import PureBuilder, array_meta
from jitmagic.aot.overlap import AliasGuard
from jitmagic.aot.plan import HIDDEN, CopyBack, InferencePlan, Rebuild, Ref, SizeSource
from jitmagic.graph import ArrayMeta, Graph, Node, SymInt, map_nodes
from jitmagic.graph.polynomial import symbols_of
from jitmagic.ops.functional import COPY_INTO, ViewStep

__all__ = ["Planner"]


@dataclass(slots=True)
class Planner:
    """``aliases`` are those of the captured graph, in which every input is a storage of its own.

    ``inputs`` maps the pure graph's inputs to the arguments that they are.
    """

    captured: Graph
    aliases: Aliases
    builder: PureBuilder
    inputs: dict[Node, int]
    results: dict[Node, int] = field(default_factory=dict)
    objects: dict[Node, Rebuild] = field(default_factory=dict)
    constants: list[Any] = field(default_factory=list)
    sizes: dict[str, SizeSource] = field(default_factory=dict)

    def plan(self, guard: AliasGuard, keep_writes: bool) -> InferencePlan:
        """Sets the pure graph's outputs; with ``keep_writes`` also appends the final copies into the inputs."""
        copy_backs, kept = self._written(keep_writes)
        places = [self._place(output) for output in self.captured.outputs]
        arguments = self.captured.inputs
        for node in kept:
            self._keep_write(node)
        self.builder.pure.outputs = list(self.results)
        return InferencePlan(
            names=tuple(p.source for p in self.captured.placeholders),
            guard=guard,
            direct=tuple(self.inputs.values()),
            results=len(self.results),
            copy_backs=tuple(copy_backs),
            kept=tuple(arguments.index(node) for node in kept),
            objects=tuple(self.objects.values()),
            returns=tuple(places),
            sizes=tuple(self.sizes.values()),
            constants=tuple(self.constants),
            layouts=self._layouts(),
        )

    def _written(self, keep_writes: bool) -> tuple[list[CopyBack], list[Node]]:
        copy_backs: list[CopyBack] = []
        kept: list[Node] = []
        for node in self.aliases.written_storages(self.captured):
            if node.kind != "input" or not self.builder.version[self.builder.aliases.storage(node)]:
                continue
            if keep_writes and node not in self.builder.aliases.parents:
                kept.append(node)
            else:
                result = self._result(self.builder.read(node))
                copy_backs.append(CopyBack(self.captured.inputs.index(node), result))
        return copy_backs, kept

    def _keep_write(self, node: Node) -> None:
        pure = self.builder.pure
        target = next(p for p, argument in self.inputs.items() if self.captured.inputs[argument] is node)
        pure.call(COPY_INTO, (target, self.builder.read(node)), {}, None)

    def _place(self, output: Node) -> int:
        """The position among ``objects`` of what ``output`` denotes; one object is made once."""
        node = self.aliases.canonical(output)
        if node not in self.objects:
            self.objects[node] = self._rebuild(node)
        return list(self.objects).index(node)

    def _rebuild(self, node: Node) -> Rebuild:
        if not is_array(node):
            return Rebuild(self._ref(self.builder.read(node)))
        storage = self.aliases.storage(node)
        if storage.kind == "input":
            base = Ref("argument", self.captured.inputs.index(storage))
        else:
            base = self._ref(self.builder.read(storage))
        path = (*self._hidden(storage), *(self.builder.steps[view] for view in self.aliases.chain(node)))
        for size in _sizes_in(path):
            self._need_sizes(size)
        return Rebuild(base, map_nodes(path, lambda leaf: self._ref(leaf) if isinstance(leaf, Node) else leaf))

    def _hidden(self, storage: Node) -> tuple[ViewStep, ...]:
        """The view of a copy that nobody sees, as which NumPy gives some results; a write has left its own array."""
        meta = storage.meta
        is_hidden = storage.kind != "input" and isinstance(meta, ArrayMeta) and not meta.owns
        return (HIDDEN,) if is_hidden and self.builder.version[storage] else ()

    def _ref(self, pure: Node) -> Ref:
        if pure in self.inputs:
            return Ref("argument", self.inputs[pure])
        if pure.kind == "constant":
            self.constants.append(pure.value)
            return Ref("constant", len(self.constants) - 1)
        return Ref("result", self._result(pure))

    def _result(self, pure: Node) -> int:
        return self.results.setdefault(pure, len(self.results))

    def _need_sizes(self, size: SymInt) -> None:
        """Remember where each symbol of ``size`` gets its value; an argument is preferred."""
        for name in sorted(symbol.name for symbol in symbols_of(size.poly)):
            if name not in self.sizes:
                self.sizes[name] = self._size_source(name)

    def _size_source(self, name: str) -> SizeSource:
        arguments = self.captured.inputs
        for binding in self.captured.bindings:
            if binding.symbol == name and binding.node in arguments:
                return SizeSource(name, Ref("argument", arguments.index(binding.node)), binding.axis)
        binding = next(b for b in self.builder.pure.bindings if b.symbol == name)
        return SizeSource(name, self._ref(binding.node), binding.axis)

    def _layouts(self) -> dict[int, Any]:
        nodes = list(self.results)
        bases = {r.base.index for r in self.objects.values() if r.base.kind == "result" and r.path}
        return {index: array_meta(nodes[index]) for index in sorted(bases)}


def _sizes_in(value: Any) -> Iterator[SymInt]:
    found: list[SymInt] = []

    def note(leaf: Any) -> Any:
        if isinstance(leaf, SymInt):
            found.append(leaf)
        return leaf

    map_nodes(value, note)
    return iter(found)
