"""Takes a loop that the evaluator has met, gives one node of the graph that runs it, and rebinds its variables.

The node's meaning (``call``) is the loop itself as a plain Python function; a backend that can compile the region
sets ``compiled``.
"""

from __future__ import annotations

import ast
import builtins
import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir
from jitmagic.graph.meta import ArrayMeta, Meta, PyMeta
from jitmagic.graph.region_call import RegionCall
from jitmagic.ops.record import Arguments, Inferred, Op
from jitmagic.tracer.loops.build import Builder, Either, Outside
from jitmagic.tracer.loops.rules import FLOATS, INTS, refuse
from jitmagic.tracer.names import names_in
from jitmagic.tracer.operands import wrap_node
from jitmagic.tracer.signals import NotConstant, Raised
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import CallableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.number import RunTimeNumber, SymbolicInt
from jitmagic.tracer.variables.sequences import RangeTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator

__all__ = ["capture_loop"]

ELEMENTS = (*INTS, *FLOATS, "bool")
_PYTHON_TYPES: Mapping[str, type] = {"pyint": int, "pyfloat": float, "pybool": bool}
_LITERALS: Mapping[type, str] = {int: "pyint", float: "pyfloat", bool: "pybool"}


def capture_loop(tx: Evaluator, node: ast.For | ast.While) -> bool:
    """Add the loop to the graph as one node and rebind what it rebinds; False if it is no loop of that kind."""
    try:
        return _capture(tx, node)
    except (Unsupported, NotConstant, Raised) as error:
        tx.output.note_refusal(node, error)
        return False


@dataclass(slots=True)
class _Surroundings(Outside):
    """Answers from the trackers; everything that the region reads becomes an operand of its node."""

    tx: Evaluator
    rebound: frozenset[str]
    arrays: dict[str, tuple[ir.ArrayParameter, ArrayTracker]] = field(default_factory=dict)
    scalars: dict[str, tuple[ir.Var, VariableTracker]] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)

    def _value(self, node: ast.expr) -> VariableTracker | None:
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.rebound:
            return None
        return self.tx.eval(node)

    def array(self, node: ast.expr) -> ir.ArrayParameter | None:
        text = ast.unparse(node)
        if text in self.arrays:
            return self.arrays[text][0]
        value = self._value(node)
        if not isinstance(value, ArrayTracker) or value.meta.scalar:
            return None
        meta = value.meta
        if meta.dtype.name not in ELEMENTS or not meta.dtype.isnative or not meta.ndim:
            raise refuse(f"an array of {meta.dtype}")
        name = f"a{len(self.arrays)}"
        made = ir.ArrayParameter(name, meta.dtype.name, meta.ndim, False, "C" in meta.contiguous)
        self.arrays[text] = (made, value)
        return made

    def scalar(self, node: ast.expr) -> ir.Var | None:
        text = ast.unparse(node)
        if text in self.scalars:
            return self.scalars[text][0]
        value = self._value(node)
        kind = None if value is None else _scalar_type(value)
        if value is None or kind is None:
            return None
        made = ir.Var(f"c{len(self.scalars)}", kind)
        self.scalars[text] = (made, value)
        return made

    def function(self, node: ast.expr) -> str | None:
        value = self._value(node)
        if not isinstance(value, CallableTracker):
            return None
        found = _FUNCTIONS.get(value.value)
        if found is not None:
            self.functions[ast.unparse(node)] = value.value
        return found


def _scalar_type(value: VariableTracker) -> str | None:
    if isinstance(value, Constant):
        return _LITERALS.get(type(value.value))
    if isinstance(value, SymbolicInt):
        return "pyint"
    if isinstance(value, RunTimeNumber):
        return _LITERALS.get(value.kind)
    if isinstance(value, ArrayTracker) and value.meta.scalar and value.meta.dtype.name in ELEMENTS:
        return value.meta.dtype.name
    return None


