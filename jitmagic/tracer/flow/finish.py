"""Takes a recorded flow, gives one node of the function's graph: links the pieces, finds operands and results."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence, Set
from typing import TYPE_CHECKING, Any

from jitmagic.graph.flow import (
    Append,
    Begin,
    Branch,
    Count,
    Flow,
    Gather,
    Move,
    Piece,
    Require,
    Statement,
    blocks,
    walk,
)
from jitmagic.graph.flow_call import FlowCall
from jitmagic.graph.flow_tape import check_views
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.graph.node import Node, map_nodes
from jitmagic.graph.polynomial import Symbol, symbols_of
from jitmagic.graph.shapes import SymInt
from jitmagic.graph.verifier import verify
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.tracer.flow.frames import bind, variables
from jitmagic.tracer.flow.names import needed_after, rebound_in
from jitmagic.tracer.flow.record import Ended, Recorder
from jitmagic.tracer.flow.state import other_arrays
from jitmagic.tracer.flow.values import Unavailable, Unsure, refuse
from jitmagic.tracer.operands import wrap_node
from jitmagic.tracer.signals import Returned
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.deferred import Deferred
from jitmagic.tracer.variables.either import Either
from jitmagic.tracer.variables.number import RunTimeNumber
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["add_flow", "check_operands", "finish", "link", "own_nodes", "written_in"]

ALL = frozenset(("divide", "over", "under", "invalid"))


def finish(tx: Evaluator, node: ast.AST, recorder: Recorder, ended: Ended) -> Ended:
    """Put the flow into the graph of the function, and its results into the variables of ``tx``.

    ``ended`` is what the capture gave; gives the same in terms of the function's graph.
    """
    body = recorder.body
    gathered = recorder.lists.finish(body)
    own = own_nodes(body)
    returns = ended.flow is not None and ended.flow.kind == "return"
    names = frozenset(variables(tx)) if returns else rebound_in(node)
    results = {} if ended.value is None else dict.fromkeys(n for n in _nodes(ended.value) if n in own)
    if not returns:
        results |= dict.fromkeys(_results(tx, node, recorder, own))
    results |= dict.fromkeys(gathered)
    roots, changed = written_in(body, own, recorder.tied)
    others = other_arrays(tx.output, tx if returns else None, ended.value)
    loose = _check_results(list(results), others, roots, changed)
    operands = link(body, own, list(results))
    positions = tuple(i for i, o in enumerate(operands) if isinstance(o, Node) and o.storage in changed)
    check_operands(operands, positions)
    flow = Flow(operands, body, tuple(results), positions, loose, tuple(recorder.joins))
    if tx.output.differentiating:
        check_views(flow)
    outside = add_flow(tx, node, flow)
    recorder.lists.hold(tx, outside)
    if not returns:
        bind(tx, {n: _outside(v, outside) if n in names else v for n, v in variables(tx).items()})
    value = None if ended.value is None else _outside(ended.value, outside)
    for each in (*(variables(tx).values() if not returns else ()), value):
        _tie(tx, each, recorder.place)
    return Ended(Returned("return", value) if returns else ended.flow, value)


def _pieces(body: Sequence[Statement]) -> Iterator[Piece]:
    return (s for s in walk(body) if isinstance(s, Piece))


def own_nodes(body: Sequence[Statement]) -> set[Node]:
    """The nodes that the flow itself makes."""
    found: set[Node] = set()
    for statement in walk(body):
        if isinstance(statement, Piece):
            found.update(statement.graph.nodes)
        elif isinstance(statement, Move):
            found.update(statement.targets)
        elif isinstance(statement, Count):
            found.add(statement.index)
        elif isinstance(statement, Begin):
            found.add(statement.target)
        elif isinstance(statement, Gather):
            found.add(statement.result)
    return found


class Roots:
    """Which arrays from outside a variable of the flow may show."""

    def __init__(self, body: Sequence[Statement], own: set[Node], tied: Set[tuple[Node, Node]]) -> None:
        self._own = own
        self._tied = tied
        self._moves: dict[Node, list[tuple[Node, bool]]] = {}
        for statement in walk(body):
            if isinstance(statement, Move):
                for target, value in zip(statement.targets, statement.values, strict=True):
                    if isinstance(value, Node):
                        self._moves.setdefault(target, []).append((value, statement.enters))

    def of(self, node: Node, *, entering: bool = True, tied: bool = True) -> set[Node]:
        """The owners outside; without ``entering`` those that are seen only where a loop has no rounds are left out.

        Without ``tied`` those are left out that the program around the graph knows of.
        """
        found: set[Node] = set()
        seen: set[Node] = set()
        stack = [node]
        while stack:
            each = stack.pop().storage
            if each in seen:
                continue
            seen.add(each)
            if each not in self._own:
                found.add(each)
            stack += [
                value
                for value, enters in self._moves.get(each, ())
                if (entering or not enters) and (tied or (each, value) not in self._tied)
            ]
        return found


def written_in(
    body: Sequence[Statement], own: set[Node], tied: Set[tuple[Node, Node]] = frozenset()
) -> tuple[Roots, set[Node]]:
    """What each variable may show, and the arrays from outside that the flow writes; before it is linked."""
    roots = Roots(body, own, tied)
    written = {w.storage for piece in _pieces(body) for n in piece.graph.nodes for w in n.written()}
    return roots, {root for w in written for root in roots.of(w)}


def _results(tx: Evaluator, node: ast.AST, recorder: Recorder, own: set[Node]) -> list[Node]:
    """The variables that are read after the flow; those that nobody reads are forgotten."""
    names = rebound_in(node)
    needed = needed_after(tx.frame.node, node, names)
    results: dict[Node, None] = {}
    unsure = []
    after = variables(tx)
    for name in names & set(after):
        value = after[name]
        if name not in needed:
            del after[name]
            continue
        if isinstance(value, Unavailable):
            raise refuse(value.describe())
        if isinstance(value, Unsure):
            unsure.append(value.node)
            value = after[name] = value.tracker
        results.update((made, None) for made in _nodes(value) if made in own)
    bind(tx, after)
    recorder.body.append(Require(tuple(unsure)))
    return list(results)


def _nodes(value: VariableTracker) -> Iterator[Node]:
    if isinstance(value, ArrayTracker | RunTimeNumber):
        yield value.node
        if isinstance(value, Either):
            yield value.tag
    elif type(value) is TupleTracker:
        for item in value.items:
            yield from _nodes(item)
    elif isinstance(value, Deferred):
        for operand in value.operands:
            yield from _nodes(operand)


def _check_results(results: Sequence[Node], others: set[Node], roots: Roots, changed: set[Node]) -> frozenset[int]:
    """The results that may be an operand itself; refuses those where anyone else would notice."""
    loose = set()
    for index, result in enumerate(results):
        if not isinstance(result.meta, ArrayMeta) or result.meta.scalar:
            continue
        shown = {r for r in roots.of(result) if isinstance(r.meta, ArrayMeta) and not r.meta.scalar}
        untied = roots.of(result, tied=False) & shown
        if not shown & changed:
            untied &= roots.of(result, entering=False)
            shown &= roots.of(result, entering=False)
        elif shown != untied:
            raise refuse("a variable that may be an array that is written")
        if any(root.kind == "input" or root.kind == "constant" or root in others for root in untied):
            raise refuse("a variable that may be one array or another afterwards")
        if shown:
            loose.add(index)
    return frozenset(loose)


def check_operands(operands: Sequence[Any], written: Sequence[int]) -> None:
    owners = [o.storage for o in operands if isinstance(o, Node) and isinstance(o.meta, ArrayMeta)]
    for index in written:
        operand = operands[index]
        if operand.view_of is not None or owners.count(operand.storage) > 1:
            raise refuse("an array that is written and read under two names")


# ------------------------------------------------------------------ linking
def link(body: list[Statement], own: set[Node], results: Sequence[Node]) -> tuple[Any, ...]:
    """Make every piece a graph of its own; gives what the flow takes from outside."""
    operands: dict[Any, None] = {}
    read = set(results)
    for statement in walk(body):
        for value in _values(statement):
            if isinstance(value, Node):
                read.add(value)
                if value not in own:
                    operands[value] = None
            elif isinstance(value, SymInt):
                _need_symbols(operands, value)
    pieces = list(_pieces(body))
    for piece in pieces:
        inside = set(piece.graph.nodes)
        read |= {n for node in piece.graph.nodes for n in node.operands() if n not in inside}
    for piece in pieces:
        _link_piece(piece, read, own, operands)
    _drop_empty(body)
    return tuple(o.value if isinstance(o, _ByName) else o for o in operands)


def _values(statement: Statement) -> tuple[Any, ...]:
    found = _READ.get(type(statement))
    return () if found is None else found(statement)


_READ: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    Move: lambda s: s.values,
    Branch: lambda s: (s.test,),
    Count: lambda s: s.bounds,
    Begin: lambda s: s.values,
    Append: lambda s: (s.value,),
}


class _ByName:
    """A symbol as an operand: one for each name."""

    def __init__(self, symbol: Symbol, env: Any) -> None:
        self.name = symbol.name
        self.value = SymInt((((symbol,), 1),), env)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByName) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def _need_symbols(operands: dict[Any, None], value: SymInt) -> None:
    for symbol in sorted(symbols_of(value.poly), key=str):
        if symbol.run_time:
            raise refuse("a size that only the data tell")
        operands[_ByName(symbol, value.env)] = None


def _link_piece(piece: Piece, read: set[Node], own: set[Node], operands: dict[Any, None]) -> None:
    graph = piece.graph
    made = list(graph.nodes)
    graph.outputs = [n for n in made if n in read]
    graph.prune()
    made = list(graph.nodes)
    inside = set(made)
    foreign = dict.fromkeys(n for node in made for n in node.operands() if n not in inside)
    graph.nodes = []
    inputs = {n: graph.input(n.name, _described(n)) for n in foreign}
    for node in made:
        node.args = map_nodes(node.args, lambda leaf: inputs.get(leaf, leaf) if isinstance(leaf, Node) else leaf)
        node.kwargs = map_nodes(node.kwargs, lambda leaf: inputs.get(leaf, leaf) if isinstance(leaf, Node) else leaf)
        node.view_of = None if node.view_of is None else inputs.get(node.view_of, node.view_of)
    extra = _bind_symbols(graph, inputs, made)
    graph.nodes = [p.node for p in graph.placeholders] + made
    piece.inputs = (*foreign, *extra)
    operands |= dict.fromkeys(n for n in foreign if n not in own)
    for size in extra:
        _need_symbols(operands, size)
    verify(graph)


def _described(node: Node) -> Meta:
    if node.meta is None:
        raise refuse("a result of several parts")
    return node.meta


def _bind_symbols(graph: Any, inputs: dict[Node, Node], made: Sequence[Node]) -> list[SymInt]:
    """Say where the symbols of a piece get their values: sizes of its inputs, else inputs of their own."""
    bound = {b.symbol for b in graph.bindings}
    wanted: dict[str, SymInt] = {}
    for value in _sizes(
        [n.args for n in made] + [n.kwargs for n in made] + [n.meta for n in (*made, *inputs.values())]
    ):
        for symbol in symbols_of(value.poly):
            if symbol.name not in bound:
                wanted.setdefault(symbol.name, SymInt((((symbol,), 1),), value.env))
    for node in inputs.values():
        for axis, size in enumerate(node.meta.shape if isinstance(node.meta, ArrayMeta) else ()):
            if isinstance(size, SymInt) and repr(size) in wanted:
                graph.bind(size, node, axis)
                del wanted[repr(size)]
    for name, size in wanted.items():
        graph.bind(size, graph.input(name, PyMeta(int)), None)
    return list(wanted.values())


def _sizes(values: Any) -> Iterator[SymInt]:
    if isinstance(values, SymInt):
        yield values
    elif isinstance(values, ArrayMeta):
        yield from _sizes(values.shape)
    elif isinstance(values, dict):
        yield from _sizes(list(values.values()))
    elif isinstance(values, slice):
        yield from _sizes([values.start, values.stop, values.step])
    elif isinstance(values, list | tuple):
        for value in values:
            yield from _sizes(value)


def _drop_empty(body: list[Statement]) -> None:
    for statement in body:
        for block in blocks(statement):
            _drop_empty(block)
    body[:] = [s for s in body if not (isinstance(s, Piece) and not any(n.kind != "input" for n in s.graph.nodes))]


# ---------------------------------------------------------------- one node
def add_flow(tx: Evaluator, node: ast.AST, flow: Flow) -> dict[Node, VariableTracker]:
    """The node of the flow; gives what stands for its results."""
    metas = tuple(r.meta for r in flow.results)

    def rule(call: Arguments) -> Inferred:
        return Inferred(metas)

    name = "loop" if isinstance(node, ast.For | ast.While) else "branch"
    made_in_pieces = [n for piece in _pieces(flow.body) for n in piece.graph.nodes]
    effects = any(n.op is not None and n.op.effects for n in made_in_pieces)
    op = Op(name, FlowCall(flow, name), rule, writes=flow.written, effects=effects, warns=ALL, raises=True)
    graph = tx.output.graph
    tx.output.note_place(tx, tx.frame.span(node))
    made = graph.call(op, flow.operands, {}, None, span=tx.frame.span(node))
    for written in made.written():
        tx.output.note_write(written)
    outside: dict[Node, VariableTracker] = {}
    for index, result in enumerate(flow.results):
        assert result.meta is not None
        entry = graph.item(made, index, result.meta)
        for axis, size in enumerate(result.meta.shape if isinstance(result.meta, ArrayMeta) else ()):
            if isinstance(size, SymInt) and size.is_run_time:  # of what the flow has gathered
                graph.bind(size, entry, axis)
        outside[result] = wrap_node(tx, entry, result.meta)
    return outside


def _tie(tx: Evaluator, value: VariableTracker | None, place: tuple[Any, ...]) -> None:
    if isinstance(value, Either):
        tx.output.ties.add(value, place)
    elif type(value) is TupleTracker:
        for item in value.items:
            _tie(tx, item, place)


def _outside(value: VariableTracker, outside: dict[Node, VariableTracker]) -> VariableTracker:
    if isinstance(value, Either) and value.node in outside:
        made, tag = outside[value.node], outside[value.tag]
        assert isinstance(made, ArrayTracker)
        assert isinstance(tag, RunTimeNumber)
        return Either(made.node, made.meta, tag.node, value.others, value.ties)
    if isinstance(value, ArrayTracker | RunTimeNumber):
        return outside.get(value.node, value)
    if type(value) is TupleTracker:
        return TupleTracker([_outside(item, outside) for item in value.items])
    if isinstance(value, Deferred):
        return value.with_operands([_outside(operand, outside) for operand in value.operands])
    return value
