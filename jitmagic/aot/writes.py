"""Takes a node that writes, gives the pure nodes that say the same; one rule per kind of write.

NumPy reads all operands of a write before it changes anything, also when they overlap with the target. That holds
here by itself: operands are values, and only later reads see the new one. Where NumPy does otherwise (``copying``), the
write is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from jitmagic.aot.aliases import is_array
from jitmagic.aot.clashes import clash, exact_in_every_layout
from jitmagic.aot.copying import order_shows
from jitmagic.aot.functionalise import PureBuilder, WriteRule, array_meta, same_description
from jitmagic.errors import Unsupported
from jitmagic.graph import ArrayMeta, Node, PyMeta, map_nodes
from jitmagic.graph.flow_call import FlowCall
from jitmagic.graph.node import nodes_in
from jitmagic.graph.passes.keys import structural_key
from jitmagic.graph.region_call import RegionCall
from jitmagic.graph.shapes import SymInt
from jitmagic.ops.functional import ViewStep, pure_form
from jitmagic.ops.record import Op
from jitmagic.ops.registry import by_name

__all__ = ["write_rule"]


def write_rule(node: Node) -> WriteRule:
    """The rule for a node with operands that it writes."""
    if "out" in node.kwargs:
        return _write_out
    return _RULES.get(_row(node).name, _write_copies)


def _row(node: Node) -> Op:
    assert isinstance(node.op, Op)
    return node.op


def _write_item(builder: PureBuilder, node: Node) -> None:
    """``target[index] = value``; a basic index becomes one more view on the path, never a scalar."""
    target, index, value = node.args
    if _is_own_part(builder, target, index, value):
        return
    source, index, value = value, builder.operands(index), builder.operands(value)
    parts = index if isinstance(index, tuple) else (index,)
    one_element = len(parts) == array_meta(target).ndim and all(map(_is_integer, parts))
    if not all(map(_is_basic, parts)) or (one_element and not _is_one_element(value)):
        builder.write_index(node, target, index, value)
        return
    if all(p is not Ellipsis for p in parts):
        parts = (*parts, Ellipsis)
    more = (ViewStep(by_name("getitem"), (parts,)),)
    _check_order(builder, node, target, more, source)
    builder.write(node, target, value, more)


def _is_own_part(builder: PureBuilder, target: Node, index: Any, value: Any) -> bool:
    """True for ``x[i] = x[i]`` with a view on the right: the second half of ``x[i] += y``, which changes nothing."""
    aliases = builder.aliases
    if not isinstance(value, Node) or not aliases.is_view(value):
        return False
    view = aliases.canonical(value)
    step = aliases.steps[view]
    same_part = structural_key((step.op, step.args)) == structural_key((by_name("getitem"), (index,)))
    return same_part and aliases.parents[view] is aliases.canonical(target)


def _is_basic(part: Any) -> bool:
    """True for what selects a view: integers, slices, None, Ellipsis."""
    return part is None or part is Ellipsis or isinstance(part, slice) or _is_integer(part)


def _is_integer(part: Any) -> bool:
    if isinstance(part, Node):
        meta = part.meta
        if isinstance(meta, PyMeta):
            return meta.type is int
        return isinstance(meta, ArrayMeta) and meta.scalar and meta.dtype.kind in "iu"
    if isinstance(part, bool | np.bool_):
        return False
    return isinstance(part, int | np.integer | SymInt)


def _is_one_element(value: Any) -> bool:
    """False for arrays with axes, which NumPy refuses to store in one element, even those of size 1."""
    if isinstance(value, Node):
        return isinstance(value.meta, PyMeta) or (isinstance(value.meta, ArrayMeta) and not value.meta.ndim)
    return isinstance(value, int | float | complex | np.generic | SymInt)


def _write_all(builder: PureBuilder, node: Node) -> None:
    """``copyto(target, value)`` and ``target.fill(value)``."""
    if node.kwargs or len(node.args) != 2:
        _write_copies(builder, node)
    else:
        _check_order(builder, node, node.args[0], (), node.args[1])
        builder.write(node, node.args[0], builder.operands(node.args[1]))


def _check_order(builder: PureBuilder, node: Node, target: Node, more: tuple[ViewStep, ...], source: Any) -> None:
    """Refuse a copy within one memory in which NumPy's order of copying shows."""
    if not isinstance(source, Node) or not is_array(source):
        return
    storage = builder.aliases.storage(target)
    if builder.aliases.storage(source) is not storage:
        return
    whole = array_meta(storage).standin()
    if order_shows(whole, (*builder.path(target), *more), builder.path(source)):
        raise Unsupported("aliased-inputs", "both sides of a write", node.span)


