"""Takes nothing, gives the rows of products of matrices and tensors. Their bits are BLAS's, so all are extern."""

from __future__ import annotations

from typing import Any

import numpy as np

from jitmagic.graph.meta import ArrayMeta
from jitmagic.graph.shapes import Dim
from jitmagic.ops.describe import array_meta
from jitmagic.ops.elementwise import OPTIONS, binary_forms
from jitmagic.ops.gradients.einsum import of_einsum, with_subscripts
from jitmagic.ops.gradients.products import (
    cross_rules,
    dot_rules,
    inner_rules,
    kron_rules,
    matmul_rules,
    matvec_rules,
    of_trace,
    outer_rules,
    tensordot_rules,
    vdot_rules,
    vecdot_rules,
    vecmat_rules,
)
from jitmagic.ops.gradients.shapes import shape_of
from jitmagic.ops.probing import probe, sized
from jitmagic.ops.record import Arguments, Form, Inferred, Sample
from jitmagic.ops.refusals import refuse
from jitmagic.ops.registry import op
from jitmagic.ops.samples import arrays, called
from jitmagic.ops.sizes import Shape, broadcast, same_size
from jitmagic.ops.spreading import laid_out, run_clipped
from jitmagic.ops.ufuncs import ufunc_arguments

__all__: list[str] = []

ALL = frozenset({"divide", "over", "under", "invalid"})


def _product_rule(sizes: Any) -> Any:
    """Sizes from ``sizes(a, b)`` (None: they do not fit); dtype and order from NumPy with tiny matrices."""

    def rule(call: Arguments) -> Inferred:
        if len(call.args) < 2:
            refuse(call)
        a, b = (array_meta(v) for v in call.args[:2])
        shape = sizes(a.shape, b.shape)
        if shape is None:
            refuse(call)
        nested = tuple(array_meta(v) if isinstance(v, list | tuple) else v for v in call.args)
        small = run_clipped(call, nested)
        out = call.kwargs.get("out")
        if not isinstance(out, ArrayMeta):
            return Inferred(laid_out(small, shape))
        return Inferred(out, same_as="out") if _takes(out.shape, shape) else refuse(call)

    return rule


def _takes(out: Shape, shape: Shape) -> bool:
    return len(out) == len(shape) and all(same_size(n, m) for n, m in zip(out, shape, strict=True))


def matmul_shape(a: Shape, b: Shape) -> Shape | None:
    """``a @ b``: the last axis of ``a`` meets the last but one of ``b``; axes before broadcast."""
    if not a or not b:
        return None
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    if not same_size(a[-1], b[-2] if len(b) > 1 else b[0]):
        return None
    batch = broadcast(a[:-2], b[:-2])
    return None if batch is None else (*batch, *rows, *columns)


def dot_shape(a: Shape, b: Shape) -> Shape | None:
    """``np.dot``: a sum over the last axis of ``a`` and the last but one of ``b``; no broadcasting."""
    if not a or not b:
        return (*a, *b)
    if not same_size(a[-1], b[-2] if len(b) > 1 else b[0]):
        return None
    return (*a[:-1], *b[:-2], *(b[-1:] if len(b) > 1 else ()))


def inner_shape(a: Shape, b: Shape) -> Shape | None:
    if not a or not b:
        return (*a, *b)
    return (*a[:-1], *b[:-1]) if same_size(a[-1], b[-1]) else None


def outer_shape(a: Shape, b: Shape) -> Shape:
    rows: Any = 1
    columns: Any = 1
    for n in a:
        rows = n * rows
    for n in b:
        columns = n * columns
    return (rows, columns)


