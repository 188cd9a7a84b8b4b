"""Python's operators over trackers: which operand answers, and with what."""

from __future__ import annotations

import operator
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.shapes import DataDependentSize, SymInt
from jitmagic.ops import lookup_method
from jitmagic.ops.python_numbers import NUMBER_OPS
from jitmagic.tracer.identity import same_object
from jitmagic.tracer.refused_operands import refusal
from jitmagic.tracer.repeats import repeated
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.text_operators import of_classes, of_texts
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant, run
from jitmagic.tracer.variables.deques import DequeTracker
from jitmagic.tracer.variables.enums import EnumMember, as_operand
from jitmagic.tracer.variables.mappings import DictTracker, combine_counters
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt, number_call, wrap_size
from jitmagic.tracer.variables.objects import ObjectTracker, OpaqueTracker, find_in_class
from jitmagic.tracer.variables.sequences import ListTracker, SequenceTracker, TupleTracker
from jitmagic.tracer.variables.sets import SetTracker, known_set, set_operation
from jitmagic.tracer.variables.tensor import TensorTracker, plain_of

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["binary", "compare", "in_place", "unary"]

SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "lshift": "<<",
    "rshift": ">>",
    "and_": "&",
    "or_": "|",
    "xor": "^",
}
_COMPARED = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_PREFIXED = {"neg": "-", "pos": "+", "invert": "~"}
Answer = Callable[["Evaluator", str, VariableTracker, VariableTracker], VariableTracker | None]


def _dunder(name: str) -> str:
    return name.strip("_")


def _not_known(name: str, text: str, *values: VariableTracker) -> Unsupported | Raised:
    """The error that the classes bring, or why an operator is left to Python: the dtype of an operand that no graph
    holds, or else the classes.
    """
    if (error := refusal(name, *values)) is not None:
        return Raised(error)
    held_back = (v for v in values if isinstance(v, OpaqueTracker) and v.code == "dtype")
    return next((Unsupported(v.code, v.detail) for v in held_back), Unsupported("operator", text))


def binary(
    tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker, *, mark: str = ""
) -> VariableTracker:
    """``left <op> right``; ``name`` is that of the function in ``operator``, ``mark`` is ``=`` for ``<op>=``."""
    left, right = as_operand(tx, name, left, right), as_operand(tx, name, right, left)
    for answer in _BINARY:
        result = answer(tx, name, left, right)
        if result is not None:
            return result
    if _is_refused(left) and _is_refused(right):
        kinds = left.python_type().__name__, right.python_type().__name__
        symbol = "** or pow()" if name == "pow" and not mark else SYMBOLS[name] + mark
        raise python_error(TypeError, f"unsupported operand type(s) for {symbol}: {kinds[0]!r} and {kinds[1]!r}")
    raise _not_known(name, f"{left.describe()} {SYMBOLS.get(name, name)} {right.describe()}", left, right)


def _is_refused(value: VariableTracker) -> bool:
    """Instances whose methods have declined, and what never accepts an instance."""
    number = isinstance(value, Constant) and isinstance(value.value, int | float | complex | None)
    return number or (isinstance(value, ObjectTracker) and not isinstance(value, EnumMember))


