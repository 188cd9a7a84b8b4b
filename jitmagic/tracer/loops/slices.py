"""Takes an assignment to a slice in a loop, gives the loop over its elements that it is.

    a[i, 1:] -= f * a[k, 1:]       =>      for j in range(n): a[i, 1 + j] = a[i, 1 + j] - f * a[k, 1 + j]

NumPy computes the whole right side first. So single elements are read before the loop, and of the array that is written
only the very elements may be read that a round writes, or those beside them in another row. What NumPy would spread
over the slice, and slices of unequal length, leave the region. Functions that NumPy computes otherwise for arrays than
for numbers (``sin``, ``**``) are none of this.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from dataclasses import dataclass, field

from jitmagic.graph import region as ir
from jitmagic.tracer.loops.rules import FLOATS, refuse

__all__ = ["element_loop"]

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
ArrayOf = Callable[[ast.expr], ir.ArrayParameter | None]


def element_loop(node: ast.Assign | ast.AugAssign, array_of: ArrayOf, prefix: str) -> list[ast.stmt] | None:
    """The statements, or None if no slice is assigned to. Raises Unsupported for slices that no loop stands for."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if len(targets) != 1 or not isinstance(targets[0], ast.Subscript):
        return None
    work = _Slices(array_of, prefix)
    target = work.part(targets[0])
    if target is None:
        return None
    if target.array.dtype not in FLOATS:
        raise refuse(f"a slice of {target.array.dtype} that is assigned to")
    value = work.element(node.value)
    for other in work.parts:
        if other.array.name == target.array.name and (other.axis, other.text) != (target.axis, target.text):
            raise refuse("a slice that reads what it writes")
    place = work.at(target)
    element: ast.stmt = ast.Assign([place], value)
    if isinstance(node, ast.AugAssign):
        if not isinstance(node.op, _OPERATORS):
            raise refuse(f"the operator {type(node.op).__name__} on a slice")
        element = ast.Assign([place], ast.BinOp(work.at(target), node.op, value))
    rounds = ast.For(
        ast.Name(work.counter, ast.Store()), _call("_jm_range", ast.Name(target.count, ast.Load())), [element], []
    )
    made = [*work.before, *work.checks(target), rounds]
    return [ast.fix_missing_locations(ast.copy_location(_stores(s), node)) for s in made]


@dataclass(frozen=True, slots=True)
class _Part:
    """One slice: ``index`` without it, the axis that it takes, names of where it starts and of how many it takes."""

    array: ir.ArrayParameter
    owner: ast.expr
    index: tuple[ast.expr, ...]
    axis: int
    text: str
    start: str
    count: str


