"""What calls of Python's own functions mean over trackers; one row per function, in the table at the end."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.ops import Form, Op, lookup
from jitmagic.tracer.effects import CallEffect
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.operators import binary, compare, in_place, unary
from jitmagic.tracer.signals import NotConstant, Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.callables import CallableTracker, ClassTracker, call_on_numbers
from jitmagic.tracer.variables.constant import Constant, run
from jitmagic.tracer.variables.exceptions import ExceptionTracker
from jitmagic.tracer.variables.functions import BoundMethod, FunctionTracker, NestedFunction, PartialTracker
from jitmagic.tracer.variables.iterators import (
    ChainIterator,
    CountedIterator,
    MapIterator,
    SequenceIterator,
    ZipIterator,
)
from jitmagic.tracer.variables.mappings import DictTracker, SetTracker, key_of
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.objects import ObjectTracker, find_in_class
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker, SliceTracker, TupleTracker

__all__ = ["BUILTINS", "call_builtin", "call_super", "exception_of"]

Args = Sequence[VariableTracker]
Handler = Callable[..., VariableTracker]


def call_builtin(
    tx: Evaluator, function: CallableTracker, args: Args, kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """Answer by the table, by an op of NumPy, or by running a pure function of constants for real."""
    value = function.value
    try:
        handler = BUILTINS.get(value)
    except TypeError:
        handler = None
    if handler is not None:
        try:
            return handler(tx, *args, **kwargs)
        except TypeError as error:
            raise _argument_error(value, args, kwargs, error) from None
    number = call_on_numbers(tx, value, args, kwargs)
    if number is not None:
        return number
    if lookup(value) is not None:
        return tx.call_form(*_found(value), args, kwargs)
    if _is_exception(value):
        return ExceptionTracker(_make_exception(value, args, kwargs))
    if _is_pure(value) and all(a.is_constant for a in (*args, *kwargs.values())):
        return run(lambda: value(*(a.constant() for a in args), **{k: v.constant() for k, v in kwargs.items()}))
    raise Unsupported("call", function.describe())


def _found(value: Any) -> tuple[Op, Form]:
    found = lookup(value)
    if found is None:
        raise Unsupported("call", getattr(value, "__name__", str(value)))
    return found


def _argument_error(value: Any, args: Args, kwargs: dict[str, VariableTracker], error: TypeError) -> BaseException:
    """A wrong number of arguments for a builtin: Python words it in the plain run."""
    first = error.__traceback__
    if first is not None and first.tb_next is not None and first.tb_next.tb_next is not None:
        raise error  # not from binding the arguments: a fault of ours
    return Unsupported("call", f"{getattr(value, '__name__', value)}() with these arguments")


_PURE_MODULES = ("builtins", "math", "operator", "cmath", "_operator", "itertools")
_IMPURE = {print, input, open, exec, eval, compile, __import__, globals, locals, vars, id, dir, setattr, delattr}
_IMPURE_NAMES = {f.__name__ for f in _IMPURE} | {"breakpoint", "exit", "quit", "memoryview"}


def _is_pure(value: Any) -> bool:
    return getattr(value, "__module__", None) in _PURE_MODULES and getattr(value, "__name__", "") not in _IMPURE_NAMES


def _is_exception(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _make_exception(value: Any, args: Args, kwargs: dict[str, VariableTracker]) -> BaseException:
    if value.__init__ is not BaseException.__init__ and value.__module__ != "builtins":
        raise Unsupported("call", f"{value.__name__}()")
    if kwargs or not all(a.is_constant for a in args):
        raise Unsupported("call", f"{value.__name__}()")
    made = value(*(a.constant() for a in args))
    assert isinstance(made, BaseException)
    return made


def exception_of(tx: Evaluator, value: VariableTracker) -> BaseException:
    """What ``raise value`` raises."""
    if isinstance(value, ExceptionTracker):
        return value.error
    if isinstance(value, ClassTracker) and _is_exception(value.value):
        return exception_of(tx, value.call(tx, [], {}))
    raise Unsupported("statement", f"raise {value.describe()}")


def call_super(tx: Evaluator) -> VariableTracker:
    """``super()`` without arguments: attribute reads start after the defining class in the MRO."""
    from jitmagic.tracer.variables.super import SuperTracker

    cell = tx.cells.get("__class__")
    names = tx.frame.code.co_varnames
    if cell is None or cell.content is None or not names:
        raise Unsupported("call", "super()")
    owner = tx.realize(cell.content)
    receiver = tx.load_name(names[0])
    if not isinstance(owner, ClassTracker):
        raise Unsupported("call", "super()")
    return SuperTracker(owner.value, receiver)


# -- conversions and questions
def _len(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    return value.length(tx)


def _isinstance(tx: Evaluator, value: VariableTracker, classes: VariableTracker) -> VariableTracker:
    kinds = _classes(tx, classes)
    return Constant(issubclass(value.python_type(), kinds))


def _issubclass(tx: Evaluator, value: VariableTracker, classes: VariableTracker) -> VariableTracker:
    known = _classes(tx, value)
    return Constant(issubclass(known[0], _classes(tx, classes)))


def _classes(tx: Evaluator, value: VariableTracker) -> tuple[type, ...]:
    if isinstance(value, ClassTracker):
        kinds: tuple[type, ...] = (value.value,)
    elif isinstance(value, Constant) and isinstance(value.value, type):
        kinds = (value.value,)
    elif isinstance(value, TupleTracker):
        kinds = tuple(k for item in value.items for k in _classes(tx, tx.realize(item)))
    else:
        raise Unsupported("call", f"isinstance(..., {value.describe()})")
    if any(type(k).__instancecheck__ is not type.__instancecheck__ and not _has_plain_check(k) for k in kinds):
        raise Unsupported("call", f"isinstance(..., {value.describe()})")
    return kinds


def _has_plain_check(kind: type) -> bool:
    """ABCs of the standard library answer by registration, which does not change between calls."""
    return kind.__module__.partition(".")[0] in ("collections", "numbers", "typing", "enum")


def _type(tx: Evaluator, value: VariableTracker, *rest: VariableTracker) -> VariableTracker:
    if rest:
        raise Unsupported("call", "type() with three arguments")
    return tx.output.builder.constant_object(tx, value.python_type())


def _float(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    if value is None:
        return Constant(0.0)
    if isinstance(value, ArrayTracker):
        if value.meta.dtype.kind != "f":
            raise Unsupported("data-number", f"float({value.describe()})")
        return value.method(tx, "item", [], {})
    if isinstance(value, RunTimeNumber) and value.kind is float:
        return value
    return run(lambda: float(value.constant()))


def _int(tx: Evaluator, value: VariableTracker | None = None, *rest: VariableTracker) -> VariableTracker:
    if value is None:
        return Constant(0)
    if isinstance(value, SymbolicInt) and not rest:
        return value
    return run(lambda: int(value.constant(), *(r.constant() for r in rest)))


def _bool(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return Constant(False if value is None else tx.truth(value))


def _str(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return Constant("") if value is None else run(lambda: str(value.constant()))


def _abs(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    if isinstance(value, ArrayTracker):
        return tx.call_form(*_found(np.absolute), [value], {})
    if isinstance(value, SymbolicInt):
        from jitmagic.tracer.variables.number import wrap_size

        return wrap_size(abs(value.value))
    if isinstance(value, ObjectTracker):
        return value.method(tx, "__abs__", [], {})
    return run(lambda: abs(value.constant()))


def _round(tx: Evaluator, value: VariableTracker, digits: VariableTracker | None = None) -> VariableTracker:
    if isinstance(value, ArrayTracker) and not value.meta.scalar:
        return value.method(tx, "round", [] if digits is None else [digits], {})
    return run(lambda: round(value.constant(), *(() if digits is None else (digits.constant(),))))


def _divmod(tx: Evaluator, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    if isinstance(left, ArrayTracker) or isinstance(right, ArrayTracker):
        return tx.call_form(*_found(np.divmod), [left, right], {})
    return TupleTracker([binary(tx, "floordiv", left, right), binary(tx, "mod", left, right)])


def _pow(tx: Evaluator, base: VariableTracker, exponent: VariableTracker, *mod: VariableTracker) -> VariableTracker:
    if mod:
        return run(lambda: pow(base.constant(), exponent.constant(), mod[0].constant()))
    return binary(tx, "pow", base, exponent)


def _hasattr(tx: Evaluator, value: VariableTracker, name: VariableTracker) -> VariableTracker:
    return Constant(_attribute_or_none(tx, value, name) is not None)


def _attribute_or_none(tx: Evaluator, value: VariableTracker, name: VariableTracker) -> VariableTracker | None:
    try:
        return tx.realize(value.attribute(tx, name.constant()))
    except Raised as raised:
        if isinstance(raised.error, AttributeError):
            return None
        raise


def _getattr(
    tx: Evaluator, value: VariableTracker, name: VariableTracker, default: VariableTracker | None = None
) -> VariableTracker:
    if default is None:
        return tx.realize(value.attribute(tx, name.constant()))
    found = _attribute_or_none(tx, value, name)
    return default if found is None else found


def _setattr(tx: Evaluator, value: VariableTracker, name: VariableTracker, new: VariableTracker) -> VariableTracker:
    value.set_attribute(tx, name.constant(), new)
    return Constant(None)


def _delattr(tx: Evaluator, value: VariableTracker, name: VariableTracker) -> VariableTracker:
    value.delete_attribute(tx, name.constant())
    return Constant(None)


def _callable(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    functions = (CallableTracker, FunctionTracker, NestedFunction, BoundMethod, PartialTracker)
    if isinstance(value, ObjectTracker):
        return Constant(find_in_class(value.cls, "__call__") is not find_in_class(object, "__call__"))
    return Constant(isinstance(value, functions))


# -- containers
def _list(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return ListTracker([] if value is None else tx.unpack(value))


def _tuple(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    if type(value) is TupleTracker:
        return value
    return TupleTracker([] if value is None else tx.unpack(value))


def _set(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return SetTracker([] if value is None else [key_of(v) for v in tx.unpack(value)])


def _frozenset(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return SetTracker([] if value is None else [key_of(v) for v in tx.unpack(value)], cls=frozenset)


def _dict(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
    result = DictTracker({})
    result.method(tx, "update", args, kwargs)
    return result


def _range(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
    for a in args:
        if not isinstance(a, SymbolicInt) and not (isinstance(a, Constant) and isinstance(a.value, int)):
            if isinstance(a, Constant):
                return run(lambda: range(*(v.constant() for v in args)))
            raise NotConstant
    start, stop = (Constant(0), args[0]) if len(args) == 1 else args[:2]
    step = args[2] if len(args) > 2 else Constant(1)
    if step.is_constant and step.constant() == 0:
        raise python_error(ValueError, "range() arg 3 must not be zero")
    return RangeTracker(start, stop, step)


def _slice(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
    parts = [Constant(None), args[0], Constant(None)] if len(args) == 1 else [*args, Constant(None)][:3]
    return SliceTracker(parts)


def _iter(tx: Evaluator, value: VariableTracker, *sentinel: VariableTracker) -> VariableTracker:
    if sentinel:
        raise Unsupported("call", "iter() with a sentinel")
    return value.iterate(tx)


def _next(tx: Evaluator, value: VariableTracker, default: VariableTracker | None = None) -> VariableTracker:
    item = value.next_item(tx)
    if item is None:
        if default is None:
            raise python_error(StopIteration)
        return default
    return item


def _enumerate(tx: Evaluator, value: VariableTracker, start: VariableTracker | None = None) -> VariableTracker:
    count = itertools.count(0 if start is None else start.constant())
    return MapIterator(value.iterate(tx), lambda item: TupleTracker([Constant(next(count)), item]))


def _zip(tx: Evaluator, *values: VariableTracker, strict: VariableTracker | None = None) -> VariableTracker:
    return ZipIterator([v.iterate(tx) for v in values], strict is not None and tx.truth(strict))


def _map(tx: Evaluator, function: VariableTracker, *values: VariableTracker) -> VariableTracker:
    def call(item: VariableTracker) -> VariableTracker:
        assert isinstance(item, TupleTracker)
        return tx.realize(function.call(tx, item.items, {}))

    return MapIterator(ZipIterator([v.iterate(tx) for v in values]), call)


def _filter(tx: Evaluator, function: VariableTracker, values: VariableTracker) -> VariableTracker:
    keep_true = isinstance(function, Constant) and function.value is None

    def choose(item: VariableTracker) -> VariableTracker | None:
        verdict = item if keep_true else tx.realize(function.call(tx, [item], {}))
        return item if tx.truth(verdict) else None

    return MapIterator(values.iterate(tx), choose)


def _reversed(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    if isinstance(value, ArrayTracker):
        count = int(value.length(tx).constant())
        return CountedIterator(count, lambda i: value.item(tx, Constant(count - 1 - i)))
    if isinstance(value, ListTracker | TupleTracker | RangeTracker | DictTracker):
        return SequenceIterator(tx.unpack(value)[::-1])
    raise Unsupported("call", f"reversed({value.describe()})")


def _sorted(
    tx: Evaluator,
    value: VariableTracker,
    *,
    key: VariableTracker | None = None,
    reverse: VariableTracker | None = None,
) -> VariableTracker:
    return ListTracker(tx.sort(tx.unpack(value), key, reverse))


def _sum(tx: Evaluator, values: VariableTracker, start: VariableTracker | None = None) -> VariableTracker:
    total: VariableTracker = start or Constant(0)
    for item in tx.unpack(values):
        total = binary(tx, "add", total, item)
    return total


def _any(tx: Evaluator, values: VariableTracker) -> VariableTracker:
    iterator = values.iterate(tx)
    while (item := iterator.next_item(tx)) is not None:
        if tx.truth(item):
            return Constant(True)
    return Constant(False)


def _all(tx: Evaluator, values: VariableTracker) -> VariableTracker:
    iterator = values.iterate(tx)
    while (item := iterator.next_item(tx)) is not None:
        if not tx.truth(item):
            return Constant(False)
    return Constant(True)


def _extreme(name: str) -> Handler:
    def choose(
        tx: Evaluator,
        *values: VariableTracker,
        key: VariableTracker | None = None,
        default: VariableTracker | None = None,
    ) -> VariableTracker:
        items = tx.unpack(values[0]) if len(values) == 1 else list(values)
        if not items:
            if default is None:
                raise python_error(ValueError, f"{'max' if name == 'gt' else 'min'}() iterable argument is empty")
            return default
        best, best_key = items[0], items[0] if key is None else key.call(tx, [items[0]], {})
        for item in items[1:]:
            own = item if key is None else key.call(tx, [item], {})
            if tx.truth(compare(tx, name, own, best_key)):
                best, best_key = item, own
        return best

    return choose


def _print(tx: Evaluator, *args: VariableTracker, **kwargs: VariableTracker) -> VariableTracker:
    """Recorded, and replayed in order after the graph; the values shown are those of this moment."""
    if "file" in kwargs:
        raise Unsupported("call", "print(file=...)")
    tx.output.add_effect(CallEffect("print", [_snapshot(tx, a) for a in args], kwargs, span=tx.span))
    return Constant(None)


def _snapshot(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """A value that later writes of this call do not change."""
    value = tx.realize(value)
    if isinstance(value, ArrayTracker) and not value.meta.scalar:
        return value.method(tx, "copy", [Constant("K")], {})
    if isinstance(value, ListTracker):
        return ListTracker([_snapshot(tx, v) for v in value.items])
    if type(value) is TupleTracker:
        return TupleTracker([_snapshot(tx, v) for v in value.items])
    if isinstance(value, DictTracker):
        return DictTracker({k: _snapshot(tx, v) for k, v in value.items.items()}, cls=value.cls, factory=value.factory)
    if isinstance(value, Constant | SymbolicInt | RunTimeNumber | ArrayTracker):
        return value
    raise Unsupported("call", "print of an object with a text of its own")


# -- functools, operator
def _partial(
    tx: Evaluator, function: VariableTracker, *args: VariableTracker, **kwargs: VariableTracker
) -> VariableTracker:
    return PartialTracker(function, args, kwargs)


def _reduce(
    tx: Evaluator, function: VariableTracker, values: VariableTracker, start: VariableTracker | None = None
) -> VariableTracker:
    items = tx.unpack(values)
    if start is None:
        if not items:
            raise python_error(TypeError, "reduce() of empty iterable with no initial value")
        start, items = items[0], items[1:]
    for item in items:
        start = tx.realize(function.call(tx, [start, item], {}))
    return start


def _operator(name: str, apply: Handler) -> Handler:
    def call(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
        return apply(tx, name, *args)

    return call


def _product(tx: Evaluator, *values: VariableTracker, repeat: VariableTracker | None = None) -> VariableTracker:
    pools = [tx.unpack(v) for v in values] * (1 if repeat is None else repeat.constant())
    return SequenceIterator([TupleTracker(t) for t in itertools.product(*pools)])


def _combine(function: Any) -> Handler:
    def call(tx: Evaluator, values: VariableTracker, r: VariableTracker | None = None) -> VariableTracker:
        extra = () if r is None else (r.constant(),)
        return SequenceIterator([TupleTracker(t) for t in function(tx.unpack(values), *extra)])

    return call


def _chain(tx: Evaluator, *values: VariableTracker) -> VariableTracker:
    return ChainIterator(values)


def _accumulate(tx: Evaluator, values: VariableTracker, function: VariableTracker | None = None) -> VariableTracker:
    items: list[VariableTracker] = []
    for item in tx.unpack(values):
        if items and function is not None:
            item = tx.realize(function.call(tx, [items[-1], item], {}))
        elif items:
            item = binary(tx, "add", items[-1], item)
        items.append(item)
    return SequenceIterator(items)


def _islice(tx: Evaluator, values: VariableTracker, *bounds: VariableTracker) -> VariableTracker:
    limits = [b.constant() for b in bounds]
    start, stop, step = slice(*limits).start or 0, slice(*limits).stop, slice(*limits).step or 1
    iterator = values.iterate(tx)
    items: list[VariableTracker] = []
    position = 0
    while stop is None or position < stop:
        item = iterator.next_item(tx)
        if item is None:
            break
        if position >= start and (position - start) % step == 0:
            items.append(item)
        position += 1
    return SequenceIterator(items)


_BINARY_OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "lshift",
    "rshift",
    "and_",
    "or_",
    "xor",
]
_IN_PLACE_OPERATORS = {f"i{n.strip('_')}": n for n in _BINARY_OPERATORS}

BUILTINS: dict[Any, Handler] = {
    len: _len,
    isinstance: _isinstance,
    issubclass: _issubclass,
    type: _type,
    float: _float,
    int: _int,
    bool: _bool,
    str: _str,
    abs: _abs,
    round: _round,
    divmod: _divmod,
    pow: _pow,
    hasattr: _hasattr,
    getattr: _getattr,
    setattr: _setattr,
    delattr: _delattr,
    callable: _callable,
    list: _list,
    tuple: _tuple,
    set: _set,
    frozenset: _frozenset,
    dict: _dict,
    range: _range,
    slice: _slice,
    iter: _iter,
    next: _next,
    enumerate: _enumerate,
    zip: _zip,
    map: _map,
    filter: _filter,
    reversed: _reversed,
    sorted: _sorted,
    sum: _sum,
    any: _any,
    all: _all,
    max: _extreme("gt"),
    min: _extreme("lt"),
    print: _print,
    functools.partial: _partial,
    functools.reduce: _reduce,
    itertools.product: _product,
    itertools.permutations: _combine(itertools.permutations),
    itertools.combinations: _combine(itertools.combinations),
    itertools.pairwise: _combine(itertools.pairwise),
    itertools.chain: _chain,
    itertools.accumulate: _accumulate,
    itertools.islice: _islice,
    **{getattr(operator, n): _operator(n, binary) for n in _BINARY_OPERATORS},
    **{getattr(operator, i): _operator(n, in_place) for i, n in _IN_PLACE_OPERATORS.items()},
    **{getattr(operator, n): _operator(n, compare) for n in ("eq", "ne", "lt", "le", "gt", "ge")},
    **{getattr(operator, n): _operator(n, unary) for n in ("neg", "pos", "invert")},
    operator.getitem: lambda tx, value, key: value.item(tx, key),
    operator.not_: lambda tx, value: Constant(not tx.truth(value)),
    operator.truth: lambda tx, value: Constant(tx.truth(value)),
}
