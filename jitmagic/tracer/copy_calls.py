"""What ``copy.copy``, ``copy.deepcopy`` and ``copy.replace`` mean over trackers; one row per family of values."""

from __future__ import annotations

import copy
import copyreg
import enum
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, SimpleNamespace
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.attribute_tables import AttributesTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import CallableTracker, ClassTracker, ModuleTracker, NumpyFunction
from jitmagic.tracer.variables.constant import LITERALS, Constant
from jitmagic.tracer.variables.construction import bare_instance
from jitmagic.tracer.variables.deques import DequeTracker
from jitmagic.tracer.variables.enums import EnumMember
from jitmagic.tracer.variables.functions import BoundMethod, FunctionTracker, NestedFunction
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.named_tuples import NamedTupleTracker
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.objects import MISSING, ObjectTracker
from jitmagic.tracer.variables.sequences import ListTracker, RangeTracker, SliceTracker, TupleTracker
from jitmagic.tracer.variables.sets import SetTracker

__all__ = ["ROWS"]

Step = Callable[[VariableTracker], VariableTracker]  # what becomes of the parts: themselves, or their copies


class Memo(DictTracker):
    """The memo of one ``deepcopy``: what has been copied, by the tracker it was copied from."""

    def __init__(self) -> None:
        super().__init__({})
        self.copies: dict[int, tuple[VariableTracker, VariableTracker]] = {}


