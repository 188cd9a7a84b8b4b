"""Takes a call of a row on Tensors and its result, gives the result as Tensors that know how they were computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jitmagic.autograd.coded import CodedNode, keeps_code, seen_again, viewed_code
from jitmagic.autograd.modes import is_grad_enabled
from jitmagic.autograd.node import Edge, ErrorNode, Node, OpNode, Saved, like_sequence
from jitmagic.autograd.recorded import (
    Recorded,
    check_dtypes,
    foreign_array,
    is_smooth,
    needs_gradient,
    python_number,
    raw,
    tensors_in,
)
from jitmagic.ops.functional import ViewStep
from jitmagic.ops.gradients import by_position
from jitmagic.ops.gradients.calls import has_rule
from jitmagic.ops.lowering import View
from jitmagic.ops.record import Op
from jitmagic.ops.view_steps import RETYPING

__all__ = [
    "histories",
    "node_of",
    "operands",
    "recorded",
    "saved_arguments",
    "with_inner_lists_joined",
    "without_rules",
]

Sources = list[tuple[int, int | None]]


def operands(args: tuple[Any, ...]) -> Iterator[tuple[int, int | None, Recorded]]:
    """Each Tensor among the operands: its position, its place in the list there (or None), itself."""
    for place, value in enumerate(args):
        if isinstance(value, Recorded):
            yield place, None, value
        elif isinstance(value, list | tuple):
            for entry, item in enumerate(value):
                if isinstance(item, Recorded):
                    yield place, entry, item


def histories(args: tuple[Any, ...]) -> tuple[list[Edge], Sources]:
    """Where the operands that require a gradient come from, and where they stand."""
    edges: list[Edge] = []
    sources: Sources = []
    for place, entry, tensor in operands(args):
        edge = tensor._history()
        if edge is not None:
            edges.append(edge)
            sources.append((place, entry))
    return edges, sources


def saved_arguments(row: Op, args: tuple[Any, ...], sources: Sources) -> tuple[Any, ...]:
    """The arguments as a node keeps them: arrays that nobody counts the writes to are copied, if a rule reads them."""
    reads = not (isinstance(row.lower, View) or row.name in LAYOUT_ONLY)

    def keep(value: Any) -> Any:
        if isinstance(value, Recorded):
            return value._saved(value._history(), reads or not is_smooth(value._values))
        if isinstance(value, list | tuple):
            return like_sequence(value, map(keep, value))
        if isinstance(value, slice):
            return raw(value)
        if isinstance(value, np.ndarray) and value.flags.writeable and (reads or not is_smooth(value)):
            return value.copy()
        return value

    return tuple(map(keep, args))


# Rules of these, and of views, need to know how their real operands are laid out, not what is in them.
LAYOUT_ONLY = frozenset(
    name
    for line in (
        "add subtract negative positive conjugate sum mean cumsum trace diff ediff1d gradient where astype copy",
        "copy_method array asarray asanyarray ascontiguousarray asfortranarray flatten concatenate stack vstack hstack",
        "dstack column_stack append repeat tile meshgrid roll tril triu diagflat take take_along_axis compress",
        "choose select extract update update_index add_at setitem fill copyto put place putmask put_along_axis",
        "fill_diagonal full_like floor ceil trunc rint round fix",
    )
    for name in line.split()
)


def node_of(
    row: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any], edges: Any, sources: Sources, outputs: int
) -> Node:
    """The node of a call; one that refuses where the row has no rules."""
    reason = without_rules(row, sources) or _among_foreign_arrays(row, args)
    if reason:
        return ErrorNode(row.name, reason, edges, outputs)
    return OpNode(row, saved_arguments(row, args, sources), raw(kwargs), edges, sources, outputs)


def without_rules(row: Op, sources: Sources) -> str:
    """Why no gradient can flow to the operands at ``sources``; empty if it can."""
    if row.vjp is None:
        return f"np.{row.name} has no gradient{': ' + row.no_vjp if row.no_vjp else ''}; detach what goes into it"
    missing = [place for place, _ in sources if not has_rule(row, place)]
    if missing:
        return f"np.{row.name} has no gradient with regard to its operand {missing[0]}; detach it"
    return ""


def _among_foreign_arrays(row: Op, args: tuple[Any, ...]) -> str:
    """Why the rules of ``row`` do not hold for these operands: one is of a class with rules of its own."""
    entries = (item for value in args for item in (value if isinstance(value, list | tuple) else (value,)))
    foreign = next(filter(None, map(foreign_array, map(_data_of, entries))), "")
    if not foreign:
        return ""
    what = f"np.{row.name} of a {foreign}, a subclass of ndarray with rules of its own,"
    return f"{what} has no gradient: use np.asarray(x)"


def _data_of(value: Any) -> Any:
    return value._values if isinstance(value, Recorded) else value


def with_inner_lists_joined(value: Any) -> Any:
    """``[[a, b], [c, d]]`` with ``np.stack([a, b])`` in place of the inner lists, if a gradient flows through them."""
    if not isinstance(value, list | tuple) or not any(isinstance(item, list | tuple) for item in value):
        return value
    joined = [np.stack(item) if isinstance(item, list | tuple) and needs_gradient(item) else item for item in value]
    return like_sequence(value, joined)


def options_with_history(kwargs: Mapping[str, Any]) -> list[str]:
    """Names of options that are Tensors whose gradient is recorded: no rule tells theirs."""
    return [name for name, value in kwargs.items() if needs_gradient(value)] if is_grad_enabled() else []


def _by_name_only(row: Op, name: str) -> str:
    return f"np.{row.name} has no gradient with regard to {name}=; detach it"


def recorded(kind: Any, row: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any:
    """``result`` of ``row`` for canonical arguments with Tensors in them, as Tensors of class ``kind``."""
    given = result if isinstance(result, tuple | list) else (result,)
    if any(type(each) in _PYTHON for each in given) and is_grad_enabled() and needs_gradient((args, dict(kwargs))):
        return _of_python(kind, row, args, kwargs, result)
    args, kwargs = by_position(row, args, kwargs)
    edges, sources = histories(args) if is_grad_enabled() and row.vjp != () else ([], [])
    named = options_with_history(kwargs) if kwargs and row.vjp != () else []
    several = isinstance(result, tuple | list)
    entries = list(result) if several else [result]
    smooth = [is_smooth(entry) for entry in entries]
    if edges or named:
        check_dtypes(f"np.{row.name}", entries)
    node: Node | None = None
    if edges and (codes := _codes(row, args, entries, smooth)):
        edges, sources = codes.edges, codes.sources
        if codes.carried:
            return _of_codes(kind, row, args, kwargs, result, codes)
    if named and any(smooth):
        edges += [edge for name in named for t in tensors_in(kwargs[name]) if (edge := t._history()) is not None]
        node = ErrorNode(row.name, _by_name_only(row, named[0]), edges, len(entries))
    elif edges and any(smooth):
        node = node_of(row, args, kwargs, edges, sources, len(entries))
    made = [
        _result(
            kind,
            entry,
            (node, i) if node is not None and smooth[i] else None,
            row,
            args,
            kwargs,
            i if several else None,
        )
        for i, entry in enumerate(entries)
    ]
    if isinstance(node, OpNode):
        kept = [_kept(tensor) for tensor in made]
        node.ans = tuple(kept) if several else kept[0]
    if not several:
        return made[0]
    return like_sequence(result, made)


class _Codes(NamedTuple):
    """What has a history among the operands and results of a call that reads or makes codes.

    ``carried`` are the results that get one through a code; ``edges`` leave out codes that only choose (an index).
    """

    edges: list[Edge]
    sources: Sources
    carried: list[bool]
    from_code: Edge | None


def _codes(row: Op, args: tuple[Any, ...], entries: list[Any], smooth: list[bool]) -> _Codes | None:
    """None for a call without codes of recorded numbers, which is nearly every one."""
    found = [(edge, (place, entry), t) for place, entry, t in operands(args) if (edge := t._history()) is not None]
    if all(is_smooth(t._values) for *_, t in found):
        carried = [not s and keeps_code(row.name, each) for s, each in zip(smooth, entries, strict=True)]
        return _Codes([e for e, *_ in found], [s for _, s, _ in found], carried, None) if any(carried) else None
    kept = [each for each in found if is_smooth(each[2]._values) or row.vjp is None or has_rule(row, each[1][0])]
    code = next((edge for edge, _, t in kept if not is_smooth(t._values)), None)
    carried = [code is not None and np.asarray(each).dtype.kind != "b" for each in entries]
    return _Codes([e for e, *_ in kept], [s for _, s, _ in kept], carried if any(carried) else [], code)


def _of_codes(kind: Any, row: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any, codes: _Codes) -> Any:
    """As ``recorded`` for results that hold codes, or are computed of such."""
    several = isinstance(result, tuple | list)
    entries = list(result) if several else [result]
    edge: Edge | None = None
    if not several and codes.from_code is not None:
        edge = seen_again(row.name, codes.from_code, result)
    elif not several and row.name in RETYPING:
        edge = viewed_code(row.name, raw(args[codes.sources[0][0]]), codes.edges[0])
    node = CodedNode(f"np.{row.name}", codes.edges, len(entries))
    made = [
        _result(
            kind,
            entry,
            (edge or (node, i)) if carried else None,
            row,
            args,
            kwargs,
            i if several else None,
        )
        for i, (entry, carried) in enumerate(zip(entries, codes.carried, strict=True))
    ]
    return like_sequence(result, made) if several else made[0]


_PYTHON = (float, complex)


def _of_python(kind: Any, row: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any:
    """As ``recorded`` for a result with Python's own numbers in it: ``1j * x[0]`` is one, not one of NumPy's."""
    is_several = isinstance(result, tuple | list)
    given = result if is_several else (result,)
    strong = [np.asarray(each)[()] if type(each) in _PYTHON else each for each in given]
    found = recorded(kind, row, args, kwargs, like_sequence(result, strong) if is_several else strong[0])
    weak = [
        python_number(made._values, made._history()) if type(each) in _PYTHON else made
        for each, made in zip(given, found if is_several else (found,), strict=True)
    ]
    return like_sequence(result, weak) if is_several else weak[0]


def _kept(result: Any) -> Any:
    return Saved(result._values, None, result._version, type(result)) if isinstance(result, Recorded) else result


def _result(
    kind: Any, data: Any, edge: Edge | None, row: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any], item: int | None
) -> Any:
    """One result: the operand itself, a view of it, or a new Tensor; numbers and None stay what they are."""
    if not isinstance(data, np.ndarray | np.generic):
        return data
    if isinstance(data, np.ndarray):
        for place, entry, tensor in operands(args):
            if data is tensor._values:
                return tensor
            if entry is None and isinstance(tensor._values, np.ndarray) and np.may_share_memory(data, tensor._values):
                return _view(kind, data, edge, tensor, ViewStep(row, _others(args, place), raw(kwargs), place, item))
    return data if edge is None and kind._leaves_plain and not is_smooth(data) else kind._made(data, edge)


def _others(args: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return tuple(raw(a) for i, a in enumerate(args) if i != place)


def _view(kind: Any, data: Any, edge: Edge | None, base: Recorded, step: ViewStep) -> Any:
    view = kind._made(data, edge, base._version)
    owner = base._owner()
    view._root, view._path, view._epoch = owner, (*base._path, step), owner._epoch
    owner._note_view(view)
    return view
