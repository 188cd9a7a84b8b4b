"""Takes a loop that appends numbers to lists that were empty before it, adds it to the graph as a region.

    out = []
    for v in x:                            for v in x:
        s = s * a + v            =>            s = s * a + v
        out.append(s)                          room[k] = s; k = k + 1

There is room for as many numbers as the loops around the appends have rounds. Where that is not known before them
(``while``), a first region only counts.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.tracer.call_rows import row_of
from jitmagic.tracer.loops.capture import capture_values, kinds_of, writes_arrays
from jitmagic.tracer.loops.disguised import first_of, product
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.loops.streams import Names, has_rounds, level_of, prepared
from jitmagic.tracer.loops.surroundings import known_function
from jitmagic.tracer.names import names_in
from jitmagic.tracer.signals import NotConstant, Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.held import Held
from jitmagic.tracer.variables.number import RunTimeNumber
from jitmagic.tracer.variables.number_kinds import DTYPES
from jitmagic.tracer.variables.sequences import ListTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["capture_appending"]

Loop = ast.For | ast.While
ELEMENT, COUNT, ROOM = "_jm_element", "_jm_count", "_jm_room"
_AGAIN = (ast.Name, ast.Constant, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Subscript, ast.Slice, ast.Tuple, ast.Call)
_CALLED = ("builtins.range", "builtins.zip", "builtins.enumerate", "builtins.len")


@dataclass(frozen=True, slots=True)
class _List:
    """A list that is filled; ``serial`` makes the names of its parts."""

    name: str
    tracker: ListTracker
    serial: int

    def part(self, what: str) -> str:
        return f"{what}{self.serial}"


def capture_appending(tx: Evaluator, node: Loop, of: Loop) -> bool:
    """Add the loop to the graph and rebind what it rebinds; False, with nothing changed, if that cannot be.

    ``of`` is the statement of the function that the loop was made of.
    """
    lists = _filled(tx, node)
    if not lists:
        return False
    before = len(tx.output.graph.nodes)
    names = Names(tx)
    try:
        with names:
            arrays = _captured(tx, node, of, lists, names)
    except (Unsupported, NotConstant, Raised, DataDependentSize) as error:
        tx.output.graph.forget_calls(before)
        tx.output.note_refusal(node, error)
        return False
    finally:
        for each in lists:
            for part in (COUNT, ROOM):
                tx.locals.pop(each.part(part), None)
    for each, held in zip(lists, arrays, strict=True):
        each.tracker.held = held
    return True


def _filled(tx: Evaluator, node: Loop) -> list[_List]:
    """The lists that the loop does nothing with but append; none if some are used in another way."""
    appended = dict.fromkeys(s.value.func.value.id for s in _appends(node))
    found: list[_List] = []
    for name in appended:
        cell = tx.cells.get(name)
        value = tx.locals.get(name) if cell is None else cell.content
        uses = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))
        is_own = isinstance(value, ListTracker) and value.source is None and type(value) is ListTracker
        if not is_own or value.held is not None or value.items:  # type: ignore[union-attr]  # a list
            return []
        if uses != sum(s.value.func.value.id == name for s in _appends(node)):
            return []
        found.append(_List(name, value, len(found)))  # type: ignore[arg-type]  # a list
    return found


def _appends(node: ast.AST) -> Iterator[Any]:
    return (n for n in ast.walk(node) if _is_append(n))


def _is_append(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        return False
    call = node.value
    is_method = isinstance(call.func, ast.Attribute) and call.func.attr == "append"
    is_simple = len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Starred)
    return is_method and is_simple and isinstance(call.func.value, ast.Name)  # type: ignore[attr-defined]  # an attribute


def _captured(tx: Evaluator, node: Loop, of: Loop, lists: Sequence[_List], names: Names) -> list[Held]:
    kinds = [_kind(tx, node, each, lists) for each in lists]
    dtypes = [np.dtype(DTYPES.get(k, k)) for k in kinds]
    counted = [_counter(each, node) for each in lists]
    known = [_capacity(tx, node, each, names) for each in lists]
    capacities = [c for c in known if c is not None]
    if len(capacities) < len(known):
        capacities = _counted(tx, node, lists, counted)
    for each, capacity, dtype in zip(lists, capacities, dtypes, strict=True):
        tx.locals[each.part(ROOM)] = _room(tx, capacity, dtype)
    last = [_unless_empty(each, node) for each, dtype in zip(lists, dtypes, strict=True) if dtype != np.float64]
    filling = _replaced(node, lists, _store)
    capture_values(tx, [*counted, filling, *last], also=[each.part(COUNT) for each in lists], of=[of])
    return [_result(tx, each, kind) for each, kind in zip(lists, kinds, strict=True)]


def _kind(tx: Evaluator, node: Loop, each: _List, lists: Sequence[_List]) -> str:
    sites: list[str] = []

    def element(other: _List, value: ast.expr) -> list[ast.stmt]:
        name = f"{other.part(ELEMENT)}_{len(sites)}"
        sites.append(name if other is each else "")
        return [_set(name, value)]

    built = _replaced(node, lists, element)
    kinds = {k for name in filter(None, sites) for k in kinds_of(tx, [built], name)}
    if len(kinds) != 1:
        raise refuse("a list of numbers of several types" if kinds else "a list without elements")
    return kinds.pop()


def _counted(tx: Evaluator, node: Loop, lists: Sequence[_List], counted: Sequence[ast.stmt]) -> list[Any]:
    """How many numbers each list gets, by running the loop without keeping them."""
    nodes = [*counted, _replaced(node, lists, _count)]
    if writes_arrays(tx, nodes):
        raise refuse("a loop of unknown length that appends and writes arrays")
    capture_values(tx, nodes, [each.part(COUNT) for each in lists])
    return [tx.locals.pop(each.part(COUNT)) for each in lists]


def _room(tx: Evaluator, capacity: VariableTracker, dtype: np.dtype[Any]) -> VariableTracker:
    if isinstance(capacity, RunTimeNumber):
        return tx.call_op(_ROOM, [capacity, Constant(dtype)], {})
    return tx.call_form(*row_of(np.empty), [capacity, Constant(dtype)], {})


def _room_rule(call: Arguments) -> Inferred:
    symbol = call.env.new_run_time_symbol()
    return Inferred(ArrayMeta.dense(call.args[1], (symbol,)), run_time_sizes=((0, 0, symbol),))


_ROOM = Op("room", lambda count, dtype: np.empty(count, dtype), _room_rule)


def _result(tx: Evaluator, each: _List, kind: str) -> Held:
    room = tx.locals[each.part(ROOM)]
    assert isinstance(room, ArrayTracker)
    return Held(tx, first_of(tx, room, tx.locals[each.part(COUNT)]), kind)


def _capacity(tx: Evaluator, node: Loop, each: _List, names: Names) -> VariableTracker | None:
    """The rounds of the loops around the appends; None where they are not known before the loop."""
    own = names_in([node], stores_only=True)
    total: VariableTracker | None = None
    for loops in _loops_around(node, each.name, ()):
        if any(isinstance(loop, ast.While) for loop in loops):
            return None
        counts = [_rounds(tx, loop, own, names) for loop in loops]
        if any(c is None for c in counts):
            return None
        rounds = product(tx, [c for c in counts if c is not None])
        total = rounds if total is None else tx.language.binary(tx, "add", total, rounds)
    return total


def _loops_around(node: Any, name: str, around: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """For each append to the list, the loops that it stands in."""
    if _is_append(node) and node.value.func.value.id == name:
        yield around
    inner = (*around, node) if isinstance(node, ast.For | ast.While) else around
    for child in ast.iter_child_nodes(node):
        yield from _loops_around(child, name, inner)


def _rounds(tx: Evaluator, loop: ast.For, own: set[str], names: Names) -> VariableTracker | None:
    if names_in([ast.Expr(loop.iter)]) & own:
        return None
    parts = list(ast.walk(loop.iter))
    calls = [n for n in parts if isinstance(n, ast.Call)]
    repeated = (*_AGAIN, ast.operator, ast.unaryop, ast.expr_context)
    if not all(isinstance(n, repeated) for n in parts) or any(known_function(tx, c.func) not in _CALLED for c in calls):
        raise refuse(f"a loop over {ast.unparse(loop.iter)}")
    over = prepared(tx, loop.iter, names, lambda f: known_function(tx, f))
    target = ast.copy_location(ast.Name("_jm_target", ast.Store()), loop.iter)
    if over.function in ("builtins.zip", "builtins.enumerate"):
        target = ast.copy_location(ast.Tuple([target] * len(over.node.args), ast.Store()), loop.iter)  # type: ignore[attr-defined,assignment]  # a call
        if over.function == "builtins.enumerate":
            target.elts = [target.elts[0]] * 2  # type: ignore[attr-defined]  # a tuple
    count = level_of(tx, target, over, names, 0).count
    found = has_rounds(tx, count)
    if found is False:
        raise refuse("a loop without rounds")
    return None if found is None and isinstance(count, RunTimeNumber) else count


# -- statements in the place of an append
def _replaced(node: Loop, lists: Sequence[_List], make: Callable[[_List, Any], list[ast.stmt]]) -> Loop:
    made = _Appends({each.name: each for each in lists}, make).visit(_copied(node))
    assert isinstance(made, ast.For | ast.While)
    return made


def _copied(node: Any) -> Any:
    """A copy of the statements; expressions are shared."""
    if isinstance(node, list):
        return [_copied(n) for n in node]
    if not isinstance(node, ast.stmt | ast.match_case | ast.ExceptHandler):
        return node
    fields = {name: _copied(value) for name, value in ast.iter_fields(node)}
    return ast.copy_location(type(node)(**fields), node)


class _Appends(ast.NodeTransformer):
    def __init__(self, lists: Mapping[str, _List], make: Callable[[_List, Any], list[ast.stmt]]) -> None:
        self.lists = lists
        self.make = make

    def visit_Expr(self, node: ast.Expr) -> Any:
        if not _is_append(node):
            return node
        call: Any = node.value
        return [_at(s, node) for s in self.make(self.lists[call.func.value.id], call.args[0])]


def _at(made: ast.stmt, place: ast.AST) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(made, place))


def _count(each: _List, value: ast.expr) -> list[ast.stmt]:
    count = each.part(COUNT)
    return [_set(each.part(ELEMENT), value), _set(count, ast.BinOp(_load(count), ast.Add(), ast.Constant(1)))]


def _store(each: _List, value: ast.expr) -> list[ast.stmt]:
    count = each.part(COUNT)
    place = ast.Subscript(_load(each.part(ROOM)), _load(count), ast.Store())
    return [ast.Assign([place], value), _set(count, ast.BinOp(_load(count), ast.Add(), ast.Constant(1)))]


def _counter(each: _List, place: ast.AST) -> ast.stmt:
    return _at(_set(each.part(COUNT), ast.Constant(0)), place)


def _unless_empty(each: _List, place: ast.AST) -> ast.stmt:
    """``np.array([])`` is of float64 whatever the list was meant for."""
    empty = ast.UnaryOp(ast.Not(), _load(each.part(COUNT)))
    return _at(ast.If(empty, [ast.Raise(_load("_jm_leave"))], []), place)


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())