def _constants(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return run(lambda: getattr(operator, name)(left.value, right.value))
    return None


def _objects(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    """Own methods: the left operand's first, unless the right one is of a subclass that says otherwise."""
    if not isinstance(left, ObjectTracker) and not isinstance(right, ObjectTracker):
        return None
    plain, reflected = f"__{_dunder(name)}__", f"__r{_dunder(name)}__"
    attempts = [(left, right, plain), (right, left, reflected)]
    if isinstance(right, ObjectTracker):
        _refuse_taken_over(tx, name, left, right)
        if isinstance(left, ObjectTracker) and left.cls is right.cls:
            attempts.pop()
        elif _is_below(tx, right, left) and _redefines(tx, right, left, reflected):
            attempts.reverse()
    for receiver, other, method_name in attempts:
        result = _ask(tx, receiver, method_name, other)
        if result is not None:
            return result
    return None


def _ask(tx: Evaluator, receiver: VariableTracker, name: str, other: VariableTracker) -> VariableTracker | None:
    """``receiver.name(other)`` of an instance; None if there is no such method or it gives NotImplemented."""
    method = receiver.class_attribute(tx, name) if isinstance(receiver, ObjectTracker) else None
    if method is None:
        return None
    result = tx.realize(method.call(tx, [receiver, other], {}))
    return None if isinstance(result, Constant) and result.value is NotImplemented else result


def _refuse_taken_over(tx: Evaluator, name: str, left: VariableTracker, right: ObjectTracker) -> None:
    """Arrays apply an operator element by element, strings format, before the right operand is asked."""
    takes_over = isinstance(left, ArrayTracker) and right.guarded_entry(tx, "__array_ufunc__") is not None
    if takes_over or _formats(name, left):
        raise Unsupported("operator", f"{left.describe()} {SYMBOLS.get(name, name)} {right.describe()}")


def _is_below(tx: Evaluator, right: VariableTracker, left: VariableTracker) -> bool:
    """Whether the right operand's class is asked first; Python looks at the bases, whatever a metaclass says."""
    tx.output.builder.guard_bases(right.python_type())
    return left.python_type() in right.python_type().__mro__


def _redefines(tx: Evaluator, right: ObjectTracker, left: VariableTracker, name: str) -> bool:
    inherited = find_in_class(left.python_type(), name)
    tx.output.builder.guard_held_class(left.python_type(), name)
    return right.guarded_entry(tx, name) is not inherited


def _named_tuples(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    """Named tuples with operators of their own; arrays and texts on the left take over before these are asked."""
    if not isinstance(left, NamedTupleTracker) and not isinstance(right, NamedTupleTracker):
        return None
    attempts = [(left, right, f"__{_dunder(name)}__"), (right, left, f"__r{_dunder(name)}__")]
    if left.python_type() is right.python_type():
        attempts.pop()
    elif left.python_type() in right.python_type().__mro__:
        attempts.reverse()
    for receiver, other, method_name in attempts:
        method = receiver.own_method(tx, method_name) if isinstance(receiver, NamedTupleTracker) else None
        if method is None:
            continue
        if isinstance(left, ArrayTracker) or _formats(name, left):
            raise Unsupported("operator", f"{left.describe()} {SYMBOLS.get(name, name)} {right.describe()}")
        result = tx.realize(method.call(tx, [receiver, other], {}))
        if not (isinstance(result, Constant) and result.value is NotImplemented):
            return result
    return None


def _arrays(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    plain = (ArrayTracker, Constant, SymbolicInt, RunTimeNumber, ListTracker, TupleTracker)
    if not isinstance(left, plain) or not isinstance(right, plain) or _formats(name, left):
        return None
    if any(isinstance(v, SequenceTracker) for v in (left, right)):
        _refuse_scalars(name, left, right)
    prefix = _prefix(left, right)
    if isinstance(left, ArrayTracker) and _takes(left, right):
        return tx.call_method_form(f"{prefix}__{_dunder(name)}__", [left, right])
    if isinstance(right, ArrayTracker) and _takes(right, left):
        return tx.call_method_form(f"{prefix}__r{_dunder(name)}__", [right, left])
    return None


def _refuse_scalars(name: str, left: VariableTracker, right: VariableTracker) -> None:
    """A NumPy scalar repeats a list or tuple as often as its value says; what it refuses has Python's own words."""
    if any(isinstance(v, ArrayTracker) and v.meta.scalar for v in (left, right)):
        raise Unsupported("operator", f"{left.describe()} {SYMBOLS.get(name, name)} {right.describe()}")


def _prefix(*operands: VariableTracker) -> str:
    """Operators of NumPy scalars, with no array among the operands, are other code than those of arrays."""
    plain = (Constant, SymbolicInt, RunTimeNumber)
    scalars = all(isinstance(v, plain) or (isinstance(v, ArrayTracker) and v.meta.scalar) for v in operands)
    return "generic." if scalars else ""


def _formats(name: str, left: VariableTracker) -> bool:
    """``text % value``: the text is asked first."""
    return name == "mod" and isinstance(left, Constant) and isinstance(left.value, str | bytes)


def _takes(array: ArrayTracker, other: VariableTracker) -> bool:
    """Texts are operands of arrays of texts; with other arrays, each NumPy has its own answer."""
    if not isinstance(other, Constant) or not isinstance(other.value, str | bytes):
        return True
    return array.meta.dtype.kind == {str: "U", bytes: "S"}.get(type(other.value)) and not array.meta.scalar


def _numbers(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    for receiver, other, reflected in ((left, right, False), (right, left, True)):
        if isinstance(receiver, SymbolicInt) and not isinstance(other, RunTimeNumber) and not _formats(name, left):
            return _size(tx, name, receiver, other, reflected)
        if isinstance(receiver, RunTimeNumber) and not _formats(name, left):
            return receiver.binary(tx, name, other, reflected)
    return None


def _size(
    tx: Evaluator, name: str, receiver: SymbolicInt, other: VariableTracker, reflected: bool
) -> VariableTracker | None:
    """Sizes stay sizes as far as they can; where only the data tell them they become numbers of the graph."""
    try:
        return receiver.binary(name, other, reflected)
    except DataDependentSize:
        if name not in NUMBER_OPS:
            raise
        return number_call(tx, NUMBER_OPS[name], (other, receiver) if reflected else (receiver, other))


def _sequences(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    if name == "mul":
        for seq, count in ((left, right), (right, left)):
            if isinstance(seq, SequenceTracker) and isinstance(count, Constant | SymbolicInt):
                if (made := repeated(tx, seq, count)) is not None:
                    return made
                if not isinstance(count.constant(), int):
                    return None
                return seq.like(seq.items * count.constant())
    if name != "add" or not (isinstance(left, SequenceTracker) and isinstance(right, SequenceTracker)):
        return None
    if left.kind is not right.kind:
        kinds = left.kind.__name__, right.python_type().__name__
        raise python_error(TypeError, f'can only concatenate {kinds[0]} (not "{kinds[1]}") to {kinds[0]}')
    return left.like([*left.items, *right.items])


def _sets(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    if isinstance(left, DictTracker) and isinstance(right, DictTracker):
        if left.cls is right.cls is Counter and name in ("add", "sub", "and_", "or_"):
            return combine_counters(tx, name, left, right)
        if name != "or_" or Counter in (left.cls, right.cls):
            return None
        right.note_order()
        left.note_order()
        return DictTracker({**left.items, **right.items}, cls=left.cls, factory=left.factory)
    return set_operation(tx, name, left, right)


_BINARY: tuple[Answer, ...] = (
    _constants,
    _objects,
    _named_tuples,
    _arrays,
    _numbers,
    _sequences,
    _sets,
    of_texts,
    of_classes,
)


def in_place(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    """``left <op>= right``: the new value of the target."""
    left, right = as_operand(tx, name, left, right), as_operand(tx, name, right, left)
    target = left.unrecorded(tx) if isinstance(left, TensorTracker) else None
    if target is not None:
        in_place(tx, name, target, plain_of(tx, right))
        return left
    if isinstance(left, ArrayTracker) and not left.meta.scalar:
        found = lookup_method(f"__i{_dunder(name)}__")
        if found is not None:
            if isinstance(right, ObjectTracker):
                raise Unsupported("operator", f"{left.describe()} {SYMBOLS.get(name, name)}= {right.describe()}")
            return tx.call_form(*found, [left, right], {})
    method = _IN_PLACE.get((type(left), name))
    if method is not None and not _takes_over(tx, name, right):
        return _in_place_container(tx, method, name, left, right)
    if isinstance(left, Constant) and isinstance(right, Constant):
        meant = getattr(operator, f"i{_dunder(name)}")  # constants do not change: only its exceptions are its own
        return run(lambda: meant(left.constant(), right.constant()))
    if isinstance(left, ObjectTracker) or isinstance(right, ObjectTracker):
        return _ask(tx, left, f"__i{_dunder(name)}__", right) or binary(tx, name, left, right, mark="=")
    try:
        return binary(tx, name, left, right, mark="=")
    except Raised as raised:
        raise _of_assignment(raised, name) from None


def _of_assignment(raised: Raised, name: str) -> Raised:
    """Python's refusal as it names ``<op>=``: numbers were asked for ``<op>``, which they do not tell apart."""
    symbol = "** or pow()" if name == "pow" else SYMBOLS.get(name, name)
    begin = f"unsupported operand type(s) for {symbol}: "
    text = str(raised.error)
    if type(raised.error) is not TypeError or not text.startswith(begin):
        return raised
    named = SYMBOLS.get(name, name)
    return Raised(TypeError(f"unsupported operand type(s) for {named}=: {text.removeprefix(begin)}"))


def _takes_over(tx: Evaluator, name: str, right: VariableTracker) -> bool:
    """Whether the right operand's own operator is asked before the container's: ``a_list += array`` is a sum."""
    if isinstance(right, ObjectTracker):
        return right.class_attribute(tx, f"__r{_dunder(name)}__") is not None
    return isinstance(right, ArrayTracker)


def _in_place_container(
    tx: Evaluator, method: str, name: str, left: VariableTracker, right: VariableTracker
) -> VariableTracker:
    is_scalar = isinstance(right, Constant) and isinstance(right.value, np.generic)
    if is_scalar or (isinstance(left, DictTracker) and left.cls is Counter):
        raise Unsupported("operator", f"{left.describe()} {SYMBOLS[name]}= {right.describe()}")
    if isinstance(left, SetTracker) and (left.cls is not set or not isinstance(right, SetTracker)):
        return binary(tx, name, left, right)
    left.method(tx, method, [right], {})
    return left


_IN_PLACE: dict[tuple[type, str], str] = {
    (ListTracker, "add"): "extend",
    (ListTracker, "mul"): "__imul__",
    (DictTracker, "or_"): "update",
    (DequeTracker, "add"): "extend",
    (SetTracker, "or_"): "update",
    (SetTracker, "and_"): "intersection_update",
    (SetTracker, "sub"): "difference_update",
    (SetTracker, "xor"): "symmetric_difference_update",
}


def compare(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    """``left <op> right`` for the six comparisons; ``name`` as in ``operator``."""
    left, right = as_operand(tx, name, left, right), as_operand(tx, name, right, left)
    if isinstance(left, ObjectTracker):
        result = _object_compare(tx, name, left, right)
    elif isinstance(left, ArrayTracker) or isinstance(right, ArrayTracker):
        result = _arrays_compare(tx, name, left, right)
    elif isinstance(right, ObjectTracker):
        result = _object_compare(tx, name, left, right)
    elif isinstance(left, SymbolicInt | RunTimeNumber) or isinstance(right, SymbolicInt | RunTimeNumber):
        result = _number_compare(tx, name, left, right)
    else:
        result = _plain_compare(tx, name, left, right)
    if result is None:
        raise _not_known(name, f"{left.describe()} {_COMPARED[name]} {right.describe()}", left, right)
    return result


def _arrays_compare(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    if isinstance(left, Constant) and left.value is None and name in ("eq", "ne"):
        left, right = right, left
    prefix = _prefix(left, right)
    if not _takes(*((left, right) if isinstance(left, ArrayTracker) else (right, left))):  # type: ignore[arg-type]  # one is an array
        return None
    if isinstance(left, ArrayTracker):
        return tx.call_method_form(f"{prefix}__{name}__", [left, right])
    return tx.call_method_form(f"{prefix}__{SWAPPED[name]}__", [right, left])


def _number_compare(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    numbers = (SymbolicInt, RunTimeNumber, Constant)
    if not (isinstance(left, numbers) and isinstance(right, numbers)):
        other = right if isinstance(left, SymbolicInt | RunTimeNumber) else left
        return Constant(name == "ne") if name in ("eq", "ne") and other.python_type() in UNRELATED else None
    if isinstance(left, RunTimeNumber) or isinstance(right, RunTimeNumber):
        return number_call(tx, NUMBER_OPS[name], (left, right))
    pair = [v.value if isinstance(v, SymbolicInt | Constant) else None for v in (left, right)]
    try:
        return Constant(bool(getattr(operator, name)(*_comparable(pair))))
    except DataDependentSize as error:
        return number_call(tx, NUMBER_OPS[name], (left, right), str(error))


def _comparable(pair: list[Any]) -> list[Any]:
    """Symbolic ints compare symbolically with ints only; with floats their value is taken."""
    if all(isinstance(v, SymInt | int) for v in pair):
        return pair
    return [int(v) if isinstance(v, SymInt) else v for v in pair]


def _object_compare(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    attempts = [(left, right, f"__{name}__"), (right, left, f"__{SWAPPED[name]}__")]
    if isinstance(right, ArrayTracker):
        attempts.pop()
    elif left.python_type() is not right.python_type() and _is_below(tx, right, left):
        attempts.reverse()
    for receiver, other, method_name in attempts:
        result = _ask(tx, receiver, method_name, other)
        if result is not None:
            return result
    if isinstance(right, ArrayTracker) or not (_is_asked(left) and _is_asked(right)):
        return None
    if name in ("eq", "ne"):
        return Constant(same_object(tx, left, right) == (name == "eq"))
    kinds = left.python_type().__name__, right.python_type().__name__
    symbol = _COMPARED[name]
    raise python_error(TypeError, f"{symbol!r} not supported between instances of {kinds[0]!r} and {kinds[1]!r}")


def _plain_compare(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    if left.is_constant and right.is_constant:
        return run(lambda: getattr(operator, name)(left.constant(), right.constant()))
    if isinstance(left, SequenceTracker) and isinstance(right, SequenceTracker):
        return _sequence_compare(tx, name, left, right)
    sets = [known_set(v) for v in (left, right)]
    if all(s is not None for s in sets):
        return Constant(getattr(operator, name)(*sets))
    if name not in ("eq", "ne"):
        return None
    if isinstance(left, DictTracker) and isinstance(right, DictTracker):
        if left.cls is right.cls is OrderedDict:
            return None
        same = left.items.keys() == right.items.keys() and all(
            tx.same_or_equal(tx.realize(left.items[k]), tx.realize(right.items[k])) for k in left.items
        )
        return Constant(same == (name == "eq"))
    if _by_identity(left) and _by_identity(right):
        return Constant(same_object(tx, left, right) == (name == "eq"))
    kinds = left.python_type(), right.python_type()
    if kinds[0] in UNRELATED and kinds[1] in UNRELATED and kinds[0] is not kinds[1]:
        return Constant(name == "ne")
    return None


UNRELATED = (list, tuple, dict, type(None), str, bytes, slice, range)  # no two of them are ever equal


def _is_asked(value: VariableTracker) -> bool:
    """Whether the value's own comparison is known to have declined: it was traced, or knows no other objects."""
    known = isinstance(value, ObjectTracker | SequenceTracker | DictTracker) or value.is_constant
    return known or isinstance(value, SymbolicInt | RunTimeNumber) or _by_identity(value)


def _by_identity(value: VariableTracker) -> bool:
    return find_in_class(value.python_type(), "__eq__") is object.__eq__


def _sequence_compare(
    tx: Evaluator, name: str, left: SequenceTracker, right: SequenceTracker
) -> VariableTracker | None:
    """Item by item, up to the first pair that differs."""
    if left.kind is not right.kind:
        return Constant(name == "ne") if name in ("eq", "ne") else None
    if name in ("eq", "ne") and len(left.items) != len(right.items):
        return Constant(name == "ne")
    for a, b in zip(left.items, right.items, strict=False):
        first, second = tx.realize(a), tx.realize(b)
        if not tx.same_or_equal(first, second):
            return Constant(name == "ne") if name in ("eq", "ne") else compare(tx, name, first, second)
    return Constant(bool(getattr(operator, name)(len(left.items), len(right.items))))


def unary(tx: Evaluator, name: str, value: VariableTracker) -> VariableTracker:
    """``-x``, ``+x``, ``~x``; ``name`` as in ``operator``."""
    value = as_operand(tx, name, value)
    if isinstance(value, Constant):
        return run(lambda: getattr(operator, name)(value.value))
    if isinstance(value, ArrayTracker):
        return tx.call_method_form(f"{_prefix(value)}__{_dunder(name)}__", [value])
    if isinstance(value, RunTimeNumber) and name in NUMBER_OPS:
        return number_call(tx, NUMBER_OPS[name], (value,))
    if isinstance(value, SymbolicInt):
        if name in ("neg", "pos"):
            return wrap_size(getattr(operator, name)(value.value))
        return run(lambda: getattr(operator, name)(value.fix()))
    if isinstance(value, ObjectTracker | NamedTupleTracker):
        find = value.own_method if isinstance(value, NamedTupleTracker) else value.class_attribute
        method = find(tx, f"__{_dunder(name)}__")
        if method is not None:
            return method.call(tx, [value], {})
    raise _not_known(name, f"{_PREFIXED[name]}{value.describe()}", value)
