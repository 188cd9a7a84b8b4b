"""Takes a captured graph, gives it with random generators as values: their states are inputs, the new ones outputs.

Row A35. A draw is an operation on a state then, so that a partition may have the backward half draw again and get the
same numbers. The streams go on after the call, from the states that it gives; a call that raises leaves them alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jitmagic.errors import Unsupported, UserError
from jitmagic.graph import Graph, Node, PyMeta
from jitmagic.graph.graph import Placeholder
from jitmagic.graph.node import nodes_in
from jitmagic.graph.passes.rewrite import Copier
from jitmagic.ops import lookup
from jitmagic.ops.draws import GENERATORS
from jitmagic.ops.record import Op
from jitmagic.ops.state_draws import GENERATOR_OF, STATE_OF_SEED, GeneratorState, draw_from_state, restore, state_of

__all__ = ["RandomValues", "random_values"]

Run = Callable[[list[Any]], list[Any]]
STATE = PyMeta(GeneratorState)
MAKER: Op = lookup(np.random.default_rng)[0]  # type: ignore[index]  # it has a row


@dataclass(frozen=True, slots=True)
class RandomValues:
    """``graph`` takes a state where the captured graph takes a generator (``places``), then the states of ``held``.

    After the captured outputs it gives the new states, in the same order.
    """

    graph: Graph
    places: tuple[int, ...]
    held: tuple[Any, ...]

    def inputs(self, values: Sequence[Any]) -> list[Any]:
        """What the graph takes, for inputs of the captured one."""
        found = [state_of(v) if i in self.places else v for i, v in enumerate(values)]
        return [*found, *map(state_of, self.held)]

    def around(self, run: Run) -> Run:
        """``run`` of ``graph`` as one of the captured graph."""
        count = len(self.places) + len(self.held)

        def call(arguments: list[Any]) -> list[Any]:
            generators = [*(arguments[i] for i in self.places), *self.held]
            given = self.inputs(arguments)
            arguments.clear()
            results = run(given)
            for generator, state in zip(generators, results[len(results) - count :], strict=True):
                restore(generator, state)
            return results[: len(results) - count]

        return call


def random_values(graph: Graph) -> RandomValues | None:
    """``graph`` with states for generators; None if it draws nothing. Raises UserError for what has no such form."""
    if not any(map(_is_generator, graph.nodes)):
        return None
    try:
        return _Rewriting(graph).run()
    except Unsupported as error:
        raise UserError(f"functionalize_rng_ops has no form for {error.detail}; call it without") from error


def _is_generator(node: Node) -> bool:
    """Whether a value of the graph is a generator: an argument, one that the code holds, or a new one."""
    if node.kind == "constant":
        return type(node.value) in GENERATORS
    return isinstance(node.meta, PyMeta) and node.meta.type in GENERATORS


class _Rewriting(Copier):
    """``state`` maps a generator of the old graph to the node with its present state."""

    def __init__(self, graph: Graph) -> None:
        super().__init__(graph)
        self.state: dict[Node, Node] = {}

    def run(self) -> RandomValues:
        old, new = self.old, self.new
        held = [n for n in old.nodes if n.kind == "constant" and _is_generator(n)]
        for node in old.inputs:
            self._input(node)
        extra = [self._held(node) for node in held]
        for node in old.nodes:
            if node.kind != "input" and node not in held:
                self._visit(node)
        places = tuple(i for i, node in enumerate(old.inputs) if _is_generator(node))
        known = [*(old.inputs[i] for i in places), *held]
        for node in set(old.outputs) & set(self.state):
            self.copies[node] = new.call(GENERATOR_OF, (self.state[node],), {}, node.meta)
        self.finish()
        new.placeholders += extra
        new.outputs += [self.state[node] for node in known]
        return RandomValues(new, places, tuple(n.value for n in held))

    def _input(self, node: Node) -> None:
        made = self.copy(node)
        if _is_generator(node):
            made.meta = STATE
            self.state[node] = made

    def _held(self, node: Node) -> Placeholder:
        made = Node(f"{node.name}_state", "input", STATE)
        self.new.nodes.append(made)
        self.state[node] = made
        return Placeholder(made, node.name)

    def _visit(self, node: Node) -> None:
        drawn = [n for n in nodes_in((node.args, node.kwargs)) if n in self.state]
        if node.op is MAKER and self._is_seeded(node):
            self.state[node] = self.new.call(
                STATE_OF_SEED, self.operands(node.args), self.operands(node.kwargs), STATE, span=node.span
            )
        elif _is_generator(node):
            raise Unsupported("random", "a generator that is seeded by the operating system")
        elif drawn:
            self._draw(node, drawn)
        else:
            self.copy(node)

    @staticmethod
    def _is_seeded(node: Node) -> bool:
        return any(seed is not None for seed in (*node.args, *node.kwargs.values()))

    def _draw(self, node: Node, drawn: list[Node]) -> None:
        row, generator = node.op, node.args[0] if node.args else None
        assert isinstance(row, Op)
        if not isinstance(generator, Node) or drawn != [generator] or not row.name.startswith("random_"):
            raise Unsupported("random", f"{row.name} of a generator")
        if node.written():
            raise Unsupported("random", f"{row.name} that writes into its operand")
        kind = generator.meta.type if isinstance(generator.meta, PyMeta) else type(generator.value)
        args, kwargs = self.operands(node.args[1:]), self.operands(node.kwargs)
        pure = draw_from_state(row, kind)
        pair = self.new.call(pure, (self.state[generator], *args), kwargs, None, span=node.span, stack=node.stack)
        meta = PyMeta(type(None)) if node.meta is None else node.meta
        self.copies[node] = self.new.item(pair, 0, meta)
        self.state[generator] = self.new.item(pair, 1, STATE)
