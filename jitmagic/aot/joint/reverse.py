"""Takes a pure graph and cotangents of some values, gives those of earlier ones: reverse mode, by the ops' rules.

One walk back over the nodes. A value that nothing flows back to has no cotangent at all: zeros are never made unless
a caller asks for them. Rules stand in the ops' rows, those of the nodes that only pure graphs have in ``updates``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from jitmagic.aot.joint.codes import LOST, makes_code, reads_code, stays_code, writes_code
from jitmagic.aot.joint.flow_reverse import flow_cotangents
from jitmagic.aot.joint.loops import loop_cotangents
from jitmagic.aot.joint.staged import Stage, Staged
from jitmagic.aot.joint.updates import STRUCTURAL
from jitmagic.errors import Unsupported
from jitmagic.graph import ArrayMeta, Node, PyMeta
from jitmagic.graph.node import nodes_in
from jitmagic.ops.functional import PureCall
from jitmagic.ops.gradients import Elementwise, as_called, by_position, cotangents, fit
from jitmagic.ops.gradients.shapes import cast
from jitmagic.ops.lowering import Fill
from jitmagic.ops.record import Op

__all__ = ["Reverse", "is_differentiable", "pull", "reached_from"]

# Words in the names of operations that leave elements of their operands out
CHOOSING = ("where", "select", "choose", "compress", "extract", "take", "put", "place", "putmask", "clip", "getitem")
EXTREMES = ("max", "min", "maximum", "minimum", "fmax", "fmin", "nanmax", "nanmin", "nansum", "nanmean", "partition")
MASKING = frozenset((*CHOOSING, "update", *EXTREMES))
_PYTHON_FLOATS = (float, complex)


def is_differentiable(node: Node) -> bool:
    """True for real and complex numbers; a tuple of results may hold some."""
    meta = ArrayMeta.of(node.value) if node.meta is None and node.kind == "constant" else node.meta
    if isinstance(meta, ArrayMeta):
        return meta.dtype.kind in "fc"
    return meta.type in _PYTHON_FLOATS if isinstance(meta, PyMeta) else node.kind == "call"


def pull(
    stage: Stage, seeds: Mapping[Node, Any], targets: Sequence[Node], nodes: Sequence[Node] | None = None
) -> list[Any]:
    """The cotangent of each target, or None where nothing flows back to it.

    ``seeds`` are the cotangents of values; ``nodes`` (all of the graph's, if not given) is where the walk goes.
    Raises Unsupported ``no-derivative`` for an operation on the way that has no rule.
    """
    known = list(stage.graph.nodes) if nodes is None else list(nodes)
    reached, broken = _flow(known, targets)
    walk = Reverse(stage, frozenset(targets), reached, masked_in(known, reached), broken)
    for node, cotangent in seeds.items():
        walk.add(node, cotangent)
    for node in reversed(known):
        walk.visit(node)
    return [walk.cotangents.get(target) for target in targets]


def reached_from(nodes: Iterable[Node], targets: Sequence[Node]) -> set[Node]:
    """The values that depend on a target and that a derivative may flow through, or gets lost in."""
    return set(_flow(nodes, targets).reached)


class _Flow(NamedTuple):
    """``broken`` are those of the ``reached`` values that come back from the bits or the text of others."""

    reached: set[Node]
    broken: set[Node]


def _flow(nodes: Iterable[Node], targets: Sequence[Node]) -> _Flow:
    reached, broken, coded = set(targets), set[Node](), set[Node]()
    for node in nodes:
        if node in reached or _is_constant(node):
            continue
        operands = list(node.operands())
        from_number = not reached.isdisjoint(operands)
        from_code = bool(coded) and not coded.isdisjoint(operands)
        if is_differentiable(node):
            if (from_code and reads_code(node, coded)) or (from_number and writes_code(node)):
                broken.add(node)
            if from_number or node in broken:
                reached.add(node)
        elif (from_code and stays_code(node)) or (from_number and makes_code(node)):
            coded.add(node)
    return _Flow(reached, broken)


def masked_in(nodes: Sequence[Node], reached: Collection[Node]) -> set[Node]:
    """The values of which something later may leave elements out, so that cotangents are 0 there."""
    found: set[Node] = set()
    for node in reversed(nodes):
        if node in found or (node in reached and _masks(node)):
            found.update(node.operands())
    return found


def _masks(node: Node) -> bool:
    """Whether some elements of an operand may have no part in the result: their values may be infinite or NaN."""
    if node.op is None:
        return False
    return node.kwargs.get("where", True) is not True or not MASKING.isdisjoint(node.op.name.split("_"))


@cache
def undamped(row: Op) -> Op:
    """The row with rules that do not look for masked elements."""
    rules = tuple(replace(r, damped=False) if isinstance(r, Elementwise) else r for r in row.vjp or ())
    return replace(row, vjp=rules)


def _is_constant(node: Node) -> bool:
    """Whether it only takes the shape of its operand: no derivative flows through it."""
    return isinstance(node.op, Op) and (isinstance(node.op.lower, Fill) or node.op.vjp == ())


@dataclass(slots=True)
class Reverse:
    """The walk. ``cotangents`` maps a node to what has arrived so far; of a tuple, entry by entry.

    ``masked`` are the values of which elements may be left out later; ``broken`` those that no derivative leaves.
    """

    stage: Stage
    targets: frozenset[Node]
    reached: set[Node]
    masked: set[Node]
    broken: set[Node]
    cotangents: dict[Node, Any] = field(default_factory=dict)
    entries: dict[Node, dict[int, Any]] = field(default_factory=dict)

    def add(self, node: Node, cotangent: Any) -> None:
        """One more contribution to the cotangent of ``node``; None adds nothing."""
        if cotangent is None or node not in self.reached:
            return
        fitted = self._fitted(cotangent, node)
        known = self.cotangents.get(node)
        self.cotangents[node] = fitted if known is None else known + fitted

    def _fitted(self, cotangent: Any, node: Node) -> Any:
        if not isinstance(cotangent, Staged):  # a plain number, where a rule computed with constants only
            cotangent = np.zeros_like(self.stage.value(node)) + cotangent
        return fit(cotangent, self.stage.value(node))

    def visit(self, node: Node) -> None:
        """Hand the cotangent of ``node`` on to its operands."""
        if node not in self.reached or node in self.targets:
            return
        if node.kind == "item":
            if node in self.cotangents:
                self.entries.setdefault(node.args[0], {})[node.index] = self.cotangents[node]
        elif node in self.cotangents or node in self.entries:
            self.stage.span, self.stage.stack = node.span, node.stack
            self._spread(node)

    def _spread(self, node: Node) -> None:
        row = node.op
        if node in self.broken:
            raise Unsupported("no-derivative", LOST, node.span)
        assert isinstance(row, Op)
        structural = STRUCTURAL.get(row.name)
        if structural is not None and structural(self, node):
            return
        if loop_cotangents(self, node) or flow_cotangents(self, node):
            return
        if isinstance(row.call, PureCall):
            row = row.call.row
            if "into" in node.kwargs and row.vjp is not None:
                self._spread_into(node, row)
                return
        if row.vjp is None:
            raise no_rule(node, row)
        row = row if node in self.masked else undamped(row)
        g, ans = self._result(node)
        args, kwargs = by_position(row, self.stage.lift(node.args), self.stage.lift(node.kwargs))
        places = [i for i, a in enumerate(self.stage.lower(args)) if self._isreached_from(a)]
        found = dict(cotangents(row, places, g, ans, args, kwargs))
        for place in places:
            if place not in found:
                raise no_rule(node, row)
            self.hand_over(self.stage.lower(args[place]), found[place])
        if self._isreached_from(self.stage.lower(kwargs)):
            raise no_rule(node, row)

    def _spread_into(self, node: Node, row: Op) -> None:
        """A call with ``out=``; what a ufunc with ``where=`` leaves out is what the array held before."""
        stage, kwargs, mask = self.stage, dict(node.kwargs), True
        into = kwargs.pop("into")
        if isinstance(row.call, np.ufunc):
            mask = kwargs.pop("where", True)
        outs = into if isinstance(into, tuple) else (into,)
        if not all(isinstance(each, Node) for each in outs) or self._isreached_from((kwargs, mask)):
            raise no_rule(node, row)
        args, options = by_position(row, stage.lift(node.args), stage.lift(kwargs))
        results = self._computed(node, row, args, options, len(outs))
        arrived = [self.entries[node].get(i) for i in range(len(outs))]
        if mask is not True:
            where = np.broadcast_to(stage.lift(mask), results[0].shape)
            for each, g in zip(outs, arrived, strict=True):
                self.add(each, None if g is None else np.where(where, 0, g))
            arrived = [None if g is None else np.where(where, g, 0) for g in arrived]
        arrived = [None if g is None else cast(g, ans) for g, ans in zip(arrived, results, strict=True)]
        places = [i for i, a in enumerate(stage.lower(args)) if self._isreached_from(a)]
        row = row if mask is not True or node in self.masked else undamped(row)
        several = isinstance(into, tuple) and len(outs) > 1
        g, ans = (tuple(arrived), results) if several else (arrived[0], results[0])
        found = dict(cotangents(row, places, g, ans, args, options))
        for place in places:
            if place not in found:
                raise no_rule(node, row)
            self.hand_over(stage.lower(args[place]), found[place])

    def _computed(self, node: Node, row: Op, args: Any, options: Any, count: int) -> tuple[Any, ...]:
        """What a call gave before the cast to the dtypes of ``out=``: its rules would take that for other values."""
        stage = self.stage
        items = {n.index: stage.value(n) for n in stage.graph.nodes if n.kind == "item" and n.args[0] is node}
        args, options = as_called(row, args, options)
        natural = row.infer(stage.describe(stage.lower(args)), stage.describe(stage.lower(options)), stage.env).meta
        metas = natural if isinstance(natural, tuple) else (natural,)
        if all(i in items and items[i].dtype == meta.dtype for i, meta in zip(range(count), metas, strict=True)):  # type: ignore[union-attr]  # results are arrays
            return tuple(items[i] for i in range(count))
        again = stage.call(row, args, options)
        return again if isinstance(again, tuple) else (again,)

    def _result(self, node: Node) -> tuple[Any, Any]:
        """The cotangent and the result, both as a rule wants them."""
        if node not in self.entries:
            return self.cotangents[node], self.stage.value(node)
        row, entries = node.op, self.entries[node]
        items = {n.index: n for n in self.stage.graph.nodes if n.kind == "item" and n.args[0] is node}
        if isinstance(row, Op) and isinstance(row.call, PureCall):  # a write: the new value of its operand
            return entries.get(0), self.stage.value(items[0])
        found = {i: self.stage.value(item) for i, item in items.items()} | self._unread(node, items)
        places = range(max(found) + 1)
        return tuple(entries.get(i) for i in places), tuple(found.get(i) for i in places)

    def _unread(self, node: Node, items: Mapping[int, Node]) -> dict[int, Any]:
        """The entries of a result that the program does not read; a rule may."""
        row, stage = node.op, self.stage
        assert isinstance(row, Op)
        found = row.infer(stage.describe(node.args), stage.describe(node.kwargs), stage.env)
        if not isinstance(found.meta, tuple) or found.run_time_sizes:
            return {}
        missing = {i: meta for i, meta in enumerate(found.meta) if i not in items and meta is not None}
        return {i: stage.value(stage.item(node, i, meta)) for i, meta in missing.items()}

    def _isreached_from(self, operand: Any) -> bool:
        return any(n in self.reached for n in nodes_in(operand))

    def hand_over(self, operand: Any, cotangent: Any) -> None:
        """The same for an operand that may be a list, whose entries have cotangents of their own."""
        if isinstance(operand, Node):
            self.add(operand, cotangent)
        else:
            for part, each in zip(operand, cotangent, strict=True):
                if isinstance(part, Node | tuple | list):
                    self.hand_over(part, each)


def no_rule(node: Node, row: Op) -> Unsupported:
    """Why the derivative stops at ``node``."""
    reason = f"{row.name}, which {row.no_vjp}" if getattr(row, "no_vjp", "") else row.name
    return Unsupported("no-derivative", reason, node.span)
