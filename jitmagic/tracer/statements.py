"""What each statement means over trackers; one handler per syntax class, in the table at the end."""

from __future__ import annotations

import ast
import copy
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal

from jitmagic.errors import Unsupported
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.tracer.captured_runs import captured_run
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.expressions import OPERATORS, evaluate_test, make_function, named_by
from jitmagic.tracer.flow import (
    capture_branch,
    capture_endings,
    capture_for,
    capture_returns,
    capture_while,
    without_returns,
)
from jitmagic.tracer.flow.heads import Head, enumerated, head_over, zipped
from jitmagic.tracer.flow.whole import keep_loop_whole, keep_whole
from jitmagic.tracer.guards import ItemSource
from jitmagic.tracer.loops import capture_loop
from jitmagic.tracer.loops.appends import capture_appending
from jitmagic.tracer.loops.grids import is_grid
from jitmagic.tracer.loops.lists import is_many
from jitmagic.tracer.loops.runs import last_loop
from jitmagic.tracer.loops.streams import Names, Prepared, given_head
from jitmagic.tracer.loops.surroundings import known_function
from jitmagic.tracer.names import names_in
from jitmagic.tracer.operators import in_place
from jitmagic.tracer.resume import BreakHere
from jitmagic.tracer.rounds import SHORT_LOOP, count_rounds, unpack_into
from jitmagic.tracer.signals import NotConstant, Raised, Returned
from jitmagic.tracer.split import ALONE
from jitmagic.tracer.tails import run_alone, tail_of
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, read_attribute
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.sequences import RangeTracker

__all__ = ["ROWS", "assign", "count_rounds", "run_block", "unpack_into"]

Flow = Returned | None
OVER_ARRAYS = ("enumerate", "zip")  # loops that may be over arrays, which capture_loop finds out
BACKWARDS = "reversed"  # whose value Python has only where it knows how many elements there are


def run_block(tx: Evaluator, block: Sequence[ast.stmt]) -> Flow:
    """Evaluate statements in order until one leaves the block."""
    whole, after = tx.whole_rests[-1]
    ends_function = block is whole and not after and tx.parent is None
    index, last = -1, last_loop(block)
    while (index := index + 1) < len(block):
        statement = block[index]
        if index <= last and (taken := captured_run(tx, block[index:], ends_function=ends_function)) is not None:
            index += taken.length - 1
            if taken.returned is not None:
                return Returned("return", taken.returned)
            continue
        tx.following = [*block[index + 1 :], *after] if block is whole else None
        try:
            flow = run_statement(tx, statement)
        except BreakHere as stop:
            stop.rest.extend(block[index + 1 :])
            raise
        if flow is not None:
            return flow
    return None


def run_statement(tx: Evaluator, node: ast.stmt) -> Flow:
    """Evaluate one statement; says where it was if it cannot be captured."""
    policy, place = tx.output.policy, tx.place(node)
    cause = getattr(node, "jm_break", None) or policy.opaque.get(place)
    if cause is not None:
        if tx.parent is not None:
            raise cause
        raise BreakHere(node, cause)
    if place in policy.rewritten:
        return run_block(tx, policy.rewritten[place])
    if (pieces := tail_of(tx, place)) is not None:
        return _run_way(tx, pieces, tx.following)
    before, tx.node = tx.node, node
    tx.active.append(node)
    try:
        handler = handler_of(tx, node)
        if handler is None:
            raise Unsupported("statement", _title(node))
        return handler(tx, node)
    except (Unsupported, DataDependentSize, NotConstant) as error:
        raise tx.located(error, node) from None
    finally:
        tx.active.pop()
        tx.node = before


def handler_of(tx: Evaluator, node: ast.stmt) -> Callable[[Evaluator, Any], Flow] | None:
    return tx.language.statements.get(type(node))


def _title(node: ast.stmt) -> str:
    return f"the statement {ast.unparse(node).splitlines()[0]!r}"


# -- assignment
def assign(tx: Evaluator, target: ast.expr, value: VariableTracker) -> None:
    """Bind one target."""
    handler = _TARGETS.get(type(target))
    if handler is None:
        raise Unsupported("statement", f"the target {ast.unparse(target)}")
    handler(tx, target, value)


