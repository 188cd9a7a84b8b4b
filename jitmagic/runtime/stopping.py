"""Takes a capture that is one loop, gives its ``run`` that leaves what the loop has written when Ctrl-C stops it.

Kernels write to copies, so that a loop which cannot end has changed nothing. Where it was Ctrl-C, the copies are those
of one moment between two rounds, and the arrays become that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import LoopStopped
from jitmagic.graph.region_call import RegionCall
from jitmagic.tracer.capture import Capture

if TYPE_CHECKING:
    from jitmagic.backends.regions.states import Stopped

__all__ = ["OnlyLoop", "handing_back", "only_loop"]

Run = Callable[[list[Any]], list[Any]]


@dataclass(frozen=True, slots=True)
class OnlyLoop:
    """The only loop of a capture that changes nothing else.

    ``places`` are those of its arrays among the inputs; None for arrays that nobody else knows.
    """

    call: RegionCall
    places: tuple[int | None, ...]

    def bring(self, inputs: Sequence[Any], error: BaseException) -> Stopped | None:
        """Bring the arrays to where ``error`` has stopped the loop; None, and nothing done, if that is not known."""
        stopped: Stopped | None = getattr(self.call.compiled, "stopped", None)
        if stopped is None or stopped.error is not error:
            return None
        for place, array in zip(self.places, stopped.arrays, strict=True):
            if place is not None:
                np.copyto(inputs[place], array)
        return stopped


def only_loop(capture: Capture, names: Collection[str] = ()) -> OnlyLoop | None:
    """The loop, told to stop so that ``bring`` can do its work; None if a capture does more, or has no kernel for it.

    ``names`` are those whose values it must tell.
    """
    calls = [(node, node.op.call) for node in capture.graph.calls() if node.op is not None]
    loops = [(node, call) for node, call in calls if isinstance(call, RegionCall)]
    if capture.effects or len(loops) != 1 or any(node.written() for node, _ in calls if node is not loops[0][0]):
        return None
    ((node, call),) = loops
    order = {placeholder.node: place for place, placeholder in enumerate(capture.graph.placeholders)}
    written = [*node.written()]
    if call.compiled is None or not {*names} <= {each.name for each in call.region.held}:
        return None
    if any(target not in order and target.storage.kind == "input" for target in written):
        return None
    call.compiled.hands_back = True  # type: ignore[attr-defined]  # a RegionProgram, which stands above this stage
    return OnlyLoop(call, tuple(map(order.get, written)))


def handing_back(capture: Capture, run: Run) -> Run:
    """``run``, or one that hands back what a loop has written to its inputs when it was stopped."""
    loop = only_loop(capture)
    if loop is None or all(place is None for place in loop.places):
        return run

    def run_or_hand_back(arguments: list[Any]) -> list[Any]:
        inputs = [*arguments]
        try:
            return run(arguments)
        except LoopStopped as stop:
            error = stop.error
        loop.bring(inputs, error)
        raise error

    return run_or_hand_back
