"""Takes a call that writes into a Tensor, does it, and records what it means for the Tensor and all views of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jitmagic.autograd.coded import CodedNode
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.node import Edge, Node, OpNode, Saved
from jitmagic.autograd.record import histories, node_of, operands, with_inner_lists_joined
from jitmagic.autograd.recorded import Recorded, is_smooth, raw
from jitmagic.errors import GradientError
from jitmagic.ops.copying import shows_order
from jitmagic.ops.functional import UPDATE
from jitmagic.ops.gradients import as_called, by_position
from jitmagic.ops.record import Op
from jitmagic.ops.registry import by_name

__all__ = ["set_item", "writable", "write", "write_into", "written"]

PLAIN_TARGET = (
    "a Tensor that requires a gradient cannot be written into a plain array, which has no history: make the target a "
    "Tensor (out = jm.Tensor(np.zeros(n))), or let jm.grad or jm.value_and_grad call the function: there arrays that "
    "np.zeros and the like make keep it (those from elsewhere do not: write into np.copy(a)); or detach the value"
)


def write(target: Any, perform: Callable[..., Any], row: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """``perform(*args, **kwargs)`` on the data, where ``args[0]`` is ``target``; its meaning is ``row``."""
    args, kwargs = by_position(row, tuple(map(with_inner_lists_joined, args)), kwargs)
    edges, sources = histories(args) if is_grad_enabled() else ([], [])
    if not isinstance(target, Recorded):
        if edges:
            raise GradientError(PLAIN_TARGET)
        return perform(*raw(args), **raw(kwargs))
    if is_grad_enabled():
        target._check_may_write()
    node: Node | None = None
    if edges and is_smooth(target._values):
        node = node_of(row, args, kwargs, edges, sources, 1)
    elif is_grad_enabled():
        node = _into_code(target, edges)
    target._version.before_write(target._values)
    result = perform(*raw(args), **raw(kwargs))
    written(target, node)
    return result


def _into_code(target: Recorded, edges: list[Edge]) -> Node | None:
    """What numbers are after a write into a view of their bits; None if no gradient flows through them."""
    owner = target._owner()
    before = owner._history() if not is_smooth(target._values) and is_smooth(owner._values) else None
    return CodedNode("a write into a view of the bits", [before, *edges]) if before is not None else None


RESULT_READ = frozenset({"ipow", "sort_in_place", "partition_in_place"})  # their rules need what was written


def written(target: Recorded, node: Node | None) -> None:
    """Make ``node``, if there is one, the history of what was written."""
    if node is None:
        return
    if isinstance(node, OpNode):
        reads = node.row.name in RESULT_READ
        node.ans = Saved(target._values, None, target._version, type(target), reads)
    owner = target._owner()
    owner._edge = (node, 0) if owner is target else _update(owner, target, node)
    owner._epoch += 1


def _update(owner: Recorded, part: Recorded, node: Node) -> Edge:
    """The owner after a part of it was written."""
    edges: list[Edge] = [(node, 0)]
    sources: list[tuple[int, int | None]] = [(1, None)]
    before = owner._history()
    if before is not None:
        edges.insert(0, before)
        sources.insert(0, (0, None))
    args = (owner._saved(before), part._saved((node, 0)), part._path)
    update = OpNode(UPDATE, args, {}, edges, sources)
    update.ans = Saved(owner._values, None, owner._version, type(owner))
    return (update, 0)


def write_into(kind: Any, out: Any, perform: Callable[..., Any], row: Op, args: Any, kwargs: Mapping[str, Any]) -> Any:
    """A call with ``out=``: ``perform()`` writes the results of ``row`` for the other arguments into ``out``."""
    args, kwargs = by_position(row, args, kwargs)
    edges, sources = histories(args) if is_grad_enabled() else ([], [])
    outs = out if isinstance(out, tuple) else (out,)
    tensors = [each for each in outs if isinstance(each, Recorded)]
    if edges and any(each is not None and not isinstance(each, Recorded) for each in outs):
        raise GradientError(PLAIN_TARGET)
    mask = kwargs.pop("where", True) if isinstance(row.call, np.ufunc) else True
    computed = node_of(row, args, kwargs, edges, sources, len(outs)) if edges else None
    cast = _before_the_cast(row, args, kwargs, outs) if isinstance(computed, OpNode) else None
    nodes: list[Node | None] = []
    for i, each in enumerate(outs):
        nodes.append(_taken(each, None if computed is None else (computed, i), raw(mask)))
    for each in tensors:
        each._version.before_write(each._values)
    result = perform()
    results = result if isinstance(result, tuple) else (result,)
    found = tuple(
        kind._made(data, None if computed is None else (computed, i)) if each is None else each
        for i, (each, data) in enumerate(zip(outs, results, strict=True))
    )
    for each, node in zip(outs, nodes, strict=True):
        if node is not None:
            written(each, node)
    if isinstance(computed, OpNode):
        saved = tuple(Saved(each._values, None, each._version, kind) for each in found)
        saved = saved if cast is None else tuple(map(Saved, cast))
        computed.ans = saved if len(outs) > 1 else saved[0]
    return found if len(found) > 1 else found[0]


def _taken(out: Any, edge: Edge | None, mask: Any) -> Node | None:
    """What ``out`` is after the result behind ``edge`` was written into it; None if no gradient flows to it."""
    if not isinstance(out, Recorded) or not is_grad_enabled():
        return None
    out._check_may_write()
    before = out._history()
    if not is_smooth(out._values):
        return _into_code(out, [] if edge is None else [edge])
    return _copied(out, before, edge, mask) if edge or before else None


def _before_the_cast(row: Op, args: Any, kwargs: Mapping[str, Any], outs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The results before they were cast to the dtypes of ``outs``: a rule would take them for other values."""
    dtypes = {tensor._values.dtype for _, _, tensor in operands(args)}
    if dtypes.issuperset(each._values.dtype for each in outs if each is not None):
        return None
    called, options = as_called(row, args, kwargs)
    with np.errstate(all="ignore"):
        found = row.call(*raw(called), **raw(options))
    return found if isinstance(found, tuple) else (found,)


