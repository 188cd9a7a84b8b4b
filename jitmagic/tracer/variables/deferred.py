"""Python values that are made after the graph has run, from what it gave: texts of run-time numbers, ``x.tolist()``.

What they are made of never changes afterwards (arrays are copied first), so it makes no difference that they are made
later, in order with the effects of the call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.ops.conversions import PYTHON_KINDS, TO_LIST
from jitmagic.tracer.guards.naming import one_of
from jitmagic.tracer.signals import Raised
from jitmagic.tracer.variables.array import ArrayTracker, register_array_method
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.held import Held
from jitmagic.tracer.variables.iterators import CountedIterator
from jitmagic.tracer.variables.mappings import DictTracker
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt, wrap_size
from jitmagic.tracer.variables.number_kinds import DTYPES, ELEMENTS
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = [
    "Deferred",
    "DeferredList",
    "DeferredText",
    "chosen_text",
    "joined",
    "joined_by",
    "leaves",
    "percent",
    "snapshot",
    "text_by",
    "text_from",
]


LISTED = 64  # numbers of an array that become values of their own in x.tolist(): each is a result of the graph


class Deferred(VariableTracker):
    """``template`` is an expression of the program; ``{0}``, ``{1}`` in it are the values of ``operands``."""

    kind: type = object

    def __init__(self, template: str, operands: Sequence[VariableTracker]) -> None:
        self.template = template
        self.operands = tuple(operands)

    def python_type(self) -> type:
        return self.kind

    def describe(self) -> str:
        return f"{one_of(self.kind)} made of run-time values"

    def with_operands(self, operands: Sequence[VariableTracker]) -> Deferred:
        """The same of other operands."""
        return type(self)(self.template, operands)

    def reconstruct(self, emit: Emitter) -> str:
        return self.template.format(*map(emit.value, self.operands))


class DeferredText(Deferred):
    """A ``str``."""

    kind = str

    def binary(self, name: str, other: VariableTracker, reflected: bool) -> VariableTracker | None:
        """``text + text`` and ``text * count``; None for everything else."""
        if name == "mul" and isinstance(other, Constant) and type(other.value) is int:
            return DeferredText("{0} * {1}", [self, other])
        if name != "add" or not _is_text(other):
            return None
        return joined([other, self] if reflected else [self, other])

    def attribute(self, tx: Evaluator, name: str) -> VariableTracker:
        if name in STEADY:
            return TextMethod(self, name)
        return super().attribute(tx, name)


# Methods of str that give a str whatever the text is.
STEADY = frozenset(("upper", "lower", "strip", "lstrip", "rstrip", "ljust", "rjust", "center", "title", "capitalize"))
STEADY |= frozenset(("replace", "zfill", "removeprefix", "removesuffix", "swapcase", "casefold", "expandtabs"))


class TextMethod(VariableTracker):
    """A method of a text that is made later, not called yet."""

    def __init__(self, receiver: DeferredText, name: str) -> None:
        self.receiver = receiver
        self.name = name

    def describe(self) -> str:
        return f"{self.receiver.describe()}.{self.name}"

    def call(
        self, tx: Evaluator, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        if kwargs or not all(a.is_constant for a in args):
            raise Unsupported("call", self.describe())
        values = [a.constant() for a in args]
        _tried(lambda: getattr("", self.name)(*values))
        return DeferredText(f"{{0}}.{self.name}({_places(1, len(args))})", [self.receiver, *args])


class DeferredList(Deferred):
    """``x.tolist()`` of the copy of an array with axes; numbers in it can be read one by one."""

    kind = list

    @property
    def array(self) -> ArrayTracker:
        found = self.operands[0]
        assert isinstance(found, ArrayTracker)
        return found

    def describe(self) -> str:
        return f"the list of the numbers of {self.array.describe()}"

    def truth(self, tx: Evaluator) -> bool:
        return tx.truth(self.length(tx))

    def length(self, tx: Evaluator) -> VariableTracker:
        return wrap_size(self.array.meta.shape[0])

    def item(self, tx: Evaluator, key: VariableTracker) -> VariableTracker:
        if self.array.meta.ndim != 1 or not key.is_constant or type(key.constant()) is not int:
            raise Unsupported("subscript", self.describe())  # rows are lists, which can be changed
        found = self.array.item(tx, key)
        assert isinstance(found, ArrayTracker)
        return tx.python_number(found)

    def iterate(self, tx: Evaluator) -> VariableTracker:
        if self.array.meta.ndim != 1:
            raise Unsupported("iterate", self.describe())
        return CountedIterator(int(self.array.meta.shape[0]), lambda i: self.item(tx, Constant(i)))


def to_list(tx: Evaluator, array: ArrayTracker, args: Sequence[VariableTracker]) -> VariableTracker:
    """``array.tolist()``."""
    if args:
        raise Unsupported("call", f"{array.describe()}.tolist() with arguments")
    if array.python_type() is not np.ndarray or not array.meta.ndim:
        return array.method(tx, "item", [], {})
    held = _held(tx, array)
    if held is not None:
        return ListTracker.holding(held)
    if array.meta.ndim == 1 and not array.meta.is_symbolic and array.meta.dtype.kind in PYTHON_KINDS:
        count = int(array.meta.size)
        if count <= LISTED and not tx.output.differentiating:
            return tx.call_op(TO_LIST, [array], {}) if count else ListTracker([])
    return DeferredList("{0}.tolist()", [snapshot(tx, array)])


def _held(tx: Evaluator, array: ArrayTracker) -> Held | None:
    """Lists whose numbers loops can compute with."""
    dtype = array.meta.dtype
    if tx.output.differentiating or dtype.name not in ELEMENTS or type(array) is not ArrayTracker:
        return None
    kind = {"b": "pybool", "f": "pyfloat", "c": "pycomplex"}.get(dtype.kind, "pyint")
    wide = np.dtype(DTYPES[kind])
    copy = snapshot(tx, array) if dtype == wide else array.method(tx, "astype", [Constant(wide)], {})
    return Held(tx, copy, kind)  # type: ignore[arg-type]  # an array


register_array_method("tolist", to_list)


def chosen_text(test: VariableTracker, then: VariableTracker, otherwise: VariableTracker) -> DeferredText:
    """``then if test else otherwise`` of texts, for a test that only the data decide."""
    return DeferredText("({1} if {0} else {2})", [test, then, otherwise])


def _is_text(value: VariableTracker) -> bool:
    return isinstance(value, DeferredText) or (isinstance(value, Constant) and type(value.value) is str)


def _places(first: int, count: int) -> str:
    return ", ".join(f"{{{first + i}}}" for i in range(count))


def _tried(compute: Callable[[], Any]) -> None:
    """What the computation raises for a sample, it raises for every value of that class."""
    try:
        compute()
    except Exception as error:
        raise Raised(error) from None


def joined(parts: Sequence[VariableTracker]) -> VariableTracker:
    """The texts one after the other."""
    if all(isinstance(p, Constant) for p in parts):
        return Constant("".join(p.constant() for p in parts))
    return DeferredText(f"''.join(({_places(0, len(parts))},))", parts)


def joined_by(separator: str, parts: Sequence[VariableTracker]) -> VariableTracker:
    """``separator.join(parts)``; raises as Python does if one is no text."""
    if not all(map(_is_text, parts)):
        raise Unsupported("call", "str.join of values that may be no texts")
    return DeferredText(f"{{0}}.join(({_places(1, len(parts))},))", [Constant(separator), *parts])


def text_from(tx: Evaluator, function: str, value: VariableTracker, spec: str | None = None) -> DeferredText:
    """``str``, ``repr``, ``ascii`` or ``format`` of a run-time value, with what it raises for the class of the value.

    Raises Unsupported for values that have no form after the graph.
    """
    rest = [] if spec is None else [spec]
    sample = sample_of(value)
    if function != "str" and (tx.output.differentiating or tx.output.options.tensors):
        raise Unsupported("data-number", f"the text of {value.describe()}")  # that of a Tensor, in a plain run
    if spec is not None and spec.endswith("c"):
        raise Unsupported("data-number", f"the text of {value.describe()}")  # not every int is a character
    _tried(lambda: _TEXTS[function](sample, *rest))
    return DeferredText(f"{function}({_places(0, 1 + len(rest))})", [snapshot(tx, value), *map(Constant, rest)])


def text_by(tx: Evaluator, function: Callable[[Any], str], value: VariableTracker) -> DeferredText:
    """The text that ``function`` makes of a run-time value."""
    value = tx.realize(value)
    sample = sample_of(value)
    _tried(lambda: function(sample))
    return DeferredText("{0}({1})", [Constant(function), snapshot(tx, value)])


_TEXTS: dict[str, Callable[..., str]] = {"str": str, "repr": repr, "ascii": ascii, "format": format}


def sample_of(value: VariableTracker) -> Any:
    """A value of the same class as a run-time value. Raises Unsupported for none."""
    if isinstance(value, RunTimeNumber):
        return value.kind()
    if isinstance(value, SymbolicInt):
        return 0
    if isinstance(value, ArrayTracker) and value.python_type() is np.ndarray:
        return np.zeros((1,) * value.meta.ndim, value.meta.dtype)
    if isinstance(value, ArrayTracker) and value.meta.scalar:
        return np.zeros((), value.meta.dtype)[()]
    if isinstance(value, DeferredText):
        return ""
    if isinstance(value, DeferredList):
        return []
    raise Unsupported("data-number", f"the text of {value.describe()}")


def snapshot(tx: Evaluator, value: VariableTracker) -> VariableTracker:
    """A value that later writes of this call do not change. Raises Unsupported for what cannot be copied so."""
    value = tx.realize(value)
    if isinstance(value, ArrayTracker) and not value.meta.scalar:
        return value.method(tx, "copy", [Constant("K")], {})
    if isinstance(value, ListTracker) and isinstance(value.held, Held):
        return ListTracker.holding(value.held)
    if isinstance(value, ListTracker):
        return ListTracker([snapshot(tx, v) for v in value.items])
    if type(value) is TupleTracker:
        return TupleTracker([snapshot(tx, v) for v in value.items])
    if isinstance(value, DictTracker):
        return DictTracker({k: snapshot(tx, v) for k, v in value.items.items()}, cls=value.cls, factory=value.factory)
    if isinstance(value, Constant | SymbolicInt | RunTimeNumber | ArrayTracker | Deferred):
        return value
    raise Unsupported("call", "print of an object with a text of its own")


_CONVERSION = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([a-zA-Z]))")


def percent(tx: Evaluator, template: str, values: Sequence[VariableTracker]) -> VariableTracker | None:
    """``template % values``; None for conversions that may fail for some numbers."""
    letters = [m.group(1) for m in _CONVERSION.finditer(template) if m.group(1)]
    if template.count("%") - 2 * template.count("%%") != len(letters) or len(letters) != len(values):
        return None
    samples: list[Any] = []
    for letter, value in zip(letters, values, strict=True):
        sample = value.constant() if value.is_constant else sample_of(value)
        whole = isinstance(sample, int | np.integer)
        if letter not in "sraeEfFgG" and not (letter in "di" and whole):
            return None
        samples.append(sample)
    _tried(lambda: template % tuple(samples))
    return DeferredText(
        f"{{0}} % ({_places(1, len(values))},)", [Constant(template), *(snapshot(tx, v) for v in values)]
    )


def leaves(value: VariableTracker) -> Iterator[VariableTracker]:
    """The run-time values that a deferred one is made of."""
    if isinstance(value, Deferred):
        for operand in value.operands:
            yield from leaves(operand)
    else:
        yield value
