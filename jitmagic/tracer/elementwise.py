"""Takes a function and the arguments of ``np.vectorize``'s call, gives the arrays of what it returns for each element.

np.vectorize(f)(x, k)          =>      for i in range(x.size): out[i] = f(x[i], k)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import row_of
from jitmagic.tracer.loops.capture import capture_values, kinds_of
from jitmagic.tracer.loops.lists import numbers_of
from jitmagic.tracer.loops.rules import refuse, store_is_exact
from jitmagic.tracer.loops.streams import Names, has_rounds
from jitmagic.tracer.signals import NotConstant
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import wrap_size
from jitmagic.tracer.variables.number_kinds import DTYPES, ELEMENTS, number_kind
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Elementwise", "Given", "Rowwise"]

FUNCTION, FIRST, VALUE, ROUND, SIZE = "_jm_function", "_jm_first", "_jm_element", "_jm_round", "_jm_size"
OUT = "_jm_array"
MOST_RESULTS = 6  # that a function may return where nothing says how many


@dataclass(frozen=True, slots=True)
class Given:
    """One argument, with its name if it has one; what is ``excluded`` is passed on as it is."""

    value: VariableTracker
    keyword: str = ""
    is_excluded: bool = False

    def as_array(self, tx: Evaluator) -> Given:
        if self.is_excluded or type(self.value) is not ListTracker:
            return self
        held = numbers_of(tx, self.value)
        if not held.is_python or held.array.meta.ndim != 1:
            raise refuse("a list of other things than Python's numbers")
        return replace(self, value=held.array)

    @property
    def is_array(self) -> bool:
        return isinstance(self.value, ArrayTracker) and not self.value.meta.scalar


@dataclass(frozen=True, slots=True)
class _Operand:
    """An argument as the rounds have it: ``name``, or its element or row of a round."""

    given: Given
    name: ast.expr
    is_element: bool


class _Rounds:
    """What a function is called for, and where its results go."""

    def __init__(self, tx: Evaluator, made: Any, given: Sequence[Given], names: Names) -> None:
        self.tx = tx
        self.made = made
        self.given = given
        self.names = names
        self.place: Any = tx.node
        self.arrays: list[ArrayTracker] = [g.value for g in given if g.is_array and not g.is_excluded]  # type: ignore[misc]  # all are arrays
        if not self.arrays or any(a.meta.ndim == 0 or a.meta.dtype.name not in ELEMENTS for a in self.arrays):
            raise refuse("no arrays of numbers")
        if any(not (g.is_array or g.is_excluded) and number_kind(g.value) is None for g in given):
            raise refuse("an argument that is no number")

    def argument(self, operand: _Operand, *, is_first: bool) -> ast.expr:
        """What one call passes on."""
        raise NotImplementedError

    def named(self, **values: VariableTracker) -> None:
        self.names.values.update(values)
        self.tx.locals.update(self.names.values)

    def hold(self, value: VariableTracker) -> ast.expr:
        name = self.names.hold(value, self.place)
        self.tx.locals.update(self.names.values)
        return name

    def call(self, operands: Sequence[_Operand], *, is_first: bool) -> ast.expr:
        args = [(o.given.keyword, self.argument(o, is_first=is_first)) for o in operands]
        self.tx.locals.update(self.names.values)
        keywords = [ast.keyword(name, value) for name, value in args if name]
        return ast.Call(_load(FUNCTION), [value for name, value in args if not name], keywords)

    def loop(self, body: Sequence[ast.stmt], start: int = 0) -> ast.stmt:
        bounds = [ast.Constant(start), _load(SIZE)] if start else [_load(SIZE)]
        rounds = ast.Call(_load("_jm_range"), bounds, [])
        return ast.For(ast.Name(ROUND, ast.Store()), rounds, list(body), [])

    def at(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [ast.fix_missing_locations(ast.copy_location(s, self.place)) for s in statements]

    # -- results
    def set(self, targets: Sequence[ast.expr], value: ast.expr) -> ast.stmt:
        return ast.Assign([targets[0] if len(targets) == 1 else ast.Tuple(list(targets), ast.Store())], value)

    def kinds(self, name: str, count: int, around: Callable[[ast.stmt], ast.stmt], value: ast.expr) -> list[Any]:
        """The types that each of ``count`` results may have. Raises Unsupported if it is no number."""
        names = _numbered(name, count)
        body = self.at([around(self.set([ast.Name(n, ast.Store()) for n in names], value))])
        found = [kinds_of(self.tx, body, n) for n in names]
        if not all(found):
            raise refuse("a function that gives no number")
        return found

    def count_results(self, operands: Sequence[_Operand]) -> int:
        """How many numbers the function returns."""
        refused: list[BaseException] = []
        for count in range(1, MOST_RESULTS + 1):
            try:
                self.kinds(VALUE, count, self._around, self.call(operands, is_first=False))
            except (Unsupported, NotConstant) as error:
                refused.append(error)
            else:
                return count
        raise refused[0]

    def _around(self, body: ast.stmt) -> ast.stmt:
        return self.loop([body])

    def filled(
        self,
        operands: Sequence[_Operand],
        size: VariableTracker,
        dtypes: Sequence[np.dtype[Any]],
        first: Sequence[ast.stmt] = (),
        start: int = 0,
    ) -> list[ArrayTracker]:
        """The results, each in an array of one axis."""
        for kinds, dtype in zip(
            self.kinds(VALUE, len(dtypes), self._around, self.call(operands, is_first=False)), dtypes, strict=True
        ):
            if not all(store_is_exact(k, dtype.name) for k in kinds):
                raise refuse(f"{', '.join(kinds)} in an array of {dtype}")
        made = [self.tx.call_form(*row_of(np.empty), [size, Constant(d)], {}) for d in dtypes]
        self.named(**dict(zip(_numbered(OUT, len(made)), made, strict=True)))
        targets = list(_elements(len(made), _load(ROUND)))
        body = self.loop([self.set(targets, self.call(operands, is_first=False))], start)
        capture_values(self.tx, self.at([*first, body]), [])
        return made  # type: ignore[return-value]  # all are arrays


class Elementwise(_Rounds):
    """NumPy makes Python numbers of the elements before it calls the function."""

    def run(self, dtypes: Sequence[np.dtype[Any]]) -> VariableTracker:
        """Into arrays of these dtypes."""
        shape, size, operands = self._prepared()
        return self._shaped(shape, self.filled(operands, size, dtypes))

    def run_first(self, *, keeps: bool) -> VariableTracker:
        """Into arrays of the dtypes that a first call, with NumPy's numbers, finds; its results are kept or not."""
        shape, size, operands = self._prepared()
        self._check_rounds(size)
        count = self.count_results(operands)
        dtypes, first = self._asked(operands, count)
        if keeps:
            firsts = [_load(n) for n in _numbered(FIRST, count)]
            first += [ast.Assign([t], v) for t, v in zip(_elements(count, ast.Constant(0)), firsts, strict=True)]
        return self._shaped(shape, self.filled(operands, size, dtypes, first, int(keeps)))

    def run_on_python_numbers(self, count: int) -> list[ArrayTracker]:
        """The values of the objects that ``np.frompyfunc`` gives, those of one result all of one type of Python's."""
        shape, size, operands = self._prepared()
        self._check_rounds(size)
        found = self.kinds(VALUE, count, self._around, self.call(operands, is_first=False))
        if any(len(kinds) != 1 or kinds[0] not in DTYPES for kinds in found):
            raise refuse(f"results that are {', '.join(k for kinds in found for k in kinds)}")
        made = self.filled(operands, size, [np.dtype(DTYPES[kinds[0]]) for kinds in found])
        return [self._reshaped(shape, each) for each in made]

    def argument(self, operand: _Operand, *, is_first: bool) -> ast.expr:
        at: ast.expr = ast.Constant(0) if is_first else _load(ROUND)
        value = ast.Subscript(operand.name, at, ast.Load()) if operand.is_element else operand.name
        if operand.given.is_excluded or is_first is operand.is_element:
            return value
        return ast.Call(_load("_jm_numpy" if is_first else "_jm_python"), [value], [])

    def _prepared(self) -> tuple[Any, VariableTracker, list[_Operand]]:
        """(shape of the result, number of its elements, operands of a round), with names for what a round reads."""
        shape = self._shape()
        size = wrap_size(self.arrays[0].meta.with_shape(shape).size)
        self.named(**{FUNCTION: self.made.function, SIZE: size})
        return shape, size, [self._operand(g, shape) for g in self.given]

    def _check_rounds(self, size: VariableTracker) -> None:
        if not has_rounds(self.tx, size):
            raise refuse("an array without elements")

    def _shape(self) -> tuple[Any, ...]:
        """The common shape; the elements of arrays in C's order come in the order of the result's."""
        shape = _common_shape([a.meta.shape for a in self.arrays])
        if len(shape) > 1 and not all("C" in a.meta.contiguous for a in self.arrays):
            raise refuse("arrays in another order than C")
        return shape

    def _operand(self, given: Given, shape: tuple[Any, ...]) -> _Operand:
        value = given.value
        if not given.is_array or given.is_excluded:
            return _Operand(given, self.hold(value), False)
        assert isinstance(value, ArrayTracker)
        spread: VariableTracker = value
        if not _same_sizes(value.meta.shape, shape):
            sizes = TupleTracker(list(map(wrap_size, shape)))
            spread = self.tx.call_form(*row_of(np.broadcast_to), [value, sizes], {})
        flat = spread if len(shape) == 1 else spread.method(self.tx, "ravel", [], {})
        return _Operand(given, self.hold(flat), True)

    def _shaped(self, shape: Any, made: Sequence[ArrayTracker]) -> VariableTracker:
        results = [self._reshaped(shape, each) for each in made]
        return results[0] if len(results) == 1 else TupleTracker(results)

    def _reshaped(self, shape: Any, made: ArrayTracker) -> ArrayTracker:
        if len(shape) == 1:
            return made
        found = made.method(self.tx, "reshape", [TupleTracker(list(map(wrap_size, shape)))], {})
        assert isinstance(found, ArrayTracker)
        return found

    def _asked(self, operands: Sequence[_Operand], count: int) -> tuple[list[np.dtype[Any]], list[ast.stmt]]:
        """The dtypes that the first call finds, and the statements that make sure of them."""
        names = _numbered(FIRST, count)
        value = self.call(operands, is_first=True)
        first: list[ast.stmt] = [self.set([ast.Name(n, ast.Store()) for n in names], value)]
        dtypes: list[np.dtype[Any]] = []
        for name, kinds in zip(names, self.kinds(FIRST, count, lambda body: body, value), strict=True):
            dtype = np.result_type(*(np.dtype(DTYPES.get(k, k)) for k in kinds))
            if len({DTYPES.get(k, k) for k in kinds}) > 1:
                same = ast.Call(_load("_jm_is_dtype"), [_load(name), ast.Constant(dtype.name)], [])
                first.append(ast.If(ast.UnaryOp(ast.Not(), same), [ast.Raise(_load("_jm_leave"))], []))
            dtypes.append(dtype)
        return dtypes, first


