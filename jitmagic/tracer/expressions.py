"""What each expression means over trackers; one handler per syntax class, in the table at the end."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.ops.python_numbers import TRUTH, NumberOp
from jitmagic.tracer.annotations import annotations_of
from jitmagic.tracer.disguises import undisguised
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.flow import capture_choice
from jitmagic.tracer.generators import GeneratorExpression
from jitmagic.tracer.identity import same_object
from jitmagic.tracer.loops.disguised import capture_list, stream_of
from jitmagic.tracer.operators import binary, compare, unary
from jitmagic.tracer.repeats import repeated_rows
from jitmagic.tracer.rounds import bind_in_scope, count_rounds
from jitmagic.tracer.scopes import Scope
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.tails import note_callee
from jitmagic.tracer.texts import ascii_text, format_text, repr_text, str_text
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error, read_attribute, type_name
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.deferred import chosen_text, joined
from jitmagic.tracer.variables.functions import NestedFunction
from jitmagic.tracer.variables.mappings import DictTracker, key_of
from jitmagic.tracer.variables.number import RunTimeNumber, asked, number_call
from jitmagic.tracer.variables.objects import ObjectTracker
from jitmagic.tracer.variables.sequences import ListTracker, SequenceTracker, SliceTracker, TupleTracker
from jitmagic.tracer.variables.sets import SetTracker

__all__ = ["EXPRESSIONS", "OPERATORS", "evaluate_arguments", "evaluate_test", "load_attribute", "named_by"]

Handler = Callable[[Evaluator, Any], VariableTracker]
LONGEST = 60  # letters of a test that a message shows

OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and_",
    ast.BitOr: "or_",
    ast.BitXor: "xor",
}
UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}


def _name(tx: Evaluator, node: ast.Name) -> VariableTracker:
    return tx.load_name(node.id)


def _constant(tx: Evaluator, node: ast.Constant) -> VariableTracker:
    return Constant(node.value)


def _binary(tx: Evaluator, node: ast.BinOp) -> VariableTracker:
    left = tx.eval(node.left)
    return binary(tx, OPERATORS[type(node.op)], left, tx.eval(node.right))


def _unary(tx: Evaluator, node: ast.UnaryOp) -> VariableTracker:
    if isinstance(node.op, ast.Not):
        value = evaluate_test(tx, node.operand)
        return _choose(tx, node, value, lambda: Constant(False), lambda: Constant(True))
    return unary(tx, UNARY[type(node.op)], tx.eval(node.operand))


def _bool(tx: Evaluator, node: ast.BoolOp) -> VariableTracker:
    return _bool_from(tx, node, 0)


def _bool_from(tx: Evaluator, node: ast.BoolOp, position: int) -> VariableTracker:
    """The value of the operands from one on, each evaluated only if the ones before leave it open."""
    value = tx.eval(node.values[position])
    if position == len(node.values) - 1:
        return value

    def rest() -> VariableTracker:
        return _bool_from(tx, node, position + 1)

    ways = (lambda: value, rest) if isinstance(node.op, ast.Or) else (rest, lambda: value)
    return _choose(tx, node.values[position], value, *ways, truth_only=_is_test(node))


def _conditional(tx: Evaluator, node: ast.IfExp) -> VariableTracker:
    test = evaluate_test(tx, node.test)
    texts = [n.value for n in (node.body, node.orelse) if isinstance(n, ast.Constant) and type(n.value) is str]
    if len(texts) == 2:
        known = truth_of(tx, lambda: test)
        return (
            Constant(texts[not known.value])
            if isinstance(known, Constant)
            else chosen_text(known, *map(Constant, texts))
        )
    return _choose(tx, node, test, lambda: tx.eval(node.body), lambda: tx.eval(node.orelse))


def truth_of(tx: Evaluator, way: Callable[[], VariableTracker]) -> VariableTracker:
    """The truth of a value as a Python bool, known or not."""
    value = asked(tx, way())
    try:
        return Constant(tx.truth(value))
    except Unsupported as error:
        if error.code != "data-branch":
            raise
        return number_call(tx, NumberOp(TRUTH, lambda *kinds: bool), [value])


def named_by(error: Unsupported, test: ast.expr) -> None:
    """Say which test only the data decide, in the words of the program."""
    if error.code == "data-branch" and not error.is_named:
        text = ast.unparse(test)
        error.detail = f"`{text if len(text) <= LONGEST else text[: LONGEST - 3] + '...'}`"
        error.is_named = True


def _test_of(node: ast.expr) -> ast.expr:
    return node.test if isinstance(node, ast.IfExp) else node


def evaluate_test(tx: Evaluator, node: ast.expr) -> VariableTracker:
    """The value of an expression of which only the truth is asked."""
    for part in _parts_of_test(node):
        part.jm_test = True  # type: ignore[attr-defined]  # a mark of ours on a syntax node
    return asked(tx, tx.eval(node))


def _parts_of_test(node: ast.expr) -> Iterator[ast.expr]:
    yield node
    if isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _parts_of_test(value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield from _parts_of_test(node.operand)


def _is_test(node: ast.expr) -> bool:
    return getattr(node, "jm_test", False)


def _choose(
    tx: Evaluator,
    node: ast.expr,
    test: VariableTracker,
    then: Callable[[], VariableTracker],
    otherwise: Callable[[], VariableTracker],
    *,
    truth_only: bool = False,
) -> VariableTracker:
    """``then()`` if the test is true, else ``otherwise()``; both are recorded where only the data tell.

    With ``truth_only`` nothing but the truth of the value is asked for.
    """
    test = asked(tx, test)
    try:
        truth = tx.truth(test)
    except Unsupported as error:
        if error.code != "data-branch":
            raise
        named_by(error, _test_of(node))
        ways = [functools.partial(truth_of, tx, w) for w in (then, otherwise)] if truth_only else [then, otherwise]
        found = capture_choice(tx, node, test, ways)
        if found is None:
            raise
        return found
    return then() if truth else otherwise()


def _compare(tx: Evaluator, node: ast.Compare) -> VariableTracker:
    return _compare_from(tx, node, tx.eval(node.left), 0)


def _compare_from(tx: Evaluator, node: ast.Compare, left: VariableTracker, position: int) -> VariableTracker:
    """A chain of comparisons from one on; those after a false one are not evaluated."""
    right = tx.eval(node.comparators[position])
    result = _compare_once(tx, node.ops[position], left, right)
    if position == len(node.ops) - 1:
        return result
    rest = functools.partial(_compare_from, tx, node, right, position + 1)
    return _choose(tx, node.comparators[position], result, rest, lambda: result, truth_only=_is_test(node))


def _compare_once(tx: Evaluator, op: ast.cmpop, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    if isinstance(op, ast.Is | ast.IsNot):
        return Constant(same_object(tx, left, right) == isinstance(op, ast.Is))
    if isinstance(op, ast.In | ast.NotIn):
        found = right.contains(tx, left)
        if isinstance(op, ast.In) and isinstance(found, RunTimeNumber):
            return found  # value in array
        return Constant(tx.truth(found) == isinstance(op, ast.In))
    return compare(tx, COMPARISONS[type(op)], left, right)


def _attribute(tx: Evaluator, node: ast.Attribute) -> VariableTracker:
    return load_attribute(tx, tx.eval(node.value), node.attr)


def load_attribute(tx: Evaluator, value: VariableTracker, name: str) -> VariableTracker:
    """``value.name`` with the class's private names spelt out."""
    if name == "__class__" and isinstance(value, SequenceTracker | DictTracker | SetTracker):
        return tx.output.builder.constant_object(tx, value.python_type())
    return read_attribute(tx, value, tx.mangle(name))


