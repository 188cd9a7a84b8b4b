"""Takes a loop over numbers and array elements, gives a region: the loop, typed, kept as one node of the graph."""

from jitmagic.tracer.loops.capture import capture_loop, capture_run

__all__ = ["capture_loop", "capture_run"]
