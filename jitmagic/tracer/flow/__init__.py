"""Takes loops and branches that only the data decide, over whole arrays; gives one node of the graph for each."""

from jitmagic.tracer.flow.branches import capture_branch, capture_check, capture_choice, capture_returns
from jitmagic.tracer.flow.cycles import capture_for, capture_while
from jitmagic.tracer.flow.endings import capture_endings, write_effects, write_ending
from jitmagic.tracer.flow.leaving import without_returns

__all__ = [
    "capture_branch",
    "capture_check",
    "capture_choice",
    "capture_endings",
    "capture_for",
    "capture_returns",
    "capture_while",
    "without_returns",
    "write_effects",
    "write_ending",
]
