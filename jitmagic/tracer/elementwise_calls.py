"""What ``np.vectorize`` and ``np.frompyfunc`` mean: a region that runs the function for every element.

NumPy makes Python numbers of the elements before it calls the function. Without ``otypes`` it first calls it once more,
with NumPy's numbers, to find the dtype of the result; so does the region. How often a function is called shows in its
effects only, and one with effects is no region.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.tracer.call_rows import Handler, row_of
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.loops.capture import capture_values, kinds_of
from jitmagic.tracer.loops.disguised import DTYPES
from jitmagic.tracer.loops.rules import refuse, store_is_exact
from jitmagic.tracer.loops.streams import Names, has_rounds
from jitmagic.tracer.loops.surroundings import ELEMENTS, scalar_type
from jitmagic.tracer.signals import NotConstant, Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import wrap_size
from jitmagic.tracer.variables.python_ufuncs import Objects, PythonUfunc
from jitmagic.tracer.variables.sequences import TupleTracker
from jitmagic.tracer.variables.vectorized import Vectorized

__all__ = ["ROWS", "attempted"]

FUNCTION, FIRST, VALUE, ROUND, SIZE = "_jm_function", "_jm_first", "_jm_element", "_jm_round", "_jm_size"
OUT = "_jm_array"


def _vectorize(tx: Evaluator, pyfunc: VariableTracker, **settings: VariableTracker) -> VariableTracker:
    """``np.vectorize(f, otypes=...)``."""
    settings.pop("doc", None)
    if not set(settings) <= {"otypes", "excluded", "cache", "signature"}:
        raise Unsupported("call", "np.vectorize() with these arguments")
    return Vectorized(pyfunc, settings)


def _call(
    tx: Evaluator, made: Vectorized, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """The call of one for arrays; Unsupported where it is not one region."""

    def run(names: Names) -> VariableTracker:
        dtype = _checked(made, args, kwargs)
        return _Elementwise(tx, made, [tx.realize(a) for a in args], names).run(dtype)

    return attempted(tx, made.describe(), run)


def attempted(tx: Evaluator, what: str, run: Callable[[Names], VariableTracker]) -> VariableTracker:
    """What ``run`` gives, with names for what its loop reads. Raises Unsupported, and leaves nothing behind."""
    before = len(tx.output.graph.nodes)
    names = Names(tx)
    try:
        with names:
            return run(names)
    except (Unsupported, NotConstant, Raised, DataDependentSize) as error:
        tx.output.graph.forget_calls(before)
        reason = error.detail if isinstance(error, Unsupported) else str(error)
        if "_jm" in reason:  # names of ours say nothing to anybody
            reason = "more than arithmetic on single numbers"
        raise Unsupported("plain-loop", f"{what} runs as plain Python because it holds {reason}") from None


def _from_python(
    tx: Evaluator, function: VariableTracker, nin: VariableTracker, nout: VariableTracker
) -> VariableTracker:
    """``np.frompyfunc(f, nin, nout)``."""
    return PythonUfunc(function, nin.constant(), nout.constant())


def _call_python(
    tx: Evaluator, made: PythonUfunc, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
) -> VariableTracker:
    """The call of one of those for arrays, which gives an array of Python objects."""

    def run(names: Names) -> VariableTracker:
        if kwargs or len(args) != made.nin or made.nout != 1:
            raise refuse("other arguments than arrays and numbers")
        given = [tx.realize(a) for a in args]
        numbers = [tx.python_number(a) if isinstance(a, ArrayTracker) and a.meta.scalar else a for a in given]
        return Objects(_Elementwise(tx, made, numbers, names).run_on_python_numbers())

    return attempted(tx, made.describe(), run)


def _checked(made: Vectorized, args: Sequence[VariableTracker], kwargs: Any) -> np.dtype[Any] | None:
    """The dtype of the result if it was given. Raises Unsupported for settings that no region knows."""
    known = {k: v.constant() for k, v in made.settings.items()}
    if kwargs or not args:
        raise refuse("arguments by name")
    if known.get("excluded") or known.get("signature") is not None:
        raise refuse("arguments that are whole arrays")
    otypes = known.get("otypes")
    if otypes is None and known.get("cache"):
        raise refuse("a first result that is kept")
    if otypes is not None and len(otypes) != 1:
        raise refuse("several results")
    return None if otypes is None else np.dtype(otypes[0])


class _Elementwise:
    def __init__(
        self, tx: Evaluator, made: Vectorized | PythonUfunc, args: list[VariableTracker], names: Names
    ) -> None:
        self.tx = tx
        self.made = made
        self.args = args
        self.names = names
        self.place: Any = tx.node
        self.arrays = [a for a in args if isinstance(a, ArrayTracker) and not a.meta.scalar]
        if not self.arrays or any(a.meta.ndim == 0 or a.meta.dtype.name not in ELEMENTS for a in self.arrays):
            raise refuse("no arrays of numbers")
        if any(a not in self.arrays and scalar_type(a) is None for a in args):
            raise refuse("an argument that is no number")

    def run(self, dtype: np.dtype[Any] | None) -> VariableTracker:
        """Into an array of ``dtype``, or of the one that the first call finds."""
        shape, size, operands = self._prepared()
        first: list[ast.stmt] = []
        result = dtype
        if result is None:
            result, first = self._asked(operands)
        kinds = self._kinds(operands)
        if not all(store_is_exact(k, result.name) for k in kinds):
            raise refuse(f"{', '.join(kinds)} in an array of {result}")
        return self._filled(shape, size, operands, result, first)

    def run_on_python_numbers(self) -> ArrayTracker:
        """The values of the objects that ``np.frompyfunc`` gives, all of one type of Python's."""
        shape, size, operands = self._prepared()
        kinds = self._kinds(operands)
        if len(kinds) != 1 or kinds[0] not in DTYPES:
            raise refuse(f"results that are {', '.join(kinds)}")
        return self._filled(shape, size, operands, np.dtype(DTYPES[kinds[0]]), [])

    def _prepared(self) -> tuple[Any, VariableTracker, list[tuple[ast.expr, bool]]]:
        """(shape of the result, number of its elements, operands of a round), with names for what a round reads."""
        shape = self._shape()
        size = wrap_size(self.arrays[0].meta.with_shape(shape).size)
        if not has_rounds(self.tx, size):
            raise refuse("an array without elements")
        tx = self.tx
        tx.locals[FUNCTION] = self.names.values[FUNCTION] = self.made.function
        tx.locals[SIZE] = self.names.values[SIZE] = size
        return shape, size, [self._operand(a, shape) for a in self.args]

    def _filled(
        self,
        shape: Any,
        size: VariableTracker,
        operands: Sequence[tuple[ast.expr, bool]],
        result: np.dtype[Any],
        first: list[ast.stmt],
    ) -> ArrayTracker:
        tx = self.tx
        out = tx.call_form(*row_of(np.empty), [size, Constant(result)], {})
        tx.locals[OUT] = self.names.values[OUT] = out
        place = ast.Subscript(_load(OUT), _load(ROUND), ast.Store())
        capture_values(
            tx, self._at([*first, self._loop([ast.Assign([place], self._call(operands, "_jm_python"))])]), []
        )
        if len(shape) > 1:
            out = out.method(tx, "reshape", [TupleTracker(list(map(wrap_size, shape)))], {})
        assert isinstance(out, ArrayTracker)
        return out

    def _shape(self) -> tuple[Any, ...]:
        """The common shape, which one of the arrays has: the order of its elements is that of the result."""
        shapes = [a.meta.shape for a in self.arrays]
        shape = next((s for s in shapes if all(_spreads_to(other, s) for other in shapes)), None)
        if shape is None:
            raise refuse("arrays of several shapes")
        if len(shape) > 1 and not all("C" in a.meta.contiguous for a in self.arrays):
            raise refuse("arrays in another order than C")
        return shape

    def _operand(self, value: VariableTracker, shape: tuple[Any, ...]) -> tuple[ast.expr, bool]:
        """(the name of an argument, whether the element of a round is meant)."""
        if value not in self.arrays:
            return self.names.hold(value, self.place), False
        if not _same_sizes(value.meta.shape, shape):
            sizes = TupleTracker(list(map(wrap_size, shape)))
            value = self.tx.call_form(*row_of(np.broadcast_to), [value, sizes], {})
        flat = value if len(shape) == 1 else value.method(self.tx, "ravel", [], {})
        return self._bound(self.names.hold(flat, self.place)), True

    def _bound(self, name: ast.expr) -> ast.expr:
        self.tx.locals.update(self.names.values)
        return name

    def _call(self, operands: Sequence[tuple[ast.expr, bool]], convert: str) -> ast.expr:
        """The call for one round; ``convert`` is what its elements go through."""
        is_first = convert == "_jm_numpy"
        at: ast.expr = ast.Constant(0) if is_first else _load(ROUND)
        args: list[ast.expr] = []
        for name, is_element in operands:
            value = ast.Subscript(name, at, ast.Load()) if is_element else name
            if is_first is not is_element:  # the first call has NumPy's numbers, the others Python's for elements
                args.append(ast.Call(_load(convert), [value], []))
            else:
                args.append(value)
        self.tx.locals.update(self.names.values)
        return ast.Call(_load(FUNCTION), args, [])

    def _loop(self, body: list[ast.stmt]) -> ast.stmt:
        rounds = ast.Call(_load("_jm_range"), [_load(SIZE)], [])
        return ast.For(ast.Name(ROUND, ast.Store()), rounds, body, [])

    def _at(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [ast.fix_missing_locations(ast.copy_location(s, self.place)) for s in statements]

    def _kinds(self, operands: Sequence[tuple[ast.expr, bool]]) -> tuple[str, ...]:
        body = [ast.Assign([ast.Name(VALUE, ast.Store())], self._call(operands, "_jm_python"))]
        kinds = kinds_of(self.tx, self._at([self._loop(body)]), VALUE)  # type: ignore[arg-type]  # a statement
        if not kinds:
            raise refuse("a function that gives no number")
        return kinds

    def _asked(self, operands: Sequence[tuple[ast.expr, bool]]) -> tuple[np.dtype[Any], list[ast.stmt]]:
        """The dtype that the first call finds, and the statements that make sure of it."""
        value = self._call(operands, "_jm_numpy")
        first: list[ast.stmt] = [ast.Assign([ast.Name(FIRST, ast.Store())], value)]
        kinds = kinds_of(self.tx, self._at(first), FIRST)
        if not kinds:
            raise refuse("a function that gives no number")
        dtype = np.result_type(*(np.dtype(DTYPES.get(k, k)) for k in kinds))
        if len({DTYPES.get(k, k) for k in kinds}) > 1:
            same = ast.Call(_load("_jm_is_dtype"), [_load(FIRST), ast.Constant(dtype.name)], [])
            first.append(ast.If(ast.UnaryOp(ast.Not(), same), [ast.Raise(_load("_jm_leave"))], []))
        return dtype, first


def _same_sizes(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(bool(a == b) for a, b in zip(one, other, strict=True))


def _spreads_to(given: Sequence[Any], shape: Sequence[Any]) -> bool:
    """Whether an array of the one shape is spread to the other, as NumPy does it."""
    if len(given) > len(shape):
        return False
    pairs = zip(reversed(given), reversed(shape), strict=False)
    return all((isinstance(a, int) and a == 1) or bool(a == b) for a, b in pairs)


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


ROWS: dict[Any, Handler] = {
    np.vectorize: _vectorize,
    Vectorized: _call,
    np.frompyfunc: _from_python,
    PythonUfunc: _call_python,
}