def _known_functions() -> dict[Any, str]:
    table: dict[Any, str] = {
        getattr(builtins, n): f"builtins.{n}" for n in ["len", "abs", "max", "min", "int", "float", "range"]
    }
    table |= {getattr(math, n): f"math.{n}" for n in dir(math) if callable(getattr(math, n)) and n[0] != "_"}
    table |= {v: f"numpy.{v.__name__}" for v in vars(np).values() if isinstance(v, np.ufunc)}
    return table


_FUNCTIONS: Mapping[Any, str] = _known_functions()


def _capture(tx: Evaluator, node: ast.For | ast.While) -> bool:
    rebound = frozenset(names_in([node], stores_only=True))
    if tx.scopes or any(name in tx.cells for name in rebound) or not rebound <= tx.frame.local_names:
        raise refuse("variables of another scope")
    outside = _Surroundings(tx, rebound)
    builder = Builder(outside)
    entry: dict[str, VariableTracker] = {}
    for name in sorted(rebound & set(tx.locals)):
        value = tx.realize(tx.locals[name])
        kind = _scalar_type(value)
        if kind is None:
            raise refuse(f"{name} holds no number before the loop")
        builder.types[name] = kind
        entry[name] = value
    start = dict(builder.types)
    body = builder.block([node])
    results = _results(tx, node, builder, start)
    _check_later_reads(tx, node, {v for v, _ in results} | set(start))
    _add_node(tx, node, outside, builder, entry, start, body, results)
    return True


def _runs_at_least_once(tx: Evaluator, node: ast.For | ast.While) -> bool:
    if not isinstance(node, ast.For):
        return False
    rounds = tx.eval(node.iter)
    return isinstance(rounds, RangeTracker) and rounds.truth(tx)


def _results(
    tx: Evaluator, node: ast.For | ast.While, builder: Builder, start: Mapping[str, Any]
) -> list[tuple[str, ir.Var]]:
    """The variables that the loop gives a new value, of those that were bound before it."""
    made: list[tuple[str, ir.Var]] = []
    assigned = names_in([node], stores_only=True)
    for name in sorted(assigned & set(start)):
        kind = builder.types.get(name)
        if isinstance(kind, Either):
            kind = kind.now if type(kind) is Either and _runs_at_least_once(tx, node) else None
        if kind is None:
            if name in _loaded_outside(tx, node):
                raise refuse(f"{name} may have two types after the loop")
            continue
        made.append((name, ir.Var(f"{name}_{kind}", kind)))
    return made


def _loaded_outside(tx: Evaluator, loop: ast.AST) -> set[str]:
    inside = {id(n) for n in ast.walk(loop)}
    names = (n for n in ast.walk(tx.frame.node) if isinstance(n, ast.Name) and id(n) not in inside)
    return {n.id for n in names if not isinstance(n.ctx, ast.Store)}


def _check_later_reads(tx: Evaluator, loop: ast.AST, known: set[str]) -> None:
    """Names that only the loop binds must not be read after it."""
    only_inside = names_in([loop], stores_only=True) - known  # type: ignore[list-item]  # a statement
    if lost := only_inside & _loaded_outside(tx, loop):
        raise refuse(f"{', '.join(sorted(lost))} is bound in the loop and read after it")


