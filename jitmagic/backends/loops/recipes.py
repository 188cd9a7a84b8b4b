"""Takes a node, gives the recipe of its elements: which operands, cast to what, combined how; None stays with NumPy.

All dtypes come from NumPy's own type resolution, so a recipe computes in the dtypes that NumPy computes in.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from jitmagic.backends.loops.operands import dense_axes, is_array, is_scalar, loop_dtype, memory_order
from jitmagic.backends.native.abi import FloatFlag
from jitmagic.backends.native.inner_loop import inner_loop, is_numpys
from jitmagic.backends.native.ulps import worth_approximating
from jitmagic.errors import InternalError
from jitmagic.graph import ArrayMeta, Node, PyMeta, ShapeEnv, SymInt, hint_of
from jitmagic.graph.node import nodes_in
from jitmagic.ops import Arguments
from jitmagic.ops.functional import UPDATE_INDEX
from jitmagic.ops.lowering import Cast, InnerLoop, Pointwise, Select

__all__ = ["FAST", "Adapt", "Recipe", "approximated", "is_cheap", "is_fast", "recipe"]

FAST = "fast_"  # what the names of approximations begin with

ALL_FLAGS = int(FloatFlag.DIVIDE | FloatFlag.OVER | FloatFlag.UNDER | FloatFlag.INVALID)
# What expressions may call; each is exact and compiles to one instruction or a few
CALLS = set(["abs", "ceil", "copysign", "floor", "isfinite", "isinf", "isnan", "rint", "signbit", "sqrt", "trunc"])
WEAK = (bool, int, float)


@dataclass(frozen=True, slots=True)
class Recipe:
    """``kind`` is ``apply`` (``expression``), ``strided`` (``ufunc``), ``cast`` or ``short``.

    A short one sums (``expression`` says ``sum`` or ``mean``) along axis ``short[0]`` of ``short[1]`` elements.

    ``arguments`` are nodes or Python numbers, ``dtypes`` what each is converted to first; ``flags`` are the
    floating-point conditions that NumPy would report.
    """

    kind: str
    arguments: tuple[Any, ...]
    dtypes: tuple[np.dtype[Any], ...]
    result: np.dtype[Any]
    expression: str = ""
    ufunc: np.ufunc | None = None
    flags: int = ALL_FLAGS
    short: tuple[int, int] | None = None


def recipe(node: Node, adapt: Adapt | None = None) -> Recipe | None:
    """How to compute one element of ``node``, or None. ``adapt`` has the last word: it may change or refuse it."""
    if node.op is None or not is_array(node):
        return None
    row, arguments = _meant(node)
    kind = type(getattr(row, "lower", None))
    if node.kwargs and kind is not Cast:
        return None
    build = _masked if row is UPDATE_INDEX else _BUILDERS.get(kind)
    found = None if build is None else build(Operation(node, row, arguments))
    if adapt is not None and found is not None:
        found = adapt(found)
    return found if found is not None and _arguments_fit(found) and not _is_no_choice(found) else None


def _is_no_choice(found: Recipe) -> bool:
    """``where(c, x, x)``: a compiler sees that nobody needs ``c``, nor whatever NumPy reports of computing it."""
    return " if " in found.expression and len(found.arguments) == 3 and found.arguments[1] is found.arguments[2]


Adapt: TypeAlias = Callable[[Recipe], Recipe | None]


def approximated(found: Recipe) -> Recipe:
    """The same in float64 arithmetic in place of NumPy's loop, which is as fast for float32."""
    name = "" if found.ufunc is None or not is_numpys(found.ufunc) else found.ufunc.__name__
    if any(d != np.float64 for d in (*found.dtypes, found.result)):
        return found
    product = _PRODUCTS.get(found.arguments[1]) if name == "power" and _is_literal(found.arguments[1]) else None
    if product is not None:
        return Recipe("apply", found.arguments[:1], found.dtypes[:1], found.result, product, flags=0)
    if name not in worth_approximating():
        return found
    names = ", ".join("abc"[: len(found.arguments)])
    return replace(found, kind="apply", expression=f"{FAST}{name}({names})", ufunc=None, flags=0)


# Powers that are products of few factors; more of them would be further from the right result than a power may be
_PRODUCTS = {3: "a * a * a", 4: "(a * a) * (a * a)"}


def _is_literal(argument: Any) -> bool:
    return type(argument) in (int, float)


def is_cheap(found: Recipe) -> bool:
    """Whether computing it again costs less than reading it: casts, additions, products, comparisons and choices."""
    return found.kind == "cast" or (found.kind == "apply" and is_fast(found.expression))


