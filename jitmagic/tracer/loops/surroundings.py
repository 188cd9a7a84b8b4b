"""Takes names and attributes that a loop reads, gives parameters of its region: arrays, numbers, known functions."""

from __future__ import annotations

import ast
import cmath
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from jitmagic.graph import region as ir
from jitmagic.own_builtins import OWN_BUILTINS
from jitmagic.tracer.directives import is_disabled, is_opaque
from jitmagic.tracer.loops.constant_parts import constant_part
from jitmagic.tracer.loops.elements import MoreKinds
from jitmagic.tracer.loops.expressions import Outside
from jitmagic.tracer.loops.lists import is_many, numbers_of, with_tags
from jitmagic.tracer.loops.rules import COMPLEX, refuse
from jitmagic.tracer.loops.runs import TEMPORARY
from jitmagic.tracer.variables.array import ArrayTracker
from jitmagic.tracer.variables.base import VariableTracker
from jitmagic.tracer.variables.callables import CallableTracker
from jitmagic.tracer.variables.constant import Constant
from jitmagic.tracer.variables.functions import FunctionTracker, NestedFunction
from jitmagic.tracer.variables.held import Held
from jitmagic.tracer.variables.number_kinds import ELEMENTS, PYTHON_NUMBERS, number_kind
from jitmagic.tracer.variables.sequences import ListTracker, SequenceTracker, TupleTracker
from jitmagic.tracer.variables.tensor import TensorTracker

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.frame import FunctionNode

__all__ = ["Surroundings", "known_function"]

OWN_FUNCTIONS: Mapping[str, Callable[..., Any]] = {  # for statements that no user wrote
    "_jm_is_dtype": lambda value, name: bool(np.asarray(value).dtype == name),
    "_jm_numpy": lambda value: np.asarray(value)[()],
    "_jm_range": range,
    "_jm_min": min,
    "_jm_max": max,
    "_jm_python": lambda value: value.item(),
}
OWN_NAMES: Mapping[str, str] = {"_jm_range": "builtins.range", "_jm_min": "builtins.min", "_jm_max": "builtins.max"}
_INDEX_PARTS = (
    ast.Slice,
    ast.Tuple,
    ast.Name,
    ast.Constant,
    ast.UnaryOp,
    ast.BinOp,
    ast.unaryop,
    ast.operator,
    ast.expr_context,
)
CHOICES = 32  # elements of a list of constants


