"""Evaluates one frame over trackers, in exactly Python's order; inlined callees get an evaluator of their own.

What a statement or expression means stands in the handler tables of ``statements`` and ``expressions``. This class
holds what they share: names, operations on values, nodes of the graph, and calls.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from types import CodeType
from typing import Any

from jitmagic.config import current
from jitmagic.errors import InternalError, Span, Unsupported, UserError
from jitmagic.graph.meta import ArrayMeta, Meta
from jitmagic.graph.node import ModuleCall, Node, map_nodes, nodes_in
from jitmagic.graph.shapes import DataDependentSize
from jitmagic.ops import Form, Op, lookup_method
from jitmagic.ops.extern import opaque
from jitmagic.ops.refusals import worded_as_method
from jitmagic.ops.silenced import constant, silenced
from jitmagic.tracer.comptime import comptime, note_hook
from jitmagic.tracer.directives import graph_break, is_disabled, is_opaque
from jitmagic.tracer.frame import Frame, frame_of
from jitmagic.tracer.identity import same_or_equal
from jitmagic.tracer.language import Language
from jitmagic.tracer.operands import operand, to_python_number, wrap_inferred
from jitmagic.tracer.output import OutputGraph
from jitmagic.tracer.scopes import Scope
from jitmagic.tracer.signals import NotConstant, Raised, Restart
from jitmagic.tracer.sorting import sort
from jitmagic.tracer.tails import Tail, after_call, stands_alone
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker, python_error, type_name
from jitmagic.tracer.variables.binding import bind_arguments
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.dataclass_methods import generated_method
from jitmagic.tracer.variables.enums import plain_number
from jitmagic.tracer.variables.functions import Cell, FunctionTracker, NestedFunction
from jitmagic.tracer.variables.lazy import Lazy

__all__ = ["TEMPORARY", "Evaluator"]

RECURSIONS = 256  # calls of a function inside itself that one trace writes out
LARGE = 4096  # elements from which on a compiled loop body outweighs the cost of its guards
TEMPORARY = "_jm"  # names that rewritten statements use


class Evaluator:
    """One frame in evaluation. ``namespace`` is the generated program's name for this function's globals."""

    def __init__(
        self,
        output: OutputGraph,
        frame: Frame,
        globals_: dict[str, Any],
        namespace: str,
        locals_: dict[str, VariableTracker],
        closure: Mapping[str, Cell],
        parent: Evaluator | None = None,
    ) -> None:
        self.output = output
        self.frame = frame
        self.globals = globals_
        self.namespace = namespace
        self.locals: dict[str, VariableTracker] = {}
        self.cells: dict[str, Cell] = dict(closure)
        self.scopes: list[Scope] = []
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.node: ast.AST = frame.node
        self.active: list[ast.stmt] = []
        self.handling: list[Raised] = []
        self.whole_rests: list[tuple[Sequence[ast.stmt], Sequence[ast.stmt]]] = [(frame.body, ())]
        """Blocks of which it is known what follows them to the end of the function: nothing, or other statements."""
        self.following: Sequence[ast.stmt] | None = None  # what follows the statement up to there, if that is known
        self.tail: Tail | None = None  # the call whose callee may record what follows it
        self.after_call: Callable[[VariableTracker], VariableTracker | None] | None = None
        """Evaluates, with what this function returns, all that follows in its callers."""
        output.evaluators.add(self)
        for name in frame.code.co_cellvars:
            self.cells[name] = Cell(name)
        for name, value in locals_.items():
            self.store_name(name, value)

    def let_go(self) -> None:
        """Hold no variables any more: a function among them holds its evaluator."""
        self.locals.clear()
        for cell in self.cells.values():
            cell.content = None

    def _at(self, error: Unsupported, node: ast.expr) -> Unsupported:
        error.span, error.node = self.frame.span(node), node
        return error

    # -- places
    @property
    def span(self) -> Span:
        return self.frame.span(self.node)

    def place(self, node: ast.AST) -> tuple[Any, ...]:
        return self.output.policy.place(self.frame.code, node)

    def mangle(self, name: str) -> str:
        """A private name (``__x`` inside a class) as the class stores it."""
        if not name.startswith("__") or name.endswith("__") or "." not in self.frame.code.co_qualname:
            return name
        owner = _class_around(self.frame.code.co_qualname).lstrip("_")
        return f"_{owner}{name}" if owner else name

    def located(self, error: BaseException, statement: ast.stmt) -> Unsupported:
        """A break with its place, and the statement that must run as plain Python because of it.

        That is the statement itself if only ``if`` statements are around it, else the outermost other one.
        """
        if isinstance(error, DataDependentSize):
            error = Unsupported("data-size", str(error))
        if isinstance(error, NotConstant):
            error = Unsupported("data-number", ast.unparse(statement).splitlines()[0])
        assert isinstance(error, Unsupported)
        if error.span is None:
            error.span = self.frame.span(statement)
        if getattr(error, "statement", None) is None:
            around = [s for s in self.active if not isinstance(s, ast.If)]
            error.statement = around[0] if around else statement
            error.around = statement
            error.outline = error.statement is not statement and self._works_on_large_arrays(error.statement)
        return error

    def _works_on_large_arrays(self, statement: ast.stmt) -> bool:
        """Whether a loop or block does enough per round for its body to be worth compiling on its own."""
        lines = range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        metas = [n.meta for n in self.output.graph.calls() if n.span is not None and n.span.line in lines]
        return any(isinstance(m, ArrayMeta) and math.prod(m.hint_shape) >= LARGE for m in metas)

    @property
    def language(self) -> Language:
        return self.output.language

    # -- running
    def run(self) -> VariableTracker:
        """Evaluate the whole body; gives what the function returns."""
        self.output.evaluating.append(self)
        try:
            flow = self.language.run_block(self, self.frame.body)
        finally:
            self.output.evaluating.pop()
        if flow is not None and flow.value is not None:
            return flow.value
        return Constant(None)

    def eval(self, node: ast.expr) -> VariableTracker:
        """The value of one expression."""
        handler = self.language.expressions.get(type(node))
        before, self.node = self.node, node
        try:
            if handler is None:
                raise Unsupported("statement", f"the expression {ast.unparse(node)}")
            return self.realize(handler(self, node))
        except Unsupported as error:
            if error.span is None:
                error.span = self.frame.span(node)
            if error.node is None:
                error.node = node
            raise
        except DataDependentSize as error:
            raise self._at(Unsupported("data-size", str(error)), node) from None
        except NotConstant:
            raise self._at(Unsupported("data-number", ast.unparse(node)), node) from None
        finally:
            self.node = before

    @staticmethod
    def realize(value: VariableTracker) -> VariableTracker:
        return value.realize() if isinstance(value, Lazy) else value

    # -- names
    def load_name(self, name: str) -> VariableTracker:
        for scope in reversed(self.scopes):
            content = scope.load(name) if name in scope else None
            if content is not None:
                return self.realize(content)
        if name in self.cells:
            content = self.cells[name].content
            if content is None:
                raise self._unbound(name)
            return self.realize(content)
        if name in self.locals:
            return self.realize(self.locals[name])
        if name in self.frame.local_names:
            raise self._unbound(name)
        return self.output.builder.global_name(self, name)

    def cell(self, name: str) -> Cell:
        """The cell that a function made here closes over."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope.cells[name]
        return self.cells[name]

    def _unbound(self, name: str) -> BaseException:
        if name in self.frame.code.co_freevars:
            text = f"cannot access free variable {name!r} where it is not associated with a value in enclosing scope"
            return python_error(NameError, text, name=name)
        return python_error(
            UnboundLocalError, f"cannot access local variable {name!r} where it is not associated with a value"
        )

    def store_name(self, name: str, value: VariableTracker) -> None:
        """Bind a name of the function (not of a comprehension)."""
        if name in self.cells:
            self.cells[name].store(self, value)
        elif name in self.frame.local_names or name.startswith(TEMPORARY):
            self.locals[name] = value
        else:
            self.output.builder.store_global(self, name, value)

    def delete_name(self, name: str) -> None:
        self.load_name(name)
        if name in self.cells:
            self.cells[name].store(self, None)
        elif name in self.locals:
            del self.locals[name]
        else:
            self.output.builder.store_global(self, name, None)

    def annotate(self, name: str, annotation: ast.expr) -> None:
        """An annotation of a local name is not evaluated; class bodies keep theirs."""

    def forget_name(self, name: str) -> None:
        """Unbind a name if it is bound, as the end of an ``except ... as name`` block does."""
        if name in self.cells:
            self.cells[name].store(self, None)
        else:
            self.locals.pop(name, None)

    # -- nodes
    def operand(self, value: VariableTracker) -> Any:
        """A tracker as an operand of a node."""
        return operand(self, value)

    def add_node(self, op: Op, args: tuple[Any, ...], kwargs: dict[str, Any], meta: Meta | None) -> Node:
        op = self._under_the_circumstances(op)
        self.output.note_place(self, self.span)
        return self.output.graph.call(op, args, kwargs, meta, span=self.span, stack=self.stack)

    def _under_the_circumstances(self, op: Op) -> Op:
        """The row as it is inside the blocks around: under ``np.errstate``, under ``jm.no_grad``."""
        op = silenced(op, self.output.ignored)
        return constant(op) if self.output.grad_off else op

    @property
    def stack(self) -> tuple[ModuleCall, ...]:
        """The modules whose calls are being traced, outermost first (row N56)."""
        return tuple(self.output.modules)

    def call_op(
        self, op: Op, args: Sequence[VariableTracker], kwargs: Mapping[str, VariableTracker]
    ) -> VariableTracker:
        """Record a call of an operation; what NumPy would raise is raised in the traced program."""
        return self._record(op, tuple(self.operand(a) for a in args), self._named(kwargs), args, kwargs)

    def call_form(
        self, op: Op, form: Form, args: Sequence[VariableTracker], kwargs: Mapping[str, VariableTracker]
    ) -> VariableTracker:
        """The same through another way of writing it (a method, an operator)."""
        if self.output.tensors is not None:
            self.output.tensors.check_method(form.target, args)
        given = plain = tuple(self.operand(a) for a in args)
        named = wanted = self._named(kwargs)
        if form.adapt is not None:
            try:
                plain, named = form.adapt(*plain, **named)
            except (TypeError, ValueError) as error:
                raise self._as_written(form, given, wanted, error) from None
        try:
            return self._record(op, tuple(plain), dict(named), args, kwargs)
        except Raised as raised:
            raise self._as_written(form, given, wanted, raised.error) from None

    def _as_written(self, form: Form, args: tuple[Any, ...], kwargs: dict[str, Any], error: BaseException) -> Raised:
        """The exception that the call raises the way it is written; functions and methods word theirs differently."""
        name = form.target
        if not isinstance(error, TypeError) or not isinstance(name, str) or name.startswith(("__", "generic.")):
            return Raised(error)
        return Raised(worded_as_method(name, map_nodes(args, _meta_of), map_nodes(kwargs, _meta_of), error))

    def call_method_form(self, name: str, args: Sequence[VariableTracker]) -> VariableTracker:
        found = lookup_method(name)
        if found is None:
            raise Unsupported("operator", name)
        return self.call_form(*found, args, {})

    def _named(self, kwargs: Mapping[str, VariableTracker]) -> dict[str, Any]:
        return {k: self.operand(plain_number(self.realize(v)) if k == "axis" else v) for k, v in kwargs.items()}

    def record(
        self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], operands: Sequence[VariableTracker]
    ) -> VariableTracker:
        """Record a call whose arguments are nodes and constants already; ``operands`` are the trackers of the nodes."""
        return self._record(op, args, kwargs, operands, {})

    def _record(
        self,
        op: Op,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        values: Sequence[VariableTracker],
        named: Mapping[str, VariableTracker],
    ) -> VariableTracker:
        metas = map_nodes(args, _meta_of)
        try:
            inferred = op.infer(metas, map_nodes(kwargs, _meta_of), self.output.env)
        except (Unsupported, DataDependentSize, UserError):  # the last: a promise about a size that cannot be kept
            raise
        except NotConstant:
            raise Unsupported("data-number", op.name) from None
        except InternalError as error:  # the rule is wrong: the program must not catch what NumPy does not raise
            raise Unsupported("extern-unknown", f"{op.name} with these operands") from error
        except Exception as error:
            self.output.note_raised(nodes_in((args, kwargs)))
            raise Raised(error) from None
        op = self._under_the_circumstances(op)
        self.output.note_place(self, self.span)
        node = self.output.graph.call(op, args, kwargs, None, span=self.span, stack=self.stack)
        for written in node.written():
            self.output.note_write(written, node)
        return wrap_inferred(self, node, inferred, [*values, *named.values()])

    def python_number(self, array: ArrayTracker) -> VariableTracker:
        """The Python number inside a one-element array, as a node."""
        return to_python_number(self, array)

    # -- values
    def truth(self, value: VariableTracker) -> bool:
        try:
            return value.truth(self)
        except DataDependentSize as error:
            raise Unsupported("data-size", str(error)) from None

    def unpack(self, value: VariableTracker, refusal: str = "") -> list[VariableTracker]:
        """Every item of an iterable. ``refusal`` words the TypeError for what is none, with ``{}`` for its class."""
        iterator = self._iterator(value, refusal)
        items: list[VariableTracker] = []
        limit = current().unroll_limit
        while (item := iterator.next_item(self)) is not None:
            items.append(item)
            if len(items) > limit:
                raise Unsupported("long-loop", f"more than {limit}")
        return items

    def taken(self, value: VariableTracker, count: int) -> list[VariableTracker]:
        """The first items of an iterable, at most ``count`` of them; no more are asked for."""
        iterator = self._iterator(value, "")
        items: list[VariableTracker] = []
        while len(items) < count and (item := iterator.next_item(self)) is not None:
            items.append(item)
        return items

    def _iterator(self, value: VariableTracker, refusal: str) -> VariableTracker:
        try:
            return value.iterate(self)
        except Raised as raised:
            if not refusal or not isinstance(raised.error, TypeError) or hasattr(value.python_type(), "__iter__"):
                raise
            raise python_error(TypeError, refusal.format(type_name(value.python_type()))) from None

    def same_or_equal(self, a: VariableTracker, b: VariableTracker) -> bool:
        """``a is b or a == b``, as ``in`` and ``index`` ask."""
        return same_or_equal(self, a, b)

    def sort(
        self, items: Sequence[VariableTracker], key: VariableTracker | None, reverse: VariableTracker | None
    ) -> list[VariableTracker]:
        """What ``sorted`` gives."""
        return sort(self, items, key, reverse)

    # -- calls
    def inline(
        self, function: FunctionTracker, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        """Evaluate the body of a callee in place of the call."""
        plain = function.function
        if is_opaque(plain):
            return self.call_op(opaque(plain), args, kwargs)
        if plain is comptime:
            return note_hook(self, args, kwargs)
        if is_disabled(plain):
            raise Unsupported("user-break" if plain is graph_break else "disabled", plain.__qualname__)
        generated = generated_method(self, function, args, kwargs)
        if generated is not None:
            return generated
        self._check_inlinable(plain.__qualname__)
        self._count_recursion(plain.__code__)
        frame = frame_of(plain)
        builder = self.output.builder
        defaults, kwdefaults = builder.defaults_of(self, function)
        bound = bind_arguments(plain.__qualname__, plain.__code__, args, kwargs, defaults, kwdefaults)
        closure = builder.closure_of(self, function)
        namespace = self.namespace if plain.__globals__ is self.globals else builder.namespace(plain.__globals__)
        child = Evaluator(self.output, frame, plain.__globals__, namespace, bound, closure, self)
        return self._run_child(child, (function, args, kwargs))

    def inline_nested(
        self, function: NestedFunction, args: Sequence[VariableTracker], kwargs: dict[str, VariableTracker]
    ) -> VariableTracker:
        """The same for a function that was defined during the trace."""
        self._check_inlinable(function.code.co_qualname)
        self._count_recursion(function.code)
        frame = Frame(function.code, function.node)
        bound = bind_arguments(
            function.code.co_qualname, function.code, args, kwargs, function.defaults, function.kwdefaults
        )
        closure = dict(zip(function.code.co_freevars, function.cells, strict=True))
        owner = function.owner
        child = Evaluator(self.output, frame, owner.globals, owner.namespace, bound, closure, self)
        return self._run_child(child, (function, args, kwargs))

    def _check_inlinable(self, name: str) -> None:
        place = self.place(self.node)
        if place in self.output.policy.no_inline:
            raise self.output.policy.no_inline[place]
        if self.depth >= current().inline_depth_limit:
            raise Unsupported("depth", str(current().inline_depth_limit))

    def _count_recursion(self, code: CodeType) -> None:
        """A function that calls itself twice grows a tree: above the limit it is compiled on its own instead."""
        if any(tx.frame.code is code for tx in self.output.evaluating):
            self.output.recursions[code] += 1
            if self.output.recursions[code] > RECURSIONS:
                raise Unsupported("recursion", f"{code.co_qualname}()")

    def _run_child(
        self, child: Evaluator, call: tuple[VariableTracker, Sequence[VariableTracker], Any]
    ) -> VariableTracker:
        if child.frame.is_plain_generator:
            made: VariableTracker = self.language.generator(child, child.frame.code.co_qualname, call)
            self.output.generators.append(made)
            return made
        if child.frame.is_generator:
            raise Unsupported("generator", child.frame.code.co_qualname)
        child.after_call = after_call(self, child, call[0])
        try:
            return child.run()
        except Unsupported as error:
            if stands_alone(self, error):
                raise Restart from None
            place = self.place(self.node)
            cause = Unsupported("callee-break", f"{child.frame.code.co_qualname}()", self.span)
            cause.inner = error
            self.output.policy.no_inline[place] = cause
            raise Restart from None


def _class_around(qualname: str) -> str:
    """The name of the class whose private names a function spells short; empty if it is in none."""
    parts = qualname.split(".")
    while len(parts) > 2 and parts[-2] == "<locals>":
        parts = parts[:-2]
    return parts[-2] if len(parts) > 1 and parts[-2] != "<locals>" else ""


def _meta_of(leaf: Any) -> Any:
    return leaf.meta if isinstance(leaf, Node) else leaf