def _subscript(tx: Evaluator, node: ast.Subscript) -> VariableTracker:
    value = tx.eval(node.value)
    return value.item(tx, tx.eval(node.slice))


def _slice(tx: Evaluator, node: ast.Slice) -> VariableTracker:
    parts = (node.lower, node.upper, node.step)
    return SliceTracker([Constant(None) if p is None else tx.eval(p) for p in parts])


def _items(tx: Evaluator, nodes: Sequence[ast.expr], refusal: str = "") -> list[VariableTracker]:
    items: list[VariableTracker] = []
    for node in nodes:
        if isinstance(node, ast.Starred):
            items.extend(tx.unpack(tx.eval(node.value), refusal))
        else:
            items.append(tx.eval(node))
    return items


_NO_ITEMS = "Value after * must be an iterable, not {}"


def _tuple(tx: Evaluator, node: ast.Tuple) -> VariableTracker:
    return TupleTracker(_items(tx, node.elts, _NO_ITEMS))


def _list(tx: Evaluator, node: ast.List) -> VariableTracker:
    return ListTracker(_items(tx, node.elts, _NO_ITEMS))


def _set(tx: Evaluator, node: ast.Set) -> VariableTracker:
    folded = len(node.elts) > 2 and all(isinstance(e, ast.Constant) for e in node.elts)
    return SetTracker([key_of(v) for v in _items(tx, node.elts)], grown=not folded)


