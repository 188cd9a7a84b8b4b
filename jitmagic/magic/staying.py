"""Takes the AST of a cell, gives what of its array work ``%%compile`` leaves to plain Python, and why.

That is what is kept for later where no compiled function calls it: nested functions and lambdas, async functions,
generators; and loops at top level that took long. Functions that a compiled function calls are part of that one.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import BuiltinFunctionType, ModuleType
from typing import Any

import numpy as np

from jitmagic.magic.rewrite import find_functions

__all__ = ["Staying", "slow_loop", "staying"]

LONG_S = 0.5  # plain running time of a loop that a user wonders about
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_WRITTEN_OUT = "array work goes into a def that it calls"
_KEPT = "pass it to jitmagic.compile where you keep it"
_TOP_LAMBDA = "write it with def"
_IN_KERNELS = frozenset({"range", "len", "abs", "min", "max", "int", "float", "bool", "round", "enumerate", "zip"})
_CONTAINERS = (list, dict, set, tuple, str, int, float, np.ndarray, np.generic)


@dataclass(frozen=True, slots=True)
class Staying:
    """One thing that stays plain: what a card calls it, where it is, why, and what to do."""

    name: str
    node: ast.stmt | ast.expr
    why: str
    hint: str


def staying(tree: ast.Module) -> list[Staying]:
    """The functions of a cell that do array work and stay plain though nothing compiled calls them."""
    compiled = [d for d in find_functions(tree) if not d.is_generator]
    called = {n.id for d in compiled for n in ast.walk(d.node) if isinstance(n, ast.Name)}
    found = [*_of_the_cell(tree), *_generators(tree)]
    kept = [each for d in compiled if d.node.name not in called for each in _kept_by(d.node, d.name)]
    wanted = [each for each in found if each.name.rpartition(".")[2] not in called]
    return [each for each in (*wanted, *kept) if _works(each.node)]


def _of_the_cell(tree: ast.Module) -> Iterator[Staying]:
    for node in tree.body:
        match node:
            case ast.AsyncFunctionDef(decorator_list=[]):
                yield Staying(node.name, node, "stays plain Python, it is async", _WRITTEN_OUT)
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda() as made):
                yield Staying(name, made, "stays plain Python, it is a lambda", _TOP_LAMBDA)


def _generators(tree: ast.Module) -> Iterator[Staying]:
    for found in find_functions(tree):
        if found.is_generator and not found.node.decorator_list:
            yield Staying(found.name, found.node, "stays plain Python, it is a generator", _WRITTEN_OUT)


def _kept_by(function: ast.FunctionDef, name: str) -> Iterator[Staying]:
    """Functions made in ``function`` that outlive its call: returned, or stored in an attribute or a container."""
    inner = {n.name: n for n in ast.walk(function) if isinstance(n, ast.FunctionDef) and n is not function}
    for value in _leaving(function):
        for node in _values(value):
            made = inner.pop(node.id, None) if isinstance(node, ast.Name) else node
            if isinstance(made, ast.FunctionDef) and not made.decorator_list:
                yield Staying(f"{name}.{made.name}", made, f"stays plain Python, {name}() makes it anew", _KEPT)
            elif isinstance(made, ast.Lambda):
                yield Staying(f"the lambda of {name}", made, f"stays plain Python, {name}() makes it anew", _KEPT)


def _leaving(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        match node:
            case ast.Return(value=ast.expr() as value):
                yield value
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_], value=value):
                yield value


def _values(value: ast.expr) -> Iterable[ast.expr]:
    """The value, or those of a display: ``return f, g``."""
    if isinstance(value, ast.Tuple | ast.List):
        return value.elts
    return value.values if isinstance(value, ast.Dict) else [value]


def _works(node: ast.AST) -> bool:
    """Whether code seems to do array work: it uses NumPy by its usual name, or computes with what is no text.

    Of a lambda the first is asked: most are keys and small formulas.
    """
    inside = list(ast.walk(node))
    if any(isinstance(n, ast.Name) and n.id in ("np", "numpy") for n in inside):
        return True
    computing = () if isinstance(node, ast.Lambda) else inside
    return any(isinstance(n, ast.BinOp) and not _is_text(n.left) and not _is_text(n.right) for n in computing)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


# --- loops at top level --------------------------------------------------------------------------


def slow_loop(node: ast.stmt, namespace: Mapping[str, Any], seconds: float) -> Staying | None:
    """What to say of a statement that ran plainly for so long: None if it is no loop of numbers and arrays.

    A loop that calls functions of the user's spends its time there, and their own cards tell about that.
    """
    if seconds < LONG_S or not isinstance(node, ast.For | ast.While) or not _works(node):
        return None
    calls = [n.func for n in ast.walk(node) if isinstance(n, ast.Call)]
    if not all(_is_pythons(f, namespace) for f in calls):
        return None
    said = f"plain Python for {seconds:.1f} s, {_why_plain(node, calls, namespace)}"
    return Staying(f"the loop on line {node.lineno}", node, said, "put it into a function of a %%compile cell")


def _why_plain(loop: ast.For | ast.While, calls: Iterable[ast.expr], namespace: Mapping[str, Any]) -> str:
    """What the syntax shows of why the loop became no kernel on the way."""
    others = [ast.unparse(f) for f in calls if not (_root(f) in ("np", "math") or ast.unparse(f) in _IN_KERNELS)]
    if others:
        return f"it calls {others[0]}"
    if isinstance(loop, ast.While):
        return "no kernel holds what it does"
    over = namespace.get(loop.iter.id) if isinstance(loop.iter, ast.Name) else None
    if over is not None and not isinstance(over, np.ndarray):
        return f"it loops over a {type(over).__name__}"
    return "it did not look long before it ran, or no kernel holds what it does"


def _is_pythons(function: ast.expr, namespace: Mapping[str, Any]) -> bool:
    """Whether a call runs no code of the user's: a builtin, NumPy's, a method of a container or an array."""
    name = _root(function)
    if name is None:
        return isinstance(function, ast.Attribute)  # a method of a value made on the way
    value = namespace.get(name, getattr(builtins, name, None))
    if isinstance(function, ast.Name):
        return isinstance(value, BuiltinFunctionType | type) and getattr(value, "__module__", "") == "builtins"
    if isinstance(value, ModuleType):
        return value.__name__ in ("numpy", "math")
    return type(value) in _CONTAINERS


def _root(function: ast.expr) -> str | None:
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else None
