"""Takes a pure graph, gives groups of nodes that share one loop, in an order in which they can run.

Greedy, in program order: an elementwise node joins the group of an operand, or of a sibling that reads the same
array, if both run over one space and no path leads out of the group and back into it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from jitmagic.backends.loops.folds import FoldRecipe, fold_recipe
from jitmagic.backends.loops.operands import dense_axes, is_array
from jitmagic.backends.loops.recipes import Adapt, Recipe, is_cheap, recipe
from jitmagic.backends.loops.scans import ScanRecipe, scan_recipe
from jitmagic.backends.loops.short import short_recipe
from jitmagic.errors import InternalError
from jitmagic.graph import ArrayMeta, Graph, Node, SymInt

__all__ = ["OPERAND_LIMIT", "Group", "fuse", "space_of"]

# More operands than this and the addresses no longer fit into registers
OPERAND_LIMIT = 24
NODE_LIMIT = 200

Space = tuple[Any, ...]


@dataclass(eq=False, slots=True)
class Group:
    """Nodes that run together: a loop over ``space``, or one node on its own (``space`` is None).

    ``reduced`` are the axes that its folds reduce; None as long as it has none. A scan has a loop of its own.
    """

    nodes: list[Node] = field(default_factory=list)
    space: Space | None = None
    reduced: tuple[int, ...] | None = None
    is_scan: bool = False


def space_of(node: Node) -> Space:
    """Sizes and memory order as a key: equal spaces are equal, and laid out alike, in every call."""
    assert isinstance(node.meta, ArrayMeta)
    sizes = tuple(n.key if isinstance(n, SymInt) else n for n in node.meta.shape)
    return sizes, dense_axes(node.meta)


@dataclass(slots=True)
class Fusion:
    """The state of one run: the group of every node so far, and which groups read which."""

    recipes: dict[Node, Recipe] = field(default_factory=dict)
    folds: dict[Node, FoldRecipe] = field(default_factory=dict)
    scans: dict[Node, ScanRecipe] = field(default_factory=dict)
    home: dict[Node, Group] = field(default_factory=dict)
    groups: list[Group] = field(default_factory=list)
    order: dict[Node, int] = field(default_factory=dict)
    reads: dict[Group, dict[Group, None]] = field(default_factory=dict)
    readers: dict[Node, list[Group]] = field(default_factory=dict)  # loops that read an array, newest last
    outside: dict[Group, set[Node]] = field(default_factory=dict)  # what a group reads and does not make
    adapt: Adapt | None = None
    takes_scans: bool = True

    def add(self, node: Node, is_read: bool) -> None:
        group = self.find(node) if is_read else None
        if group is None:
            group = Group()
        if group not in self.reads:
            self.groups.append(group)
            self.reads[group] = {}
            self.outside[group] = set()
        group.nodes.append(node)
        self.home[node] = group
        self.order[node] = len(self.order)
        for operand in node.operands():
            if self.home[operand] is not group:
                self.outside[group].add(operand)
                self.reads[group][self.home[operand]] = None
                self.readers.setdefault(operand, []).append(group)

    def find(self, node: Node) -> Group | None:
        """A group that ``node`` joins, or a new one for a loop; None if it has no loop.

        What nobody reads still may warn, which a kernel would optimise away: it stays with NumPy.
        """
        found = recipe(node, self.adapt) or self.short(node)
        fold = None if found is not None else fold_recipe(node)
        if found is not None:
            self.recipes[node] = found
            space = space_of(node)
        elif fold is not None:
            self.folds[node] = fold
            space = space_of(fold.source)
        else:
            return self.scan(node)
        reduced = None if fold is None else fold.reduced
        group = next((g for g in self.candidates(node) if self.accepts(g, node, space, reduced)), None)
        group = group or Group(space=space)
        for operand in node.operands():
            other = self.home[operand]
            if self.may_merge(group, other) and not self.closes_a_cycle(other, node, besides=group):
                self.merge(group, other)
        if fold is not None:
            group.reduced = fold.reduced
        return group

    def short(self, node: Node) -> Recipe | None:
        """A short sum of what lies in memory, or is computed again easily; of other values it is a fold like any."""
        found = short_recipe(node)
        made = None if found is None else self.recipes.get(found.arguments[0])
        return found if made is None or is_cheap(made) else None

    def scan(self, node: Node) -> Group | None:
        found = scan_recipe(node) if self.takes_scans else None
        if found is None:
            return None
        self.scans[node] = found
        return Group(space=space_of(node), is_scan=True)

    def candidates(self, node: Node) -> Iterator[Group]:
        """Groups worth joining: those of the operands, then those that read the same arrays."""
        seen: set[Group] = set()
        operands = list(dict.fromkeys(node.operands()))
        nearby = [self.home[o] for o in operands]
        nearby += [g for o in operands if is_array(o) for g in reversed(self.readers.get(o, []))]
        for group in nearby:
            if group not in seen:
                seen.add(group)
                yield group

    def accepts(self, group: Group, node: Node, space: Space, reduced: tuple[int, ...] | None) -> bool:
        """Whether a group may take ``node``: the same loop, and no result that is known only after it."""
        return (
            group.space == space
            and not group.is_scan
            and (reduced is None or group.reduced in (None, reduced))
            and not any(o in self.folds and self.home[o] is group for o in node.operands())
            and self.has_room(group, node.operands())
            and not self.closes_a_cycle(group, node)
        )

    def may_merge(self, group: Group, other: Group) -> bool:
        """Whether two loops over one space may become one: neither reads the other, not even through a third."""
        return (
            other is not group
            and group in self.reads
            and group.space == other.space
            and not other.is_scan
            and group.reduced is None
            and other.reduced is None
            and len(group.nodes) + len(other.nodes) < NODE_LIMIT
            and self.has_room(group, self.outside[other], besides=other)
            and not self.depends(group, other)
            and not self.depends(other, group)
        )

    def merge(self, group: Group, other: Group) -> None:
        """Move all nodes of ``other`` into ``group``."""
        group.nodes = sorted(group.nodes + other.nodes, key=self.order.__getitem__)
        for node in other.nodes:
            self.home[node] = group
        self.reads[group] |= self.reads.pop(other)
        self.outside[group] |= self.outside.pop(other)
        self.outside[group] = {o for o in self.outside[group] if self.home[o] is not group}
        self.groups.remove(other)
        for reads in self.reads.values():
            if other in reads:
                del reads[other]
                reads[group] = None
        for readers in self.readers.values():
            readers[:] = [group if reader is other else reader for reader in readers]

    def has_room(self, group: Group, more: Iterable[Node], besides: Group | None = None) -> bool:
        """Whether a group can read ``more`` arrays, and those that ``besides`` makes come to it with them."""
        outside = {o for o in self.outside.get(group, set()).union(more) if self.home[o] not in (group, besides)}
        return len(outside) + 2 <= OPERAND_LIMIT and len(group.nodes) < NODE_LIMIT

    def closes_a_cycle(self, group: Group, node: Node, besides: Group | None = None) -> bool:
        """Whether an operand that another group makes, ``besides`` excepted, depends on this group."""
        homes = (self.home[o] for o in node.operands())
        return any(home not in (group, besides) and self.depends(home, group) for home in homes)

    def depends(self, later: Group, earlier: Group) -> bool:
        stack, seen = [later], {later}
        while stack:
            for group in self.reads[stack.pop()]:
                if group is earlier:
                    return True
                if group not in seen:
                    seen.add(group)
                    stack.append(group)
        return False

    def in_order(self) -> list[Group]:
        """Groups so that each runs after those it reads; otherwise as in the program.

        Raises InternalError if groups read each other: the function then runs plainly.
        """
        done: dict[Group, None] = {}
        entered: set[Group] = set()
        stack = self.groups[::-1]
        while stack:  # (no recursion: a long program is a long chain)
            waiting = [g for g in self.reads[stack[-1]] if g not in done]
            if waiting and stack[-1] not in done:
                if stack[-1] in entered:
                    raise InternalError("loops of one graph wait for each other")
                entered.add(stack[-1])
                stack += waiting[::-1]
            else:
                done[stack.pop()] = None
        # writes into inputs come last: nothing may fail after them, nobody may read what they change
        return sorted(done, key=lambda g: any(n.written() for n in g.nodes))


Recipes = tuple[dict[Node, Recipe], dict[Node, FoldRecipe], dict[Node, ScanRecipe]]


def fuse(graph: Graph, adapt: Adapt | None = None, scans: bool = True) -> tuple[list[Group], Recipes]:
    """The groups of ``graph`` in running order, and the recipes of their elementwise nodes, their folds and scans.

    ``adapt`` changes or refuses the recipes of elements; without ``scans`` nothing accumulates in a loop.
    """
    fusion = Fusion(adapt=adapt, takes_scans=scans)
    last_effect: Group | None = None
    read = {o for node in graph.nodes for o in node.operands()} | set(graph.outputs)
    for node in graph.nodes:
        fusion.add(node, node in read)
        if node.op is not None and node.op.effects:
            group = fusion.home[node]
            if last_effect is not None and last_effect is not group:
                fusion.reads[group][last_effect] = None
            last_effect = group
    return fusion.in_order(), (fusion.recipes, fusion.folds, fusion.scans)