def _dict(tx: Evaluator, node: ast.Dict) -> VariableTracker:
    result = DictTracker({})
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            mapping = tx.eval(value)
            if not isinstance(mapping, DictTracker) and not hasattr(mapping.python_type(), "keys"):
                raise python_error(TypeError, f"{type_name(mapping.python_type())!r} object is not a mapping")
            result.method(tx, "update", [mapping], {})
        else:
            known = tx.eval(key)
            result.set_item(tx, known, tx.eval(value))
    return result


def _arguments(tx: Evaluator, node: ast.Call) -> list[VariableTracker]:
    args: list[VariableTracker] = []
    for each in node.args:
        if not isinstance(each, ast.Starred):
            args.append(tx.eval(each))
            continue
        value = tx.eval(each.value)
        if _is_no_iterable(value):  # the message names the function as only Python knows it
            raise Unsupported("call", f"*{value.describe()}")
        args.extend(tx.unpack(value))
    return args


def _is_no_iterable(value: VariableTracker) -> bool:
    if isinstance(value, ArrayTracker):
        return value.meta.scalar
    return isinstance(value, Constant | ObjectTracker) and not any(
        hasattr(value.python_type(), name) for name in ("__iter__", "__getitem__")
    )


def evaluate_arguments(tx: Evaluator, node: ast.Call) -> tuple[list[VariableTracker], dict[str, VariableTracker]]:
    """Positional and keyword arguments of a call, stars unpacked."""
    args = _arguments(tx, node)
    kwargs: dict[str, VariableTracker] = {}
    for keyword in node.keywords:
        value = tx.eval(keyword.value)
        if keyword.arg is not None:
            _add_keyword(node, kwargs, keyword.arg, value)
            continue
        if not isinstance(value, DictTracker):
            raise Unsupported("call", f"**{value.describe()}")
        value.note_order()
        for key, item in value.items.items():
            _add_keyword(node, kwargs, key, item)
    return args, kwargs


def _add_keyword(node: ast.Call, kwargs: dict[str, VariableTracker], key: Any, value: VariableTracker) -> None:
    if key in kwargs or not isinstance(key, str):  # the message names the function as only Python knows it
        raise Unsupported("call", f"{ast.unparse(node.func)}() with these keywords")
    kwargs[key] = value


def _call(tx: Evaluator, node: ast.Call) -> VariableTracker:
    function = tx.eval(node.func)
    found = undisguised(tx, node, function, functools.partial(_made, tx))
    if found is not None:
        return found
    args, kwargs = evaluate_arguments(tx, node)
    note_callee(tx, node, function)
    return function.call(tx, args, kwargs)


def _made(tx: Evaluator, node: Any, first: VariableTracker) -> VariableTracker:
    """The tracker of a comprehension whose outermost iterable has a value."""
    if isinstance(node, ast.ListComp):
        return _items_of(tx, node, first)
    return GeneratorExpression(tx, node, Scope(), first)


def _lambda(tx: Evaluator, node: ast.Lambda) -> VariableTracker:
    return make_function(tx, node)


def make_function(tx: Evaluator, node: ast.FunctionDef | ast.Lambda) -> NestedFunction:
    """The function object that a ``def`` or ``lambda`` makes; defaults and annotations are evaluated here, once."""
    code = tx.frame.inner_code(node)
    defaults = [tx.eval(d) for d in node.args.defaults]
    pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    kwdefaults = {a.arg: tx.eval(d) for a, d in pairs if d is not None}
    annotations = {} if isinstance(node, ast.Lambda) else annotations_of(tx, node)
    cells = [tx.cell(name) for name in code.co_freevars]
    return NestedFunction(code, node, tx, cells, defaults, kwdefaults, annotations)


