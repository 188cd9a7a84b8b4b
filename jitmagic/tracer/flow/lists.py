"""The lists that a loop of a flow appends to: numbers of one type, or arrays that nobody else has.

for i in range(n):                    l = []
    x = step(x)                       for i in range(0, n, 1):
    hist.append(x.sum())       =>         (x, s) = piece0(x); l.append(s)
                                      hist = gathered(l)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.graph.flow import Append, Begin, Gather, Move, Piece, Statement, walk
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.graph.node import Node
from jitmagic.graph.shapes import SymInt
from jitmagic.tracer.flow.values import meta_of, refuse, same_meta, value_of
from jitmagic.tracer.flow.whole import keep_loop_whole
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.held import Growing, Held
from jitmagic.tracer.variables.rows import Rows
from jitmagic.tracer.variables.sequences import ListTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Lists"]

KINDS = {bool: "pybool", int: "pyint", float: "pyfloat"}  # of Python numbers: what regions call them
DTYPES = {bool: np.dtype(bool), int: np.dtype(np.int64), float: np.dtype(np.float64)}


@dataclass(slots=True)
class Grown:
    """One list: ``node`` in the flow, ``result`` the array of what it holds there in the end."""

    tracker: ListTracker
    before: Sequence[VariableTracker]  # arrays that stay as they are: they are no part of the flow
    start: tuple[Any, ...]  # numbers that the flow's list begins with
    meta: Meta
    node: Node
    result: Node


@dataclass(slots=True)
class Lists:
    """``existing`` is what was there before the flow, by identity; ``grown`` the lists of it that are appended to."""

    existing: dict[int, Any] = field(default_factory=dict)
    grown: dict[int, Grown] = field(default_factory=dict)

    def take(self, tx: Evaluator, tracker: ListTracker, value: VariableTracker) -> bool:
        """Whether an append is now part of the flow: to a list that is older than the flow, in a loop."""
        recorder: Any = tx.output.flow
        if id(tracker) not in self.existing or recorder.endings is not None:
            return False
        if tx.output.differentiating or type(tracker) is not ListTracker or tracker.source is not None:
            return False
        if not recorder.loops:
            keep_loop_whole(tx)
            return False
        value = tx.realize(value)
        meta = meta_of(value)
        if meta is None:
            return False
        grown = self.grown.get(id(tracker)) or self._begin(tx, tracker, meta)
        if not same_meta(grown.meta, meta):
            raise refuse("a list of values of several kinds")
        operand = value_of(tx, value)
        if isinstance(meta, ArrayMeta) and not meta.scalar:
            _check_new(recorder, operand, meta)
        recorder.add(Append(grown.node, operand))
        return True

    def _begin(self, tx: Evaluator, tracker: ListTracker, meta: Meta) -> Grown:
        items = list(map(tx.realize, tracker.items))
        shape: tuple[Any, ...] = ()
        if isinstance(meta, ArrayMeta):
            dtype, shape = meta.dtype, meta.shape
            if dtype.kind not in "biufc" or not (shape or meta.scalar):
                raise refuse("a list of such values")
        elif isinstance(meta, PyMeta) and meta.type in DTYPES:
            dtype = DTYPES[meta.type]
        else:
            raise refuse("a list of such values")
        if not all(same_meta(meta, meta_of(item)) for item in items):
            raise refuse("a list of values of several kinds")
        count = tx.output.env.new_run_time_symbol()
        result = Node("gathered", "input", ArrayMeta.dense(dtype, (count, *shape)))
        start = () if shape else tuple(value_of(tx, item) for item in items)
        made = Grown(tracker, items if shape else (), start, meta, Node("list", "input", PyMeta(list)), result)
        tracker.held = Growing()
        self.grown[id(tracker)] = made
        return made

    def finish(self, body: list[Statement]) -> list[Node]:
        """Put the beginnings and the ends of the lists into the flow; gives the arrays that hold them afterwards."""
        _check_unshared(body)
        found = list(self.grown.values())
        body[:0] = [Begin(each.node, each.start) for each in found]
        body += [Gather(each.result, each.node) for each in found]
        return [each.result for each in found]

    def hold(self, tx: Evaluator, outside: dict[Node, VariableTracker]) -> None:
        """The lists hold now what the arrays hold."""
        for each in self.grown.values():
            array = outside[each.result]
            assert isinstance(array, ArrayTracker)
            if isinstance(each.meta, ArrayMeta) and not each.meta.scalar:
                each.tracker.held = Rows(tx, each.before, array)
            else:
                kind = KINDS[each.meta.type] if isinstance(each.meta, PyMeta) else each.meta.dtype.name
                each.tracker.held = Held(tx, array, kind)


def _check_new(recorder: Any, node: Node, meta: ArrayMeta) -> None:
    """Refuse an array that was not made in this round, or that is not a plain array of its own."""
    made = (n for graph in recorder.pieces[recorder.loops[-1].first_piece :] for n in graph.nodes)
    is_own = node.kind == "call" and node.view_of is None and any(n is node for n in made)
    dense = ArrayMeta.dense(meta.dtype, meta.shape)
    is_plain = meta.contiguous == dense.contiguous and meta.writeable and meta.owns and "C" in meta.contiguous
    if not is_own or not is_plain or any(isinstance(n, SymInt) and n.is_run_time for n in meta.shape):
        raise refuse("a list of arrays that others may see")


def _check_unshared(body: Sequence[Statement]) -> None:
    """Refuse arrays in lists that are written, go to a variable, or to a list a second time."""
    kept = [s.value.storage for s in walk(body) if isinstance(s, Append) and _is_array(s.value)]
    if not kept:
        return
    if len(set(kept)) < len(kept) or not set(kept).isdisjoint(_shown(body)):
        raise refuse("a list of arrays that others may see")


def _is_array(value: Any) -> bool:
    return isinstance(value, Node) and isinstance(value.meta, ArrayMeta) and not value.meta.scalar


def _shown(body: Sequence[Statement]) -> Iterator[Node]:
    """What variables of the flow show, and what it writes."""
    for statement in walk(body):
        if isinstance(statement, Move):
            yield from (v.storage for v in statement.values if isinstance(v, Node))
        elif isinstance(statement, Piece):
            yield from (w.storage for node in statement.graph.nodes for w in node.written())