@dataclass(slots=True)
class Surroundings(Outside):
    """Answers from the trackers; everything that the region reads becomes an operand of its node."""

    tx: Evaluator
    rebound: frozenset[str]
    arrays: dict[str, tuple[ir.ArrayParameter, ArrayTracker]] = field(default_factory=dict)
    lists: dict[str, tuple[SequenceTracker, Held]] = field(default_factory=dict)  # those that are lists, by parameter
    aliases: dict[str, str] = field(default_factory=dict)  # other texts for a list -> its first
    as_constants: list[SequenceTracker] = field(default_factory=list)  # lists that must not be written
    wider: dict[str, tuple[str, ...]] = field(default_factory=dict)  # types that the loop stores in lists, by text
    scalars: dict[str, tuple[ir.Var, VariableTracker]] = field(default_factory=dict)
    functions: dict[str, Any] = field(default_factory=dict)  # and what else never changes
    nested: dict[str, FunctionNode] = field(default_factory=dict)  # functions of this frame, by name

    def _value(self, node: ast.expr) -> VariableTracker | None:
        root = node
        while isinstance(root, ast.Attribute) or (isinstance(root, ast.Subscript) and self._stays(root.slice)):
            root = root.value
        if not isinstance(root, ast.Name) or root.id in self.rebound:
            return None
        return self.tx.eval(node) if root is node else constant_part(self.tx, node)

    def _stays(self, index: ast.expr) -> bool:
        """Whether an index takes the same part of an array in every round."""
        parts = list(ast.walk(index))
        names = {n.id for n in parts if isinstance(n, ast.Name)}
        calls = [n for n in parts if isinstance(n, ast.Call)]
        known = all(isinstance(n, (*_INDEX_PARTS, ast.Call)) for n in parts)
        known = known and all(self.function(call.func) == "builtins.len" for call in calls)
        return known and any(isinstance(n, ast.Slice) for n in parts) and not names & self.rebound

    def array(self, node: ast.expr) -> ir.ArrayParameter | None:
        text = ast.unparse(node)
        text = self.aliases.get(text, text)
        if text in self.arrays:
            return self.arrays[text][0]
        value = self._value(node)
        if type(value) in (ListTracker, TupleTracker):
            return self._list(text, value)  # type: ignore[arg-type]  # one of both
        if isinstance(value, TensorTracker):
            raise refuse("a Tensor")
        if not isinstance(value, ArrayTracker) or value.meta.scalar:
            return None
        meta = value.meta
        if meta.dtype.name not in ELEMENTS or not meta.dtype.isnative or not meta.ndim:
            raise refuse(f"an array of {meta.dtype}")
        if meta.dtype.kind == "c" and not self.may_fold():
            raise refuse("a complex number, and a derivative")
        name = f"a{len(self.arrays)}"
        made = ir.ArrayParameter(name, meta.dtype.name, meta.ndim, False, "C" in meta.contiguous)
        self.arrays[text] = (made, value)
        return made

    def _list(self, text: str, value: SequenceTracker) -> ir.ArrayParameter:
        """One parameter for one list, whatever names it has."""
        for first, (made, _) in self.arrays.items():
            if made.name in self.lists and self.lists[made.name][0] is value:
                self.aliases[text] = first
                return made
        held = numbers_of(self.tx, value)
        meta = held.array.meta
        if meta.dtype.name not in ELEMENTS:
            raise refuse(f"a list of {meta.dtype}")
        kinds = tuple(dict.fromkeys((*held.kinds, *self.wider.get(text, ()))))
        tags = ""
        if len(kinds) > 1:
            held = with_tags(self.tx, held, kinds)
            tags = f"a{len(self.arrays)}"
            self.arrays[f"_jm_tags{tags}"] = (ir.ArrayParameter(tags, "int8", 1, False, True), held.tags)
        name, dtype = f"a{len(self.arrays)}", held.array.meta.dtype.name
        made = ir.ArrayParameter(name, dtype, meta.ndim, False, True, kinds, tags)
        self.arrays[text] = (made, held.array)
        self.lists[name] = (value, held)
        return made

    def widen(self, request: MoreKinds) -> None:
        """Note that a list needs room for another type."""
        text = next(t for t, (made, _) in self.arrays.items() if made.name == request.array)
        self.wider[text] = (*self.wider.get(text, ()), request.kind)

    def scalar(self, node: ast.expr) -> ir.Var | None:
        text = ast.unparse(node)
        if text in self.scalars:
            return self.scalars[text][0]
        value = self._value(node)
        kind = None if value is None else number_kind(value)
        if value is None or kind is None:
            return None
        if kind in COMPLEX and not self.may_fold():
            raise refuse("a complex number, and a derivative")
        made = ir.Var(f"c{len(self.scalars)}", kind)
        self.scalars[text] = (made, value)
        return made

    def constants(self, node: ast.expr) -> Sequence[Any] | None:
        try:
            found = ast.literal_eval(node)
        except ValueError:
            value = self._value(node)
            found = None if value is None else _known(self.tx, value, self.as_constants)
        return tuple(found) if isinstance(found, tuple | list | set) and len(found) <= CHOICES else None

    def may_fold(self) -> bool:
        return not self.tx.output.differentiating

    def is_none(self, node: ast.expr) -> bool:
        value = self._value(node)
        found = isinstance(value, Constant) and value.value is None
        if found:
            self.functions[ast.unparse(node)] = None
        return found

    def function(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name) and node.id in OWN_FUNCTIONS:
            self.functions[node.id] = OWN_FUNCTIONS[node.id]
            return OWN_NAMES.get(node.id, node.id)
        value = self._value(node)
        if not isinstance(value, CallableTracker):
            return None
        found = _FUNCTIONS.get(value.value)
        if found is not None:
            self.functions[ast.unparse(node)] = value.value
        return found

    def callee(self, node: ast.expr) -> FunctionType | NestedFunction | None:
        value = self._value(node)
        if isinstance(value, NestedFunction):
            return self._nested(node, value)
        if not isinstance(value, FunctionTracker) or is_opaque(value.function) or is_disabled(value.function):
            return None
        function = value.function
        own = {*self.tx.frame.local_names, *self.tx.cells, *self.rebound}
        known = function.__globals__ is self.tx.globals and not own & {*function.__code__.co_names}
        if not known or self.tx.language.builtins.get(function) is not None:
            return None
        if isinstance(node, ast.Name) and node.id.startswith(TEMPORARY):
            self.functions[node.id] = function
        return function

    def defaults(self, node: ast.Call) -> Mapping[str, ast.expr]:
        function = self._value(node.func)
        assert isinstance(function, FunctionTracker | NestedFunction)
        code = function.code if isinstance(function, NestedFunction) else function.function.__code__
        every = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        missing = {*every} - {*every[: len(node.args)], *(k.arg for k in node.keywords)}
        if not missing:
            return {}
        if isinstance(function, NestedFunction):
            positional, named = [*function.defaults], function.kwdefaults
        else:
            positional, named = self.tx.output.builder.defaults_of(self.tx, function)
        own = every[code.co_argcount - len(positional) : code.co_argcount]
        defaults = dict(zip(own, positional, strict=True)) | named
        given = {n: self.tx.realize(v) for n, v in defaults.items() if n in missing}
        numbers = {n: v.value for n, v in given.items() if isinstance(v, Constant)}
        is_known = (bool, int, float, type(None))
        return {n: ast.copy_location(ast.Constant(v), node) for n, v in numbers.items() if type(v) in is_known}

    def _nested(self, node: ast.expr, function: NestedFunction) -> NestedFunction | None:
        """A function of this very frame reads the frame's variables, as a piece of its text does."""
        if function.owner is not self.tx or not isinstance(node, ast.Name):
            return None
        if (function.defaults or function.kwdefaults) and not _has_constant_defaults(function.node):
            return None
        read = {*function.code.co_freevars, *function.code.co_names}
        if getattr(function.node, "decorator_list", ()) or read & self.rebound:
            return None
        self.nested[node.id] = function.node
        return function


