"""Takes a loop over whole arrays, records one round of it (two, if the first is of other kinds) as a loop of a flow.

The variables that a round changes are joins at the head of the loop. Their kinds there are those before the loop, if
a round leaves them so; else those that a round makes of them, and the first round is recorded on its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jitmagic.graph.flow import MISSING, Branch, Count, Exit, Forever, Move, Rounds, Statement
from jitmagic.graph.meta import Meta, PyMeta
from jitmagic.graph.node import Node
from jitmagic.tracer.flow.finish import finish
from jitmagic.tracer.flow.frames import bind, own_cells, variables
from jitmagic.tracer.flow.heads import Head
from jitmagic.tracer.flow.names import TEMPORARY, leaves_function, needed_after, rebound_in
from jitmagic.tracer.flow.record import LEFT, Ended, Loop, Recorder, recorded
from jitmagic.tracer.flow.values import Unavailable, Unsure, join_of, meta_of, peek, refuse, same_meta, value_of
from jitmagic.tracer.loops.carried import carried
from jitmagic.tracer.rounds import unpack_into
from jitmagic.tracer.signals import Restart, Returned
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.lazy import Lazy
from jitmagic.tracer.variables.number import RunTimeNumber

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["capture_for", "capture_while"]

ATTEMPTS = 6  # to settle the kinds at the head
Ends = list[tuple[str, dict[str, VariableTracker], Move]]


def capture_for(tx: Evaluator, node: ast.For, head: Head | None) -> bool:
    """Whether the loop is now part of the graph: over what ``head`` says, or over nothing that has such a form."""
    if head is None or not _has_names(node.target):
        return False
    return _over_variables(tx, node, lambda loop: _capture_for(tx, loop, head))


def _over_variables(tx: Evaluator, node: Any, capture: Callable[[Any], bool]) -> bool:
    """``capture`` of the loop with variables in the place of attributes and items that it changes."""
    if not _is_plain(tx, node):
        return False
    over = carried(tx, [node])
    with over.held(tx):
        found = capture(over.nodes[0])
        odd = [n for n in over.names if isinstance(tx.locals[n], Unavailable)]
        if found and odd:
            tx.output.policy.no_flow[tx.place(node)] = tx.locals[odd[0]].describe()
            raise Restart
    return found


def _capture_for(tx: Evaluator, node: ast.For, head: Head) -> bool:
    is_count = head.is_range and isinstance(node.target, ast.Name)

    def capture(recorder: Recorder) -> Ended:
        name = node.target.id if is_count else "row"  # type: ignore[attr-defined]  # a name
        index, number = join_of(tx, name, PyMeta(int))
        assert isinstance(number, RunTimeNumber)

        def enter() -> None:
            _bind_targets(tx, node.target, head.item(number))

        def loop(body: list[Statement]) -> Count:
            return Count(index, head.bounds, body)

        _Cycle(tx, node, recorder, enter, loop).record()
        return Ended()

    return recorded(tx, node, capture, finish) is not None


def _has_names(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) or (isinstance(target, ast.Tuple) and all(map(_has_names, target.elts)))


def _bind_targets(tx: Evaluator, target: ast.expr, value: VariableTracker) -> None:
    if isinstance(target, ast.Name):
        tx.store_name(target.id, tx.realize(value))
    else:
        unpack_into(tx, target, value, _bind_targets)


def capture_while(tx: Evaluator, node: ast.While, evaluate_test: Callable[..., VariableTracker]) -> bool:
    """Whether the loop, from the round that is next, is now part of the graph."""
    return _over_variables(tx, node, lambda loop: _capture_while(tx, loop, evaluate_test))


def _capture_while(tx: Evaluator, node: ast.While, evaluate_test: Callable[..., VariableTracker]) -> bool:

    def capture(recorder: Recorder) -> Ended:
        def enter() -> None:
            test = evaluate_test(tx, node.test)
            if test.is_constant:
                if not tx.truth(test):
                    raise refuse("a loop that ends after a known number of rounds")
                return
            if meta_of(test) is None:
                raise refuse(f"the test {ast.unparse(node.test)}")
            recorder.add(Branch(value_of(tx, test), [], [_stopped(recorder), Exit("break")]))

        _Cycle(tx, node, recorder, enter, Forever).record()
        return Ended()

    return recorded(tx, node, capture, finish) is not None


def _stopped(recorder: Recorder) -> Move:
    """The end of a loop whose test is false."""
    loop = recorder.loops[-1]
    move = Move()
    loop.ends.append(("break", variables(loop.tx), move))
    return move


def _is_plain(tx: Evaluator, node: ast.For | ast.While) -> bool:
    """Whether the loop binds names of its own function only and is left by its own ways."""
    names = rebound_in(node)
    cells = own_cells(tx)
    own = all(n in cells if n in tx.cells else n in tx.frame.local_names or n.startswith(TEMPORARY) for n in names)
    return own and not node.orelse and not leaves_function(node.body)


@dataclass(frozen=True, slots=True)
class _Join:
    name: str
    node: Node
    tracker: VariableTracker


@dataclass(slots=True)
class _Cycle:
    """One loop while its kinds settle. ``heads`` are those at the head; ``constant`` names keep what they hold, and
    ``unsure`` ones may have no value there.
    """

    tx: Evaluator
    node: ast.For | ast.While
    recorder: Recorder
    enter: Callable[[], None]
    loop: Callable[[list[Statement]], Statement]
    heads: dict[str, Meta] = field(default_factory=dict)
    constant: set[str] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    peeled: bool = False

    def record(self) -> None:
        tx, names = self.tx, rebound_in(self.node)
        before = variables(tx)
        entry = {n: peek(tx, before[n]) for n in sorted(names) if n in before}
        self.unsure = {n for n in names if isinstance(before.get(n), Unsure)}
        self.heads = {n: m for n, v in entry.items() if (m := meta_of(v)) is not None}
        for _ in range(ATTEMPTS):
            bind(tx, before)
            made, lists = len(self.recorder.joins), len(self.recorder.lists.grown)
            heads = self._joins()
            first: Ends = []
            rest: Ends = []
            kept = {n: before[n] if n in self.constant else Unavailable(n) for n in entry}
            entered = {**kept, **{n: self._seen(heads[n]) for n in heads}}
            with self.recorder.nested() as body:
                if self.peeled:
                    rounds = Rounds(self._round({n: before[n] for n in entry}, first), [])
                    rounds.rest = self._round(entered, rest)
                    body[:] = [rounds]
                else:
                    body[:] = self._round(entered, rest)
            if self._settle(heads, first, rest) and len(self.recorder.lists.grown) == lists:
                break
            del self.recorder.joins[made:]
        else:
            raise refuse("a loop whose variables do not settle")
        bind(tx, before)
        self._finish(entry, heads, [*first, *rest], body)

    def _seen(self, head: _Join) -> VariableTracker:
        """What the round sees of a join at the head."""
        return Unsure(head.tracker, head.node, self.recorder) if head.name in self.unsure else head.tracker

    def _joins(self) -> dict[str, _Join]:
        made = {n: _Join(n, *join_of(self.tx, n, meta)) for n, meta in self.heads.items() if n not in self.constant}
        self.recorder.joins += [join.node for join in made.values()]
        return made

    def _round(self, entered: Mapping[str, VariableTracker], ends: Ends) -> list[Statement]:
        """Record the body; the variables that it may change hold ``entered`` first."""
        tx, recorder = self.tx, self.recorder
        names = rebound_in(self.node)
        bind(tx, {n: v for n, v in variables(tx).items() if n not in names} | dict(entered))
        shared = {n: c.content for n, c in own_cells(tx).items() if n not in names}
        known = len(ends)
        recorder.loops.append(Loop(tx, ends, len(recorder.pieces)))
        with recorder.nested() as body:
            self.enter()
            flow = tx.language.run_block(tx, self.node.body)
            if flow is None or flow.kind != LEFT:
                recorder.end_round(_kind(flow))
        recorder.loops.pop()
        for _, state, _ in ends[known:]:
            if any(not _is_same(state.get(n), content) for n, content in shared.items()):
                raise refuse("a call that rebinds a variable of this function")
        return body

    def _settle(self, heads: Mapping[str, _Join], first: Ends, rest: Ends) -> bool:
        """Whether every round ends with the kinds that it began with; if not, ``heads`` are others now."""
        ends = [*first, *rest]
        stays = {n for n, h in heads.items() if all(_holds(state, n, h.tracker) for _, state, _ in ends)}
        if stays and not self.peeled:
            self.constant |= stays
            return False
        again = [state for kind, state, _ in ends if kind != "break"]
        settled = True
        for name in sorted({n for state in again for n in state} & rebound_in(self.node) - self.constant):
            metas = [meta_of(peek(self.tx, s[name])) if name in s else None for s in again]
            if any(not same_meta(m, metas[0]) for m in metas):
                settled = self.heads.pop(name, None) is None and settled
                continue
            if name not in self.heads and not self.peeled:
                continue
            if any(isinstance(s[name], Unsure) for s in again) and name not in self.unsure:
                self.unsure.add(name)
                settled = False
            if not same_meta(self.heads.get(name), metas[0]):
                assert metas[0] is not None
                self.heads[name] = metas[0]
                self.peeled, settled = True, False
        return settled

    def _finish(
        self, entry: Mapping[str, VariableTracker], heads: Mapping[str, _Join], ends: Ends, body: list[Statement]
    ) -> None:
        """Give the joins their values on every way, add the loop, and bind what is read after it."""
        tx, recorder = self.tx, self.recorder
        joins = dict(heads)
        needed = needed_after(tx.frame.node, self.node, rebound_in(self.node))
        for name in needed:
            meta = None if name in joins or name in self.constant else _end_meta(tx, name, ends)
            if meta is not None:
                joins[name] = _Join(name, *join_of(tx, name, meta))
                recorder.joins.append(joins[name].node)
        odd = {(n, move) for _, state, move in ends for n, join in joins.items() if not _bind(tx, state, move, join)}
        lost = {n for n, _ in odd if tx.output.differentiating or all((n, move) in odd for _, _, move in ends)}
        for name, move in odd:
            move.add(joins[name].node, MISSING)
        if self.peeled and recorder.loops:  # a loop around this one comes here again
            recorder.add(Move(tuple(h.node for h in heads.values()), (MISSING,) * len(heads)))
        if not self.peeled:
            start = tuple(value_of(tx, entry[n]) for n in heads)
            recorder.add(Move(tuple(h.node for h in heads.values()), start, enters=True))
        recorder.add(self.loop(body))
        after = variables(tx)
        for name in rebound_in(self.node) - self.constant:
            if name not in joins or name in lost or name not in needed:
                after[name] = Unavailable(name)
                continue
            join = joins[name]
            sure = name in heads and not self.peeled and name not in self.unsure | {n for n, _ in odd}
            after[name] = join.tracker if sure else Unsure(join.tracker, join.node, recorder)
        bind(tx, after)


def _is_same(now: VariableTracker | None, before: VariableTracker | None) -> bool:
    """Whether a name still holds what it held; looking into it makes no difference."""
    inside = [v.realize() if isinstance(v, Lazy) and v.is_realized else v for v in (now, before)]
    return inside[0] is inside[1]


def _bind(tx: Evaluator, state: Mapping[str, VariableTracker], move: Move, join: _Join) -> bool:
    """Give a join what its name holds at the end of a round; False if that is of another kind: it has no value then."""
    value = peek(tx, state[join.name]) if join.name in state else None
    if value is None or value is join.tracker:
        return True
    if not same_meta(meta_of(value), join.node.meta):
        return False
    move.add(join.node, value_of(tx, value))
    return True


def _holds(state: Mapping[str, VariableTracker], name: str, tracker: VariableTracker) -> bool:
    value = state.get(name)
    return value is tracker or (isinstance(value, Unsure) and value.tracker is tracker)


def _kind(flow: Returned | None) -> str:
    if flow is None:
        return "end"
    if flow.kind not in ("break", "continue"):
        raise refuse("a return inside the loop")
    return flow.kind


def _end_meta(tx: Evaluator, name: str, ends: Ends) -> Meta | None:
    """The kind that a name has at the ends of rounds that bind it; None if it has none or several."""
    metas = [meta_of(peek(tx, state[name])) for _, state, _ in ends if name in state]
    metas = [m for m in metas if m is not None]
    if not metas or any(not same_meta(m, metas[0]) for m in metas):
        return None
    return metas[0]