def _copied(out: Recorded, before: Edge | None, computed: Edge | None, mask: Any) -> Node:
    """``copyto(out, computed, where=mask)``."""
    edges: list[Edge] = []
    places: list[tuple[int, int | None]] = []
    for place, edge in enumerate((before, computed)):
        if edge is not None:
            edges.append(edge)
            places.append((place, None))
    stand_in = Saved(out._values)
    kept = mask.copy() if isinstance(mask, np.ndarray) else mask
    return OpNode(by_name("copyto"), (stand_in, stand_in), {"where": kept}, edges, places)


def writable(target: Recorded) -> np.ndarray[Any, Any]:
    """The array behind ``target``, about to be written by plain NumPy: nothing is recorded, as under ``no_grad``.

    What recorded operations still need of it is copied first.
    """
    target._version.before_write(target._values)
    data: np.ndarray[Any, Any] = target._values
    return data


def set_item(target: Recorded, index: Any, value: Any) -> None:
    """``target[index] = value``; the second half of ``target[index] += value`` changes nothing more."""
    if isinstance(value, Recorded) and _is_own_part(target, index, value):
        return
    if isinstance(value, Recorded) and is_grad_enabled() and np.may_share_memory(target._values, value._values):
        _check_order(target, index, value)
    write(target, _assign, by_name("setitem"), (target, index, value), {})


def _check_order(target: Recorded, index: Any, value: Recorded) -> None:
    part, data = target._values[raw(index)], value._values
    if isinstance(part, np.ndarray) and isinstance(data, np.ndarray) and shows_order(part, data):
        raise GradientError(
            "x[...] = y of one memory with other strides: NumPy overwrites elements before it reads them, which has no "
            "gradient; write y.copy()"
        )


def _assign(data: Any, index: Any, value: Any) -> None:
    data[index] = value


def _is_own_part(target: Recorded, index: Any, value: Recorded) -> bool:
    if value._root is None or value._root is not target._owner():
        return False
    part, data = target._values[raw(index)], value._values
    if not isinstance(part, np.ndarray) or not isinstance(data, np.ndarray):
        return False
    same_place = part.__array_interface__["data"] == data.__array_interface__["data"]
    return same_place and part.shape == data.shape and part.strides == data.strides and part.dtype == data.dtype
