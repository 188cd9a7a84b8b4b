"""Takes a schedule, gives the updates and loops that may write into operands whose old value nobody reads again."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping, Sequence

import numpy as np

from jitmagic.backends.loops.buffers import last_reads
from jitmagic.backends.loops.ir import Fold, Index, Kernel, Load, Store
from jitmagic.backends.loops.operands import dense_axes
from jitmagic.backends.loops.schedule import Call, Launch, Schedule
from jitmagic.graph import ArrayMeta, Node, SymInt
from jitmagic.graph.region_call import RegionCall
from jitmagic.ops.functional import UPDATE, UPDATE_INDEX, PureCall, ViewStep
from jitmagic.ops.lowering import View

__all__ = [
    "fits_over",
    "is_alike",
    "is_index_update",
    "is_plain_path",
    "is_plain_ufunc",
    "is_plain_update",
    "is_presumed_new",
    "is_subscript",
    "loop_of",
    "loops_in_place",
    "outputs_in_place",
    "results_over_operands",
    "updates_in_place",
    "writes_of",
]


def is_plain_update(node: Node) -> bool:
    """An ``update`` whose path is made of subscripts and turned axes: these are views of any array.

    (A ``reshape`` may be a copy.)
    """
    return node.op is UPDATE and not node.kwargs and is_plain_path(node.args[2])


def is_plain_path(path: Sequence[ViewStep]) -> bool:
    """Whether each step gives a view, of any array."""
    return all(map(_is_surely_view, path))


def is_index_update(node: Node) -> bool:
    """An update of the elements that an index array or a mask picks, of parts as above."""
    return node.op is UPDATE_INDEX and not node.kwargs and is_plain_path(node.args[2])


TURNS = ("T", "mT", "transpose", "swapaxes")  # of an array by these names, as attribute or method


def is_subscript(step: ViewStep) -> bool:
    return step.op.call is operator.getitem and len(step.args) == 1


def _is_surely_view(step: ViewStep) -> bool:
    known = is_subscript(step) or step.op.name in TURNS
    return known and not step.kwargs and step.position == 0 and step.item is None


def updates_in_place(plan: Schedule) -> set[Node]:
    """Updates whose base was made by this program and dies with them, views of it included."""
    lives = _Lives(plan)
    updates = [(k, s.node) for k, s in enumerate(plan.steps) if isinstance(s, Call) and _is_update(s.node)]
    return {node for k, node in updates if lives.is_free(node.args[0], k)}


def _is_update(node: Node) -> bool:
    return is_plain_update(node) or is_index_update(node)


def outputs_in_place(plan: Schedule) -> dict[Node, Node]:
    """Ufuncs that NumPy runs, with the operand whose memory may take the result: dead with them, and laid out alike."""
    lives = _Lives(plan)
    found: dict[Node, Node] = {}
    for k, step in enumerate(plan.steps):
        if isinstance(step, Call) and is_plain_ufunc(step.node):
            free = (a for a in step.node.args if lives.is_free(a, k) and is_alike(a, step.node))
            operand = next(free, None)
            if operand is not None:
                found[step.node] = operand
    return found


def results_over_operands(plan: Schedule, together: Mapping[int, Sequence[Launch]]) -> dict[int, dict[str, str]]:
    """For each kernel the results that may take the memory of an operand, which is dead with it, and that operand.

    ``together`` has the kernels that take turns with one, by its identity: none of them may read other parts of it.
    """
    lives = _Lives(plan)
    found: dict[int, dict[str, str]] = {}
    for k, step in enumerate(plan.steps):
        if isinstance(step, Launch):
            free = {n: node for n, node in step.built.inputs.items() if lives.is_free(node, k)}
            members = together.get(id(step), ())
            pairs = found[id(step)] = {}
            for name, result in step.built.outputs.items():
                fits = (
                    n for n, node in free.items() if fits_over(step.built.kernel, n, name) and is_alike(node, result)
                )
                operand = next((n for n in fits if _is_apart(free[n], step, members)), None)
                if operand is not None:
                    pairs[name] = operand
                    del free[operand]
    return {key: pairs for key, pairs in found.items() if pairs}


def fits_over(kernel: Kernel, operand: str, result: str) -> bool:
    """Whether each element is read only where, and before, that of the result is written."""
    stores = [s for s in kernel.body if isinstance(s, Store | Fold) and s.access.operand == result]
    whole = tuple(map(Index, range(kernel.ndim)))
    loads = [s.access.axes for s in kernel.body if isinstance(s, Load) and s.access.operand == operand]
    is_plain = all(isinstance(s, Store) and s.access.axes == whole for s in stores)
    return is_plain and set(loads) == {whole} and kernel.operand(operand).dense is not None


def _is_apart(node: Node, step: Launch, members: Sequence[Launch]) -> bool:
    """Whether nobody who runs with ``step`` reads the memory of ``node`` at other places, as a view of it would."""
    if any(n is not node and n.storage is node.storage for n in step.built.inputs.values()):
        return False
    others = [m for m in members if m is not step]
    made_here = any(node in m.built.outputs.values() for m in others)
    return made_here or all(n.storage is not node.storage for m in others for n in m.built.inputs.values())


def is_plain_ufunc(node: Node) -> bool:
    call = node.op.call if node.op is not None else None
    return isinstance(call, np.ufunc) and call.nout == 1 and call.signature is None and not node.kwargs


def is_alike(operand: Node, node: Node) -> bool:
    """Equal dtype, sizes in every call, and strides of a dense array."""
    a, b = operand.meta, node.meta
    if not isinstance(a, ArrayMeta) or not isinstance(b, ArrayMeta) or b.scalar or a.scalar or not b.ndim:
        return False
    sizes = [[n.key if isinstance(n, SymInt) else n for n in meta.shape] for meta in (a, b)]
    return a.dtype == b.dtype and sizes[0] == sizes[1] and a.strides == b.strides and dense_axes(b) is not None


def loop_of(node: Node) -> RegionCall | None:
    """The loop that a node runs, on copies of the arrays that it writes."""
    call = node.op.call if node.op is not None else None
    row = call.row.call if isinstance(call, PureCall) else call
    return row if isinstance(row, RegionCall) else None


def writes_of(node: Node) -> tuple[int, ...]:
    """The positions of the operands that a loop writes; its first items are their new values."""
    return node.op.call.row.writes if node.op is not None and isinstance(node.op.call, PureCall) else ()


def loops_in_place(plan: Schedule) -> dict[Node, frozenset[int]]:
    """For each loop, the written operands that need no copy: made by this program, dead with the loop."""
    lives = _Lives(plan)
    loops = [(k, s.node) for k, s in enumerate(plan.steps) if isinstance(s, Call) and loop_of(s.node) is not None]
    return {
        node: frozenset(
            p for p in writes_of(node) if node.args.count(node.args[p]) == 1 and lives.is_free(node.args[p], k)
        )
        for k, node in loops
    }


class _Lives:
    """Which arrays a program makes itself, and the step at which each, its views included, is last read."""

    def __init__(self, plan: Schedule) -> None:
        dies = last_reads(plan)
        self.forever = len(plan.steps)
        self.made: set[Node] = set()
        self.last: dict[Node, int] = {}
        alive_with: dict[Node, Node] = {}  # a view and the array whose memory it shares
        for k, step in enumerate(plan.steps):
            for node in dies.get(k, ()):
                self.last[node] = k
            if isinstance(step, Launch):
                self.made.update(step.built.outputs.values())
            elif _is_update(step.node) or _is_new(step.node) or _is_written(step.node) or is_presumed_new(step.node):
                self.made.add(step.node)
            if isinstance(step, Call) and step.node.view_of is not None:
                owner = step.node.view_of
                alive_with[step.node] = alive_with.get(owner, owner)
        for view, owner in alive_with.items():
            self.last[owner] = max(self.last.get(owner, self.forever), self.last.get(view, self.forever))

    def is_free(self, base: object, step: int) -> bool:
        return isinstance(base, Node) and base in self.made and self.last.get(base, self.forever) == step


def _is_new(node: Node) -> bool:
    """Whether a call gives an array of its own: everything that could be a loop does."""
    lower = getattr(node.op, "lower", None)
    return lower is not None and not isinstance(lower, View) and node.view_of is None


WORTH_ASKING = 1 << 16  # bytes: a smaller array takes less time to make than to ask about


def is_presumed_new(node: Node) -> bool:
    """Whether a function of NumPy made the array, which is large, and hardly ever gives one that it was given.

    Who wants its memory asks when the array is there (``numba_cpu.owning``).
    """
    call, meta = node.op.call if node.op is not None else None, node.meta
    if (
        not isinstance(meta, ArrayMeta)
        or meta.scalar
        or math.prod(meta.hint_shape) * meta.dtype.itemsize < WORTH_ASKING
    ):
        return False
    home = getattr(call, "__module__", None) or getattr(getattr(call, "__objclass__", None), "__module__", None)
    is_known = isinstance(call, np.ufunc) or str(home).partition(".")[0] == "numpy"
    return is_known and node.kind == "call" and node.view_of is None and not _is_new(node)


def _is_written(node: Node) -> bool:
    """Whether a node is the new value of an array that a loop wrote."""
    return node.kind == "item" and loop_of(node.args[0]) is not None and node.index < len(writes_of(node.args[0]))
