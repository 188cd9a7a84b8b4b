"""Takes a variable of the program and the statements of a region, gives where its value is at any time of the run.

At the head of any round the variable's tag says of which kind it is, if it may be of several or have no value yet.
"""

from __future__ import annotations

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.kinds import CODES, NO_NUMBERS, UNBOUND, Types, tag, variable

__all__ = ["held_variable"]


def held_variable(name: str, start: Types, body: tuple[ir.Stmt, ...]) -> ir.Held | None:
    """``start`` are the kinds before the region; None for a variable that never has a value."""
    before = start.get(name, UNBOUND).all
    kinds = {k for k in before if k not in NO_NUMBERS}
    codes = {CODES[k] for k in before}
    _gather(name, body, kinds, codes)
    places = tuple(variable(name, k) for k in ir.KINDS if k in kinds)
    if not places and codes <= {CODES["unbound"]}:
        return None
    return ir.Held(name, places, None if len(codes) == len(places) == 1 else tag(name))


def _gather(name: str, body: tuple[ir.Stmt, ...], kinds: set[str], codes: set[int]) -> None:
    """Add the kinds and the tags that the statements give to the variable."""
    for each in body:
        if isinstance(each, ir.Assign) and each.variable == tag(name):
            codes |= {int(each.value.value)} if isinstance(each.value, ir.Const) else set(CODES.values())
        elif isinstance(each, ir.Assign) and each.variable == variable(name, each.variable.type):
            kinds.add(each.variable.type)
        _gather(name, getattr(each, "body", ()), kinds, codes)
        _gather(name, getattr(each, "orelse", ()), kinds, codes)
