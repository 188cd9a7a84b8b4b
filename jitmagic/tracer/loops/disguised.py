"""Takes expressions that are loops in disguise, adds each to the graph as one region.

    np.array([v * v for v in x if v > 0])          a region that fills an array, of which the first ``k`` are the result
    sum(v * v for v in x)                          a region with a number as its result

The dtype of a list's array is what NumPy finds for its elements. Where these are of several kinds (``0 if v < 0 else
v``), the region is left unless one is there that alone gives that dtype.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.tracer.call_rows import row_of
from jitmagic.tracer.loops.capture import capture_values, kinds_of
from jitmagic.tracer.loops.comprehended import Opened, bound_by, opened, scoped
from jitmagic.tracer.loops.named import named_in
from jitmagic.tracer.loops.rules import refuse, store_is_exact
from jitmagic.tracer.loops.streams import Level, Names, Prepared, has_rounds, level_of, prepared
from jitmagic.tracer.loops.surroundings import known_function
from jitmagic.tracer.names import names_in
from jitmagic.tracer.signals import NotConstant, Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.held import Held
from jitmagic.tracer.variables.number import RunTimeNumber
from jitmagic.tracer.variables.number_kinds import DTYPES
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Stream", "capture_array", "capture_fold", "capture_list", "first_of", "product", "stream_of"]

VALUE, ELEMENT, COUNT, ARRAY, SEEN = "_jm_value", "_jm_element", "_jm_count", "_jm_array", "_jm_seen"


@dataclass(slots=True)
class Stream:
    """An iterable expression whose outermost iterable is evaluated; ``fallback()`` is what the tracer has for it."""

    node: ast.expr
    names: Names
    first: Prepared
    fallback: Callable[[], VariableTracker]


def stream_of(tx: Evaluator, node: ast.expr, make: Callable[[ast.expr, VariableTracker], VariableTracker]) -> Stream:
    """Evaluate what Python evaluates when it makes the iterable.

    ``make(node, first)`` gives the tracker of a comprehension whose first iterable has a value.
    """
    names = Names(tx)

    def function_of(function: ast.expr) -> str | None:
        return known_function(tx, function)

    if isinstance(node, ast.GeneratorExp | ast.ListComp):
        first = prepared(tx, node.generators[0].iter, names, function_of)
        head = ast.comprehension(node.generators[0].target, first.node, node.generators[0].ifs, 0)
        made: Any = type(node)(node.elt, [head, *node.generators[1:]])
        return Stream(ast.copy_location(made, node), names, first, lambda: make(node, first.fallback()))
    is_map = (
        isinstance(node, ast.Call)
        and len(node.args) > 1
        and isinstance(node.args[0], ast.Name | ast.Lambda | ast.Attribute)
    )
    if is_map and not node.keywords and function_of(node.func) == "builtins.map":  # type: ignore[attr-defined]  # a call
        return _map_stream(tx, node, names)  # type: ignore[arg-type]  # a call
    first = prepared(tx, node, names, function_of)
    return Stream(first.node, names, first, first.fallback)


def _map_stream(tx: Evaluator, node: ast.Call, names: Names) -> Stream:
    outer, function = tx.eval(node.func), tx.eval(node.args[0])
    values = [tx.eval(a) for a in node.args[1:]]
    over = [a if isinstance(a, ast.Name) else names.hold(v, a) for a, v in zip(node.args[1:], values, strict=True)]
    made = ast.copy_location(ast.Call(node.func, [node.args[0], *over], []), node)
    first = Prepared(made, lambda: made, tuple(zip(over, values, strict=True)), "builtins.zip" if over[1:] else "")  # type: ignore[arg-type,return-value]  # never asked for
    return Stream(made, names, first, lambda: outer.call(tx, [function, *values], {}))


@contextmanager
def _attempt(tx: Evaluator, node: ast.expr, refused: list[BaseException]) -> Iterator[None]:
    """What is added to the graph in the block goes again if the capture is refused."""
    before = len(tx.output.graph.nodes)
    try:
        yield
    except (Unsupported, NotConstant, Raised, DataDependentSize) as error:
        tx.output.graph.forget_calls(before)
        tx.output.note_refusal(node, error)
        refused.append(error)


def capture_fold(tx: Evaluator, node: ast.Call, stream: Stream, position: int) -> VariableTracker | None:
    """The result of ``sum`` and its kin over a stream, which is the argument at ``position``; None: as it is."""
    if not stream.first.is_long:
        return None
    args = [stream.node if i == position else a for i, a in enumerate(node.args)]
    call = ast.copy_location(ast.Call(node.func, args, []), node)
    refused: list[BaseException] = []
    with _attempt(tx, node, refused), stream.names:
        capture_values(tx, [_set(VALUE, call)], [VALUE, *sorted(named_in(call))])
        return tx.locals.pop(VALUE)
    return None


# -- lists
def capture_list(tx: Evaluator, stream: Stream) -> ListTracker | None:
    """The list that a comprehension (or ``list`` of a stream) makes, its numbers in an array."""
    if not stream.first.is_long:
        return None
    refused: list[BaseException] = []
    with _attempt(tx, stream.node, refused), stream.names:
        array, kinds = _Filling(tx, stream).run(None)
        if len(kinds) > 1:
            raise refuse("a list of numbers of several types")
        return ListTracker.holding(Held(tx, array, kinds[0]))
    return None


def capture_array(tx: Evaluator, stream: Stream, dtype: np.dtype[Any] | None) -> ArrayTracker | None:
    """``np.array`` of such a list; elements are cast as assignment casts them if there is a ``dtype``."""
    if not stream.first.is_long:
        return None
    refused: list[BaseException] = []
    with _attempt(tx, stream.node, refused), stream.names:
        return _Filling(tx, stream).run(dtype)[0]
    return None


class _Filling:
    """Statements that put the elements of a stream into a new array."""

    def __init__(self, tx: Evaluator, stream: Stream) -> None:
        self.tx = tx
        self.names = stream.names
        (self.node,) = (s.value for s in scoped([ast.copy_location(ast.Expr(stream.node), stream.node)]))  # type: ignore[attr-defined]  # an expression statement
        self.levels: list[Level] = []
        self.tests: list[Sequence[ast.expr]] = []
        self.depths: list[int] = []  # the levels at which a new axis of the array begins
        self.may_be_empty = False  # only the data tell how many rounds there are

    def run(self, dtype: np.dtype[Any] | None) -> tuple[ArrayTracker, tuple[str, ...]]:
        element = self._open(self.node)
        kinds = kinds_of(self.tx, self._around([_set(ELEMENT, element)]), ELEMENT)
        if not kinds:
            raise refuse("a list without elements")
        common = np.result_type(*(np.dtype(DTYPES.get(k, k)) for k in kinds))
        target = common if dtype is None else dtype
        if not all(store_is_exact(k, target.name) for k in kinds):
            raise refuse(f"{', '.join(kinds)} in an array of {target}")
        return self._filled(element, kinds, target, any_kind=dtype is not None), kinds

    def _open(self, node: ast.expr) -> ast.expr:
        """Enter the loops around the elements; gives the expression of one element."""
        self.depths.append(len(self.levels))
        found = opened(node, lambda f: known_function(self.tx, f) == "builtins.map", "_jm_item")
        bound: set[str] = set()
        for loop in found.loops:
            self.levels.append(self._level(loop, bound))
            self.tests.append(loop.ifs)
            bound |= bound_by(ast.GeneratorExp(found.element, [loop]))
        return self._inner(found, node)

    def _inner(self, found: Opened, node: ast.expr) -> ast.expr:
        if not isinstance(found.element, ast.ListComp):
            return found.element
        if any(self.tests):
            raise refuse("lists of lists with conditions")
        return self._open(found.element)

    def _level(self, loop: ast.comprehension, bound: set[str]) -> Level:
        binds = [s for level in self.levels for s in (*level.binds, ast.Expr(level.target))]
        own = names_in(binds, stores_only=True)
        if self.levels and names_in([ast.Expr(loop.iter)]) & (own | bound):
            raise refuse("an inner loop of a length that differs from round to round")
        over = prepared(self.tx, loop.iter, self.names, lambda f: known_function(self.tx, f))
        self.tx.locals.update(self.names.values)
        made = level_of(self.tx, loop.target, over, self.names, len(self.levels))
        self.tx.locals.update(self.names.values)
        found = has_rounds(self.tx, made.count)
        if found is False:
            raise refuse("a loop without rounds")
        self.may_be_empty |= found is None
        return made

    def _around(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        made = list(body)
        for level, tests in zip(reversed(self.levels), reversed(self.tests), strict=True):
            made = level.around(made, tests)
        return [ast.fix_missing_locations(ast.copy_location(s, self.node)) for s in made]

    def _filled(
        self, element: ast.expr, kinds: tuple[str, ...], dtype: np.dtype[Any], *, any_kind: bool
    ) -> ArrayTracker:
        tx = self.tx
        is_exact = not any(self.tests) and all(level.position is not None for level in self.levels)
        is_exact = is_exact and self.depths == list(range(len(self.levels)))
        if not is_exact and len(self.depths) > 1:
            raise refuse("lists of lists whose rounds are not counted")
        counts = [level.count for level in self.levels]
        shape: VariableTracker = TupleTracker(counts) if is_exact else product(tx, counts)
        array = tx.call_form(*row_of(np.empty), [shape, Constant(dtype)], {})
        assert isinstance(array, ArrayTracker)
        before, body, after = self._storing(element, kinds, dtype, is_exact=is_exact, any_kind=any_kind)
        tx.locals[ARRAY] = array
        try:
            filling = [*before, *self._around(body), *after]
            named = sorted(set().union(*map(named_in, filling)))
            capture_values(tx, filling, named if is_exact else [COUNT, *named])
            return array if is_exact else first_of(tx, array, tx.locals[COUNT])
        finally:
            for name in (ARRAY, COUNT):
                tx.locals.pop(name, None)

    def _storing(
        self, element: ast.expr, kinds: tuple[str, ...], dtype: np.dtype[Any], *, is_exact: bool, any_kind: bool
    ) -> tuple[list[ast.stmt], list[ast.stmt], list[ast.stmt]]:
        """What stores one element, and what has to be around the loops for that."""
        positions: list[Any] = [level.position for level in self.levels] if is_exact else [_load(COUNT)]
        index = positions[0] if len(positions) == 1 else ast.Tuple(positions, ast.Load())
        place = ast.Subscript(_load(ARRAY), index, ast.Store())
        before: list[ast.stmt] = []
        body: list[ast.stmt] = [ast.Assign([place], element)]
        after: list[ast.stmt] = []
        if len(kinds) > 1 and not any_kind:
            if not any(DTYPES.get(k, k) == dtype.name for k in kinds):
                raise refuse(f"a list of {', '.join(kinds)}")
            before.append(_set(SEEN, ast.Constant(False)))
            asked = ast.Call(_load("_jm_is_dtype"), [_load(ELEMENT), ast.Constant(dtype.name)], [])
            seen = ast.If(asked, [_set(SEEN, ast.Constant(True))], [])
            body = [_set(ELEMENT, element), seen, ast.Assign([place], _load(ELEMENT))]
            after.append(ast.If(ast.UnaryOp(ast.Not(), _load(SEEN)), [_leave()], []))
        is_odd_if_empty = dtype != np.float64 and not any_kind  # an array of no elements is one of float64
        if not is_exact or (self.may_be_empty and is_odd_if_empty):
            before.append(_set(COUNT, ast.Constant(0)))
            body.append(_set(COUNT, ast.BinOp(_load(COUNT), ast.Add(), ast.Constant(1))))
            if is_odd_if_empty:
                after.append(ast.If(ast.UnaryOp(ast.Not(), _load(COUNT)), [_leave()], []))
        around = [
            [ast.fix_missing_locations(ast.copy_location(s, self.node)) for s in part] for part in (before, after)
        ]
        return around[0], body, around[1]


def product(tx: Evaluator, counts: Sequence[VariableTracker]) -> VariableTracker:
    total = counts[0]
    for each in counts[1:]:
        total = tx.language.binary(tx, "mul", total, each)
    return total


def first_of(tx: Evaluator, array: ArrayTracker, count: VariableTracker) -> ArrayTracker:
    if tx.output.differentiating:
        raise refuse("a list whose length only the data tell, and a derivative")
    if not isinstance(count, RunTimeNumber):
        raise refuse("a list of a known length")
    made = tx.call_op(_FIRST, [array, count], {})
    assert isinstance(made, ArrayTracker)
    return made


def _first_rule(call: Arguments) -> Inferred:
    array: ArrayMeta = call.args[0]
    symbol = call.env.new_run_time_symbol()
    return Inferred(ArrayMeta.dense(array.dtype, (symbol,)), run_time_sizes=((0, 0, symbol),))


_FIRST = Op("first", lambda array, count: array[:count].copy(), _first_rule)


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), value))


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _leave() -> ast.stmt:
    return ast.Raise(_load("_jm_leave"))
