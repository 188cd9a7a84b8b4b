"""Takes an expression of names and attributes, gives the object that it stands for in every round of a loop."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import TYPE_CHECKING

from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.descriptors import find_in_class, is_data
from jitmagic.tracer.variables.objects import PLAIN_READS, PLAIN_WRITES, ObjectTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["has_plain_attribute", "owner_of"]


def owner_of(tx: Evaluator, node: ast.expr, rebound: Collection[str]) -> VariableTracker | None:
    """None for what a round may bind anew, and where reading an attribute runs something of the user's.

    Chains of attributes are looked up each time: a caller that lets rounds change one of them asks for it itself.
    """
    if isinstance(node, ast.Name):
        is_bound = node.id in tx.locals or node.id in tx.cells or node.id in tx.globals
        return None if node.id in rebound or not is_bound else tx.load_name(node.id)
    if not isinstance(node, ast.Attribute):
        return None
    owner = owner_of(tx, node.value, rebound)
    if type(owner) is not ObjectTracker or not has_plain_attribute(tx, owner, tx.mangle(node.attr)):
        return None
    return owner.own(tx, tx.mangle(node.attr))


def has_plain_attribute(tx: Evaluator, owner: ObjectTracker, name: str) -> bool:
    """Whether the instance itself holds the attribute, and reading and writing it does nothing else."""
    plain = owner.guarded_entry(tx, "__getattribute__") in PLAIN_READS
    plain = plain and owner.guarded_entry(tx, "__setattr__") in PLAIN_WRITES
    return plain and not is_data(find_in_class(owner.cls, name)) and owner.own(tx, name) is not None
