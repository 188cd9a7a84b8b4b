"""Takes a pure graph, gives the steps of its program: kernels, views and calls of NumPy, in running order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from jitmagic.backends.loops.bodies import Built, Dense, build_fold, build_pointwise
from jitmagic.backends.loops.folds import FoldRecipe
from jitmagic.backends.loops.fuse import Group, Recipes, fuse
from jitmagic.backends.loops.inlined import Inlined
from jitmagic.backends.loops.inlining import inline
from jitmagic.backends.loops.operands import dense_axes, is_array, memory_order
from jitmagic.backends.loops.recipes import FAST, Adapt, Recipe
from jitmagic.backends.loops.scans import build_scan
from jitmagic.graph import ArrayMeta, Graph, Node, hint_of

__all__ = ["Call", "Launch", "Schedule", "Step", "schedule"]


@dataclass(frozen=True, slots=True)
class Call:
    """A node that NumPy runs: an operation without a loop, a view, an item of a tuple."""

    node: Node


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel with the nodes behind its operands, and all nodes that it computes."""

    built: Built
    nodes: tuple[Node, ...]


Step: TypeAlias = Call | Launch


@dataclass(slots=True)
class Schedule:
    """``steps`` in running order; ``marks`` says for each call of the graph where it went.

    Behind the outputs of the graph that a caller gets stand ``stored`` ones, which only copies into inputs read.
    """

    graph: Graph
    stored: int = 0
    steps: list[Step] = field(default_factory=list)
    marks: dict[Node, str] = field(default_factory=dict)

    @property
    def results(self) -> list[Node]:
        """What a caller gets."""
        outputs = self.graph.outputs
        return outputs[: len(outputs) - self.stored]

    @property
    def launches(self) -> Iterator[Launch]:
        return (step for step in self.steps if isinstance(step, Launch))


def schedule(graph: Graph, smallest: int = 2, adapt: Adapt | None = None, scans: bool = True) -> Schedule:
    """Decide which nodes share a kernel, and in which order everything runs.

    Groups of less than ``smallest`` nodes are left to NumPy: a kernel of one call gains nothing. ``adapt``
    changes or refuses the recipes of elements; ``scans`` says whether the target has loops that accumulate.
    """
    groups, recipes = fuse(graph, adapt, scans)
    try:
        return _planned(graph, groups, recipes, smallest, inline(graph, groups, *recipes[:2]))
    except _InMemory:  # a loop does not come about: NumPy needs its operands
        return _planned(graph, groups, recipes, smallest, Inlined())


class _InMemory(Exception):
    """What was inlined has a reader outside of loops."""


def _planned(
    graph: Graph,
    groups: list[Group],
    all_recipes: Recipes,
    smallest: int,
    inlined: Inlined,
) -> Schedule:
    result = Schedule(graph)
    recipes, folds, scans = all_recipes
    needed = _needed_in_memory(graph, groups, inlined)
    leading = _leading(groups, folds) | _small(groups, recipes, smallest)
    made = {
        node
        for group in groups
        if group.is_scan or is_worth_it(group, recipes, smallest, leading)
        for node in group.nodes
        if node in recipes or node in scans
    }
    dense = {node: _trusted_dense(node, node in made) for node in graph.nodes if is_array(node)}

    def name() -> str:
        return f"k{sum(1 for _ in result.launches)}"

    for group in groups:
        group = _without_unread(group, folds, needed) if inlined.nodes else group
        for built, nodes in (
            [(build_scan(name(), node, scans[node]), [node]) for node in group.nodes]
            if group.is_scan
            else _kernels(name, group, recipes, folds, needed, dense, smallest, inlined, leading)
        ):
            if built is None:
                if any(o in inlined.nodes for node in nodes for o in (node, *node.operands())):
                    raise _InMemory
                result.steps += [Call(node) for node in nodes if node.kind in ("call", "item")]
                result.marks |= {n: _mark(n) for n in nodes if n.kind == "call"}
            else:
                nodes = inlined.within(nodes) + nodes
                result.steps.append(Launch(built, tuple(nodes)))
                result.marks |= dict.fromkeys(nodes, built.kernel.name)
    return _without_unread_views(result)


