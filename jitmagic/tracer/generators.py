"""Generator expressions: their loops run when items are asked for, as Python's do."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from jitmagic.errors import Unsupported
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.iterators import IteratorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.emit import Emitter
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["GeneratorExpression"]


class GeneratorExpression(IteratorTracker):
    """The first iterable is evaluated at once, everything else in steps: one stack entry per loop level."""

    def __init__(self, tx: Evaluator, node: ast.GeneratorExp) -> None:
        self.owner = tx
        self.node = node
        self.scope: dict[str, VariableTracker] = {}
        self.iterators: list[VariableTracker] = [tx.eval(node.generators[0].iter).iterate(tx)]
        self.outer = list(tx.scopes)

    def python_type(self) -> type:
        return type(_ for _ in ())

    def next_item(self, tx: Evaluator) -> VariableTracker | None:
        owner = self.owner
        before, owner.scopes = owner.scopes, [*self.outer, self.scope]
        try:
            return self._advance(owner)
        finally:
            owner.scopes = before

    def _advance(self, tx: Evaluator) -> VariableTracker | None:
        from jitmagic.tracer.expressions import bind_in_scope

        generators = self.node.generators
        while self.iterators:
            level = len(self.iterators) - 1
            item = self.iterators[-1].next_item(tx)
            if item is None:
                self.iterators.pop()
                continue
            bind_in_scope(tx, generators[level].target, item)
            if not all(tx.truth(tx.eval(test)) for test in generators[level].ifs):
                continue
            if level + 1 == len(generators):
                return tx.eval(self.node.elt)
            self.iterators.append(tx.eval(generators[level + 1].iter).iterate(tx))
        return None

    def reconstruct(self, emit: Emitter) -> str:
        raise Unsupported("generator", "a generator expression that leaves the function")