def _to_name(tx: Evaluator, target: ast.Name, value: VariableTracker) -> None:
    tx.store_name(target.id, value)


def _to_attribute(tx: Evaluator, target: ast.Attribute, value: VariableTracker) -> None:
    tx.eval(target.value).set_attribute(tx, tx.mangle(target.attr), value)


def _to_subscript(tx: Evaluator, target: ast.Subscript, value: VariableTracker) -> None:
    owner = tx.eval(target.value)
    owner.set_item(tx, tx.eval(target.slice), value)


def _to_sequence(tx: Evaluator, target: ast.Tuple | ast.List, value: VariableTracker) -> None:
    unpack_into(tx, target, value, assign)


_TARGETS: dict[type[ast.expr], Callable[[Evaluator, Any, VariableTracker], None]] = {
    ast.Name: _to_name,
    ast.Attribute: _to_attribute,
    ast.Subscript: _to_subscript,
    ast.Tuple: _to_sequence,
    ast.List: _to_sequence,
}


def _assign(tx: Evaluator, node: ast.Assign) -> Flow:
    if (by_cases := _by_cases(tx, node)) is not None:
        return run_statement(tx, by_cases)
    if hasattr(node, ALONE):
        return run_alone(tx, node)
    value = tx.eval(node.value)
    for target in node.targets:
        assign(tx, target, value)
    return None


def _annotated(tx: Evaluator, node: ast.AnnAssign) -> Flow:
    if node.value is not None:
        assign(tx, node.target, tx.eval(node.value))
    if isinstance(node.target, ast.Name):
        tx.annotate(node.target.id, node.annotation)
    return None


def _augmented(tx: Evaluator, node: ast.AugAssign) -> Flow:
    name = OPERATORS[type(node.op)]
    target = node.target
    if isinstance(target, ast.Name):
        old = tx.load_name(target.id)
        tx.store_name(target.id, in_place(tx, name, old, tx.eval(node.value)))
    elif isinstance(target, ast.Attribute):
        owner = tx.eval(target.value)
        attribute = tx.mangle(target.attr)
        old = read_attribute(tx, owner, attribute)
        owner.set_attribute(tx, attribute, in_place(tx, name, old, tx.eval(node.value)))
    else:
        owner, key = tx.eval(target.value), tx.eval(target.slice)
        old = tx.realize(owner.item(tx, key))
        owner.set_item(tx, key, in_place(tx, name, old, tx.eval(node.value)))
    return None


def _delete(tx: Evaluator, node: ast.Delete) -> Flow:
    for target in node.targets:
        if isinstance(target, ast.Name):
            tx.delete_name(target.id)
        elif isinstance(target, ast.Attribute):
            tx.eval(target.value).delete_attribute(tx, tx.mangle(target.attr))
        elif isinstance(target, ast.Subscript):
            owner = tx.eval(target.value)
            owner.delete_item(tx, tx.eval(target.slice))
        else:
            raise Unsupported("statement", _title(node))
    return None


# -- control flow
def _by_cases(tx: Evaluator, node: ast.Assign | ast.Return) -> ast.If | None:
    """``if a: y = b``, ``else: y = c`` for ``y = b if a else c`` whose values have nothing in common."""
    value = node.value
    if not isinstance(value, ast.IfExp) or tx.place(value) not in tx.output.policy.no_flow:
        return None
    then, otherwise = copy.copy(node), copy.copy(node)
    then.value, otherwise.value = value.body, value.orelse
    return ast.copy_location(ast.If(value.test, [then], [otherwise]), value)


def _expression(tx: Evaluator, node: ast.Expr) -> Flow:
    tx.eval(node.value)
    return None


def _return(tx: Evaluator, node: ast.Return) -> Flow:
    if (by_cases := _by_cases(tx, node)) is not None:
        return run_statement(tx, by_cases)
    return Returned("return", Constant(None) if node.value is None else tx.eval(node.value))


