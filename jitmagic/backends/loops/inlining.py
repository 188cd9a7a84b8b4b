"""Takes groups of nodes, gives the nodes that each reader computes for itself instead of reading them from memory.

``centred = x - mean`` that two loops read costs three times the memory traffic of ``x``: written once, read twice.
Cheap arithmetic on what lies in memory anyway is done again instead, in every loop that needs it.

Before: k0 computes ``centred`` and the sum of its squares, stores ``centred``; k1 divides ``centred``.
After: k0 computes ``centred`` and the sum of its squares; k1 computes ``centred`` again from ``x`` and divides it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from jitmagic.backends.loops.folds import FoldRecipe
from jitmagic.backends.loops.fuse import OPERAND_LIMIT, Group, space_of
from jitmagic.backends.loops.inlined import Inlined
from jitmagic.backends.loops.operands import is_array
from jitmagic.backends.loops.recipes import Recipe, is_cheap
from jitmagic.graph import Graph, Node

__all__ = ["inline"]

MOST_NODES = 6  # computed again for one result
STORE = 2  # writing an element costs a read of its cache line as well


def inline(
    graph: Graph, groups: Sequence[Group], recipes: dict[Node, Recipe], folds: dict[Node, FoldRecipe]
) -> Inlined:
    """Decide which of the nodes that other groups read are computed there again."""
    found = Inlined()
    home = {node: group for group in groups for node in group.nodes}
    readers: dict[Node, dict[Group, None]] = {}
    for group in groups:
        for node in group.nodes:
            for operand in node.operands():
                if home.get(operand) is not group:
                    readers.setdefault(operand, {})[group] = None
    kept = set(graph.outputs) | {binding.node for binding in graph.bindings}
    choice = _Choice(home, recipes, folds, set(readers) | kept, found)
    for node in graph.nodes:
        if node in readers and node not in kept and choice.pays(node, readers[node]):
            found.nodes |= choice.closure(node) or set()
    return found


@dataclass(slots=True)
class _Choice:
    home: dict[Node, Group]
    recipes: dict[Node, Recipe]
    folds: dict[Node, FoldRecipe]
    in_memory: set[Node]
    found: Inlined

    def pays(self, node: Node, readers: Collection[Group]) -> bool:
        """Whether computing ``node`` again in every reader costs less traffic than writing and reading it."""
        closure = self.closure(node)
        if closure is None or not all(self.fits(node, group) for group in readers):
            return False
        leaves = {leaf for inner in closure for leaf in inner.operands() if leaf not in closure}
        leaves = {leaf for operand in leaves for leaf in self._through(operand)}
        wide = {leaf for leaf in leaves if is_array(leaf) and self._is_as_large(leaf, node)}
        extra = 0
        for group in readers:
            read = {o for member in group.nodes for o in self.found.reads(member)}
            extra += len(wide - read)
            if len(read | leaves) + 2 > OPERAND_LIMIT:
                return False
        return extra < STORE + len(readers)

    def _through(self, operand: Node) -> Iterator[Node]:
        if operand in self.found.nodes:
            yield from self.found.reads(operand)
        else:
            yield operand

    def _is_as_large(self, leaf: Node, node: Node) -> bool:
        return len(leaf.meta.shape) == len(node.meta.shape) and all(  # type: ignore[union-attr]  # both are arrays
            getattr(n, "key", n) != 1
            for n in leaf.meta.shape  # type: ignore[union-attr]  # both are arrays
        )

    def closure(self, node: Node) -> set[Node] | None:
        """``node`` and what must be computed with it from memory; None if that is too much, or not possible."""
        space, group = space_of(node) if is_array(node) else None, self.home[node]
        found: set[Node] = set()
        stack = [node]
        while stack:
            inner = stack.pop()
            if inner in found or not is_array(inner):
                continue
            computed_here = self.home.get(inner) is group and inner in self.recipes
            if inner is not node and (inner in self.found.nodes or not computed_here or inner in self.in_memory):
                continue
            if not self._is_cheap(inner) or space_of(inner) != space or len(found) >= MOST_NODES:
                return None
            found.add(inner)
            stack += inner.operands()
        return found or None

    def _is_cheap(self, node: Node) -> bool:
        recipe = self.recipes.get(node)
        return recipe is not None and not node.written() and is_cheap(recipe)

    def fits(self, node: Node, group: Group) -> bool:
        """Whether every reader in ``group`` can compute ``node``: in its own loop, or as the terms of a short sum."""
        readers = [n for n in group.nodes if node in n.operands()]
        if group.space is None or any(n not in self.recipes and n not in self.folds for n in readers):
            return False
        space = space_of(node)
        return all(space == group.space or (n in self.recipes and self.recipes[n].kind == "short") for n in readers)
