"""What ``len``, ``isinstance``, ``float``, ``getattr`` and their kin mean over trackers."""

from __future__ import annotations

import abc
import warnings
from types import UnionType
from typing import Any

import numpy as np

from jitmagic.autograd.tensor import Tensor
from jitmagic.errors import Unsupported
from jitmagic.ops.python_numbers import ABS, ROUND, ROUND_TO, TO_COMPLEX, TO_FLOAT, TO_INT
from jitmagic.tracer.call_rows import Handler, row_of
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.expressions import truth_of
from jitmagic.tracer.guards.kinds import expression_guard
from jitmagic.tracer.guards.naming import home
from jitmagic.tracer.operators import binary
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.texts import format_text, repr_text, str_text
from jitmagic.tracer.variables.array import ArrayTracker, stands_for_tensor
from jitmagic.tracer.variables.base import VariableTracker, python_error, read_attribute
from jitmagic.tracer.variables.callables import CallableTracker, ClassTracker
from jitmagic.tracer.variables.constant import Constant, run
from jitmagic.tracer.variables.descriptors import find_in_class
from jitmagic.tracer.variables.enums import EnumMember
from jitmagic.tracer.variables.functions import BoundMethod, FunctionTracker, NestedFunction
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt, number_call, wrap_size
from jitmagic.tracer.variables.objects import MISSING, ObjectTracker
from jitmagic.tracer.variables.partials import PartialTracker
from jitmagic.tracer.variables.sequences import TupleTracker

__all__ = ["ROWS"]