def _if(tx: Evaluator, node: ast.If) -> Flow:
    rest = tx.following
    test = evaluate_test(tx, node.test)
    try:
        truth = tx.truth(test)
    except Unsupported as error:
        if error.code != "data-branch":
            raise
        named_by(error, node.test)
        ended = capture_branch(tx, node, test)
        if ended is None and rest is not None:
            ended = capture_returns(tx, node, test, rest) or capture_endings(tx, node, test, rest)
        if ended is None:
            keep_loop_whole(tx)
            raise
        return ended.flow
    return _run_way(tx, node.body if truth else node.orelse, rest)


def _run_way(tx: Evaluator, block: Sequence[ast.stmt], rest: Sequence[ast.stmt] | None) -> Flow:
    """Evaluate the block of a branch; ``rest`` is all that follows it in the function, if that is known."""
    if rest is None:
        return run_block(tx, block)
    tx.whole_rests.append((block, rest))
    try:
        return run_block(tx, block)
    finally:
        tx.whole_rests.pop()


def _kept_whole(
    tx: Evaluator, node: Any, rest: Sequence[ast.stmt] | None, capture: Callable[[Any], bool]
) -> Flow | Literal[False]:
    """How a loop ended of which the data decide how it is left; False if ``capture`` has no form for it."""
    policy, place = tx.output.policy, tx.place(node)
    if place not in policy.whole or place in policy.no_flow:
        return False
    parts = without_returns(node)
    if parts is None or (parts.returns and rest is None):
        return None if capture(node) else False
    run_block(tx, parts.before)
    if capture(parts.loop):
        return _run_way(tx, parts.after, rest)
    for name in names_in(parts.before, stores_only=True):
        tx.forget_name(name)
    return False


def _for(tx: Evaluator, node: ast.For) -> Flow:
    rest = tx.following
    made_before = len(tx.output.generators)
    if (_is_call_of(node.iter, BACKWARDS) or is_grid(tx, node.iter)) and capture_loop(tx, node):
        return None
    names = Names(tx)
    given, over = given_head(tx, node, names, lambda f: known_function(tx, f))
    is_kept = tx.place(node) in tx.output.policy.whole  # its rounds cannot be written out
    iterable = None if _is_call_of(node.iter, *OVER_ARRAYS) else over.fallback()
    is_long = is_kept or iterable is None or _is_long(iterable, node)
    if is_long:
        with names:
            if capture_appending(tx, given, node) or capture_loop(tx, given, node):
                return None
        tx.output.reword_refusal(node, names.as_written)
    if iterable is None:
        iterable = over.fallback()
    if is_long and _captured_at_once(tx, node, over, iterable):
        return None
    ended = _kept_whole(tx, node, rest, lambda loop: capture_for(tx, loop, _head(tx, over, iterable)))
    if ended is not False:
        return ended
    iterator = iterable.iterate(tx)
    rounds = count_rounds(tx, ast.unparse(node.iter), node.lineno)
    while (item := iterator.next_item(tx)) is not None:
        try:
            rounds()
        except Unsupported:
            if _head(tx, over, iterable) is not None:
                keep_whole(tx, node)
            raise
        assign(tx, node.target, item)
        flow = run_block(tx, node.body)
        if flow is not None and flow.kind != "continue":
            _drop_iterator(tx, node, iterator, made_before)
            return None if flow.kind == "break" else flow
    return run_block(tx, node.orelse)


def _head(tx: Evaluator, over: Prepared, iterable: VariableTracker) -> Head | None:
    """What a flow would count to run over this."""
    if over.function == "builtins.zip":
        return zipped(tx, over.values)
    if over.function == "builtins.enumerate":
        return enumerated(tx, over.values[0], over.values[1] if over.values[1:] else Constant(0))
    return head_over(tx, iterable)


def _captured_at_once(tx: Evaluator, node: ast.For, over: Prepared, iterable: VariableTracker) -> bool:
    """Whether a long loop over arrays is kept a loop; a known number of rounds has a better derivative written out."""
    written_out = tx.output.differentiating and isinstance(iterable, RangeTracker) and iterable.is_constant
    return not written_out and capture_for(tx, node, _head(tx, over, iterable))