def _copy(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    value = tx.realize(value)
    if isinstance(value, ObjectTracker) and (own := _own_method(tx, value, "__copy__")) is not None:
        return tx.realize(own.call(tx, [value], {}))
    if type(value) in (TupleTracker, RangeTracker, SliceTracker) or _is_frozen(value):
        return value
    return _made_again(tx, value, lambda part: part, lambda new: None)


def _deepcopy(tx: Evaluator, value: VariableTracker, memo: VariableTracker | None = None) -> VariableTracker:
    if memo is None or (isinstance(memo, Constant) and memo.value is None):
        memo = Memo()
    if not isinstance(memo, Memo):
        raise Unsupported("call", "copy.deepcopy() with a memo of its own")
    return _deep(tx, tx.realize(value), memo)


def _deep(tx: Evaluator, value: VariableTracker, memo: Memo) -> VariableTracker:
    if isinstance(value, _ATOMIC):
        return value
    known = memo.copies.get(id(value))
    if known is not None:
        return known[1]

    def note(new: VariableTracker) -> None:
        memo.copies[id(value)] = value, new

    def step(part: VariableTracker) -> VariableTracker:
        return _deep(tx, tx.realize(part), memo)

    if isinstance(value, ObjectTracker) and (own := _own_method(tx, value, "__deepcopy__")) is not None:
        made = tx.realize(own.call(tx, [value, memo], {}))
    elif type(value) is TupleTracker:
        parts = [step(part) for part in value.items]
        same = all(part is tx.realize(old) for part, old in zip(parts, value.items, strict=True))
        made = value if same else TupleTracker(parts)
        made = memo.copies.get(id(value), (value, made))[1]
    else:
        made = _made_again(tx, value, step, note)
    note(made)
    return made


_ATOMIC = (
    *(Constant, RunTimeNumber, SymbolicInt, RangeTracker, EnumMember),
    *(FunctionTracker, NestedFunction, ClassTracker, NumpyFunction),
)


def _is_frozen(value: VariableTracker) -> bool:
    """What ``copy.copy`` gives back itself."""
    if isinstance(value, SetTracker):
        return value.cls is frozenset
    if isinstance(value, CallableTracker | ModuleTracker) and not isinstance(value, ClassTracker):
        return isinstance(value.value, BuiltinFunctionType | FunctionType | np.ufunc)
    return isinstance(value, _ATOMIC)


def _made_again(
    tx: Evaluator, value: VariableTracker, step: Step, note: Callable[[VariableTracker], None]
) -> VariableTracker:
    """A new value of the same kind whose parts ``step`` gives; ``note`` hears of it before the parts are made."""
    for kinds, make in _FAMILIES:
        if isinstance(value, kinds):
            return make(tx, value, step, note)
    raise Unsupported("call", f"copying {value.describe()}")


def _array(tx: Evaluator, value: ArrayTracker, step: Step, note: Any) -> VariableTracker:
    if value.python_type() is not np.ndarray and not value.meta.scalar:
        raise Unsupported("call", f"copying {value.describe()}")
    return value.method(tx, "copy", [], {} if value.meta.scalar else {"order": Constant("K")})


def _deque(tx: Evaluator, value: DequeTracker, step: Step, note: Any) -> VariableTracker:
    made = DequeTracker([], value.limit)
    note(made)
    made.items = [step(part) for part in value.items]
    return made


def _list(tx: Evaluator, value: ListTracker, step: Step, note: Any) -> VariableTracker:
    made = ListTracker([])
    note(made)
    made.items = [step(part) for part in value.items]
    return made


def _named_tuple(tx: Evaluator, value: NamedTupleTracker, step: Step, note: Any) -> VariableTracker:
    _note_slots(tuple.__new__(value.cls, [None] * len(value.items)))
    return NamedTupleTracker(value.cls, [step(part) for part in value.items])


def _note_slots(instance: Any) -> None:
    """At the first copy Python notes on the class which slots it has."""
    instance.__reduce_ex__(4)


def _dict(tx: Evaluator, value: DictTracker, step: Step, note: Any) -> VariableTracker:
    if isinstance(value, AttributesTracker):
        cls: type = dict
    elif (cls := value.python_type()) is not value.cls or type(value) is not DictTracker:
        raise Unsupported("call", f"copying {value.describe()}")
    value.note_order()
    made = DictTracker({}, cls=cls, factory=value.factory)
    note(made)
    made.items = {key: step(part) for key, part in value.items.items()}
    return made


def _set(tx: Evaluator, value: SetTracker, step: Step, note: Any) -> VariableTracker:
    if not all(_is_literal(v) for v in value.values):
        raise Unsupported("call", f"copying {value.describe()}")
    return SetTracker(value.values, cls=value.cls)


def _is_literal(value: Any) -> bool:
    return type(value) in LITERALS or isinstance(value, enum.Enum)


def _method(tx: Evaluator, value: BoundMethod, step: Step, note: Any) -> VariableTracker:
    return BoundMethod(value.function, step(value.receiver))


def _object(tx: Evaluator, value: ObjectTracker, step: Step, note: Any) -> VariableTracker:
    """By the rules of ``object.__reduce_ex__``: a bare instance, then its attributes, past ``__setattr__``."""
    cls = value.cls
    plain = cls is SimpleNamespace or all(
        value.guarded_entry(tx, name) is vars(object).get(name, MISSING) for name in _REDUCING
    )
    slots = any(base.__dict__.get("__slots__", ()) for base in cls.__mro__)
    if (
        not plain
        or slots
        or cls in copyreg.dispatch_table
        or not cls.__dictoffset__
        or type(value) is not ObjectTracker
    ):
        raise Unsupported("call", f"copying {value.describe()}")
    if cls is SimpleNamespace:
        made = ObjectTracker(cls, None, None)
    else:
        made = bare_instance(tx, cls)
        _note_slots(object.__new__(cls))
    note(made)
    made.pending.update({name: step(part) for name, part in AttributesTracker(tx, value).items.items()})
    return made


_REDUCING = tuple(
    f"__{name}__" for name in ("new", "reduce", "reduce_ex", "getstate", "setstate", "getnewargs", "getnewargs_ex")
)
_FAMILIES: tuple[tuple[Any, Callable[..., VariableTracker]], ...] = (
    (ArrayTracker, _array),
    (DequeTracker, _deque),
    (ListTracker, _list),
    (NamedTupleTracker, _named_tuple),
    (DictTracker, _dict),
    (SetTracker, _set),
    (BoundMethod, _method),
    (ObjectTracker, _object),
)


def _own_method(tx: Evaluator, value: ObjectTracker, name: str) -> VariableTracker | None:
    """``__copy__`` or ``__deepcopy__`` of the user's class."""
    return value.class_attribute(tx, name)


def _replace(tx: Evaluator, value: VariableTracker, /, **changes: VariableTracker) -> VariableTracker:
    """``copy.replace`` (Python 3.13): by the class's ``__replace__``."""
    value = tx.realize(value)
    if isinstance(value, NamedTupleTracker):
        return value.method(tx, "_replace", [], changes)
    own = value.class_attribute(tx, "__replace__")
    if own is None:
        raise Unsupported("call", f"copy.replace({value.describe()})")
    return own.call(tx, [value], changes)


_REPLACE: Any = getattr(copy, "replace", None)  # new in Python 3.13
ROWS: dict[Any, Handler] = {
    copy.copy: _copy,
    copy.deepcopy: _deepcopy,
    **({_REPLACE: _replace} if _REPLACE else {}),
}
