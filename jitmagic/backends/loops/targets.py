"""Takes a schedule, gives the values that are computed right into the part of an array that they are for.

``y[1:] += 1`` is captured as ``y`` with a new part: a sum, then an update. Where the update happens in place and
follows at once, the sum can be written where it belongs, and needs no array of its own, as in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jitmagic.backends.loops.ir import Load
from jitmagic.backends.loops.schedule import Call, Launch, Schedule, Step
from jitmagic.backends.loops.updates import is_plain_ufunc, is_plain_update, is_subscript, updates_in_place
from jitmagic.backends.loops.views import index_map
from jitmagic.graph import ArrayMeta, Node, SymInt
from jitmagic.ops.lowering import Fill

__all__ = ["fills_first", "targets"]


def targets(plan: Schedule, together: Mapping[int, Any]) -> dict[Node, Node]:
    """For each such value the update that it is for. Kernels that take turns with others are left alone."""
    updates = updates_in_place(plan)
    readers: dict[Node, int] = {}
    for step in plan.steps:
        for node in set(_read(step)):
            readers[node] = readers.get(node, 0) + 1
    found = {}
    for step, node in _followed(plan.steps):
        if not is_plain_update(node):
            continue
        base, value, path = node.args
        view = _part(base, value, path)
        if view is None or readers.get(value) != 1 or value in plan.graph.outputs:
            continue
        if node not in updates:
            fits = isinstance(step, Launch) and id(step) not in together and _may_copy_first(step, value, base)
        elif isinstance(step, Call):
            fits = step.node is value and is_plain_ufunc(value) and _reads_only(value, base, view)
        else:
            fits = id(step) not in together and _may_write(step, value, base, view)
        if fits:
            found[value] = node
    return found


def fills_first(steps: Sequence[Step]) -> list[Step]:
    """The steps, each new array of one value before the kernel that makes what is written into it next."""
    found = list(steps)
    for k in range(1, len(found) - 1):
        before, fill, update = found[k - 1 : k + 2]
        if not isinstance(before, Launch) or not isinstance(fill, Call) or not isinstance(update, Call):
            continue
        if not isinstance(getattr(fill.node.op, "lower", None), Fill) or not is_plain_update(update.node):
            continue
        base, value, _ = update.node.args
        made = before.built.outputs.values()
        if base is fill.node and value in made and not any(o in made for o in fill.node.operands()):
            found[k - 1 : k + 1] = [fill, before]
    return found


def _read(step: Step) -> Collection[Node]:
    return step.node.operands() if isinstance(step, Call) else step.built.inputs.values()


def _followed(steps: Sequence[Step]) -> Iterator[tuple[Step, Node]]:
    """Each step that computes something, with the update that comes next; views in between only give names."""
    before: Step | None = None
    for step in steps:
        if isinstance(step, Call) and step.node.view_of is not None:
            continue
        if before is not None and isinstance(step, Call):
            yield before, step.node
        before = step


def _part(base: Node, value: Any, path: tuple[Any, ...]) -> Node | None:
    """The part of ``base`` as a view node, if it has the sizes and the dtype of ``value`` in every call."""
    if (
        len(path) != 1
        or not is_subscript(path[0])
        or not isinstance(value, Node)
        or not isinstance(value.meta, ArrayMeta)
    ):
        return None
    meta, subscript = base.meta, path[0].args[0]
    assert isinstance(meta, ArrayMeta)
    if meta.dtype != value.meta.dtype or any(isinstance(n, SymInt) for n in (*meta.shape, *value.meta.shape)):
        return None
    if _is_fancy(subscript):
        return None
    part = np.broadcast_to(np.zeros((), meta.dtype), meta.hint_shape)[subscript]
    if not isinstance(part, np.ndarray) or part.shape != value.meta.hint_shape or not math.prod(part.shape):
        return None
    return Node("part", "call", value.meta, path[0].op, (base, subscript), view_of=base)


def _is_fancy(subscript: Any) -> bool:
    items = subscript if isinstance(subscript, tuple) else (subscript,)
    return not all(item is None or item is Ellipsis or type(item) in (int, slice) for item in items)


def _reads_only(node: Node, base: Node, view: Node) -> bool:
    """Whether a call reads of ``base`` only ``view``: NumPy would make a copy of what overlaps otherwise."""
    same = index_map(view)
    near = [o for o in node.operands() if o.storage is base.storage]
    return same is not None and all(o.view_of is base and index_map(o) == same for o in near)


def _may_write(step: Launch, value: Node, base: Node, view: Node) -> bool:
    """Whether the kernel reads of ``base`` only the element that it is about to write.

    A kernel that makes ``base`` as well writes its elements in an order of its own, after parts that lie further on.
    """
    kernel, made = step.built.kernel, step.built.outputs.values()
    if kernel.shape or value not in made or base in made:
        return False
    inside = [name for name, node in step.built.inputs.items() if node.storage is base.storage]
    if not inside:
        return True
    same = index_map(view)
    loads = {s.access.axes for s in kernel.body if isinstance(s, Load) and s.access.operand in inside}
    return len(inside) == 1 and step.built.inputs[inside[0]] is base and same is not None and loads == {same}


def _may_copy_first(step: Launch, value: Node, base: Node) -> bool:
    """Whether the new array, a copy of ``base``, can be made before the kernel runs, which then reads what it likes."""
    outputs = step.built.outputs.values()
    return not step.built.kernel.shape and value in outputs and base not in outputs and base.view_of is None
