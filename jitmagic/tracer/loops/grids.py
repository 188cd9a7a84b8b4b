"""Takes statements with loops over the places of an array, gives them with nested loops over its axes instead.

    for (i, j), v in np.ndenumerate(x):         for at0 in range(x.shape[0]):
        body                                        for at1 in range(x.shape[1]):
                                                        i = at0; j = at1; v = x[at0, at1]
                                                        body

A place that is kept in one name, ``for place in np.ndindex(x.shape)``, becomes a name for each of its numbers.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.loops.leaving import noting_breaks
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.loops.runs import TEMPORARY
from jitmagic.tracer.loops.surroundings import known_function
from jitmagic.tracer.names import names_in
from jitmagic.tracer.signals import NotConstant
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number_kinds import number_kind
from jitmagic.tracer.variables.sequences import ListTracker, TupleTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["Spelled", "is_grid", "spelled_grids"]

GRIDS = ("numpy.ndindex", "numpy.ndenumerate")
PLAIN = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.Slice, ast.UnaryOp, ast.unaryop, ast.expr_context)


@dataclass(frozen=True, slots=True)
class Spelled:
    """``nodes`` have no loop over a grid; ``places`` are the names that held a whole place, with those of its parts.

    ``sizes`` are the values of names that the nodes read.
    """

    nodes: list[ast.stmt]
    places: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sizes: Mapping[str, VariableTracker] = field(default_factory=dict)


def is_grid(tx: Evaluator, node: ast.expr) -> bool:
    """Whether an expression is ``np.ndindex(...)`` or ``np.ndenumerate(...)``; names of ours are neither."""
    if not isinstance(node, ast.Call) or (isinstance(node.func, ast.Name) and node.func.id.startswith(TEMPORARY)):
        return False
    return known_function(tx, node.func) in GRIDS


def spelled_grids(tx: Evaluator, nodes: Sequence[ast.stmt]) -> Spelled:
    """The statements with every loop over a grid spelled out. Raises Unsupported for one that cannot be."""
    grids = [n for s in nodes for n in ast.walk(s) if isinstance(n, ast.For) and is_grid(tx, n.iter)]
    if not grids:
        return Spelled(list(nodes))
    speller = _Speller(tx, grids, names_in(nodes, stores_only=True))
    made = [speller.visit(copy.copy(s)) for s in nodes]
    flat = [s for each in made for s in _listed(each)]
    if elsewhere := speller.places.keys() & names_in(flat):
        raise refuse(f"{', '.join(sorted(elsewhere))}, which is read outside of its loop")
    return Spelled(flat, speller.places, speller.held)


class _Speller(ast.NodeTransformer):
    def __init__(self, tx: Evaluator, grids: Sequence[ast.For], rebound: set[str]) -> None:
        self.tx = tx
        self.rebound = rebound  # also by loops around a grid: a size is the same each time
        self.numbers = {(g.lineno, g.col_offset): number for number, g in enumerate(grids)}
        self.places: dict[str, tuple[str, ...]] = {}
        self.held: dict[str, VariableTracker] = {}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """The same node where nothing in it is a grid: statements are known by who they are."""
        inner = (n for n in ast.walk(node) if isinstance(n, ast.For))
        if not any((n.lineno, n.col_offset) in self.numbers for n in inner):
            return node
        return super().generic_visit(copy.copy(node) if not isinstance(node, ast.For) else _with_own_lists(node))

    def visit_For(self, node: ast.For) -> Any:
        number = self.numbers.get((node.lineno, node.col_offset))
        if number is None or not is_grid(self.tx, node.iter):
            return self.generic_visit(node)
        sizes = self._sizes(node)
        counters = [f"{TEMPORARY}_grid{number}_{axis}" for axis in range(len(sizes))]
        flag = f"{TEMPORARY}_grid{number}_broken"
        body = noting_breaks(self._bound(node, counters), flag)
        may_break = flag in names_in(body, stores_only=True)
        made: list[ast.stmt] = [s for each in body for s in _listed(self.visit(each))]
        for axis in reversed(range(len(sizes))):
            head = ast.Call(ast.Name(f"{TEMPORARY}_range", ast.Load()), [sizes[axis]], [])
            loop = ast.For(ast.Name(counters[axis], ast.Store()), head, made, [])
            made = [_placed(loop, node, axis)]
            if may_break and axis:
                made.append(_placed(ast.If(ast.Name(flag, ast.Load()), [ast.Break()], []), node))
        orelse = [s for each in node.orelse for s in _listed(self.visit(each))]
        if not may_break:
            return [*made, *orelse]
        start = ast.Assign([ast.Name(flag, ast.Store())], ast.Constant(False))
        end = [ast.If(ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())), orelse, [])] if orelse else []
        return [_placed(start, node), *made, *(_placed(s, node) for s in end)]

    def _sizes(self, node: ast.For) -> list[ast.expr]:
        """One expression per axis, none of which a round changes."""
        call = node.iter
        assert isinstance(call, ast.Call)
        given = call.args
        if call.keywords or not given:
            raise refuse(f"a loop over {ast.unparse(call)}")
        if known_function(self.tx, call.func) == "numpy.ndenumerate":
            array = self._array(given)
            shape = ast.Attribute(array, "shape", ast.Load())
            sizes = [_item(shape, axis) for axis in range(self._ndim(array))]
        elif len(given) == 1:
            sizes = self._elements(given[0].value if isinstance(given[0], ast.Starred) else given[0])
        else:
            sizes = list(given)
        if not sizes or any(self._may_change(size) for size in sizes):
            raise refuse(f"a loop over {ast.unparse(call)}")
        return [self._checked(size) for size in sizes]

    def _may_change(self, size: ast.expr) -> bool:
        """Whether rounds may give another size: names that they bind, and lists, which they may write."""
        if self.rebound & names_in([ast.Expr(size)]):
            return True
        root = size
        while isinstance(root, ast.Subscript | ast.Attribute):
            root = root.value
        return root is not size and isinstance(self._value(root), ListTracker)

    def _array(self, given: Sequence[ast.expr]) -> ast.expr:
        if len(given) != 1 or not isinstance(given[0], ast.Name):
            raise refuse("a loop over the places of an array that has no name")
        return given[0]

    def _ndim(self, array: ast.expr) -> int:
        value = self._value(array)
        if not isinstance(value, ArrayTracker) or value.meta.scalar or not value.meta.ndim:
            raise refuse(f"a loop over the places of {ast.unparse(array)}")
        return value.meta.ndim

    def _elements(self, node: ast.expr) -> list[ast.expr]:
        """The sizes in what may be a tuple of them."""
        if isinstance(node, ast.Tuple | ast.List):
            return list(node.elts)
        value = self._value(node)
        if isinstance(value, TupleTracker | ListTracker):
            return [_item(node, axis) for axis in range(len(value.items))]
        return [node]

    def _value(self, node: ast.expr) -> VariableTracker:
        if not all(isinstance(n, PLAIN) for n in ast.walk(node)):
            raise refuse(f"a loop over {ast.unparse(node)}")
        try:
            return self.tx.realize(self.tx.eval(node))
        except (Unsupported, NotConstant) as error:
            raise refuse(f"a loop over {ast.unparse(node)}") from error

    def _checked(self, size: ast.expr) -> ast.expr:
        """The size, or a name for it. NumPy refuses those below zero, and takes what is no int as one."""
        value = self.tx.realize(self.tx.eval(size))
        if number_kind(value) != "pyint":
            raise refuse(f"the size {ast.unparse(size)}")
        if not self.tx.truth(self.tx.language.compare(self.tx, "ge", value, Constant(0))):
            raise refuse("a size below zero")
        if isinstance(size, ast.Name | ast.Constant) or _is_of_array(size):
            return size
        name = f"{TEMPORARY}_size{len(self.held)}"
        self.held[name] = value
        return ast.copy_location(ast.Name(name, ast.Load()), size)

    def _bound(self, node: ast.For, counters: Sequence[str]) -> list[ast.stmt]:
        """The body, with what gives the targets their values in front."""
        assert isinstance(node.iter, ast.Call)
        target, first = node.target, []
        if known_function(self.tx, node.iter.func) == "numpy.ndenumerate":
            if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
                raise refuse("np.ndenumerate without two targets")
            place = ast.Tuple([ast.Name(c, ast.Load()) for c in counters], ast.Load())
            element = ast.Subscript(self._array(node.iter.args), place, ast.Load())
            target, second = target.elts
            first = [ast.Assign([second], element)]
        body = list(node.body)
        if isinstance(target, ast.Name):
            parts = self._parts(target.id, node, counters)
            body = [_Parts(target.id, parts).visit(copy.deepcopy(s)) for s in body]
            names: list[ast.expr] = [ast.Name(p, ast.Store()) for p in parts]
        elif isinstance(target, ast.Tuple) and len(target.elts) == len(counters):
            names = target.elts
        else:
            raise refuse(f"the loop target {ast.unparse(target)}")
        if not all(isinstance(n, ast.Name) for n in (*names, *(t for a in first for t in a.targets))):
            raise refuse(f"the loop target {ast.unparse(node.target)}")
        made = [ast.Assign([n], ast.Name(c, ast.Load())) for n, c in zip(names, counters, strict=True)]
        return [*(ast.fix_missing_locations(ast.copy_location(s, node)) for s in (*made, *first)), *body]

    def _parts(self, name: str, node: ast.For, counters: Sequence[str]) -> tuple[str, ...]:
        if name in names_in(node.body, stores_only=True) or name in self.places:
            raise refuse(f"{name}, which holds more than one thing")
        self.places[name] = tuple(f"{counter}_of" for counter in counters)
        return self.places[name]


def _is_of_array(size: ast.expr) -> bool:
    """Whether it is ``x.shape[0]``, which regions compare with the places that are read of ``x``."""
    of = size.value if isinstance(size, ast.Subscript) and isinstance(size.slice, ast.Constant) else None
    return isinstance(of, ast.Attribute) and of.attr == "shape" and isinstance(of.value, ast.Name)


def _listed(node: Any) -> list[ast.stmt]:
    return node if isinstance(node, list) else [node]


def _placed(made: Any, node: ast.For, number: int = 0) -> Any:
    """``made`` at the place of ``node``; loops of several numbers there count as places of their own."""
    ast.fix_missing_locations(ast.copy_location(made, node))
    if number:
        made.end_col_offset += number
    return made


def _item(sequence: ast.expr, number: int) -> ast.expr:
    return ast.copy_location(ast.Subscript(sequence, ast.Constant(number), ast.Load()), sequence)


def _with_own_lists(node: ast.For) -> ast.For:
    return ast.copy_location(ast.For(node.target, node.iter, list(node.body), list(node.orelse)), node)


class _Parts(ast.NodeTransformer):
    """Replaces a name that holds a place by its numbers: ``x[place]``, ``place[0]``, ``i, j = place``."""

    def __init__(self, name: str, parts: Sequence[str]) -> None:
        self.name = name
        self.parts = parts

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        at = node.slice
        if isinstance(node.value, ast.Name) and node.value.id == self.name:
            if not isinstance(at, ast.Constant) or type(at.value) is not int or not 0 <= at.value < len(self.parts):
                raise refuse(f"{ast.unparse(node)}")
            return ast.copy_location(ast.Name(self.parts[at.value], ast.Load()), node)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id != self.name:
            return node
        made = ast.Tuple([ast.Name(p, ast.Load()) for p in self.parts], ast.Load())
        return ast.fix_missing_locations(ast.copy_location(made, node))
