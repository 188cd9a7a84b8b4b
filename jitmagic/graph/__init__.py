"""Takes what the tracer records, gives the data that every later stage reads: a graph."""

from jitmagic.graph.graph import Graph, Placeholder
from jitmagic.graph.interpreter import interpret
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.graph.node import Node, Operation, map_nodes
from jitmagic.graph.printer import print_graph
from jitmagic.graph.shapes import Dim, ShapeEnv, SymInt, hint_of
from jitmagic.graph.verifier import verify

__all__ = [
    "ArrayMeta",
    "Dim",
    "Graph",
    "Meta",
    "Node",
    "Operation",
    "Placeholder",
    "PyMeta",
    "ShapeEnv",
    "SymInt",
    "hint_of",
    "interpret",
    "map_nodes",
    "print_graph",
    "verify",
]
