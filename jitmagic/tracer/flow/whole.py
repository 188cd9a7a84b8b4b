"""Takes a place that no round of a loop written out can hold, starts the trace again with the loop kept as one."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jitmagic.tracer.signals import Restart

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["keep_loop_whole", "keep_whole"]


def keep_loop_whole(tx: Evaluator) -> None:
    """The rounds of the loop around here cannot be written out one by one: try to keep it a loop.

    It may be in a function that calls this one.
    """
    frame: Evaluator | None = tx
    while frame is not None:
        for loop in reversed([s for s in frame.active if isinstance(s, ast.For | ast.While)]):
            keep_whole(frame, loop)
        frame = frame.parent


def keep_whole(tx: Evaluator, loop: ast.For | ast.While) -> None:
    """Start again with this loop kept as one, if that was not tried yet."""
    policy, place = tx.output.policy, tx.place(loop)
    if place not in policy.whole and place not in policy.no_flow:
        policy.whole.add(place)
        raise Restart
