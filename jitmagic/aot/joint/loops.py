"""Takes a node that runs a loop, gives cotangents to its operands: one more node, the loop run backwards."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.aot.joint.loop_fallback import gradients_by_tape
from jitmagic.aot.joint.loop_reverse import reverse_region
from jitmagic.aot.joint.loop_steps import FLOATS
from jitmagic.graph import ArrayMeta, Node
from jitmagic.graph.region import Region
from jitmagic.graph.region_adjoint import RegionAdjoint
from jitmagic.graph.region_call import RegionCall
from jitmagic.ops.functional import PureCall
from jitmagic.ops.record import Arguments, Inferred, Op

if TYPE_CHECKING:
    from jitmagic.aot.joint.reverse import Reverse

__all__ = ["loop_cotangents"]


def _loop_of(node: Node) -> Any:
    """The RegionCall that a node makes; None for any other node."""
    call = node.op.call if node.op is not None else None
    call = call.row.call if isinstance(call, PureCall) else call
    return call if isinstance(call, RegionCall) else None


def region_of(node: Node) -> Region | None:
    """The region that a node runs, if it is a loop."""
    call = _loop_of(node)
    return None if call is None else call.region


def loop_cotangents(walk: Reverse, node: Node) -> bool:
    """The rule of loops; False for any other node."""
    region = region_of(node)
    if region is None:
        return False
    names = [*(a.name for a in region.arrays), *(s.name for s in region.scalars)]
    places = [i for i, a in enumerate(node.args) if isinstance(a, Node) and a in walk.reached]
    wanted = tuple(names[i] for i in places)
    reverse = reverse_region(region, frozenset(wanted))
    given = _cotangents(walk, node, region)
    metas = [_meta(walk, node.args[i]) for i in places]

    def rule(_: Arguments) -> Inferred:
        return Inferred(tuple(metas))

    adjoint = RegionAdjoint(region, reverse.region, reverse.arrays, wanted)
    adjoint.plainly = functools.partial(gradients_by_tape, region, _loop_of(node).plain, wanted)
    adjoint.compile()
    row = Op("loop_adjoint", adjoint, rule, raises=True)
    found = walk.stage.call(row, (*node.args, *given))
    for place, cotangent in zip(places, found, strict=True):
        walk.add(node.args[place], cotangent)
    return True


def _cotangents(walk: Reverse, node: Node, region: Region) -> list[Any]:
    """Those of the written real arrays, then of the real results; zeros where nothing arrived."""
    entries = walk.entries.get(node, {})
    written = [(i, a) for i, a in enumerate(region.arrays) if a.is_written]
    given: list[Any] = []
    for entry, (place, parameter) in enumerate(written):
        if parameter.dtype in FLOATS:
            known = entries.get(entry)
            given.append(known if known is not None else np.zeros_like(walk.stage.value(node.args[place]), order="C"))
    for index, variable in enumerate(region.results):
        if variable.type in FLOATS:
            known = entries.get(len(written) + index)
            given.append(known if known is not None else walk.stage.number(np.float64(0)))
    return given


def _meta(walk: Reverse, operand: Any) -> ArrayMeta:
    meta = walk.stage.value(operand).meta
    return ArrayMeta(np.dtype(np.float64), scalar=True) if meta.scalar else ArrayMeta.dense(meta.dtype, meta.shape)
