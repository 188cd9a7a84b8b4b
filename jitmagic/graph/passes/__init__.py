"""Takes a graph, gives a graph that means the same; one pass per file, verified in between."""

from jitmagic.graph.passes.common_subexpressions import CommonSubexpressions
from jitmagic.graph.passes.dead_code import DeadCode
from jitmagic.graph.passes.pipeline import Pass, run_passes

__all__ = ["CommonSubexpressions", "DeadCode", "Pass", "run_passes"]
