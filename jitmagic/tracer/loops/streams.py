"""Takes the syntax of an iterable, evaluates what Python evaluates of it before the first round, gives the rounds.

    [f(v, w) for v, w in zip(x[1:], y)]        x[1:] is evaluated once, under a name of its own;
                                               counter k < min(len(x[1:]), len(y)), v = x[1:][k], w = y[k]

Whoever captures nothing after all goes on with ``fallback``: nothing is evaluated twice.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.tracer.loops.heads import positional
from jitmagic.tracer.loops.lists import is_many
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.rounds import SHORT_LOOP
from jitmagic.tracer.signals import NotConstant
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Level", "Names", "Prepared", "given_head", "has_rounds", "level_of", "prepared"]

_HARMLESS: tuple[type[ast.AST], ...] = (
    *(ast.Name, ast.Constant, ast.Attribute, ast.BinOp, ast.UnaryOp, ast.Subscript),
    *(ast.operator, ast.unaryop, ast.expr_context),
)


@dataclass(slots=True)
class Names:
    """Names for values that were evaluated before the loop; ``bound`` gives them their values while it is captured."""

    tx: Evaluator
    values: dict[str, VariableTracker] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def hold(self, value: VariableTracker, place: ast.expr) -> ast.expr:
        number = len(self.values)
        while (name := f"_jm_given{number}") in self.tx.locals:
            number += 1
        self.values[name] = value
        self.texts[name] = ast.unparse(place)
        return ast.copy_location(ast.Name(name, ast.Load()), place)

    def as_written(self, text: str) -> str:
        """Text about the loop with the user's words for what was evaluated before it."""
        for name, written in self.texts.items():
            text = text.replace(name, written)
        return text

    def __enter__(self) -> Names:
        self.tx.locals.update(self.values)
        return self

    def __exit__(self, *error: Any) -> None:
        for name in self.values:
            self.tx.locals.pop(name, None)


@dataclass(frozen=True, slots=True)
class Prepared:
    """``node`` is the iterable with names for its parts, ``fallback()`` its value; ``parts`` are what it runs over.

    ``values`` are the arguments of the ``function``, in their order.
    """

    node: ast.expr
    fallback: Callable[[], VariableTracker]
    parts: tuple[tuple[ast.expr, VariableTracker], ...]
    function: str = ""
    values: tuple[VariableTracker, ...] = ()

    @property
    def is_long(self) -> bool:
        """Whether the rounds are more than are written out one by one."""
        return bool(self.parts) and all(_is_long(value) for _, value in self.parts)


def _is_long(value: VariableTracker) -> bool:
    if isinstance(value, ArrayTracker):
        return value.meta.ndim == 1 and not value.meta.scalar
    if isinstance(value, RangeTracker):
        return not value.is_constant or len(value.constant()) > SHORT_LOOP
    return is_many(value)


def prepared(
    tx: Evaluator,
    node: ast.expr,
    names: Names,
    function_of: Callable[[ast.expr], str | None],
    harmless: tuple[type[ast.AST], ...] = _HARMLESS,
) -> Prepared:
    """Evaluate the parts of an iterable, in Python's order; those of ``harmless`` syntax get no name."""
    kind = function_of(node.func) if isinstance(node, ast.Call) else None
    if isinstance(node, ast.Call) and (args := positional(node, kind or "")) is not None:
        node = node if args is node.args else ast.copy_location(ast.Call(node.func, args, []), node)
    if isinstance(node, ast.Call) and kind in _WITH_PARTS and _is_plain(node):
        return _with_parts(tx, node, names, kind or "", harmless)
    value = tx.eval(node)
    plain = node if isinstance(node, ast.Name) else names.hold(value, node)
    return Prepared(plain, lambda: value, ((plain, value),))


def _is_plain(call: ast.Call) -> bool:
    return bool(call.args) and not call.keywords and not any(isinstance(a, ast.Starred) for a in call.args)


def given_head(
    tx: Evaluator, node: ast.For, names: Names, function_of: Callable[[ast.expr], str | None]
) -> tuple[ast.For, Prepared]:
    """(the loop with names in its head for what had to be computed, what it runs over)."""
    over = prepared(
        tx, node.iter, names, function_of, (ast.Name, ast.Constant, ast.expr_context)
    )  # the rest may be written
    if over.function == "builtins.range" or not names.values or not over.is_long:
        return node, over
    return ast.copy_location(ast.For(node.target, over.node, node.body, node.orelse), node), over


_WITH_PARTS = ("builtins.zip", "builtins.enumerate", "builtins.range")


def _with_parts(
    tx: Evaluator, node: ast.Call, names: Names, kind: str, harmless: tuple[type[ast.AST], ...]
) -> Prepared:
    function = tx.eval(node.func)
    values = [tx.eval(a) for a in node.args]
    args = [_kept(a, v, names, harmless) for a, v in zip(node.args, values, strict=True)]
    made = ast.copy_location(ast.Call(node.func, args, []), node)
    if kind == "builtins.range":
        found = function.call(tx, values, {})
        return Prepared(made, lambda: found, ((made, found),), kind)
    parts = tuple(zip(args, values, strict=True))
    return Prepared(
        made,
        lambda: function.call(tx, values, {}),
        parts[:1] if kind == "builtins.enumerate" else parts,
        kind,
        tuple(values),
    )