def is_worth_it(group: Group, recipes: dict[Node, Recipe], smallest: int, leading: Collection[Node]) -> bool:
    """A kernel of one NumPy call gains only what threads gain, and what it hands on in the cache.

    ``leading`` are the nodes that are worth one for what they lie next to.
    """
    node = group.nodes[0]
    if len(group.nodes) >= smallest or node in leading:
        return True
    found, meta = recipes.get(node), node.meta
    if group.reduced is not None:
        read = [o.meta for o in node.operands() if isinstance(o.meta, ArrayMeta)]
        return all(math.prod(m.hint_shape) <= SHORT_FOLD or _row(m, group.reduced) <= SHORT_RUN for m in read)
    if found is None or not isinstance(meta, ArrayMeta):
        return False
    kind = "strided" if found.expression.startswith(FAST) else found.kind
    least = ALONE[kind]
    if _run(node) <= SHORT_RUN:
        least = min(least, ALONE_IN_RUNS)
    return math.prod(meta.hint_shape) >= least


def _row(meta: ArrayMeta, reduced: Collection[int]) -> int:
    """The elements of the innermost axes that are all reduced, or all kept."""
    live = [axis for axis in memory_order(meta)[::-1] if meta.hint_shape[axis] != 1]
    rows = itertools.takewhile(lambda axis: (axis in reduced) == (live[0] in reduced), live)
    return math.prod(meta.hint_shape[axis] for axis in rows)


def _run(node: Node) -> int:
    """How many elements NumPy's loop takes at a time: those that follow each other in every operand alike."""
    metas = [n.meta for n in (node, *node.operands()) if is_array(n)]
    whole = metas[0]
    assert isinstance(whole, ArrayMeta)
    run, below = 1, None
    for axis in memory_order(whole)[::-1]:
        if whole.hint_shape[axis] == 1:
            continue
        steps = [_step(m, axis - whole.ndim) for m in metas if isinstance(m, ArrayMeta)]
        if below is not None and steps != [step * run for step in below]:
            break
        below = steps if below is None else below
        run *= whole.hint_shape[axis]
    return run


def _step(meta: ArrayMeta, axis: int) -> int:
    """Bytes to the next element along ``axis``, counted from the last; 0 where there is only one."""
    return 0 if -axis > meta.ndim or meta.hint_shape[axis] == 1 else int(hint_of(meta.strides[axis]))


def _leading(groups: Sequence[Group], folds: dict[Node, FoldRecipe]) -> set[Node]:
    """The folds that are large, and that other loops read; NumPy finds extremes faster, if not in the cache."""
    read = {o for group in groups if group.space is not None for node in group.nodes for o in node.operands()}
    found = set()
    for node in read & folds.keys():
        fold, meta = folds[node], folds[node].source.meta
        assert isinstance(meta, ArrayMeta)
        is_sum = fold.kind in ("sum", "mean")
        least = LEADING if fold.shape in ("KR", "RK") else LEADING_WHOLE
        if (is_sum or fold.shape == "KR") and math.prod(meta.hint_shape) >= least:
            found.add(node)
    return found


def _small(groups: Sequence[Group], recipes: dict[Node, Recipe], smallest: int) -> set[Node]:
    """Short operations between loops: a call of NumPy takes longer, and keeps the program from running natively."""
    if not any(group.space is not None and len(group.nodes) >= smallest for group in groups):
        return set()
    alone = [group.nodes[0] for group in groups if group.space is not None and len(group.nodes) == 1]
    shapes = {n: n.meta.hint_shape for n in alone if n in recipes and isinstance(n.meta, ArrayMeta)}
    return {node for node, shape in shapes.items() if math.prod(shape) <= SHORT_FOLD}


