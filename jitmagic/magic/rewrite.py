"""Takes the AST of a cell, gives code whose functions are handed to a decorator as soon as they are made.

The decorator must not enter the user's namespace, not even for a moment (``%who``, ``dir()``, ``del`` and a cell
that raises would all see it), and an AST constant may not hold a callable. So the AST gets a marker text as the
innermost decorator, at the place of the ``def`` itself, and ``bind`` puts the callable in its place among the
constants of the compiled code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

__all__ = ["Definition", "bind", "find_functions", "mark", "needs_await", "select"]

_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Definition:
    """One ``def`` that the cell executes itself: its qualified name and its node."""

    name: str
    node: ast.FunctionDef

    @property
    def is_generator(self) -> bool:
        """Whether a call gives a generator; these are left plain."""
        return any(isinstance(n, ast.Yield | ast.YieldFrom) for n in _own_nodes(self.node.body))

    @property
    def decorators(self) -> tuple[str, ...]:
        """The user's decorators as dotted names, without the arguments; other expressions are left out."""
        heads = (d.func if isinstance(d, ast.Call) else d for d in self.node.decorator_list)
        return tuple(ast.unparse(head) for head in heads if _is_dotted(head))


def find_functions(tree: ast.Module) -> list[Definition]:
    """Functions and methods made when the cell runs, in order; nested and async ones are not among them."""
    return list(_definitions(tree.body, ""))


def _definitions(body: Iterable[ast.stmt], prefix: str) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield Definition(prefix + node.name, node)
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node.body, f"{prefix}{node.name}.")
        elif not isinstance(node, ast.AsyncFunctionDef):
            yield from _definitions(_inner_statements(node), prefix)


def _inner_statements(node: ast.AST) -> Iterator[ast.stmt]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif isinstance(child, ast.ExceptHandler | ast.match_case):
            yield from child.body


def select(found: Iterable[Definition], names: Iterable[str]) -> list[Definition]:
    """Those that ``names`` ask for: a function, a method ``Class.method``, or all methods of a ``Class``.

    Raises KeyError with the first name that asks for nothing.
    """
    found = list(found)
    wanted = list(names)
    for name in wanted:
        if not any(_matches(d, name) for d in found):
            raise KeyError(name)
    return [d for d in found if not wanted or any(_matches(d, name) for name in wanted)]


def _matches(definition: Definition, name: str) -> bool:
    return definition.name == name or definition.name.startswith(name + ".")


def mark(definition: Definition, marker: str) -> None:
    """Add ``marker`` as the innermost decorator; no line or column of the cell changes."""
    node = definition.node
    node.decorator_list.append(ast.copy_location(ast.Constant(marker), node))


def bind(code: CodeType, table: Mapping[str, Any]) -> CodeType:
    """The same code with each marker of ``table`` replaced by what it stands for, in nested code too."""
    constants = tuple(_bound(constant, table) for constant in code.co_consts)
    changed = any(new is not old for new, old in zip(constants, code.co_consts, strict=True))
    return code.replace(co_consts=constants) if changed else code


def _bound(constant: Any, table: Mapping[str, Any]) -> Any:
    if isinstance(constant, CodeType):
        return bind(constant, table)
    return table.get(constant, constant) if isinstance(constant, str) else constant


def needs_await(tree: ast.Module) -> bool:
    """Whether the cell awaits at top level, so that it runs as a coroutine."""
    return any(_awaits(node) for node in _own_nodes(tree.body))


def _awaits(node: ast.AST) -> bool:
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return any(generator.is_async for generator in node.generators)
    return isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith)


def _own_nodes(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """Nodes evaluated in this scope: of inner scopes only decorators, defaults, annotations and bases.

    Of a generator expression only its first iterable is evaluated here; the others of its parts are not.
    """
    for node in body:
        yield node
        yield from _own_nodes(_evaluated_here(node))


def _evaluated_here(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.GeneratorExp):
        return iter([node.generators[0].iter])
    inside = {id(part) for part in _body_of(node)} if isinstance(node, _Scope) else set()
    return (child for child in ast.iter_child_nodes(node) if id(child) not in inside)


def _body_of(node: _Scope) -> list[ast.AST]:
    return [node.body] if isinstance(node, ast.Lambda) else list(node.body)


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)