op(
    "matmul",
    np.matmul,
    meta=_product_rule(matmul_shape),
    signature=f"x1, x2, /, {OPTIONS}, axes=None, axis=None",
    adapt=lambda *args, **kwargs: ufunc_arguments(np.matmul, args, kwargs),
    forms=binary_forms("matmul"),
    warns=ALL,
    vjp=matmul_rules,
    samples=(
        arrays((4, 3), (3, 2)),
        arrays((3,), (3,)),
        arrays((5, 4, 3), (3,)),
        arrays((3,), (5, 3, 2)),
        arrays((2, 1, 4, 3), (5, 3, 2)),
    ),
)
op(
    "dot",
    np.dot,
    meta=_product_rule(dot_shape),
    signature="a, b, out=None",
    forms=(Form("dot"),),
    warns=ALL,
    vjp=dot_rules,
    samples=(arrays((4, 3), (3, 2)), arrays((3,), (3,)), arrays((5, 4, 3), (2, 3, 2)), called(2.0)),
)
op(
    "inner",
    np.inner,
    meta=_product_rule(inner_shape),
    signature="a, b, /",
    warns=ALL,
    vjp=inner_rules,
    samples=(arrays((4, 3), (2, 3)), arrays((3,), (3,))),
)
op(
    "outer",
    np.outer,
    meta=_product_rule(outer_shape),
    warns=ALL,
    vjp=outer_rules,
    samples=(arrays((4,), (3,)), arrays((2, 2), (3,))),
)
op("vdot", np.vdot, meta=probe, signature="a, b, /", warns=ALL, vjp=vdot_rules, samples=(arrays((4, 3), (4, 3)),))
op(
    "tensordot",
    np.tensordot,
    meta=probe,
    warns=ALL,
    vjp=tensordot_rules,
    samples=(arrays((4, 3), (3, 2), axes=1), arrays((4, 3, 2), (3, 2, 5))),
)


def _kron_sizes(call: Arguments) -> list[Dim]:
    """Each size is one of each operand's, multiplied; axes that one of them lacks count 1."""
    a, b = shape_of(call.get("a")), shape_of(call.get("b"))
    ndim = max(len(a), len(b))
    pairs = zip((1,) * (ndim - len(a)) + a, (1,) * (ndim - len(b)) + b, strict=True)
    return [n * m for n, m in pairs]


op("kron", np.kron, meta=sized(_kron_sizes), warns=ALL, vjp=kron_rules, samples=(arrays((2, 3), (3, 2)),))
op(
    "trace",
    np.trace,
    meta=probe,
    forms=(Form("trace"),),
    warns=ALL,
    vjp=(of_trace,),
    samples=(called(shape=(4, 4)), called(1, shape=(4, 3))),
)
op("cross", np.cross, meta=probe, warns=ALL, vjp=cross_rules, samples=(arrays((4, 3), (4, 3)),))


def _einsum_sample(subscripts: str, shapes: tuple[tuple[int, ...], ...]) -> Sample:
    return Sample(lambda rng: (subscripts, *(rng.random(n) for n in shapes)))


op(
    "einsum",
    np.einsum,
    meta=probe,
    warns=ALL,
    adapt=with_subscripts,
    signature="subscripts, *operands, **kwargs",
    vjp=(None, of_einsum),
    samples=tuple(
        _einsum_sample(subscripts, shapes)
        for subscripts, shapes in (
            ("ij,jk->ik", ((4, 3), (3, 2))),
            ("i,j->ij", ((4,), (3,))),
            ("ij->", ((4, 3),)),
            ("ij,ij->i", ((4, 3), (4, 3))),
            ("bij,bjk->bik", ((5, 4, 3), (5, 3, 2))),
        )
    ),
)
for _name in ("vecdot", "matvec", "vecmat"):
    if hasattr(np, _name):
        _shapes = {"vecdot": ((4, 3), (4, 3)), "matvec": ((4, 3), (3,)), "vecmat": ((4,), (4, 3))}[_name]
        _rules = {"vecdot": vecdot_rules, "matvec": matvec_rules, "vecmat": vecmat_rules}[_name]
        op(_name, getattr(np, _name), meta=probe, warns=ALL, vjp=_rules, samples=(arrays(*_shapes),))
