"""Takes a node that only pure graphs have, or a part of an array, gives cotangents to its operands.

The cotangent of a whole gathers those of its parts in place: ``x[1:]`` and ``x[:-1]`` both add to their part of one
array, which backends turn into writes, so a stencil does not make one array of zeros for each of its arms.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.graph import ArrayMeta, Node
from jitmagic.graph.node import nodes_in
from jitmagic.graph.shapes import hint_of
from jitmagic.ops.derivatives import SCATTER_ADD
from jitmagic.ops.functional import UPDATE, UPDATE_INDEX, ViewStep, part_of_cotangent
from jitmagic.ops.gradients import fit
from jitmagic.ops.gradients.products import is_transposed
from jitmagic.ops.registry import by_name
from jitmagic.ops.view_steps import ordered

if TYPE_CHECKING:
    from jitmagic.aot.joint.reverse import Reverse

__all__ = ["STRUCTURAL"]


def _follow(walk: Reverse, value: Any, path: tuple[ViewStep, ...]) -> Any:
    """The part of ``value`` that ``path`` leads to."""
    for step in path:
        value = walk.stage.call(step.op, step.arguments(value), step.kwargs)  # type: ignore[arg-type]  # rows of the registry
        if step.item is not None:
            value = value[step.item]
    return value


def _add_part(walk: Reverse, base: Node, g: Any, path: tuple[ViewStep, ...]) -> None:
    """Add ``g`` to the part of the cotangent of ``base``."""
    known = walk.cotangents.get(base)
    if known is None:
        whole = walk.stage.value(base)
        known = np.zeros_like(whole, subok=False)
        value = g
    elif _is_cleared(known, path):  # what is added to zeros takes their place
        known, value = known.node.args[0], g
        known = walk.stage.value(known)
        if _is_part(g, known, path):
            walk.cotangents[base] = known
            return
    else:
        known = _writeable(known)
        value = _follow(walk, known, path) + g
    walk.cotangents[base] = walk.stage.call(UPDATE, (known, value, path))


def _is_cleared(known: Any, path: tuple[ViewStep, ...]) -> bool:
    """Whether the last thing that happened to ``known`` is that just this part of it became 0."""
    node = known.node
    return node.op is UPDATE and isinstance(node.args[1], np.generic) and _is_same(node.args[2], path)


def _is_part(g: Any, whole: Any, path: tuple[ViewStep, ...]) -> bool:
    """Whether ``g`` is the view of ``whole`` that ``path`` leads to."""
    node = g.node
    if node.view_of is not whole.node or len(path) != 1 or node.kwargs or len(node.args) != 2:
        return False
    return node.op is not None and _is_same((ViewStep(node.op, node.args[1:]),), path)


def _is_same(one: tuple[ViewStep, ...], other: tuple[ViewStep, ...]) -> bool:
    """Whether two paths are one subscript, by slices of known numbers."""
    if len(one) != 1 or len(other) != 1 or any(s.op.call is not operator.getitem for s in (*one, *other)):
        return False
    first, second = (_slices(step) for step in (*one, *other))
    return first is not None and first == second


def _slices(step: ViewStep) -> tuple[Any, ...] | None:
    """The slices of a subscript as tuples of their parts, without an Ellipsis at the end; None for anything else."""
    if step.kwargs or len(step.args) != 1 or step.position or step.item is not None:
        return None
    index = step.args[0] if isinstance(step.args[0], tuple) else step.args
    index = index[:-1] if index and index[-1] is Ellipsis else index
    parts = [(p.start, p.stop, p.step) for p in index if isinstance(p, slice)]
    plain = all(x is None or type(x) is int for part in parts for x in part)
    return tuple(parts) if plain and len(parts) == len(index) and parts else None


def _writeable(g: Any) -> Any:
    """``g``, or a copy where its elements share memory: a part of it cannot be changed alone."""
    shares = any(step == 0 and hint_of(n) > 1 for n, step in zip(g.shape, g.meta.strides, strict=True))
    return np.copy(g, order="C") if shares else g


def _getitem(walk: Reverse, node: Node) -> bool:
    base, index = node.args
    g = walk.cotangents[node]
    if node.view_of is not None or (isinstance(node.meta, ArrayMeta) and node.meta.scalar and _is_array(base)):
        parts = index if isinstance(index, tuple) else (index,)
        if all(p is not Ellipsis for p in parts):
            parts = (*parts, Ellipsis)
        _add_part(walk, base, g, (ViewStep(by_name("getitem"), (parts,)),))
        return True
    if not _is_array(base):
        return False
    walk.add(base, walk.stage.call(SCATTER_ADD, (walk.stage.value(base), g, index)))
    return True


def _is_array(node: Node) -> bool:
    return isinstance(node.meta, ArrayMeta) and not node.meta.scalar


def _window(walk: Reverse, node: Node) -> bool:
    base, *rest = node.args
    _add_part(walk, base, walk.cotangents[node], (ViewStep(node.op, tuple(rest)),))  # type: ignore[arg-type]  # a call has an op
    return True


def _spelled(base: Node, path: tuple[ViewStep, ...]) -> tuple[ViewStep, ...]:
    """The path as cotangents go it, which may lie otherwise in memory than ``base``."""
    meta = base.meta
    return ordered(path, meta.standin()) if isinstance(meta, ArrayMeta) else path


def _update(walk: Reverse, node: Node) -> bool:
    """``base`` with a part replaced: the part's cotangent is that of the value, the rest's that of ``base``."""
    base, value, path = node.args
    path = _spelled(base, path)
    g = walk.cotangents[node]
    if isinstance(value, Node | list | tuple):
        _add_values(walk, value, part_of_cotangent(g, path, lambda whole: _follow(walk, whole, path)))
    if base in walk.reached:
        walk.add(base, walk.stage.call(UPDATE, (_writeable(g), _zero_of(g), path)))
    return True


def _add_values(walk: Reverse, values: Any, g: Any) -> None:
    """Add ``g`` to what was written, an array or a list of arrays and numbers."""
    walk.hand_over(values, g if isinstance(values, Node) else fit(g, walk.stage.lift(values)))


def _update_index(walk: Reverse, node: Node) -> bool:
    base, value, path, index = node.args
    path = _spelled(base, path)
    g = walk.cotangents[node]
    if not walk.reached.isdisjoint(nodes_in(value)):
        whole = part_of_cotangent(g, path, lambda array: _follow(walk, array, path))
        part = whole[walk.stage.lift(index)]
        _add_values(walk, value, _of_winners(walk, node, part, path))
    if base in walk.reached:
        walk.add(base, walk.stage.call(UPDATE_INDEX, (_writeable(g), _zero_of(g), path, index)))
    return True


def _of_winners(walk: Reverse, node: Node, part: Any, path: tuple[ViewStep, ...]) -> Any:
    """``part`` with 0 for the values that a later one at the same place has overwritten."""
    base, index = node.args[0], node.args[3]
    of_arrays = any(isinstance(n.meta, ArrayMeta) and n.meta.dtype.kind in "iu" for n in nodes_in(index))
    if not of_arrays and not _has_repeats(index):
        return part
    order = np.reshape(np.cumsum(np.ones_like(part, dtype=np.int64, subok=False)), part.shape)
    empty = np.zeros_like(walk.stage.value(base), dtype=np.int64, subok=False)
    last = walk.stage.call(UPDATE_INDEX, (empty, order, path, index))
    return np.where(_follow(walk, last, path)[walk.stage.lift(index)] == order, part, 0)


def _has_repeats(index: Any) -> bool:
    """Whether a list of places, which is known now, may name one twice."""
    lists = [p for p in (index if isinstance(index, tuple) else (index,)) if isinstance(p, list | np.ndarray)]
    return any(len(np.unique(each)) < np.size(each) for each in lists if np.asarray(each).dtype.kind in "iu")


def _zero_of(g: Any) -> Any:
    return g.dtype.type(0)


def _scatter_add(walk: Reverse, node: Node) -> bool:
    _, values, index = node.args
    if isinstance(values, Node):
        walk.add(values, walk.cotangents[node][walk.stage.lift(index)])
    return True


def _product(walk: Reverse, node: Node) -> bool:
    """Products of vectors and matrices: BLAS reads transposed operands as they are, without copies."""
    if node.kwargs or len(node.args) != 2 or not all(isinstance(a, Node) and _is_array(a) for a in node.args):
        return False
    x, y = (walk.stage.value(a) for a in node.args)
    rule = _PRODUCTS.get((x.ndim, y.ndim))
    if rule is None or x.dtype != y.dtype:
        return False
    g = walk.cotangents[node]
    for operand, cotangent in zip(node.args, rule, strict=True):
        if operand in walk.reached:
            walk.add(operand, cotangent(g, x, y))
    return True


def _right_matrix(g: Any, x: Any, y: Any) -> Any:
    """As the row's own rule: the gradient of ``weight`` in ``x @ weight.T`` comes out as ``weight`` lies in memory."""
    return np.matmul(g.T, x).T if is_transposed(y) else np.matmul(x.T, g)


_Two = tuple[Callable[[Any, Any, Any], Any], Callable[[Any, Any, Any], Any]]
_PRODUCTS: Mapping[tuple[int, int], _Two] = {
    (1, 1): (lambda g, x, y: g * y, lambda g, x, y: g * x),
    (1, 2): (lambda g, x, y: np.matmul(y, g), lambda g, x, y: x[:, None] * g),
    (2, 1): (lambda g, x, y: g[:, None] * y, lambda g, x, y: np.matmul(x.T, g)),
    (2, 2): (lambda g, x, y: np.matmul(g, y.T), _right_matrix),
}
Rule = Callable[["Reverse", Node], bool]
STRUCTURAL: Mapping[str, Rule] = {
    "matmul": _product,
    "dot": _product,
    "getitem": _getitem,
    "window": _window,
    "update": _update,
    "update_index": _update_index,
    "scatter_add": _scatter_add,
}
