"""Takes a NumPy function or method, gives its record: one row per operation, read by every stage."""

from jitmagic.ops.record import Arguments, Form, Inferred, Op, Sample
from jitmagic.ops.registry import all_ops, by_name, lookup, lookup_method, op

__all__ = ["Arguments", "Form", "Inferred", "Op", "Sample", "all_ops", "by_name", "lookup", "lookup_method", "op"]
