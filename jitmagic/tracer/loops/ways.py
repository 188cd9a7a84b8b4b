"""Takes statements that return values of several forms, gives the same with a number for how they were left.

    for i in range(len(x)):                     way = 2
        if x[i] > t:                            for i in range(len(x)):
            return i, x[i]             =>           if x[i] > t:
        if x[i] < 0:                                    way = 0; part_0_0 = i; part_0_1 = x[i]; return
            return "negative"                       if x[i] < 0:
                                                        way = 1; return

The region gives the number and the parts; what the function returns is put together of them.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from jitmagic.tracer.names import names_in

__all__ = ["PART", "WAY", "Way", "has_ways", "numbered", "own_parts", "ways_of"]

WAY = "_jm_way"  # the variable that says how
PART = "_jm_part"  # what the names of the variables of its parts begin with
Way = ast.expr | None  # the value of a ``return``; None: the end of the function
_OTHERS = (
    *(ast.List, ast.Dict, ast.Set, ast.JoinedStr, ast.Lambda, ast.Starred, ast.Yield, ast.Await),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)


def has_ways(block: Sequence[ast.stmt]) -> bool:
    """Whether the values are numbers, constants and tuples of these, as far as their syntax tells."""
    parts = [part for node in _returns(block) for part in _parts(node.value)]
    return not any(isinstance(part, (*_OTHERS, ast.Tuple)) for part in parts)


def ways_of(block: Sequence[ast.stmt]) -> list[Way]:
    """In the order of their numbers; the last one is the end of the function."""
    return [*(node.value for node in _returns(block)), None]


def numbered(block: Sequence[ast.stmt]) -> list[ast.stmt]:
    """A copy in which each ``return`` gives its number, and its parts, to variables, and no value."""
    bound = names_in(block, stores_only=True)
    copied = [copy.deepcopy(statement) for statement in block]
    numbers = {node: number for number, node in enumerate(_returns(copied))}
    tree = ast.Module([_set(WAY, ast.Constant(len(numbers)), block[0]), *copied], [])
    made: list[ast.stmt] = _Numbered(numbers, bound).visit(tree).body
    return made


class _Numbered(ast.NodeTransformer):
    def __init__(self, numbers: dict[ast.Return, int], bound: set[str]) -> None:
        self.numbers = numbers
        self.bound = bound

    def visit_Return(self, node: ast.Return) -> list[ast.stmt]:
        number = self.numbers[node]
        made = [_set(WAY, ast.Constant(number), node)]
        made += [_set(name, part, node) for name, part in own_parts(node.value, number, self.bound)]
        return [*made, ast.copy_location(ast.Return(None), node)]


def own_parts(way: Way, number: int, bound: set[str]) -> list[tuple[str, ast.expr]]:
    """The variables of the parts that the region computes; names that it does not bind, and constants, stay outside."""
    found = enumerate(_parts(way))
    return [
        (f"{PART}_{number}_{position}", part)
        for position, part in found
        if not isinstance(part, ast.Constant) and not (isinstance(part, ast.Name) and part.id not in bound)
    ]


def _returns(block: Sequence[ast.stmt]) -> list[ast.Return]:
    return [n for s in block for n in _walk(s) if isinstance(n, ast.Return)]


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """In the order of the text."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk(child)


def _parts(value: Way) -> list[ast.expr]:
    if value is None:
        return []
    return value.elts if isinstance(value, ast.Tuple) else [value]


def _set(name: str, value: ast.expr, place: ast.stmt) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, place))