LEADING = 1 << 15  # elements from which on loops over the same rows take turns, see ``numba_cpu.chains``
LEADING_WHOLE = 200_000  # elements from which on two threads make up for a sum that is no faster than NumPy's
# Elements up to which a fold alone is worth a kernel: np.mean takes 4 us before it adds the first two
SHORT_FOLD = 4096
# Elements from which on one call alone is worth a kernel: one addition is bound by memory, a function is not, and
# NumPy takes 10 ns to begin a sum
ALONE = {"apply": 500_000, "cast": 500_000, "strided": 20_000, "short": 2}
# Where rows are short, and do not follow each other in some operand, NumPy takes 20 to 30 ns for each
SHORT_RUN, ALONE_IN_RUNS = 128, 4096


def _kernels(
    name: Callable[[], str],
    group: Group,
    recipes: dict[Node, Recipe],
    folds: dict[Node, FoldRecipe],
    needed: set[Node],
    dense: Dense,
    smallest: int,
    inlined: Inlined,
    leading: set[Node],
) -> Iterator[tuple[Built | None, list[Node]]]:
    """The kernel of a group, or its parts if the folds do not fit; None stands for calls of NumPy."""
    plain = [n for n in group.nodes if n not in folds]
    wanted = [n for n in group.nodes if n in needed]
    if not group.nodes:
        return
    if group.space is None or not (is_worth_it(group, recipes, smallest, leading) or inlined.within(group.nodes)):
        yield None, group.nodes
        return
    if group.reduced is not None:
        built = build_fold(name(), group.nodes, recipes, folds, wanted, dense, inlined)
        if built is not None:
            yield built, group.nodes
            return
        wanted = [n for n in plain if n in needed or any(folds[f].source is n for f in group.nodes if f in folds)]
    if group.reduced is not None and len(plain) < smallest:
        yield None, plain
    else:
        yield build_pointwise(name(), plain, recipes, wanted, dense, inlined), plain
    for fold in (n for n in group.nodes if n in folds):
        alone = Group([fold], group.space, folds[fold].reduced)
        is_alone = folds[fold].shape != "R" and not inlined.within([fold])
        of_memory = is_alone and is_worth_it(alone, recipes, smallest, leading)
        yield build_fold(name(), [fold], recipes, folds, [fold], dense, inlined) if of_memory else None, [fold]


def _mark(node: Node) -> str:
    return "view" if node.view_of is not None else "extern"


def _trusted_dense(node: Node, is_ours: bool) -> tuple[int, ...] | None:
    """Arrays that we allocate lie as planned; of others, guards only promise that they are C or F contiguous."""
    meta = node.meta
    assert isinstance(meta, ArrayMeta)
    return dense_axes(meta) if is_ours or meta.contiguous else None


def _needed_in_memory(graph: Graph, groups: list[Group], inlined: Inlined) -> set[Node]:
    """Nodes that are outputs, or that something outside of their own group reads."""
    needed = set(graph.outputs)
    for group in groups:
        inside = set(group.nodes)
        for node in group.nodes:
            outside = (o for o in node.operands() if o not in inside)
            for operand in outside:
                needed.update(inlined.reads(operand) if operand in inlined.nodes else (operand,))
    return needed


def _without_unread(group: Group, folds: dict[Node, FoldRecipe], needed: set[Node]) -> Group:
    """The group without what only nodes outside of it used, which now compute it themselves."""
    if group.space is None:
        return group
    read = {n for n in group.nodes if n in needed or n in folds or not n.is_pure}
    for node in reversed(group.nodes):
        if node in read:
            read.update(node.operands())
    return Group([n for n in group.nodes if n in read], group.space, group.reduced)


def _without_unread_views(plan: Schedule) -> Schedule:
    """Drop the views that kernels read through, if nobody else needs the array itself."""
    read: set[Node] = set(plan.graph.outputs) | {b.node for b in plan.graph.bindings}
    kept: list[Step] = []
    for step in reversed(plan.steps):
        if isinstance(step, Launch):
            read.update(step.built.inputs.values())
        elif step.node.view_of is not None and step.node not in read:
            continue
        else:
            read.update(step.node.operands())
        kept.append(step)
    plan.steps = kept[::-1]
    return plan
