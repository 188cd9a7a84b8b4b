"""Takes statements of a loop, gives them with the bodies of methods in the place of their calls.

    s.push(v)              =>      s.n += 1
    total += r.next() % 7          r.state = (r.state * 5 + 3) % 64; next = r.state; total += next % 7

Functions that the frame itself has defined, and that rebind its variables, are treated alike. A call is taken out of
its statement where everything that Python evaluates before it stays as it is.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias

from jitmagic.errors import Unsupported
from jitmagic.tracer.directives import is_disabled, is_opaque
from jitmagic.tracer.frame import frame_of
from jitmagic.tracer.loops.callees import body_of
from jitmagic.tracer.loops.owners import owner_of
from jitmagic.tracer.loops.rules import refuse
from jitmagic.tracer.loops.runs import TEMPORARY
from jitmagic.tracer.names import names_in
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import FunctionTracker, NestedFunction
from jitmagic.tracer.variables.objects import ObjectTracker, find_in_class

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["OWN", "bound_by_inner", "with_methods"]

OWN = f"{TEMPORARY}_in"  # what the names of parameters and variables of methods begin with

Callee: TypeAlias = FunctionTracker | NestedFunction
DEPTH = 6  # of methods that call methods
_INSIDE: Mapping[type, tuple[str, ...]] = {  # the parts of an expression that are always evaluated, in order
    ast.BinOp: ("left", "right"),
    ast.UnaryOp: ("operand",),
    ast.Compare: ("left", "comparators"),
    ast.Attribute: ("value",),
    ast.Subscript: ("value", "slice"),
    ast.Tuple: ("elts",),
    ast.List: ("elts",),
    ast.Call: ("func", "args"),
    ast.BoolOp: ("values",),
    ast.IfExp: ("test",),
}
_ONLY_FIRST = {ast.Compare: 2, ast.BoolOp: 1}  # how many of the parts are evaluated whatever the first ones give


def with_methods(tx: Evaluator, nodes: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The same statements where no call can be replaced; they are not changed themselves."""
    if not any(isinstance(n, ast.Call) for s in nodes for n in ast.walk(s)):
        return list(nodes)
    unfolder = _Unfolder(tx, names_in(nodes, stores_only=True) | bound_by_inner(tx))
    made = [s for node in nodes for s in unfolder.block_of(copy.deepcopy(node), DEPTH)]
    return made if unfolder.serial else list(nodes)


def bound_by_inner(tx: Evaluator) -> set[str]:
    """The names of the frame that functions defined in it rebind."""
    held = [*tx.locals.values(), *(c.content for c in tx.cells.values())]
    inner = (each.node for each in held if isinstance(each, NestedFunction))
    return {name for each in inner for n in ast.walk(each) if isinstance(n, ast.Nonlocal) for name in n.names}


