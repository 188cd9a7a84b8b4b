"""Takes an ``if`` whose way only the data decide, records both ways and joins their variables."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from jitmagic.graph.flow import Branch, Leave, Move
from jitmagic.graph.meta import PyMeta
from jitmagic.tracer.flow.finish import finish
from jitmagic.tracer.flow.frames import Variables, bind, variables
from jitmagic.tracer.flow.names import leaves_function
from jitmagic.tracer.flow.record import LEFT, Ended, Recorder, recorded
from jitmagic.tracer.flow.values import Unavailable, Unsure, join_of, meta_of, peek, refuse, same_meta, value_of
from jitmagic.tracer.signals import Raised, Returned
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.either import Either
from jitmagic.tracer.variables.number import RunTimeNumber
from jitmagic.tracer.variables.sequences import TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["branch", "capture_branch", "capture_check", "capture_choice", "capture_returns"]


def capture_branch(tx: Evaluator, node: ast.If, test: VariableTracker) -> Ended | None:
    """How the statement ended; None if it has no form as a flow."""
    if leaves_function([*node.body, *node.orelse]) or meta_of(test) is None:
        return None
    if tx.output.flow is None and _leaves_loop(node):
        return None

    def capture(recorder: Recorder) -> Ended:
        return Ended(branch(tx, recorder, value_of(tx, test), node.body, node.orelse))

    return recorded(tx, node, capture, finish)


def capture_returns(tx: Evaluator, node: ast.If, test: VariableTracker, rest: Sequence[ast.stmt]) -> Ended | None:
    """The same for an ``if`` that returns on one of its ways; ``rest`` is all that follows it in the function."""
    if meta_of(test) is None:
        return None

    def capture(recorder: Recorder) -> Ended:
        ways = [[*node.body, *rest], [*node.orelse, *rest]]
        value = _choice(tx, recorder, test, [functools.partial(_returned, tx, way) for way in ways])
        return Ended(Returned("return", value), value)

    return recorded(tx, node, capture, finish)


def capture_choice(
    tx: Evaluator, node: ast.expr, test: VariableTracker, ways: Sequence[Callable[[], VariableTracker]]
) -> VariableTracker | None:
    """The value of the first of two ways if ``test`` is true, else that of the second; None if it has no form."""
    if meta_of(test) is None:
        return None

    def capture(recorder: Recorder) -> Ended:
        return Ended(None, _choice(tx, recorder, test, ways))

    found = recorded(tx, node, capture, finish)
    return None if found is None else found.value


def capture_check(tx: Evaluator, node: ast.Assert, test: VariableTracker) -> bool:
    """Whether an ``assert`` is now part of the graph: where it fails, plain Python raises."""
    if meta_of(test) is None:
        return False

    def capture(recorder: Recorder) -> Ended:
        recorder.add(Branch(value_of(tx, test), [], [Leave()]))
        return Ended()

    return recorded(tx, node, capture, finish) is not None


def _choice(
    tx: Evaluator, recorder: Recorder, test: VariableTracker, ways: Sequence[Callable[[], VariableTracker]]
) -> VariableTracker:
    """Record two ways that give a value each, and the branch; gives the value that both are joined in."""
    before = variables(tx)
    ends: list[tuple[VariableTracker, Variables, Move]] = []
    blocks = []
    for way in ways:
        bind(tx, before)
        with recorder.nested() as block:
            try:
                value = way()
            except Raised as raised:
                if isinstance(raised.error, NameError):
                    raise
                recorder.add(Leave())
            else:
                ends.append((value, variables(tx), Move()))
                recorder.add(ends[-1][-1])
        blocks.append(block)
    bind(tx, before)
    recorder.add(Branch(value_of(tx, test), *blocks))
    if not ends:
        raise refuse("exceptions on all ways")
    moves = [move for _, _, move in ends]
    if len(ends) == 1:
        bind(tx, ends[0][1])
        return ends[0][0]
    bind(tx, _joined(tx, recorder, [(state, move) for _, state, move in ends]))
    joined = _join(tx, recorder, "value", [value for value, _, _ in ends], moves)
    if isinstance(joined, Unavailable):
        raise refuse("values of several kinds")
    return joined


def _returned(tx: Evaluator, statements: Sequence[ast.stmt]) -> VariableTracker:
    """Evaluate one way to the end of the function: what it returns."""
    tx.whole_rests.append((statements, ()))
    try:
        flow = tx.language.run_block(tx, statements)
    finally:
        tx.whole_rests.pop()
    if flow is None:
        return Constant(None)
    if flow.kind != "return" or flow.value is None:
        raise refuse("a way that ends otherwise than by return")
    return peek(tx, flow.value)


def _leaves_loop(node: ast.AST) -> bool:
    """Whether there is a ``break`` or ``continue`` of a loop around the statement."""
    if isinstance(node, ast.Break | ast.Continue):
        return True
    if isinstance(node, ast.For | ast.While | ast.FunctionDef | ast.ClassDef):
        return False
    return any(map(_leaves_loop, ast.iter_child_nodes(node)))


def branch(
    tx: Evaluator, recorder: Recorder, test: Any, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt]
) -> Returned | None:
    """Record both ways. Gives how the statement ended, if no way goes on."""
    before = variables(tx)
    ends: list[tuple[Variables, Move]] = []
    ways = []
    for statements in (body, orelse):
        bind(tx, before)
        with recorder.nested() as block:
            move = _way(tx, recorder, statements)
        ways.append(block)
        if move is not None:
            ends.append((variables(tx), move))
    bind(tx, before)
    recorder.add(Branch(test, *ways))
    if not ends:
        return Returned(LEFT)
    bind(tx, ends[0][0] if len(ends) == 1 else _joined(tx, recorder, ends))
    return None


def _way(tx: Evaluator, recorder: Recorder, statements: Sequence[ast.stmt]) -> Move | None:
    """Record one way; gives the move at its end, or None if it does not go on."""
    try:
        flow = tx.language.run_block(tx, statements)
    except Raised as raised:
        if isinstance(raised.error, NameError):  # of a name that another round of a loop may have bound
            raise
        recorder.add(Leave())
        return None
    if flow is None:
        move = Move()
        recorder.add(move)
        return move
    if flow.kind in ("break", "continue") and recorder.loops and recorder.loops[-1].tx is tx:
        recorder.end_round(flow.kind)
        return None
    if flow.kind == LEFT:
        return None
    raise refuse("a return on one of the ways of an if")


def _joined(tx: Evaluator, recorder: Recorder, ends: Sequence[tuple[Variables, Move]]) -> Variables:
    """The variables after both ways."""
    names = list(dict.fromkeys(n for state, _ in ends for n in state))
    joined: Variables = {}
    for name in names:
        found = [state.get(name) for state, _ in ends]
        values = [None if v is None else peek(tx, v) for v in found]
        made = _join(tx, recorder, name, values, [move for _, move in ends])
        if any(isinstance(v, Unsure) for v in found) and isinstance(made, ArrayTracker | RunTimeNumber):
            made = Unsure(made, made.node, recorder)
        joined[name] = made
    return joined


def _join(
    tx: Evaluator, recorder: Recorder, name: str, values: Sequence[VariableTracker | None], moves: Sequence[Move]
) -> VariableTracker:
    first, second = values
    if first is None or second is None:
        return Unavailable(name)
    if first is second or _same_constant(first, second):
        return first
    if type(first) is type(second) is TupleTracker and len(first.items) == len(second.items):
        pairs = zip(first.items, second.items, strict=True)
        items = [_join(tx, recorder, name, [tx.realize(a), tx.realize(b)], moves) for a, b in pairs]
        return Unavailable(name) if any(isinstance(i, Unavailable) for i in items) else TupleTracker(items)
    either = _either(tx, recorder, name, (first, second), moves)
    if either is not None:
        return either
    meta = meta_of(first)
    if meta is None or not same_meta(meta, meta_of(second)):
        return Unavailable(name)
    node, tracker = join_of(tx, name, meta)
    recorder.joins.append(node)
    for move, value in zip(moves, values, strict=True):
        assert value is not None
        move.add(node, value_of(tx, value))
    return tracker


def _either(
    tx: Evaluator, recorder: Recorder, name: str, values: Sequence[VariableTracker], moves: Sequence[Move]
) -> VariableTracker | None:
    """The join of arrays of which one at least is an object from outside the flow; None if none is."""
    if recorder.loops or tx.output.differentiating or recorder.place in tx.output.ties.refused:
        return None
    outside = [_is_outside(tx, v) for v in values]
    if not any(o or isinstance(v, Either) for o, v in zip(outside, values, strict=True)) or not all(
        isinstance(v, Either) or type(v) is ArrayTracker for v in values
    ):
        return None
    first, second = (v.meta for v in values if isinstance(v, ArrayTracker))
    if not same_meta(first, second):
        return None
    node, tracker = join_of(tx, name, first)
    if type(tracker) is not ArrayTracker:
        return None
    tag, _ = join_of(tx, f"{name}_which", PyMeta(int))
    recorder.joins += [node, tag]
    others: dict[int, ArrayTracker] = {}
    for move, value, is_outside in zip(moves, values, outside, strict=True):
        assert isinstance(value, ArrayTracker)
        which: Any = 0
        if is_outside:
            which = _number_of(recorder, value)
            others[which] = value
            recorder.tied.add((node, value.node))
        elif isinstance(value, Either):
            which = value.tag
            others |= value.others
        move.add(node, value.node)
        move.add(tag, which)
    return Either(node, first, tag, others, tx.output.ties)


def _is_outside(tx: Evaluator, value: VariableTracker) -> bool:
    """Whether a value is an array object that existed before the flow."""
    if not isinstance(value, Either) and (type(value) is not ArrayTracker or value.meta.scalar):
        return False
    return value.node in tx.output.input_nodes or value.node in tx.output.root.nodes


def _number_of(recorder: Recorder, value: ArrayTracker) -> int:
    if not any(value is each for each in recorder.arrays):
        recorder.arrays.append(value)
    return 1 + next(i for i, each in enumerate(recorder.arrays) if each is value)


def _same_constant(a: VariableTracker, b: VariableTracker) -> bool:
    if not a.is_constant or not b.is_constant or a.python_type() is not b.python_type():
        return False
    try:
        return bool(a.constant() == b.constant()) and repr(a.constant()) == repr(b.constant())
    except Exception:  # comparing arbitrary values may raise anything: then they are not the same
        return False