def _drop_iterator(tx: Evaluator, node: ast.For, iterator: VariableTracker, made_before: int) -> None:
    """A loop that is left early drops its iterator: a generator that only the loop knows is closed here."""
    fresh = isinstance(node.iter, ast.Call) and iterator in tx.output.generators[made_before:]
    if fresh and isinstance(iterator, tx.language.generator) and iterator.maker is tx:
        iterator.close(tx)


def _is_long(rounds: VariableTracker, node: ast.For) -> bool:
    """Whether the loop has more rounds than are written out one by one without asking."""
    if isinstance(rounds, ArrayTracker):
        return rounds.meta.ndim == 1
    if is_many(rounds):
        return True
    if not isinstance(rounds, RangeTracker):
        return False
    nested = any(isinstance(n, ast.For | ast.While) for s in node.body for n in ast.walk(s))
    return nested or not rounds.is_constant or len(rounds.constant()) > SHORT_LOOP


def _is_call_of(node: ast.expr, *names: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _while(tx: Evaluator, node: ast.While) -> Flow:
    rest = tx.following
    if capture_appending(tx, node, node) or capture_loop(tx, node):
        return None
    ended = _kept_whole(tx, node, rest, lambda loop: capture_while(tx, loop, evaluate_test))
    if ended is not False:
        return ended
    rounds = count_rounds(tx, ast.unparse(node.test), node.lineno)
    while _goes_on(tx, node):
        rounds()
        flow = run_block(tx, node.body)
        if flow is not None and flow.kind == "break":
            return None
        if flow is not None and flow.kind == "return":
            return flow
    return run_block(tx, node.orelse)


def _goes_on(tx: Evaluator, node: ast.While) -> bool:
    """The truth of the test; where only the data tell it, the loop is to be kept a loop."""
    test = evaluate_test(tx, node.test)
    try:
        return tx.truth(test)
    except Unsupported as error:
        if error.code == "data-branch":
            named_by(error, node.test)
            keep_loop_whole(tx)
        raise


def _pass(tx: Evaluator, node: ast.stmt) -> Flow:
    return None


def _break(tx: Evaluator, node: ast.Break) -> Flow:
    return Returned("break")


def _continue(tx: Evaluator, node: ast.Continue) -> Flow:
    return Returned("continue")


def _def(tx: Evaluator, node: ast.FunctionDef) -> Flow:
    decorators = [tx.eval(d) for d in node.decorator_list]
    value: VariableTracker = make_function(tx, node)
    for decorator in reversed(decorators):
        value = tx.realize(decorator.call(tx, [value], {}))
    tx.store_name(node.name, value)
    return None


def _import(tx: Evaluator, node: ast.Import) -> Flow:
    """A module that is loaded already; loading one runs its code, so that stays plain Python."""
    for alias in node.names:
        module = sys.modules.get(alias.name)
        if module is None:
            raise Unsupported("import", _title(node))
        top, _, rest = alias.name.partition(".")
        value = _loaded(tx, alias.name)
        tx.store_name(alias.asname or top, _loaded(tx, top) if rest and not alias.asname else value)
    return None


def _loaded(tx: Evaluator, name: str) -> VariableTracker:
    """The module that ``sys.modules`` has under this name; another one may stand there at the next call."""
    source = ItemSource(tx.output.constant_source(sys.modules, "sys.modules"), name)
    return tx.output.builder.wrap(tx, sys.modules[name], source)


def _import_from(tx: Evaluator, node: ast.ImportFrom) -> Flow:
    module = None if node.level else sys.modules.get(node.module or "")
    if module is None or any(a.name == "*" for a in node.names):
        raise Unsupported("import", _title(node))
    for alias in node.names:
        owner = _loaded(tx, module.__name__)
        try:
            value = tx.realize(owner.attribute(tx, alias.name))
        except (Raised, Unsupported):  # not there, or in a module that loads its parts when they are first asked for
            raise Unsupported("import", _title(node)) from None
        tx.store_name(alias.asname or alias.name, value)
    return None


ROWS: dict[type[ast.stmt], Callable[[Evaluator, Any], Flow]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.Delete: _delete,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for,
    ast.While: _while,
    ast.Pass: _pass,
    ast.Global: _pass,
    ast.Nonlocal: _pass,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.FunctionDef: _def,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
}