class _Unfolder:
    def __init__(self, tx: Evaluator, rebound: set[str]) -> None:
        self.tx = tx
        self.rebound = rebound
        self.serial = 0
        self.left: set[int] = set()  # calls that stay, by identity

    def block_of(self, node: ast.stmt, depth: int) -> list[ast.stmt]:
        """The statement, and before it what its calls do; blocks within it likewise."""
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            return [node]
        before: list[ast.stmt] = []
        value = _evaluated_first(node, self.tx)
        if value is not None:
            before, made = self._taken_out(node, getattr(node, value), depth)
            if isinstance(node, ast.Expr) and isinstance(made, ast.Name) and before:
                return before
            setattr(node, value, made)
        for field in ("body", "orelse", "finalbody"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                setattr(node, field, [s for each in block for s in self.block_of(each, depth)])
        return [*before, node]

    def _taken_out(self, node: ast.stmt, value: ast.expr, depth: int) -> tuple[list[ast.stmt], ast.expr]:
        before: list[ast.stmt] = []
        while True:
            found = next(self._calls(value), None)
            if found is None:
                return before, value
            call, function = found
            try:
                if depth <= 0:
                    raise refuse("calls in calls")
                result = f"{OWN}_{_name_of(function)}{self.serial}"
                body = self._body(call, function, result)
            except Unsupported:
                self.left.add(id(call))
                continue
            before += [s for each in body for s in self.block_of(each, depth - 1)]
            value = _Replaced(call, ast.copy_location(ast.Name(result, ast.Load()), call)).visit(value)

    def _calls(self, node: Any) -> Iterator[tuple[ast.Call, Callee]]:
        """The first call of a method in an expression, if nothing that is evaluated before it can change."""
        if isinstance(node, ast.Call) and id(node) not in self.left and (function := self._callee(node)) is not None:
            yield node, function
        for part in _parts(node):
            yield from self._calls(part)
            if not _stays(part, self.tx):
                return

    def _callee(self, node: ast.Call) -> Callee | None:
        """The method of the user's class, or the function of this frame, that a call runs."""
        func = node.func
        receiver, name = (func.value, func.attr) if isinstance(func, ast.Attribute) else (func, "__call__")
        owner = owner_of(self.tx, receiver, self.rebound)
        if owner is not None and receiver is func and isinstance(owner, NestedFunction):
            return owner if self._is_own(owner) else None
        if type(owner) is not ObjectTracker or not isinstance(find_in_class(owner.cls, name), FunctionType):
            return None
        if receiver is not func and owner.own(self.tx, name) is not None:
            return None
        found = owner.class_attribute(self.tx, name)
        return found if isinstance(found, FunctionTracker) and self._is_plain(found) else None

    def _is_own(self, function: NestedFunction) -> bool:
        """Whether this frame has defined it, and it rebinds variables of the frame."""
        rebinds = any(isinstance(n, ast.Nonlocal) for n in ast.walk(function.node))
        return rebinds and function.owner is self.tx and not getattr(function.node, "decorator_list", ())

    def _is_plain(self, tracker: FunctionTracker) -> bool:
        """Whether the text of a function means in this one what it means in its own."""
        function = tracker.function
        if tracker.face is not function or is_opaque(function) or is_disabled(function):
            return False
        known = function.__globals__ is self.tx.globals and not function.__code__.co_freevars
        return known and self.tx.language.builtins.get(function) is None

    def _body(self, call: ast.Call, callee: Callee, result: str) -> list[ast.stmt]:
        """Statements that bind ``result`` to what the call gives. Raises Unsupported where that is something else."""
        self.serial += 1
        nothing = ast.Assign([ast.Name(result, ast.Store())], ast.Constant(None))
        before = ast.fix_missing_locations(ast.copy_location(nothing, call))
        if isinstance(callee, NestedFunction):
            _check(callee.node, receiver=None)
            given = self._defaults(call, callee.code, callee.defaults, callee.kwdefaults)
            body = body_of(call, callee, result, self.serial, lambda _: False, given)
            return [before, *(s for s in body if not isinstance(s, ast.Nonlocal))]
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        frame = frame_of(callee.function)
        definition: Any = frame.node
        parameters = [a.arg for a in (*definition.args.posonlyargs, *definition.args.args)]
        _check(definition, receiver=parameters[0] if parameters else "")
        used = names_in(definition.body) - frame.local_names
        if used & {*self.tx.frame.local_names, *self.tx.cells}:
            raise refuse(f"the call {ast.unparse(call)}")
        bound = ast.copy_location(ast.Call(call.func, [receiver, *call.args], call.keywords), call)
        positional, named = self.tx.output.builder.defaults_of(self.tx, callee)
        given = self._defaults(bound, callee.function.__code__, positional, named)
        return [before, *body_of(bound, callee.function, result, self.serial, lambda v: v is receiver, given)]

    def _defaults(
        self,
        call: ast.Call,
        code: CodeType,
        positional: Sequence[VariableTracker],
        named: Mapping[str, VariableTracker],
    ) -> dict[str, ast.expr]:
        """Those of the parameters that the call leaves out."""
        every = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        missing = {*every} - {*every[: len(call.args)], *(k.arg for k in call.keywords)}
        own = every[code.co_argcount - len(positional) : code.co_argcount]
        held = {**dict(zip(own, positional, strict=True)), **named}
        given = {n: self.tx.realize(v) for n, v in held.items() if n in missing}
        known = {n: v.value for n, v in given.items() if isinstance(v, Constant)}
        is_number = (bool, int, float, type(None))
        return {n: ast.copy_location(ast.Constant(v), call) for n, v in known.items() if type(v) in is_number}


def _name_of(callee: Callee) -> str:
    code = callee.code if isinstance(callee, NestedFunction) else callee.function.__code__
    return code.co_name.strip("_")


def _evaluated_first(node: ast.stmt, tx: Evaluator) -> str | None:
    """The expression of a statement that is evaluated once, before anything else of it that can change."""
    if isinstance(node, ast.AugAssign):
        return "value" if isinstance(node.target, ast.Name) and _stays(node.target, tx) else None
    if isinstance(node, ast.Assign | ast.Expr):
        return "value"
    if isinstance(node, ast.Return):
        return None if node.value is None else "value"
    return "test" if isinstance(node, ast.If | ast.Assert) else None


def _parts(node: Any) -> list[ast.expr]:
    """What an expression evaluates first, whatever comes of it."""
    found: list[ast.expr] = []
    for field in _INSIDE.get(type(node), ()):
        inner = getattr(node, field)
        found += inner if isinstance(inner, list) else [inner]
    return found[: _ONLY_FIRST.get(type(node), len(found))]


def _stays(node: ast.expr, tx: Evaluator) -> bool:
    """Whether a method that runs after an expression was evaluated cannot change what it gave."""
    if isinstance(node, ast.Name):
        return node.id.startswith(TEMPORARY) or (node.id in tx.frame.local_names and node.id not in tx.cells)
    return isinstance(node, ast.Constant)


def _check(definition: Any, receiver: str | None) -> None:
    """Raises Unsupported for functions whose text means something else in another place.

    ``receiver`` is the first parameter of a method; None for a function that may rebind variables around it.
    """
    inner = [n for s in (definition.body if isinstance(definition.body, list) else ()) for n in ast.walk(s)]
    names = {n.id for n in inner if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    private = any(isinstance(n, ast.Attribute) and n.attr.startswith("__") and n.attr[-2:] != "__" for n in inner)
    tuples = any(isinstance(n, ast.Return) and isinstance(n.value, ast.Tuple) for n in inner)
    odd = _ODD if receiver is None else (*_ODD, ast.Nonlocal)
    if private or tuples or receiver == "" or receiver in names or any(isinstance(n, odd) for n in inner):
        raise refuse(f"the call of {definition.name}")


_ODD = (ast.Global, ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.Try, ast.With, ast.Raise)


class _Replaced(ast.NodeTransformer):
    """Puts ``new`` in the place of one node."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old = old
        self.new = new

    def visit(self, node: ast.AST) -> Any:
        return self.new if node is self.old else self.generic_visit(node)
