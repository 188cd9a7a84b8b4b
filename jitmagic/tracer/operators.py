"""Python's operators over trackers: which operand answers, and with what."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.ops import lookup_method
from jitmagic.ops.python_numbers import NUMBER_OPS
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error
from jitmagic.tracer.variables.constant import Constant, run
from jitmagic.tracer.variables.mappings import DictTracker, SetTracker
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt, number_call
from jitmagic.tracer.variables.objects import ObjectTracker
from jitmagic.tracer.variables.sequences import ListTracker, SequenceTracker, TupleTracker

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
Answer = Callable[["Evaluator", str, VariableTracker, VariableTracker], VariableTracker | None]


def _dunder(name: str) -> str:
    return name.strip("_")


def binary(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    """``left <op> right``; ``name`` is that of the function in ``operator``."""
    for answer in _BINARY:
        result = answer(tx, name, left, right)
        if result is not None:
            return result
    raise Unsupported("operator", f"{left.describe()} {SYMBOLS.get(name, name)} {right.describe()}")


def _constants(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return run(lambda: getattr(operator, name)(left.value, right.value))
    return None


def _objects(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    for receiver, other, prefix in ((left, right, ""), (right, left, "r")):
        if isinstance(receiver, ObjectTracker):
            method = receiver.class_attribute(tx, f"__{prefix}{_dunder(name)}__")
            if method is not None:
                result = method.call(tx, [receiver, other], {})
                if not (isinstance(result, Constant) and result.value is NotImplemented):
                    return result
    return None


def _arrays(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    plain = (ArrayTracker, Constant, SymbolicInt, RunTimeNumber, ListTracker, TupleTracker)
    if not isinstance(left, plain) or not isinstance(right, plain):
        return None
    prefix = _prefix(left, right)
    if isinstance(left, ArrayTracker):
        return tx.call_method_form(f"{prefix}__{_dunder(name)}__", [left, right])
    if isinstance(right, ArrayTracker):
        return tx.call_method_form(f"{prefix}__r{_dunder(name)}__", [right, left])
    return None


def _prefix(*operands: VariableTracker) -> str:
    """Operators of NumPy scalars, with no array among the operands, are other code than those of arrays."""
    plain = (Constant, SymbolicInt, RunTimeNumber)
    scalars = all(isinstance(v, plain) or (isinstance(v, ArrayTracker) and v.meta.scalar) for v in operands)
    return "generic." if scalars else ""


def _numbers(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    for receiver, other, reflected in ((left, right, False), (right, left, True)):
        if isinstance(receiver, SymbolicInt) and not isinstance(other, RunTimeNumber):
            return receiver.binary(name, other, reflected)
        if isinstance(receiver, RunTimeNumber):
            return receiver.binary(tx, name, other, reflected)
    return None


def _sequences(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    if name == "mul":
        for seq, count in ((left, right), (right, left)):
            if isinstance(seq, SequenceTracker) and isinstance(count, Constant | SymbolicInt):
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
    if isinstance(left, SetTracker) and isinstance(right, SetTracker) and name in ("and_", "or_", "sub", "xor"):
        return SetTracker(getattr(operator, name)(left.constant(), right.constant()), cls=left.cls)
    if isinstance(left, DictTracker) and isinstance(right, DictTracker) and name == "or_":
        left.note_order()
        right.note_order()
        return DictTracker({**left.items, **right.items}, cls=left.cls)
    return None


def _text(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    if isinstance(left, Constant) and isinstance(left.value, str | bytes) and right.is_constant:
        return run(lambda: getattr(operator, name)(left.value, right.constant()))
    return None


_BINARY: tuple[Answer, ...] = (_constants, _objects, _arrays, _numbers, _sequences, _sets, _text)


def in_place(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    """``left <op>= right``: the new value of the target."""
    if isinstance(left, ArrayTracker) and not left.meta.scalar:
        found = lookup_method(f"__i{_dunder(name)}__")
        if found is not None:
            return tx.call_form(*found, [left, right], {})
    if isinstance(left, ListTracker) and name == "add":
        left.method(tx, "extend", [right], {})
        return left
    if isinstance(left, ListTracker) and name == "mul":
        repeated = binary(tx, name, left, right)
        if not isinstance(repeated, ListTracker):
            return repeated
        left.will_change(tx)
        left.items[:] = repeated.items
        return left
    if isinstance(left, SetTracker | DictTracker) and name == "or_":
        left.method(tx, "update", [right], {})
        return left
    if isinstance(left, ObjectTracker):
        method = left.class_attribute(tx, f"__i{_dunder(name)}__")
        if method is not None:
            return method.call(tx, [left, right], {})
    return binary(tx, name, left, right)


def compare(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    """``left <op> right`` for the six comparisons; ``name`` as in ``operator``."""
    if isinstance(left, ArrayTracker) or isinstance(right, ArrayTracker):
        result = _arrays_compare(tx, name, left, right)
    elif isinstance(left, SymbolicInt | RunTimeNumber) or isinstance(right, SymbolicInt | RunTimeNumber):
        result = _number_compare(tx, name, left, right)
    elif isinstance(left, ObjectTracker) or isinstance(right, ObjectTracker):
        result = _object_compare(tx, name, left, right)
    else:
        result = _plain_compare(tx, name, left, right)
    if result is None:
        raise Unsupported("operator", f"{left.describe()} {name} {right.describe()}")
    return result


def _arrays_compare(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    if isinstance(left, Constant) and left.value is None and name in ("eq", "ne"):
        left, right = right, left
    prefix = _prefix(left, right)
    if isinstance(left, ArrayTracker):
        return tx.call_method_form(f"{prefix}__{name}__", [left, right])
    return tx.call_method_form(f"{prefix}__{SWAPPED[name]}__", [right, left])


def _number_compare(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    numbers = (SymbolicInt, RunTimeNumber, Constant)
    if not (isinstance(left, numbers) and isinstance(right, numbers)):
        return Constant(name == "ne") if name in ("eq", "ne") else None
    if isinstance(left, RunTimeNumber) or isinstance(right, RunTimeNumber):
        return number_call(tx, NUMBER_OPS[name], (left, right))
    pair = [v.value if isinstance(v, SymbolicInt | Constant) else None for v in (left, right)]
    return Constant(bool(getattr(operator, name)(*_comparable(pair))))


def _comparable(pair: list[Any]) -> list[Any]:
    """Symbolic ints compare symbolically with ints only; with floats their value is taken."""
    from jitmagic.graph.shapes import SymInt

    if all(isinstance(v, SymInt | int) for v in pair):
        return pair
    return [int(v) if isinstance(v, SymInt) else v for v in pair]


def _object_compare(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    for receiver, other, method_name in ((left, right, name), (right, left, SWAPPED[name])):
        if isinstance(receiver, ObjectTracker):
            method = receiver.class_attribute(tx, f"__{method_name}__")
            if method is not None:
                result = method.call(tx, [receiver, other], {})
                if not (isinstance(result, Constant) and result.value is NotImplemented):
                    return result
    return Constant((left is right) == (name == "eq")) if name in ("eq", "ne") else None


def _plain_compare(tx: Evaluator, name: str, left: VariableTracker, right: VariableTracker) -> VariableTracker | None:
    if left.is_constant and right.is_constant:
        return run(lambda: getattr(operator, name)(left.constant(), right.constant()))
    if isinstance(left, SequenceTracker) and isinstance(right, SequenceTracker) and name in ("eq", "ne"):
        same = left.kind is right.kind and len(left.items) == len(right.items)
        pairs = zip(left.items, right.items, strict=False)
        same = same and all(tx.same_or_equal(tx.realize(a), tx.realize(b)) for a, b in pairs)
        return Constant(same == (name == "eq"))
    if isinstance(left, DictTracker) and isinstance(right, DictTracker) and name in ("eq", "ne"):
        same = left.items.keys() == right.items.keys() and all(
            tx.same_or_equal(tx.realize(left.items[k]), tx.realize(right.items[k])) for k in left.items
        )
        return Constant(same == (name == "eq"))
    if name in ("eq", "ne") and left.python_type() is not right.python_type():
        return Constant(name == "ne")
    return None


def unary(tx: Evaluator, name: str, value: VariableTracker) -> VariableTracker:
    """``-x``, ``+x``, ``~x``; ``name`` as in ``operator``."""
    if isinstance(value, Constant):
        return run(lambda: getattr(operator, name)(value.value))
    if isinstance(value, ArrayTracker):
        return tx.call_method_form(f"{_prefix(value)}__{_dunder(name)}__", [value])
    if isinstance(value, RunTimeNumber) and name in NUMBER_OPS:
        return number_call(tx, NUMBER_OPS[name], (value,))
    if isinstance(value, SymbolicInt):
        from jitmagic.tracer.variables.number import wrap_size

        if name in ("neg", "pos"):
            return wrap_size(getattr(operator, name)(value.value))
        return run(lambda: getattr(operator, name)(value.fix()))
    if isinstance(value, ObjectTracker):
        method = value.class_attribute(tx, f"__{_dunder(name)}__")
        if method is not None:
            return method.call(tx, [value], {})
    raise Unsupported("operator", f"{name} {value.describe()}")