def _known(tx: Evaluator, value: VariableTracker, read: list[SequenceTracker]) -> Any:
    """A constant, or a tuple of constants: what a list or tuple holds, however deep; None for anything else."""
    value = tx.realize(value)
    if is_many(value):
        return None
    if isinstance(value, TupleTracker | ListTracker):
        read.append(value)
        found = [_known(tx, item, read) for item in value.items]
        return None if None in found else tuple(found)
    return value.value if isinstance(value, Constant) and type(value.value) in PYTHON_NUMBERS else None


def _has_constant_defaults(node: FunctionNode) -> bool:
    """Whether what defines a function may be evaluated again."""
    given = (*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None))
    return all(isinstance(d, ast.Constant) for d in given)


def known_function(tx: Evaluator, node: ast.expr) -> str | None:
    """The full name of the function that a name stands for, if loops know it."""
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    if not isinstance(root, ast.Name):
        return None
    if root.id in OWN_FUNCTIONS:  # of a statement that the tracer made
        return OWN_NAMES.get(root.id)
    value = tx.eval(node)
    return _FUNCTIONS.get(value.value) if isinstance(value, CallableTracker) else None


_BUILTINS = (
    "len",
    "abs",
    "enumerate",
    "zip",
    "reversed",
    "max",
    "min",
    "int",
    "float",
    "complex",
    "bool",
    "range",
    "sum",
    "any",
    "all",
    "map",
)


def _known_functions() -> dict[Any, str]:
    table: dict[Any, str] = {OWN_BUILTINS[n]: f"builtins.{n}" for n in _BUILTINS}
    table |= {np.ndindex: "numpy.ndindex", np.ndenumerate: "numpy.ndenumerate"}
    table[functools.reduce] = "functools.reduce"
    table |= {getattr(np, n): f"numpy.{n}" for n in ("sum", "mean", "max", "min", "amax", "amin")}
    table |= {getattr(math, n): f"math.{n}" for n in dir(math) if callable(getattr(math, n)) and n[0] != "_"}
    table |= {getattr(cmath, n): f"cmath.{n}" for n in ("exp", "sqrt", "phase", "rect")}
    table |= {v: f"numpy.{v.__name__}" for v in vars(np).values() if isinstance(v, np.ufunc)}
    return table


_FUNCTIONS: Mapping[Any, str] = _known_functions()
