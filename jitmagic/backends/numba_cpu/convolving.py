"""Takes the convolutions of a program, gives each a form that writes columns, and adds them up, by kernels.

    t = convolution(x, w, ...)      =>      t = convolved(Moves(columns, spread), x, w, ...)

Batches whose columns fit in one part of the row's own have forms that ask nothing of shapes again.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.backends.base import Bail
from jitmagic.backends.loops.recipes import ALL_FLAGS
from jitmagic.backends.loops.schedule import Call, Schedule
from jitmagic.backends.native.compile import compile_kernel
from jitmagic.backends.native.launch import make_launcher
from jitmagic.backends.numba_cpu.batches import Batch
from jitmagic.backends.numba_cpu.column_kernels import Geometry
from jitmagic.backends.numba_cpu.conditions import listened
from jitmagic.backends.numba_cpu.planes import DTYPES, as_planes, with_rows
from jitmagic.backends.numba_cpu.work import beside_products
from jitmagic.graph import ArrayMeta, Node
from jitmagic.ops.convolution import (
    Moves,
    convolution,
    convolution_input,
    convolution_weight,
    convolved,
    samples_of_part,
    sent_back,
    summed_up,
)
from jitmagic.ops.sliding import out_size

__all__ = ["convolving_texts", "native_convolution"]

MOST_COLUMNS = 8  # of a kernel: each has loops of its own


def _geometry(node: Node) -> Geometry | None:
    """Of a convolution, or a derivative of one, whose sizes are known; None where NumPy moves elements."""
    call = getattr(node.op, "call", None)
    if call not in _FORMS or node.kwargs or not all(isinstance(a, Node) for a in node.args[:2]):
        return None
    metas = [a.meta for a in node.args[:2]]
    *_, stride, padding, dilation, _ = node.args[2:]
    if not all(isinstance(m, ArrayMeta) for m in metas) or not isinstance(node.meta, ArrayMeta):
        return None
    sizes, kernel = _FORMS[call].shapes(node)
    known = (*sizes, *kernel, *stride, *dilation, *(n for pair in padding for n in pair), *node.meta.shape[2:])
    is_fixed = all(type(n) is int for n in known) and 0 not in node.meta.shape[2:]
    dtypes = {m.dtype for m in (*metas, node.meta)}
    if not is_fixed or len(sizes) not in (1, 2) or len(dtypes) != 1 or node.meta.dtype.char not in DTYPES:
        return None
    if not node.meta.dtype.isnative or kernel[-1] > MOST_COLUMNS:
        return None
    out = tuple(map(out_size, sizes, kernel, stride, padding, dilation))
    before = tuple(pair[0] for pair in padding)
    parts = (sizes, kernel, out, stride, before, dilation)
    return Geometry(
        node.meta.dtype, *(with_rows(part, one) for one, part in zip((1, 1, 1, 1, 0, 1), parts, strict=True))
    )


@dataclass(frozen=True, slots=True)
class Form:
    """A row: what it does with ``Moves``, the text of its kernel, and the shapes of picture and kernel."""

    call: Callable[..., Any]
    text: Callable[[Geometry], str]
    shapes: Callable[[Any], tuple[tuple[Any, ...], tuple[Any, ...]]]
    at_once: Callable[..., Any]


_FORMS: dict[Any, Form] = {
    convolution: Form(
        convolved,
        Geometry.columns_text,
        lambda node: (node.args[0].meta.shape[2:], node.args[1].meta.shape[2:]),
        Batch.forwards,
    ),
    convolution_input: Form(
        sent_back,
        Geometry.spread_text,
        lambda node: (tuple(node.args[2]), node.args[1].meta.shape[2:]),
        Batch.backwards,
    ),
    convolution_weight: Form(
        summed_up,
        Geometry.columns_text,
        lambda node: (node.args[1].meta.shape[2:], tuple(node.args[2])),
        Batch.weights,
    ),
}


def _text(node: Node, found: Geometry) -> str:
    assert node.op is not None
    return _FORMS[node.op.call].text(found)


def convolving_texts(plan: Schedule) -> list[str]:
    """The texts of the kernels of all convolutions of a program."""
    nodes = [step.node for step in plan.steps if isinstance(step, Call)]
    return [_text(node, found) for node in nodes if (found := _geometry(node)) is not None]


def native_convolution(node: Node) -> Callable[..., Any] | None:
    """What a program calls in the place of the row, or None where NumPy moves the elements."""
    found = _geometry(node)
    if found is None:
        return None
    assert node.op is not None
    moves, form = _moves(found, _text(node, found)), _FORMS[node.op.call]
    whole = functools.partial(form.call, moves)
    batch = _batch(node, found, moves, whole)
    return whole if batch is None else functools.partial(form.at_once, batch)


def _batch(node: Node, found: Geometry, moves: Moves, whole: Callable[..., Any]) -> Batch | None:
    """What is known of a call but the batch; None where channels are not, or there are none."""
    assert node.op is not None
    first, second, result = (each.meta.shape for each in (*node.args[:2], node))
    outputs, inputs = (result[0], second[1]) if node.op.call is convolution_weight else (second[0], first[1])
    inputs = result[1] if node.op.call is convolution_input else inputs
    groups = node.args[-1]
    if not all(type(n) is int and n for n in (groups, outputs, inputs, *result[1:])):
        return None
    inner, positions = inputs // groups * math.prod(found.kernel), math.prod(found.out)
    most = samples_of_part(inner * groups * positions * found.dtype.itemsize)
    return Batch(found.dtype, moves, whole, groups, outputs // groups, inner, positions, tuple(result[1:]), most)


def _moves(found: Geometry, text: str) -> Moves:
    """Launches of the kernel."""
    address = compile_kernel(text, "kernel").address
    launch = make_launcher("a4a4")
    work = beside_products(found.window)
    places, positions = math.prod(found.kernel), math.prod(found.out)

    def columns(x: Any, *geometry: Any) -> Any:
        made = np.empty((len(x), x.shape[1], places, positions), found.dtype)
        launch(address, 0, len(x) * x.shape[1], work, as_planes(x), made)
        return made

    def of_all(x: Any, *geometry: Any) -> Any:
        made = np.empty((x.shape[1], places, len(x), positions), found.dtype)
        launch(address, 0, len(x) * x.shape[1], work, as_planes(x), made.transpose(2, 0, 1, 3))
        return made

    def spread(taken: Any, target: Any, *geometry: Any) -> None:
        taken, target = taken.reshape(len(target), -1, 1, 1), as_planes(target)
        result = launch(address, 0, len(target) * target.shape[1], work, taken, target)
        if result and listened(result, ALL_FLAGS):
            raise Bail

    return Moves(columns, of_all, spread)
