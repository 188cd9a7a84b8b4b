"""What the annotations of functions and classes that a call defines do: Python evaluates them with the definition.

A name that does not exist is an error there, and a call in an annotation has its effects. Where the trace cannot form
what an annotation is for (``list[int]``, ``int | None``), its names are looked up, and the program forms it if needed.
"""

from __future__ import annotations
import __future__

import ast
import copy
import sys
from typing import TYPE_CHECKING

from jitmagic.errors import Unsupported
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["DEFERRED", "annotation_value", "annotations_of"]

DEFERRED = sys.version_info >= (3, 14)  # from there on Python evaluates annotations when they are asked for
_FORMS = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.BinOp, ast.Tuple, ast.List, ast.Starred)


class Annotation(VariableTracker):
    """An expression over values that are known, formed where it is needed."""

    def __init__(self, node: ast.expr, names: dict[str, VariableTracker]) -> None:
        self.node = node
        self.names = names

    def python_type(self) -> type:
        raise Unsupported("attribute", f"the annotation {ast.unparse(self.node)}")

    def reconstruct(self, emit: Emitter) -> str:
        texts = {name: emit.value(value) for name, value in self.names.items()}
        formed = copy.deepcopy(self.node)
        for part in ast.walk(formed):
            if isinstance(part, ast.Name):
                part.id = texts[part.id]
        return f"({ast.unparse(formed)})"


def annotation_value(tx: Evaluator, node: ast.expr) -> VariableTracker:
    """The value of an annotation, which is its text where the module asks for that."""
    if tx.frame.code.co_flags & __future__.annotations.compiler_flag:
        return Constant(ast.unparse(node))
    try:
        return tx.realize(tx.eval(node))
    except Unsupported:
        parts = [part for part in ast.walk(node) if isinstance(part, ast.expr)]
        if not all(isinstance(part, _FORMS) for part in parts):
            raise
    found = {part.id: tx.realize(tx.load_name(part.id)) for part in parts if isinstance(part, ast.Name)}
    return Annotation(node, found)


def annotations_of(tx: Evaluator, node: ast.FunctionDef) -> dict[str, VariableTracker]:
    """Those of a function, evaluated in Python's order."""
    if DEFERRED:
        return {}
    given = node.args
    arguments = [*given.args, *given.posonlyargs, given.vararg, *given.kwonlyargs, given.kwarg]
    pairs = [(a.arg, a.annotation) for a in arguments if a is not None and a.annotation is not None]
    if node.returns is not None:
        pairs.append(("return", node.returns))
    return {tx.mangle(name): annotation_value(tx, annotation) for name, annotation in pairs}
