"""Takes a call that folds a stream of numbers into one, gives the loop that it is.

    s = sum(f(v) for v in x)       =>      s = 0
                                           for v in x:
                                               s = s + f(v)

Where Python's own function does not go on (an empty ``max``), the region is left.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jitmagic.tracer.loops.comprehended import Opened, opened
from jitmagic.tracer.loops.rules import refuse

__all__ = ["COMPENSATES", "FOLDS", "compensated_sum", "folded", "is_fold"]

FOLDS = ("builtins.sum", "builtins.any", "builtins.all", "builtins.max", "builtins.min", "functools.reduce")
COMPENSATES = sys.version_info >= (3, 12)  # whether ``sum`` of Python floats carries the rounding errors along

Predicate = Callable[[ast.expr], bool]


def is_fold(function: str | None, node: ast.Call) -> bool:
    """Whether a call of a known function takes a stream: ``max(a, b)`` does not."""
    if function not in FOLDS or node.keywords or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    counts = {"builtins.sum": (1, 2), "functools.reduce": (2, 3)}.get(function, (1,))
    return len(node.args) in counts


def folded(function: str, node: ast.Call, name: str, is_map: Predicate) -> list[ast.stmt]:
    """Statements that bind ``name`` to what the call gives. Names in comprehensions are their own already."""
    stream = node.args[1] if function == "functools.reduce" else node.args[0]
    made = _WAYS[function](node, name, opened(stream, is_map, f"{name}_item"))
    return [ast.fix_missing_locations(ast.copy_location(s, node)) for s in made]


def compensated_sum(node: ast.Call, name: str, is_map: Predicate) -> list[ast.stmt]:
    """``sum`` of Python floats from Python 3.12 on (Neumaier's algorithm); an empty one leaves the region.

    ``name_item`` is the element; all of them are floats.
    """
    if len(node.args) > 1:
        raise refuse("sum() of floats with a start")
    stream = opened(node.args[0], is_map, f"{name}_item")
    text = _NEUMAIER.format(s=name, x=f"{name}_element", t=f"{name}_total", c=f"{name}_rest", some=f"{name}_some")
    first, step, last = (ast.parse(part).body for part in text.split("---\n"))
    loops = stream.statements(lambda element: [_set(f"{name}_element", element), *step])
    return [ast.fix_missing_locations(ast.copy_location(s, node)) for s in (*first, *loops, *last)]


_NEUMAIER = """\
{s} = 0.0
{c} = 0.0
{some} = False
---
{some} = True
{t} = {s} + {x}
if ({s} if {s} >= 0.0 else -{s}) >= ({x} if {x} >= 0.0 else -{x}):
    {c} = {c} + (({s} - {t}) + {x})
else:
    {c} = {c} + (({x} - {t}) + {s})
{s} = {t}
---
if not {some}:
    raise
if {c} != 0.0 and {c} - {c} == 0.0:
    {s} = {s} + {c}
"""


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _sum(node: ast.Call, name: str, stream: Opened) -> list[ast.stmt]:
    start = node.args[1] if len(node.args) > 1 else ast.Constant(0)
    held = f"{name}_element"

    def step(element: ast.expr) -> list[ast.stmt]:
        return [_set(held, element), _set(name, ast.BinOp(_load(name), ast.Add(), _load(held)))]

    return [_set(name, start), *stream.statements(step)]


def _quantifier(stops_at: bool) -> Callable[..., list[ast.stmt]]:
    def made(node: ast.Call, name: str, stream: Opened) -> list[ast.stmt]:
        """The first element that decides ends all the loops around it."""
        loops = len(stream.loops)

        def step(element: ast.expr) -> list[ast.stmt]:
            test = element if stops_at else ast.UnaryOp(ast.Not(), element)
            return [ast.If(test, [_set(name, ast.Constant(stops_at)), ast.Break()], [])]

        if loops > 1:
            raise refuse("any() or all() over several loops")
        return [_set(name, ast.Constant(not stops_at)), *stream.statements(step)]

    return made


def _extreme(word: type[ast.cmpop]) -> Callable[..., list[ast.stmt]]:
    def made(node: ast.Call, name: str, stream: Opened) -> list[ast.stmt]:
        held = f"{name}_element"

        def step(element: ast.expr) -> list[ast.stmt]:
            better = ast.Compare(_load(held), [word()], [_load(name)])
            return [_set(held, element), *_first_or(name, [_set(name, _load(held))], better, held)]

        return _from_the_first(name, stream, step)

    return made


def _first_or(name: str, then: list[ast.stmt], test: ast.expr, held: str) -> list[ast.stmt]:
    first = [_set(name, _load(held)), _set(f"{name}_some", ast.Constant(True))]
    return [ast.If(_load(f"{name}_some"), [ast.If(test, then, [])], first)]


def _reduce(node: ast.Call, name: str, stream: Opened) -> list[ast.stmt]:
    def joined(element: ast.expr) -> ast.expr:
        return ast.copy_location(ast.Call(node.args[0], [_load(name), element], []), node.args[0])

    if len(node.args) > 2:
        return [_set(name, node.args[2]), *stream.statements(lambda e: [_set(name, joined(e))])]

    def step(element: ast.expr) -> list[ast.stmt]:
        first = [_set(name, element), _set(f"{name}_some", ast.Constant(True))]
        return [ast.If(_load(f"{name}_some"), [_set(name, joined(element))], first)]

    return _from_the_first(name, stream, step)


def _from_the_first(name: str, stream: Opened, step: Callable[[ast.expr], Sequence[ast.stmt]]) -> list[ast.stmt]:
    """Loops whose first element is special; without any the region is left."""
    some = f"{name}_some"
    leave = ast.If(ast.UnaryOp(ast.Not(), _load(some)), [ast.Raise()], [])
    return [_set(some, ast.Constant(False)), *stream.statements(step), leave]


_WAYS: Mapping[str, Callable[[Any, str, Opened], list[ast.stmt]]] = {
    "builtins.sum": _sum,
    "builtins.any": _quantifier(True),
    "builtins.all": _quantifier(False),
    "builtins.max": _extreme(ast.Gt),
    "builtins.min": _extreme(ast.Lt),
    "functools.reduce": _reduce,
}
