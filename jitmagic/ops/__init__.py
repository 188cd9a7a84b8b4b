"""Takes a NumPy function or method, gives its record: one row per operation, read by every stage."""

from jitmagic.ops import (  # importing a file of rows registers them
    casts,
    comparisons,
    creation,
    elementwise,
    indexing,
    joining,
    products,
    reductions,
    scalars,
    selecting,
    sorting,
    views,
    windows,
    writing,
)
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
    "casts",
    "comparisons",
    "creation",
    "elementwise",
    "indexing",
    "joining",
    "lookup",
    "lookup_attribute",
    "lookup_method",
    "op",
    "products",
    "reductions",
    "scalars",
    "selecting",
    "sorting",
    "views",
    "windows",
    "writing",
]
