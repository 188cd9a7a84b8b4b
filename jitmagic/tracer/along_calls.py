"""What ``np.apply_along_axis`` means for a matrix: a region that runs the function for every row, or every column.

    np.apply_along_axis(f, 0, x)       =>      for i in range(x.shape[1]): out[i] = f(x.T[i])

The rows of the region's body are named by their number; for a function that gives arrays NumPy's code is traced.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.tracer.call_rows import Handler, row_of
from jitmagic.tracer.elementwise_calls import attempted
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.loops.capture import capture_values, kinds_of
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.loops.streams import Names, has_rounds
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import NumpyFunction
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import wrap_size
from jitmagic.tracer.variables.number_kinds import DTYPES, number_kind

__all__ = ["ROWS"]

FUNCTION, VALUE, ROUND, SIZE, OUT = "_jm_function", "_jm_element", "_jm_round", "_jm_size", "_jm_array"


def _along(
    tx: Evaluator,
    func1d: VariableTracker,
    axis: VariableTracker,
    arr: VariableTracker,
    *args: VariableTracker,
    **kwargs: VariableTracker,
) -> VariableTracker:
    """As one region, or else as NumPy's own code has it."""
    numpys = NumpyFunction(np.apply_along_axis, None)
    if tx.output.differentiating:
        return numpys.by_its_body(tx, [func1d, axis, arr, *args], kwargs)

    def run(names: Names) -> VariableTracker:
        array = tx.realize(arr)
        if kwargs or not isinstance(array, ArrayTracker) or array.meta.scalar or array.meta.ndim != 2:
            raise refuse("other arguments than a matrix and numbers")
        given = [tx.realize(a) for a in args]
        if any(number_kind(a) is None for a in given):
            raise refuse("an argument that is no number")
        number = axis.constant()
        if number not in (-2, -1, 0, 1):
            raise refuse(f"the axis {number}")
        rows = array if number in (-1, 1) else array.method(tx, "transpose", [], {})
        return _rowwise(tx, names, func1d, rows, given)

    try:
        return attempted(tx, f"np.apply_along_axis of {func1d.describe()}", run)
    except Unsupported:
        if tx.place(tx.node) in tx.output.policy.no_inline:  # which has been tried
            raise
        return numpys.by_its_body(tx, [func1d, axis, arr, *args], kwargs)


def _rowwise(
    tx: Evaluator, names: Names, function: VariableTracker, rows: VariableTracker, given: Sequence[VariableTracker]
) -> VariableTracker:
    """The numbers that the function gives for the rows, in an array."""
    assert isinstance(rows, ArrayTracker)
    size = wrap_size(rows.meta.shape[0])
    if not has_rounds(tx, size):
        raise refuse("a matrix without rows")
    place: Any = tx.node
    tx.locals[FUNCTION] = names.values[FUNCTION] = function
    tx.locals[SIZE] = names.values[SIZE] = size
    row = ast.Subscript(names.hold(rows, place), ast.Name(ROUND, ast.Load()), ast.Load())
    call = ast.Call(ast.Name(FUNCTION, ast.Load()), [row, *(names.hold(g, place) for g in given)], [])
    tx.locals.update(names.values)

    def loop(target: ast.expr) -> ast.stmt:
        rounds = ast.Call(ast.Name("_jm_range", ast.Load()), [ast.Name(SIZE, ast.Load())], [])
        made = ast.For(ast.Name(ROUND, ast.Store()), rounds, [ast.Assign([target], call)], [])
        return ast.fix_missing_locations(ast.copy_location(made, place))

    dtypes = {DTYPES.get(k, k) for k in kinds_of(tx, [loop(ast.Name(VALUE, ast.Store()))], VALUE)}
    if len(dtypes) != 1:
        raise refuse("results of several types")
    out = tx.call_form(*row_of(np.empty), [size, Constant(np.dtype(dtypes.pop()))], {})
    tx.locals[OUT] = names.values[OUT] = out
    element = ast.Subscript(ast.Name(OUT, ast.Load()), ast.Name(ROUND, ast.Load()), ast.Store())
    capture_values(tx, [loop(element)], [])
    return out.method(tx, "transpose", [], {})  # NumPy's is a view, too


ROWS: dict[Any, Handler] = {np.apply_along_axis: _along}