@dataclass(slots=True)
class _Slices:
    array_of: ArrayOf
    prefix: str
    before: list[ast.stmt] = field(default_factory=list)
    parts: list[_Part] = field(default_factory=list)
    serial: int = 0

    @property
    def counter(self) -> str:
        return f"{self.prefix}_at"

    def hold(self, value: ast.expr) -> str:
        """A name for a value that is computed before the loop."""
        self.serial += 1
        name = f"{self.prefix}_{self.serial}"
        self.before.append(ast.Assign([ast.Name(name, ast.Store())], value))
        return name

    # -- expressions of the right side
    def element(self, node: ast.expr) -> ast.expr:
        """The expression for one element."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            return ast.copy_location(ast.BinOp(self.element(node.left), node.op, self.element(node.right)), node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return ast.copy_location(ast.UnaryOp(node.op, self.element(node.operand)), node)
        if isinstance(node, ast.Constant):
            return node
        part = self.part(node)
        if part is not None:
            self.parts.append(part)
            return self.at(part)
        if self.has_arrays(node):
            raise refuse(f"the value of {ast.unparse(node)}")
        return ast.copy_location(ast.Name(self.hold(node), ast.Load()), node)

    def has_arrays(self, node: ast.AST) -> bool:
        """Whether something in an expression is more than single elements."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name | ast.Attribute):
            array = self.array_of(node.value)
            count = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
            if array is not None and count == array.ndim:
                return any(isinstance(n, ast.Slice) for n in ast.walk(node.slice)) or self.has_arrays(node.slice)
        if isinstance(node, ast.Name | ast.Attribute) and self.array_of(node) is not None:
            return True
        return any(map(self.has_arrays, ast.iter_child_nodes(node)))

    def part(self, node: ast.expr) -> _Part | None:
        """The slice that an expression is: ``a[i, 1:]``, ``a[i]`` of two axes, ``v`` of one."""
        if isinstance(node, ast.Name | ast.Attribute):
            array = self.array_of(node)
            return None if array is None else self._sliced(array, node, [])
        if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Name | ast.Attribute):
            return None
        array = self.array_of(node.value)
        if array is None:
            return None
        index = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        is_element = len(index) == array.ndim and not any(isinstance(p, ast.Slice) for p in index)
        return None if is_element else self._sliced(array, node.value, index)

    def _sliced(self, array: ir.ArrayParameter, owner: ast.expr, index: list[ast.expr]) -> _Part:
        if array.elements:
            raise refuse("a slice of a list")
        index = [*index, *[ast.Slice()] * (array.ndim - len(index))]
        axes = [i for i, p in enumerate(index) if isinstance(p, ast.Slice)]
        if len(index) != array.ndim or len(axes) != 1:
            raise refuse(f"a part of {array.ndim} axes of an array")
        taken = index[axes[0]]
        assert isinstance(taken, ast.Slice)
        if taken.step is not None or any(isinstance(n, ast.Constant) and n.value in (None, ...) for n in index):
            raise refuse(f"the slice {ast.unparse(taken)}")
        size = _load(self.hold(_size(owner, axes[0])))
        start = self.hold(_bound(taken.lower, size, ast.Constant(0)))
        stop = self.hold(_bound(taken.upper, size, size))
        count = self.hold(_call("_jm_max", ast.BinOp(_load(stop), ast.Sub(), _load(start)), ast.Constant(0)))
        held = [p if i == axes[0] else _load(self.hold(p)) for i, p in enumerate(index)]
        return _Part(array, owner, tuple(held), axes[0], ast.unparse(taken), start, count)

    def at(self, part: _Part) -> ast.expr:
        """The element of the present round."""
        here = ast.BinOp(_load(part.start), ast.Add(), _load(self.counter))
        index = [here if i == part.axis else p for i, p in enumerate(part.index)]
        inside = index[0] if len(index) == 1 else ast.Tuple(index, ast.Load())
        return ast.Subscript(copy.deepcopy(part.owner), inside, ast.Load())

    def checks(self, target: _Part) -> list[ast.stmt]:
        """Other slices must be as long."""
        tests = (ast.Compare(_load(p.count), [ast.NotEq()], [_load(target.count)]) for p in self.parts)
        return [ast.If(test, [ast.Raise(_load("_jm_leave"))], []) for test in tests]


def _stores(statement: ast.stmt) -> ast.stmt:
    """The statement with the context that its targets must have."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            node.targets[0].ctx = ast.Store()
    return statement


def _size(owner: ast.expr, axis: int) -> ast.expr:
    return ast.Subscript(ast.Attribute(copy.deepcopy(owner), "shape", ast.Load()), ast.Constant(axis), ast.Load())


def _bound(given: ast.expr | None, size: ast.expr, without: ast.expr) -> ast.expr:
    """Where a slice starts or stops, between 0 and the size."""
    if given is None:
        return without
    from_end = _call("_jm_max", ast.BinOp(given, ast.Add(), size), ast.Constant(0))
    from_start = _call("_jm_min", given, size)
    known = ast.unparse(given)
    if known.isdigit():
        return from_start
    if known.startswith("-") and known[1:].isdigit():
        return from_end
    return ast.IfExp(ast.Compare(given, [ast.Lt()], [ast.Constant(0)]), from_end, from_start)


def _call(name: str, *args: ast.expr) -> ast.expr:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())
