"""Takes a NumPy function or method, gives its record: one row per operation, read by every stage."""

from jitmagic.ops import comparisons, creation, elementwise, indexing, reductions, views  # their rows
from jitmagic.ops.record import Arguments, Form, Inferred, Op, Sample
from jitmagic.ops.registry import all_ops, by_name, lookup, lookup_attribute, lookup_method, op

__all__ = [
    "Arguments",
    "Form",
    "Inferred",
    "Op",
    "Sample",
    "all_ops",
    "by_name",
    "comparisons",
    "creation",
    "elementwise",
    "indexing",
    "lookup",
    "lookup_attribute",
    "lookup_method",
    "op",
    "reductions",
    "views",
]
