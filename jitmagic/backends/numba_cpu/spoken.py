"""Takes a node that NumPy runs, tells whether NumPy may call ``warnings.warn`` in it: most functions never do."""

from __future__ import annotations

import operator

import numpy as np

from jitmagic.backends.loops.updates import is_plain_update
from jitmagic.graph import ArrayMeta, Node
from jitmagic.graph.node import nodes_in
from jitmagic.ops.lowering import Cast, Fill, View

__all__ = ["may_speak"]

# Functions of NumPy in C, or nothing more than a call of one
SILENT = {operator.getitem, np.sum, np.prod, np.max, np.min, np.any, np.all, np.argmax, np.argmin, np.dot, np.where}
SILENT |= {np.cumsum, np.cumprod, np.concatenate, np.arange, np.sort, np.argsort, np.take, np.nonzero}


def may_speak(node: Node) -> bool:
    """Floating-point conditions are another matter: those are errors of the state that externs run in."""
    if node.kind != "call" or node.op is None or node.view_of is not None:
        return False
    if _has_times(node):
        return True
    call, lower = node.op.call, getattr(node.op, "lower", None)
    if is_plain_update(node) or isinstance(lower, Cast):
        return _drops_imaginary(node)
    if isinstance(call, np.ufunc):
        return bool(node.kwargs) and _drops_imaginary(node)  # (abs of a complex number, and its like, say nothing)
    if call in SILENT:
        return _drops_imaginary(node)
    return not isinstance(lower, Fill | View)


def _has_times(node: Node) -> bool:
    """Whether there are dates or times, of whose unit some versions of NumPy warn in C."""
    metas = [node.meta, *(a.meta for a in nodes_in(node.args))]
    return any(isinstance(m, ArrayMeta) and m.dtype.kind in "mM" for m in metas)


def _drops_imaginary(node: Node) -> bool:
    """Whether complex numbers become real ones, about which NumPy warns."""
    sources = [a.meta for a in nodes_in(node.args) if isinstance(a.meta, ArrayMeta)]
    is_complex = isinstance(node.meta, ArrayMeta) and node.meta.dtype.kind == "c"
    return not is_complex and any(m.dtype.kind == "c" for m in sources)