def _comprehension(tx: Evaluator, node: Any, add: Callable[[], None], over: VariableTracker | None = None) -> None:
    """Run the loops of a comprehension, calling ``add`` for every round that passes the conditions.

    ``over`` is the outermost iterable, if it has been evaluated.
    """
    first = (over or tx.eval(node.generators[0].iter)).iterate(tx)
    tx.scopes.append(Scope())
    try:
        _loops(tx, node.generators, 0, first, add)
    finally:
        tx.scopes.pop()


def _loops(
    tx: Evaluator, generators: Sequence[ast.comprehension], level: int, iterator: VariableTracker, add: Any
) -> None:
    generator = generators[level]
    if generator.is_async:
        raise Unsupported("generator-use", "an asynchronous comprehension")
    rounds = count_rounds(tx, ast.unparse(generator.iter), generator.target.lineno)
    while (item := iterator.next_item(tx)) is not None:
        rounds()
        bind_in_scope(tx, generator.target, item)
        if not all(tx.truth(tx.eval(test)) for test in generator.ifs):
            continue
        if level + 1 < len(generators):
            inner = tx.eval(generators[level + 1].iter).iterate(tx)
            _loops(tx, generators, level + 1, inner, add)
        else:
            add()


def _list_comprehension(tx: Evaluator, node: ast.ListComp) -> VariableTracker:
    stream = stream_of(tx, node, functools.partial(_made, tx))
    found = capture_list(tx, stream)
    return found if found is not None else stream.fallback()


def _items_of(tx: Evaluator, node: ast.ListComp, first: VariableTracker) -> ListTracker:
    if (rows := repeated_rows(tx, node, first)) is not None:
        return rows
    items: list[VariableTracker] = []
    _comprehension(tx, node, lambda: items.append(tx.eval(node.elt)), first)
    return ListTracker(items)


def _set_comprehension(tx: Evaluator, node: ast.SetComp) -> VariableTracker:
    values: list[Any] = []
    _comprehension(tx, node, lambda: values.append(key_of(tx.eval(node.elt))))
    return SetTracker(values, grown=True)


def _dict_comprehension(tx: Evaluator, node: ast.DictComp) -> VariableTracker:
    result = DictTracker({})

    def add() -> None:
        key = tx.eval(node.key)
        result.set_item(tx, key, tx.eval(node.value))

    _comprehension(tx, node, add)
    return result


def _generator(tx: Evaluator, node: ast.GeneratorExp) -> VariableTracker:
    """Consumed at once where it stands as an argument; its items are evaluated when they are asked for."""
    return GeneratorExpression(tx, node, Scope())


def _walrus(tx: Evaluator, node: ast.NamedExpr) -> VariableTracker:
    value = tx.eval(node.value)
    tx.store_name(node.target.id, value)
    return value


def _joined(tx: Evaluator, node: ast.JoinedStr) -> VariableTracker:
    return joined([tx.eval(v) for v in node.values])


_CONVERSIONS: dict[int, Callable[[Evaluator, VariableTracker], VariableTracker]] = {
    115: str_text,
    114: repr_text,
    97: ascii_text,
}


def _formatted(tx: Evaluator, node: ast.FormattedValue) -> VariableTracker:
    value = tx.eval(node.value)
    spec = tx.eval(node.format_spec).constant() if node.format_spec is not None else ""
    if node.conversion != -1:
        value = _CONVERSIONS[node.conversion](tx, value)
    return format_text(tx, value, spec)


def _starred(tx: Evaluator, node: ast.Starred) -> VariableTracker:
    raise Raised(SyntaxError("can't use starred expression here"))


EXPRESSIONS: dict[type[ast.expr], Handler] = {
    ast.Name: _name,
    ast.Constant: _constant,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool,
    ast.IfExp: _conditional,
    ast.Compare: _compare,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.Call: _call,
    ast.Lambda: _lambda,
    ast.ListComp: _list_comprehension,
    ast.SetComp: _set_comprehension,
    ast.DictComp: _dict_comprehension,
    ast.GeneratorExp: _generator,
    ast.NamedExpr: _walrus,
    ast.JoinedStr: _joined,
    ast.FormattedValue: _formatted,
    ast.Starred: _starred,
}
