"""Random programs over views, writes and aliases, as hypothesis strategies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from jitmagic.aot.aliases import is_array
from jitmagic.errors import JitMagicError
from jitmagic.graph import Graph, Node, print_graph
from tests.aot.recorder import Recorder
from tests.aot.rows import METHODS

Draw = Callable[[st.SearchStrategy[Any]], Any]

DTYPES = ("f8", "f4", "i8", "i4", "?", "c16")
LAYOUTS: dict[str, Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]] = {
    "whole": lambda a: a,
    "flat": lambda a: a.reshape(-1),
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1],
    "both reversed": lambda a: a[::-1, ::-1],
    "upper": lambda a: a[: a.shape[0] // 2],
    "lower": lambda a: a[a.shape[0] // 2 :],
    "even columns": lambda a: a[:, ::2],
    "odd columns": lambda a: a[:, 1::2],
    "row": lambda a: a[-1],
    "column": lambda a: a[:, 0],
    "element": lambda a: a[0, 0, ...],
    "spread": lambda a: a[::2, ::-2],
}


@dataclass(frozen=True)
class Arguments:
    """Owners by (dtype, rows, columns), and arguments as (owner, layout); calling it makes them anew."""

    owners: tuple[tuple[str, int, int], ...]
    parts: tuple[tuple[int, str], ...]

    def __call__(self) -> list[Any]:
        owners = [_filled(*o) for o in self.owners]
        made: dict[tuple[int, str], Any] = {}
        for owner, layout in self.parts:
            made.setdefault((owner, layout), LAYOUTS[layout](owners[owner]))
        return list(made.values())


def _filled(dtype: str, rows: int, columns: int) -> np.ndarray[Any, Any]:
    values = np.arange(rows * columns).reshape(rows, columns) * 7 % 5 - 1.5
    return (values + 1j if dtype == "c16" else values).astype(dtype)


@st.composite
def arguments(draw: Draw) -> Arguments:
    sizes = st.sampled_from([(4, 6), (3, 3), (1, 4), (2, 0), (5, 1)])
    owners = tuple((draw(st.sampled_from(DTYPES)), *draw(sizes)) for _ in range(draw(st.integers(1, 2))))
    part = st.tuples(st.integers(0, len(owners) - 1), st.sampled_from(sorted(LAYOUTS)))
    parts = draw(st.lists(part, min_size=1, max_size=4))
    return Arguments(owners, tuple(p for p in parts if _exists(owners, p)) or ((0, "whole"),))


def _exists(owners: Any, part: tuple[int, str]) -> bool:
    _, rows, columns = owners[part[0]]
    return bool(rows and columns) or part[1] not in ("element", "column", "row")


INDICES = (0, -1, slice(1, None), slice(None, -1), slice(None, None, -1), slice(None, None, 2), Ellipsis, None)
ADVANCED = (np.array([0, 0]), [0], (slice(None), np.array([[0]])), True, np.array(0))


class Program:
    """A captured graph and what it is called with."""

    def __init__(self, graph: Graph, arguments: Arguments) -> None:
        self.graph = graph
        self.arguments = arguments

    def __repr__(self) -> str:
        return f"{self.arguments}\n{print_graph(self.graph)}"


@st.composite
def program(draw: Draw) -> Program:
    """A captured graph of up to a dozen operations, and its arguments.

    What NumPy refuses is left out, and what the rows cannot describe, which is for the rows' own tests.
    """
    made = draw(arguments())
    recorder = Recorder(made())
    values = list(recorder.inputs)
    for _ in range(draw(st.integers(1, 10))):
        step = draw(st.sampled_from(sorted(STEPS)))
        try:
            with np.errstate(all="ignore"):
                result = STEPS[step](draw, recorder, values)
        except (ValueError, TypeError, IndexError, Warning, JitMagicError):
            continue
        values += result if isinstance(result, tuple) else (result,) if isinstance(result, Node) else ()
    outputs = draw(st.lists(st.sampled_from(values), max_size=4))
    return Program(recorder.output(*outputs), made)


def _array(draw: Draw, values: list[Node]) -> Node:
    return draw(st.sampled_from([v for v in values if is_array(v)]))


def _view(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    return r.call("getitem", _array(draw, values), draw(_index()))


def _index() -> st.SearchStrategy[Any]:
    one = st.sampled_from(INDICES)
    return one | st.tuples(one, one)


def _shape(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    """A reshape that must copy gives a view of a hidden array, which nobody promises to keep: it is copied again."""
    node = r.call("reshape", _array(draw, values), draw(st.sampled_from([(-1,), (2, -1), (-1, 1), (3, -1)])))
    return node if node.view_of is not None else r.call(METHODS.copy, node)


def _other_view(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    simple = ("transpose", "flip", "squeeze", "diagonal", "real")
    return r.call(draw(st.sampled_from(simple)), _array(draw, values))


def _wide(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    node = _array(draw, values)
    return r.call("broadcast_to", node, (2, *node.meta.shape))


def _split(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    return r.call("array_split", _array(draw, values), draw(st.integers(1, 3)))


def _bits(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    return r.call(METHODS.view, _array(draw, values), np.dtype(draw(st.sampled_from(["i8", "i4", "u1"]))))


def _binary(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    name = draw(st.sampled_from(["add", "subtract", "multiply"]))
    return r.call(name, _array(draw, values), _operand(draw, values))


def _operand(draw: Draw, values: list[Node]) -> Any:
    return draw(st.sampled_from([*values, 2, 1.5]))


def _unary(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    return r.call(draw(st.sampled_from(["exp", "sum", METHODS.cumsum])), _array(draw, values))


def _copy(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    return r.call(METHODS.copy, _array(draw, values), draw(st.sampled_from("CFK")))


def _in_place(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    target = _array(draw, values)
    name = draw(st.sampled_from(["add", "multiply"]))
    return r.call(name, target, _operand(draw, values), out=target)


def _out(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    name = draw(st.sampled_from(["add", "exp", METHODS.cumsum]))
    target = _array(draw, values)
    operands = [_array(draw, values) for _ in range(2 if name == "add" else 1)]
    if name is METHODS.cumsum and not target.meta.ndim:
        raise ValueError("NumPy crashes on cumsum into an array without axes")
    return r.call(name, *operands, out=target)


def _masked(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    target = _array(draw, values)
    mask = r.call(METHODS.less, target, 0)
    return r.call("add", target, _operand(draw, values), out=target, where=mask)


def _assign(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    index = draw(_index() | st.sampled_from(ADVANCED))
    return r.call("setitem", _array(draw, values), index, _operand(draw, values))


def _assign_mask(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    target = _array(draw, values)
    return r.call("setitem", target, r.call(METHODS.less, target, 0), draw(st.sampled_from([0, 1])))


def _copyto(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    return r.call("copyto", _array(draw, values), _operand(draw, values))


def _method(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    target = _array(draw, values)
    return r.call(METHODS.fill, target, 1) if draw(st.booleans()) else r.call(METHODS.sort, target)


def _divmod(draw: Draw, r: Recorder, values: list[Node]) -> Any:
    outs = (_array(draw, values), _array(draw, values))
    return r.call(METHODS.divmod, _array(draw, values), 2, out=outs)


STEPS: dict[str, Callable[[Draw, Recorder, list[Node]], Any]] = {
    "view": _view,
    "second view": _view,
    "shape": _shape,
    "other view": _other_view,
    "wide": _wide,
    "split": _split,
    "bits": _bits,
    "binary": _binary,
    "unary": _unary,
    "copy": _copy,
    "in place": _in_place,
    "again in place": _in_place,
    "out": _out,
    "masked": _masked,
    "assign": _assign,
    "assign mask": _assign_mask,
    "copyto": _copyto,
    "method": _method,
    "divmod": _divmod,
}