def _kept(node: ast.expr, value: VariableTracker, names: Names, harmless: tuple[type[ast.AST], ...]) -> ast.expr:
    """The syntax itself where it may be evaluated again; sizes show better so."""
    is_len = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len"
    inside = ast.walk(node.args[0]) if is_len else ast.walk(node)  # type: ignore[attr-defined]  # a call
    if all(isinstance(n, harmless) for n in inside):
        return node
    if isinstance(value, RangeTracker) and isinstance(node, ast.Call) and _is_plain(node):
        start, stop, step = value.bounds
        bounds = {1: (stop,), 2: (start, stop), 3: (start, stop, step)}[len(node.args)]
        args = [_kept(a, v, names, harmless) for a, v in zip(node.args, bounds, strict=True)]
        return ast.copy_location(ast.Call(node.func, args, []), node)
    return names.hold(value, node)


@dataclass(frozen=True, slots=True)
class Level:
    """One loop: ``head`` and ``binds`` make the statement; ``count`` rounds, of which ``position`` is the number.

    ``position`` is None where only a counter of its own tells.
    """

    target: ast.expr
    head: ast.expr
    binds: tuple[ast.stmt, ...]
    count: VariableTracker
    position: ast.expr | None

    def around(self, body: Sequence[ast.stmt], tests: Sequence[ast.expr]) -> list[ast.stmt]:
        made = list(body)
        for test in reversed(tests):
            made = [ast.copy_location(ast.If(test, made, []), test)]
        return [ast.copy_location(ast.For(self.target, self.head, [*self.binds, *made], []), self.target)]


def level_of(tx: Evaluator, target: ast.expr, over: Prepared, names: Names, serial: int) -> Level:
    """The loop over something evaluated. Raises Unsupported where its rounds are not known before it."""
    if over.function == "builtins.range":
        return _over_range(tx, target, over)
    counter = f"_jm_at{serial}"
    position = ast.copy_location(ast.Name(counter, ast.Load()), target)
    first, count = over.parts[0][0], _length(tx, over.parts[0][1])
    for node, value in over.parts[1:]:
        other = _length(tx, value)
        if tx.truth(tx.language.compare(tx, "lt", other, count)):
            first, count = node, other
    items = [_item(node, position) for node, _ in over.parts]
    binds = _binds(target, items, position, over, tx)
    bound = ast.Call(ast.Name("len", ast.Load()), [first], []) if _has_len(tx) else names.hold(count, target)
    head = ast.Call(ast.Name("range", ast.Load()), [bound], [])
    place = ast.copy_location(ast.Name(counter, ast.Store()), target)
    return Level(place, _at(head, target), tuple(binds), count, position)


def _has_len(tx: Evaluator) -> bool:
    """Whether ``len`` and ``range`` mean what they usually do here."""
    own = {*tx.frame.local_names, *tx.cells, *tx.globals}
    if "range" in own:
        raise refuse("a name range of its own")
    return "len" not in own


def _length(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    if isinstance(value, ArrayTracker) and (value.meta.scalar or not value.meta.ndim):
        raise refuse("a loop over a number")
    if not isinstance(value, ArrayTracker) and not (isinstance(value, ListTracker) and is_many(value)):
        raise refuse(f"a loop over {value.describe()}")
    return value.length(tx)


def _item(node: ast.expr, position: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Subscript(node, position, ast.Load()), node)


def _binds(
    target: ast.expr, items: list[ast.expr], position: ast.expr, over: Prepared, tx: Evaluator
) -> list[ast.stmt]:
    """What gives the targets their values."""
    if over.function == "builtins.enumerate":
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            raise refuse("enumerate without two targets")
        start = over.node.args[1] if len(over.node.args) > 1 else None  # type: ignore[attr-defined]  # a call
        number = position if start is None else _at(ast.BinOp(position, ast.Add(), start), position)
        pairs = [(target.elts[0], number), (target.elts[1], items[0])]
    elif over.function == "builtins.zip":
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(items):
            raise refuse("zip without a target for each array")
        pairs = list(zip(target.elts, items, strict=True))
    else:
        pairs = [(target, items[0])]
    if not all(isinstance(t, ast.Name) for t, _ in pairs):
        raise refuse(f"the loop target {ast.unparse(target)}")
    return [_at(ast.Assign([t], value), t) for t, value in pairs]


def _over_range(tx: Evaluator, target: ast.expr, over: Prepared) -> Level:
    steps = over.parts[0][1]
    if not isinstance(target, ast.Name) or not isinstance(steps, RangeTracker) or not isinstance(over.node, ast.Call):
        raise refuse("a range that is unpacked")
    start, stop, step = steps.bounds
    name = ast.copy_location(ast.Name(target.id, ast.Load()), target)
    by_one = isinstance(step, Constant) and step.value == 1
    if not by_one:
        return Level(target, over.node, (), steps.length(tx), None)
    if isinstance(start, Constant) and start.value == 0:
        return Level(target, over.node, (), stop, name)
    count = tx.language.binary(tx, "sub", stop, start)
    return Level(target, over.node, (), count, _at(ast.BinOp(name, ast.Sub(), over.node.args[0]), target))


def _at(node: Any, place: ast.AST) -> Any:
    return ast.fix_missing_locations(ast.copy_location(node, place))


def has_rounds(tx: Evaluator, count: VariableTracker) -> bool | None:
    """Whether there is at least one round in this trace, with a guard if that may differ; None: only the data tell."""
    try:
        return tx.truth(tx.language.compare(tx, "gt", count, Constant(0)))
    except (Unsupported, NotConstant, DataDependentSize):
        return None