def _len(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    return value.length(tx)


def _isinstance(tx: Evaluator, value: VariableTracker, classes: VariableTracker) -> VariableTracker:
    kinds = _classes(tx, classes)
    return Constant(_is_subclass(tx, _class_of(tx, value), kinds))


def _class_of(tx: Evaluator, value: VariableTracker) -> type:
    """Its class in the plain run."""
    is_tensor = isinstance(value, ArrayTracker) and stands_for_tensor(tx, value)
    return Tensor if is_tensor else value.python_type()


def _issubclass(tx: Evaluator, value: VariableTracker, classes: VariableTracker) -> VariableTracker:
    if isinstance(value, Constant) and not isinstance(value.value, type):
        raise python_error(TypeError, "issubclass() arg 1 must be a class")
    known = _classes(tx, value)
    return Constant(_is_subclass(tx, known[0], _classes(tx, classes)))


def _is_subclass(tx: Evaluator, cls: type, kinds: tuple[type, ...]) -> bool:
    """``issubclass``; an ABC may answer otherwise at the next call, when a class was registered or got a method.

    So may every class of the user, whose bases can be replaced.
    """
    answer = issubclass(cls, kinds)
    if cls not in kinds:
        tx.output.builder.guard_bases(cls)
    may_change = home(cls) != "builtins" or not all(_is_plain_type(k) or _has_plain_check(k) for k in kinds)
    if may_change and not all(map(_is_plain_type, kinds)):
        held = tx.output.constant_source(cls, cls.__name__)
        about = f"issubclass({cls.__name__}, {', '.join(k.__name__ for k in kinds)})"
        test = f"issubclass({{v}}, {{k}}) is {answer}"
        now = "issubclass({v}, {k})"
        tx.output.guards.add(
            expression_guard("SUBCLASS_MATCH", held, test, str(answer), now, constant=kinds, about=about)
        )
    return answer


def _classes(tx: Evaluator, value: VariableTracker) -> tuple[type, ...]:
    if isinstance(value, ClassTracker):
        kinds: tuple[type, ...] = (value.value,)
    elif isinstance(value, Constant) and isinstance(value.value, type):
        kinds = (value.value,)
    elif isinstance(value, Constant) and isinstance(value.value, UnionType):
        parts = (tx.output.builder.constant_object(tx, k) for k in value.value.__args__)
        kinds = tuple(k for part in parts for k in _classes(tx, part))
    elif isinstance(value, TupleTracker):
        kinds = tuple(k for item in value.items for k in _classes(tx, tx.realize(item)))
    else:
        raise Unsupported("call", f"isinstance(..., {value.describe()})")
    if not all(_is_plain_type(k) or _has_plain_check(k) or _is_own_abc(k) for k in kinds):
        raise Unsupported("call", f"isinstance(..., {value.describe()})")
    return kinds


def _is_plain_type(kind: type) -> bool:
    """Whether its bases alone say what is an instance or a subclass."""
    return all(find_in_class(type(kind), name) is type.__dict__[name] for name in _ABC_CHECKS)


def _has_plain_check(kind: type) -> bool:
    """ABCs of the standard library answer by registration, which does not change between calls."""
    return home(kind).partition(".")[0] in _LIBRARIES and kind is not Any


_LIBRARIES = ("collections", "numbers", "typing", "enum")
_ABC_CHECKS = ("__instancecheck__", "__subclasscheck__")


def _is_own_abc(kind: type) -> bool:
    """An ABC of the user's (or of another library) that asks its bases and its register, and no hook of its own."""
    own = (find_in_class(type(kind), name) for name in _ABC_CHECKS)
    hook = next(base for base in kind.__mro__ if "__subclasshook__" in base.__dict__)
    stock = hook is object or home(hook).partition(".")[0] in _LIBRARIES
    return stock and all(f is abc.ABCMeta.__dict__[n] for f, n in zip(own, _ABC_CHECKS, strict=True))


def _type(tx: Evaluator, value: VariableTracker, *rest: VariableTracker) -> VariableTracker:
    if rest:
        raise Unsupported("call", "type() with three arguments")
    return tx.output.builder.constant_object(tx, _class_of(tx, value))


def _float(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    if value is None:
        return Constant(0.0)
    if isinstance(value, ArrayTracker):
        value = _number_in(tx, value, "float", "fiub")
    if isinstance(value, RunTimeNumber):
        return value if value.kind is float else _converted(tx, TO_FLOAT, value, "float")
    if (own := _by_own_method(tx, value, float)) is not None:
        return own
    return run(lambda: float(value.constant()))


def _int(tx: Evaluator, value: VariableTracker | None = None, *rest: VariableTracker) -> VariableTracker:
    if value is None:
        return Constant(0)
    if isinstance(value, SymbolicInt) and not rest:
        return value
    if isinstance(value, ArrayTracker) and not rest:
        value = _number_in(tx, value, "int", "fiub")
    if isinstance(value, RunTimeNumber) and not rest:
        return value if value.kind is int else _converted(tx, TO_INT, value, "int")
    if not rest and (own := _by_own_method(tx, value, int)) is not None:
        return own
    return run(lambda: int(value.constant(), *(r.constant() for r in rest)))


def _by_own_method(tx: Evaluator, value: VariableTracker, kind: type) -> VariableTracker | None:
    """``float(value)`` or ``int(value)`` of an instance with a method for that; None for any other value."""
    if not isinstance(value, ObjectTracker) or isinstance(value, EnumMember):
        return None
    name = next((n for n in (f"__{kind.__name__}__", "__index__") if value.class_attribute(tx, n) is not None), "")
    if not name:
        return None
    found = tx.realize(value.method(tx, name, [], {}))
    is_exact = found.python_type() is (kind if name != "__index__" else int)
    if not is_exact:
        raise Unsupported("call", f"{kind.__name__}({value.describe()})")
    return _float(tx, found) if kind is float else found


def _number_in(tx: Evaluator, array: ArrayTracker, function: str, kinds: str) -> VariableTracker:
    """The number of an array without axes; of one with axes: deprecated, then an error, from NumPy 2.5 on."""
    if array.meta.dtype.kind not in kinds or array.meta.ndim:
        raise Unsupported("data-number", f"{function}({array.describe()})")
    return array.method(tx, "item", [], {})


def _converted(tx: Evaluator, row: Any, value: RunTimeNumber, function: str) -> VariableTracker:
    if value.kind is complex or tx.output.differentiating:
        raise Unsupported("data-number", f"{function}({value.describe()})")
    return number_call(tx, row, [value])


def _bool(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return Constant(False) if value is None else truth_of(tx, lambda: value)


def _str(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
    return Constant("") if value is None else str_text(tx, value)


def _repr(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    return repr_text(tx, value)


def _format(tx: Evaluator, value: VariableTracker, spec: VariableTracker | None = None) -> VariableTracker:
    return format_text(tx, value, "" if spec is None else spec.constant())


def _complex(tx: Evaluator, *parts: VariableTracker) -> VariableTracker:
    if len(parts) == 1 and isinstance(parts[0], ArrayTracker) and not parts[0].meta.ndim:
        if parts[0].meta.dtype.kind in "fiub":
            wider = tx.call_method_form("astype", [parts[0], tx.output.builder.constant_object(tx, complex)])
            return wider.method(tx, "item", [], {})
        if parts[0].meta.dtype.char not in "FD":
            raise Unsupported("data-number", f"complex({parts[0].describe()})")
        return parts[0].method(tx, "item", [], {})
    is_known = len(parts) > 2 or not any(isinstance(p, RunTimeNumber) for p in parts)
    if not is_known and not tx.output.needs_rules and all(map(_is_number, parts)):
        return number_call(tx, TO_COMPLEX, parts)
    return run(lambda: complex(*(p.constant() for p in parts)))


def _is_number(value: VariableTracker) -> bool:
    is_known = isinstance(value, Constant) and type(value.value) in (bool, int, float, complex)
    return is_known or isinstance(value, RunTimeNumber | SymbolicInt)


def _dtype(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    return run(lambda: np.dtype(value.constant()))


def _limits(make: Any) -> Handler:
    def call(tx: Evaluator, kind: VariableTracker) -> VariableTracker:
        known = kind.python_type() if isinstance(kind, ArrayTracker) and kind.meta.scalar else kind.constant()
        try:
            return tx.output.builder.constant_object(tx, make(known))
        except ValueError as error:
            raise Raised(error) from None

    return call


SCALARS: tuple[Any, ...] = (
    *(np.float64, np.float32, np.complex128, np.complex64),
    *(np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8),
)


def _numpy_scalar(kind: Any) -> Handler:
    """``np.float32(0.5)`` of a known number, or of one that the call computes."""

    def call(tx: Evaluator, value: VariableTracker | None = None) -> VariableTracker:
        if isinstance(value, ArrayTracker | RunTimeNumber | SymbolicInt):
            return tx.call_form(*row_of(kind), [value], {})
        try:
            with np.errstate(all="raise"):
                made = kind() if value is None else kind(value.constant())
        except FloatingPointError:
            raise Unsupported("call", f"np.{kind.__name__}() out of range") from None
        except (TypeError, ValueError, OverflowError) as error:
            raise Raised(error) from None
        if not isinstance(made, np.generic):
            raise Unsupported("call", f"np.{kind.__name__}() of a sequence")
        return tx.output.builder.constant_object(tx, made)

    return call


def _moment(kind: Any) -> Handler:
    """``np.datetime64("2024-05-01")`` and ``np.timedelta64(3, "D")`` of what is known; clocks are not."""

    def call(tx: Evaluator, *args: VariableTracker) -> VariableTracker:
        values = [a.constant() for a in args]
        if any(v in ("now", "today") for v in values if isinstance(v, str)):
            raise Unsupported("call", f"np.{kind.__name__}({values[0]!r})")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                made = kind(*values)
            except Warning:
                raise Unsupported("call", f"np.{kind.__name__}() that warns") from None
            except (TypeError, ValueError, OverflowError) as error:
                raise Raised(error) from None
        return tx.output.builder.constant_object(tx, made)

    return call


def _hash(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    if isinstance(value, ObjectTracker):
        method = value.class_attribute(tx, "__hash__")
        if method is None or value.guarded_entry(tx, "__hash__") in (None, object.__hash__):
            raise Unsupported("call", f"hash({value.describe()})")
        return method.call(tx, [value], {})
    return run(lambda: hash(value.constant()))


def _vars(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    return value.attribute(tx, "__dict__")


def _abs(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    if isinstance(value, ArrayTracker):
        return tx.call_method_form("generic.__abs__" if value.meta.scalar else "__abs__", [value])
    if isinstance(value, SymbolicInt):
        return wrap_size(abs(value.value))
    if isinstance(value, RunTimeNumber):
        return number_call(tx, ABS, [value])
    if isinstance(value, ObjectTracker):
        return value.method(tx, "__abs__", [], {})
    return run(lambda: abs(value.constant()))


def _round(tx: Evaluator, value: VariableTracker, digits: VariableTracker | None = None) -> VariableTracker:
    if isinstance(value, ArrayTracker) and not value.meta.scalar:
        raise python_error(TypeError, "type numpy.ndarray doesn't define __round__ method")
    known = digits is None or (digits.is_constant and type(digits.constant()) in (int, type(None)))
    if digits is not None and known and digits.constant() is None:
        digits = None
    if isinstance(value, RunTimeNumber) and known:
        if digits is None:
            return value if value.kind is int else _converted(tx, ROUND, value, "round")
        return _rounded(tx, value, digits)
    if isinstance(value, ArrayTracker) and known and value.meta.dtype.kind in "fiu":
        rounded = value.method(tx, "round", [digits or Constant(0)], {})
        return rounded if digits is not None else _int(tx, rounded)
    return run(lambda: round(value.constant(), *(() if digits is None else (digits.constant(),))))


def _rounded(tx: Evaluator, value: RunTimeNumber, digits: VariableTracker) -> VariableTracker:
    if value.kind is complex:
        raise Unsupported("data-number", f"round({value.describe()})")
    return number_call(tx, ROUND_TO, [value, digits])


def _divmod(tx: Evaluator, left: VariableTracker, right: VariableTracker) -> VariableTracker:
    if isinstance(left, ArrayTracker) or isinstance(right, ArrayTracker):
        return tx.call_form(*row_of(np.divmod), [left, right], {})
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
        return read_attribute(tx, value, name.constant())
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
        return Constant(value.guarded_entry(tx, "__call__") is not MISSING)
    return Constant(isinstance(value, functions))


ROWS: dict[Any, Handler] = {
    len: _len,
    isinstance: _isinstance,
    issubclass: _issubclass,
    type: _type,
    float: _float,
    int: _int,
    bool: _bool,
    str: _str,
    repr: _repr,
    format: _format,
    complex: _complex,
    np.dtype: _dtype,
    np.finfo: _limits(np.finfo),
    np.iinfo: _limits(np.iinfo),
    **{kind: _numpy_scalar(kind) for kind in SCALARS},
    **{kind: _moment(kind) for kind in (np.datetime64, np.timedelta64)},
    hash: _hash,
    vars: _vars,
    abs: _abs,
    round: _round,
    divmod: _divmod,
    pow: _pow,
    hasattr: _hasattr,
    getattr: _getattr,
    setattr: _setattr,
    delattr: _delattr,
    callable: _callable,
}