def _add_node(
    tx: Evaluator,
    node: ast.For | ast.While,
    outside: _Surroundings,
    builder: Builder,
    entry: Mapping[str, VariableTracker],
    start: Mapping[str, Any],
    body: tuple[ir.Stmt, ...],
    results: Sequence[tuple[str, ir.Var]],
) -> None:
    arrays = [
        ir.ArrayParameter(p.name, p.dtype, p.ndim, p.name in builder.written, p.is_contiguous)
        for p, _ in outside.arrays.values()
    ]
    _check_sharing(arrays, [t for _, t in outside.arrays.values()])
    scalars = [ir.ScalarParameter(v.name, v.type) for v, _ in outside.scalars.values()]
    scalars += [ir.ScalarParameter(f"{name}_{start[name]}", str(start[name])) for name in entry]
    region = ir.Region(tuple(arrays), tuple(scalars), body, tuple(v for _, v in results), node.lineno)
    plain = _plain_function(tx, node, outside, list(entry), [n for n, _ in results])
    operands = [t for _, t in outside.arrays.values()] + [t for _, t in outside.scalars.values()] + list(entry.values())
    metas = tuple(_result_meta(v) for _, v in results)
    op = Op(
        "loop",
        RegionCall(region, plain),
        _meta_rule(metas),
        writes=tuple(i for i, a in enumerate(arrays) if a.is_written),
        warns=frozenset(("divide", "over", "invalid")),
    )
    made = tx.output.graph.call(op, tuple(tx.operand(t) for t in operands), {}, None, span=tx.frame.span(node))
    for written in made.written():
        tx.output.note_write(written)
    for index, ((name, _), meta) in enumerate(zip(results, metas, strict=True)):
        item = tx.output.graph.item(made, index, meta)
        tx.store_name(name, wrap_node(tx, item, meta))


def _meta_rule(metas: tuple[Meta, ...]) -> Callable[[Arguments], Inferred]:
    def rule(call: Arguments) -> Inferred:
        return Inferred(metas)

    return rule


def _result_meta(variable: ir.Var) -> Meta:
    python = _PYTHON_TYPES.get(variable.type)
    return PyMeta(python) if python is not None else ArrayMeta(np.dtype(variable.type), scalar=True)


def _check_sharing(arrays: Sequence[ir.ArrayParameter], trackers: Sequence[ArrayTracker]) -> None:
    """A written array must be the only name of its memory in the region."""

    def storage(tracker: ArrayTracker) -> Any:
        found = tracker.node
        while found.view_of is not None:
            found = found.view_of
        return found

    owners = [storage(t) for t in trackers]
    for parameter, owner in zip(arrays, owners, strict=True):
        if parameter.is_written and owners.count(owner) > 1:
            raise refuse("an array that is written and read under two names")


class _Rename(ast.NodeTransformer):
    """Replaces the expressions that became operands by parameter names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Attribute | ast.Name) and isinstance(node.ctx, ast.Load):
            by = self.names.get(ast.unparse(node))
            if by is not None:
                return ast.copy_location(ast.Name(by, ast.Load()), node)
        return self.generic_visit(node)


def _plain_function(
    tx: Evaluator, node: ast.stmt, outside: _Surroundings, carried: Sequence[str], results: Sequence[str]
) -> FunctionType:
    """The loop as a function of the region's operands that returns the tuple of its results."""
    texts = [*outside.arrays, *outside.scalars]
    names = {text: text if text.isidentifier() else f"_jm_p{i}" for i, text in enumerate(texts)}
    functions = {text: f"_jm_f{i}" for i, text in enumerate(outside.functions)}
    loop = _Rename({**functions, **names}).visit(copy.deepcopy(node))
    give = ast.Return(ast.Tuple([ast.Name(n, ast.Load()) for n in results], ast.Load()))
    parameters = [*(names[t] for t in texts), *carried, *functions.values()]
    args = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    definition = ast.FunctionDef("loop", args, [loop, ast.copy_location(give, node)], [], None, None)
    definition.type_params = []  # type: ignore[attr-defined]  # asked for from Python 3.12 on
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(definition, node)], []))
    code = compile(module, tx.frame.filename, "exec", dont_inherit=True)
    own = next(c for c in code.co_consts if hasattr(c, "co_code"))
    own = own.replace(co_name=tx.frame.code.co_name, co_qualname=tx.frame.code.co_qualname)
    return FunctionType(own, tx.globals, "loop", tuple(outside.functions.values()))