@cache
def is_fast(expression: str) -> bool:
    """Whether it has no divisions, roots, powers and functions."""
    tree = ast.parse(expression, mode="eval")
    slow = (n for n in ast.walk(tree) if isinstance(n, ast.Div | ast.FloorDiv | ast.Mod | ast.Pow | ast.Call))
    return all(isinstance(n, ast.Call) and ast.unparse(n.func) == "abs" for n in slow)


@dataclass(frozen=True, slots=True)
class Operation:
    """What is computed: the row and its operands, which are not the node's own where that stands for another row."""

    node: Node
    row: Any
    args: tuple[Any, ...]

    @property
    def meta(self) -> ArrayMeta:
        assert isinstance(self.node.meta, ArrayMeta)
        return self.node.meta


def _meant(node: Node) -> tuple[Any, tuple[Any, ...]]:
    """The row that does the work, and its operands: ``x ** 2`` is ``square(x)``, ``np.clip`` is a ufunc."""
    row: Any = node.op
    stands_for = getattr(row, "stands_for", None)
    if stands_for is None or node.kwargs or any(_is_number(a) for a in node.args):
        return row, node.args
    metas = tuple(a.meta if isinstance(a, Node) else a for a in node.args)
    found = stands_for(Arguments(row, metas, {}, ShapeEnv()))
    if found is None:
        return row, node.args
    meant, places = found
    return meant, tuple(node.args[k] for k in places)


def _is_number(argument: Any) -> bool:
    """A number that is known only at run time: NumPy looks at its value."""
    if not isinstance(argument, Node):
        return False
    return not isinstance(argument.meta, ArrayMeta) or argument.meta.scalar or argument.meta.ndim == 0


def _arguments_fit(found: Recipe) -> bool:
    return all(_fits(a, d) for a, d in zip(found.arguments, found.dtypes, strict=True))