_CORE = re.compile(r"\((\w*)\)")


class Rowwise(_Rounds):
    """A ``signature`` whose functions take rows, or numbers, and give numbers: NumPy's all of them."""

    def run(self, signature: str, otypes: Sequence[Any] | None) -> VariableTracker:
        inputs, outputs = (_CORE.findall(part) for part in signature.replace(" ", "").split("->"))
        if any(outputs) or signature.count("(") != len(inputs) + len(outputs) or len(inputs) != len(self.given):
            raise refuse(f"the signature {signature}")
        if any(g.is_excluded or g.keyword for g in self.given):
            raise refuse("arguments by name, or excluded, with a signature")
        size = self._size(inputs)
        self.named(**{FUNCTION: self.made.function, SIZE: size})
        operands = [self._operand(g, core) for g, core in zip(self.given, inputs, strict=True)]
        if otypes is None and not has_rounds(self.tx, size):
            raise refuse("an array without rows")
        if otypes is None:
            found = self.kinds(VALUE, len(outputs), self._around, self.call(operands, is_first=False))
            if any(len({DTYPES.get(k, k) for k in kinds}) > 1 for kinds in found):
                raise refuse("results of several types")
            otypes = [DTYPES.get(kinds[0], kinds[0]) for kinds in found]
        made = self.filled(operands, size, [np.dtype(t) for t in otypes])
        return made[0] if len(made) == 1 else TupleTracker(made)

    def argument(self, operand: _Operand, *, is_first: bool) -> ast.expr:
        if operand.is_element:
            return ast.Subscript(operand.name, _load(ROUND), ast.Load())
        return operand.name if operand.given.is_array else ast.Call(_load("_jm_numpy"), [operand.name], [])

    def _operand(self, given: Given, core: str) -> _Operand:
        return _Operand(given, self.hold(given.value), given.is_array and self._loops(given, core) == 1)

    def _loops(self, given: Given, core: str) -> int:
        """How many axes the function is called along."""
        return given.value.meta.ndim - bool(core)  # type: ignore[attr-defined,no-any-return]  # an array

    def _size(self, cores: Sequence[str]) -> VariableTracker:
        """The number of calls. Raises Unsupported for more than one axis of them, and where sizes differ."""
        counts: list[Any] = []
        rows: dict[str, Any] = {}
        for given, core in zip(self.given, cores, strict=True):
            if not given.is_array:
                if core:
                    raise refuse("a number in the place of a row")
                continue
            shape = given.value.meta.shape  # type: ignore[attr-defined]  # an array
            loops = self._loops(given, core)
            if loops not in (0, 1) or (core and not bool(rows.setdefault(core, shape[-1]) == shape[-1])):
                raise refuse("arrays of these shapes")
            counts += shape[:loops]
        if not counts or not all(bool(c == counts[0]) for c in counts):
            raise refuse("arrays of these shapes")
        return wrap_size(counts[0])


def _numbered(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name}_{i}" for i in range(count)]


def _elements(count: int, at: ast.expr) -> Iterator[ast.expr]:
    return (ast.Subscript(_load(n), at, ast.Store()) for n in _numbered(OUT, count))


def _same_sizes(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(bool(a == b) for a, b in zip(one, other, strict=True))


def _common_shape(shapes: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
    """What arrays of these shapes are spread to, as NumPy does it."""
    made: list[Any] = []  # from the last axis on
    for position in range(max(map(len, shapes))):
        sizes = [s[-1 - position] for s in shapes if len(s) > position]
        long = [n for n in sizes if not (isinstance(n, int) and n == 1)]
        if not all(bool(n == long[0]) for n in long):
            raise refuse("arrays of several shapes")
        made.append(long[0] if long else 1)
    return tuple(reversed(made))


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())