def _write_out(builder: PureBuilder, node: Node) -> None:
    """A call with ``out=``: the plain call and an update, where these give the same bits."""
    outs = node.kwargs["out"] if isinstance(node.kwargs["out"], tuple) else (node.kwargs["out"],)
    _check_outs(builder, node, outs)
    natural = _without_out(builder, node) if len(outs) == 1 and not _row(node).writes else None
    if natural is None:
        _write_copies(builder, node)
        return
    args = builder.operands(node.args)
    kwargs = builder.operands({k: v for k, v in node.kwargs.items() if k != "out"})
    builder.write_fresh(node, outs[0], builder.call(node, node.op, args, kwargs, natural))


def _check_outs(builder: PureBuilder, node: Node, outs: tuple[Any, ...]) -> None:
    """Refuse what only NumPy's own order of reading and writing could tell."""
    if not all(isinstance(o, Node) for o in outs):
        raise Unsupported("extern-unknown", f"{_row(node).name} with only some of its outputs given", node.span)
    storages = [builder.aliases.storage(o) for o in outs]
    if len(set(storages)) < len(storages):
        raise Unsupported("extern-unknown", f"{_row(node).name} with outputs in one array", node.span)
    if not _reads_before_it_writes(_row(node)):
        kept = nodes_in((node.args, {k: v for k, v in node.kwargs.items() if k != "out"}))
        if any(builder.aliases.storage(o) in storages for o in kept if is_array(o)):
            raise Unsupported("extern-unknown", f"{_row(node).name} with an operand in its output", node.span)
    elif not exact_in_every_layout(node):
        read = filter(is_array, nodes_in(node.args))
        if any(clash(builder.aliases, operand, out) for operand in read for out in outs):
            detail = f"an operand and the output of {_row(node).name}"
            raise Unsupported("aliased-inputs", detail, node.span)


def _check_loop(builder: PureBuilder, node: Node, targets: list[Any]) -> None:
    """Refuse a loop that meets one memory under two names: it reads what it has written."""
    if not isinstance(_row(node).call, RegionCall | FlowCall):
        return
    owners = [builder.aliases.storage(o) for o in node.args if isinstance(o, Node) and is_array(o)]
    if any(owners.count(builder.aliases.storage(t)) > 1 for t in targets):
        raise Unsupported("aliased-inputs", "arrays that a loop writes and reads", node.span)


def _reads_before_it_writes(row: Op) -> bool:
    """True for ufuncs, what stands for one (clip), and what is made of them; ``einsum`` gives no such promise."""
    return isinstance(row.call, np.ufunc) or row.lower is not None or bool(row.writes or row.stands_for)


def _without_out(builder: PureBuilder, node: Node) -> ArrayMeta | None:
    """The description of the call's result without ``out=``, or None if its bits might differ from those in ``out``.

    They agree if NumPy would have allocated the same layout, and for lowerings that are exact in every layout.
    """
    if node.kwargs.get("where", True) is not True:
        return None
    kwargs = {k: _describe(v) for k, v in node.kwargs.items() if k != "out"}
    try:
        natural = _row(node).infer(_describe(node.args), kwargs, builder.env).meta
    except Unsupported:  # described only with ``out=``
        return None
    if not isinstance(natural, ArrayMeta):
        return None
    out = node.kwargs["out"]
    target = array_meta(out[0] if isinstance(out, tuple) else out)
    if same_description(natural, target) and not natural.scalar:
        return natural
    return natural if exact_in_every_layout(node) else None


def _describe(value: Any) -> Any:
    def describe(leaf: Any) -> Any:
        if isinstance(leaf, Node):
            return leaf.value if leaf.kind == "constant" and leaf.meta is None else leaf.meta
        return leaf

    return map_nodes(value, describe)


def _write_copies(builder: PureBuilder, node: Node) -> None:
    """Any other write: the operation runs on copies of what it writes and gives them."""
    row = _row(node)
    positions = [i for i in row.writes if i < len(node.args)]
    targets = [node.args[i] for i in positions]
    _check_loop(builder, node, targets)
    kwargs = dict(node.kwargs)
    if "out" in kwargs:
        out = kwargs["into"] = kwargs.pop("out")
        targets += out if isinstance(out, tuple) else [out]
    copies = builder.call(node, pure_form(row), builder.operands(node.args), builder.operands(kwargs), None)
    metas = [replace(array_meta(t), writeable=True) for t in targets]
    for i, (target, meta) in enumerate(zip(targets, metas, strict=True)):
        builder.write_fresh(node, target, builder.pure.item(copies, i, meta))
    if node.meta is None:
        builder.start(node, copies)
        builder.offsets[node] = len(targets)
    elif builder.aliases.canonical(node) is node:
        builder.start(node, builder.pure.item(copies, len(targets), node.meta))


_RULES: Mapping[str, WriteRule] = {"setitem": _write_item, "copyto": _write_all, "fill": _write_all}