def _fits(argument: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an argument can be read in a loop and converted to ``dtype`` there exactly as NumPy does."""
    if not loop_dtype(dtype):
        return False
    if not isinstance(argument, Node):
        return _literal_fits(argument, dtype)
    if isinstance(argument.meta, PyMeta):
        # a run-time int may not fit into a narrower type: NumPy then raises, so only the word types take it
        wide = {int: (np.dtype(np.int64), np.dtype(np.float64)), float: (np.dtype(np.float64),)}
        return dtype in wide.get(argument.meta.type, ())
    if not (is_array(argument) or is_scalar(argument)):
        return False
    meta = argument.meta
    return isinstance(meta, ArrayMeta) and (meta.scalar or meta.ndim > 0) and loop_dtype(meta.dtype)


def _literal_fits(value: Any, dtype: np.dtype[Any]) -> bool:
    if type(value) not in WEAK or dtype.kind == "b":
        return type(value) is bool and dtype.kind == "b"
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return isinstance(value, int) and info.min <= value <= info.max
    number = float(value) if abs(value) < 2**1000 or isinstance(value, float) else math.inf
    if not isinstance(value, float) and int(number) != value:
        return False  # an int that float64 does not hold: leave the rounding to NumPy
    return not math.isfinite(number) or abs(number) <= float(np.finfo(dtype).max)


def _resolve(node: Operation, ufunc: np.ufunc) -> tuple[np.dtype[Any], ...] | None:
    """The dtypes of the loop that NumPy takes: inputs, then the output; None if it is not one of ours."""
    if ufunc.nout != 1 or ufunc.nin != len(node.args) or ufunc.signature is not None:
        return None
    asked = [_asked(a) for a in node.args]
    if any(a is None for a in asked):  # (a float64 dtype equals None)
        return None
    try:
        found = ufunc.resolve_dtypes((*asked, None))
    except (TypeError, ValueError):
        return None
    return found if found[-1] == node.meta.dtype else None


def _asked(argument: Any) -> Any:
    """What type resolution wants to know of an argument: its dtype, or the Python type of a weak number."""
    if isinstance(argument, Node):
        meta = argument.meta
        if isinstance(meta, PyMeta):
            return np.dtype(bool) if meta.type is bool else meta.type
        return meta.dtype if isinstance(meta, ArrayMeta) else None
    if type(argument) is bool:
        return np.dtype(bool)
    return type(argument) if type(argument) in (int, float) else None


def _pointwise(node: Operation) -> Recipe | None:
    lower, ufunc = node.row.lower, node.row.call
    if not isinstance(ufunc, np.ufunc):
        return None
    dtypes = _resolve(node, ufunc)
    if dtypes is None:
        return None
    if all(d.kind in lower.kinds for d in dtypes[:-1]) and is_simple(lower.expression):
        flags = _flags(node, dtypes)
        return Recipe("apply", node.args, dtypes[:-1], dtypes[-1], lower.expression, flags=flags)
    return _inner(node)


def _flags(node: Operation, dtypes: tuple[np.dtype[Any], ...]) -> int:
    """Arithmetic on floats may report anything; comparisons and whole numbers report nothing."""
    if dtypes[-1].kind != "f" or node.row.unheard or (not node.row.warns and not _computes(node)):
        return 0
    return ALL_FLAGS


def _computes(node: Operation) -> bool:
    """Whether the expression has arithmetic (and not only a choice between its operands)."""
    tree = ast.parse(node.row.lower.expression, mode="eval")
    return any(isinstance(n, ast.BinOp) or (isinstance(n, ast.Name) and n.id == "sqrt") for n in ast.walk(tree))


@cache
def is_simple(expression: str) -> bool:
    """Whether emitters know everything that the expression calls."""
    calls = [n.func for n in ast.walk(ast.parse(expression, mode="eval")) if isinstance(n, ast.Call)]
    return all(isinstance(f, ast.Name) and f.id in CALLS for f in calls)


def _inner(node: Operation) -> Recipe | None:
    ufunc = node.row.call
    if not isinstance(ufunc, np.ufunc):
        return None
    dtypes = _resolve(node, ufunc)
    if dtypes is None or not all(map(loop_dtype, dtypes)):
        return None
    try:
        loop = inner_loop(ufunc, dtypes)
    except (TypeError, InternalError):
        return None
    if loop.requires_python or loop.dtypes != dtypes or not _runs_contiguous(node):
        return None
    flags = 0 if loop.no_float_errors or not node.row.warns else ALL_FLAGS
    return Recipe("strided", node.args, dtypes[:-1], dtypes[-1], ufunc=ufunc, flags=flags)


def _runs_contiguous(node: Operation) -> bool:
    """Whether NumPy would hand its loop only contiguous and repeated operands: bits may depend on strides."""
    meta = node.meta
    live = [a for a in memory_order(meta) if hint_of(meta.shape[a]) != 1]
    if not live:
        return True
    arrays = [a.meta for a in node.args if isinstance(a, Node) and is_array(a)]
    if node.row.call in SEES_REPEATS and any(_repeats_within_rows(m, [a - meta.ndim for a in live]) for m in arrays):
        return False
    return all(_steps_by_one(m, live[-1] - meta.ndim) for m in arrays)


# Loops that compute otherwise for an operand with stride 0. NumPy may write such an operand out into its buffer first,
# depending on the lengths of rows and of the buffer.
SEES_REPEATS = {np.power}


def _repeats_within_rows(meta: Any, live: list[int]) -> bool:
    """Whether it is the same along the innermost of the axes ``live``, and not along all others."""
    varies = [-axis <= meta.ndim and hint_of(meta.shape[axis]) != 1 and meta.strides[axis] != 0 for axis in live]
    return not varies[-1] and any(varies)


def _steps_by_one(meta: Any, axis: int) -> bool:
    """Along ``axis`` (counted from the last) the next element is the neighbour, or the same one."""
    if -axis > meta.ndim or hint_of(meta.shape[axis]) == 1:
        return True
    stride: int = meta.strides[axis]
    return stride in (0, meta.dtype.itemsize)


def _cast(node: Operation) -> Recipe | None:
    source = node.args[0] if node.args else None
    if not isinstance(source, Node) or not is_array(source) or any(True for _ in nodes_in(node.node.kwargs)):
        return None  # (order, casting and the like show in the description of the result)
    dtype = node.meta.dtype
    return Recipe("cast", (source,), (dtype,), dtype, flags=0)


def _select(node: Operation) -> Recipe | None:
    if len(node.args) != 3:
        return None
    dtype = node.meta.dtype
    dtypes = (np.dtype(bool), dtype, dtype)
    return Recipe("apply", node.args, dtypes, dtype, "b if a else c", flags=0)


def _masked(node: Operation) -> Recipe | None:
    """``base[mask] = number``: each element is the number or stays. Values of an array would be taken one by one."""
    base, value, path, mask = node.args
    if path or not isinstance(mask, Node) or not is_array(mask) or dense_axes(node.meta) is None:
        return None
    where = mask.meta
    assert isinstance(where, ArrayMeta)
    if where.dtype != np.bool_ or _sizes(where) != _sizes(node.meta):
        return None
    dtype = node.meta.dtype
    if (
        isinstance(value, Node)
        and isinstance(value.meta, ArrayMeta)
        and not (value.meta.scalar and value.meta.dtype == dtype)
    ):
        return None
    return Recipe("apply", (mask, value, base), (np.dtype(bool), dtype, dtype), dtype, "b if a else c", flags=0)


def _sizes(meta: ArrayMeta) -> tuple[Any, ...]:
    return tuple(n.key if isinstance(n, SymInt) else n for n in meta.shape)


_BUILDERS: dict[type, Callable[[Operation], Recipe | None]] = {
    Pointwise: _pointwise,
    InnerLoop: _inner,
    Cast: _cast,
    Select: _select,
}
