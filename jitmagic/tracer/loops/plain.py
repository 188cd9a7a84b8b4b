"""Takes the statements of a region and what they read from outside, gives them as a plain function of that."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

from jitmagic.errors import Unsupported
from jitmagic.ops.quiet import Quiet
from jitmagic.tracer.loops.runs import as_statements
from jitmagic.tracer.loops.surroundings import Surroundings

if TYPE_CHECKING:
    from jitmagic.tracer.evaluator import Evaluator
    from jitmagic.tracer.frame import FunctionNode

__all__ = ["plain_function"]

LEAVE = "_jm_leave"  # what statements of ours raise where a region is left


class _Rename(ast.NodeTransformer):
    """Replaces the expressions that became operands by parameter names."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.names = names

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.Attribute | ast.Name | ast.Subscript) and isinstance(node.ctx, ast.Load):
            by = self.names.get(ast.unparse(node))
            if by is not None:
                return ast.copy_location(ast.Name(by, ast.Load()), node)
        return self.generic_visit(node)


def plain_function(
    tx: Evaluator,
    nodes: Sequence[ast.stmt],
    outside: Surroundings,
    carried: Sequence[str],
    results: Sequence[str],
    missing: Mapping[str, Any],
    *,
    by_ways: bool = False,
) -> FunctionType:
    """The statements as a function of the region's operands that returns the tuple of its results.

    ``missing`` are values of results that the statements may leave without one.
    """
    texts = [*outside.arrays, *outside.scalars]
    names = {text: text if text.isidentifier() else f"_jm_p{i}" for i, text in enumerate(texts)}
    names |= {text: names[first] for text, first in outside.aliases.items()}
    functions = {text: f"_jm_f{i}" for i, text in enumerate(outside.functions)}
    values = {**outside.functions, LEAVE: Unsupported("region", "a list whose numbers are of another type this time")}
    given = [*_definitions(outside.nested), *as_statements(nodes, by_ways=by_ways)]
    body = [_Rename({**functions, **names}).visit(copy.deepcopy(n)) for n in given]
    give = ast.Return(ast.Tuple([ast.Name(n, ast.Load()) for n in results], ast.Load()))
    parameters = [*(names[t] for t in texts), *carried, *functions.values(), LEAVE, *missing]
    args = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    definition = ast.FunctionDef("loop", args, [*body, ast.copy_location(give, nodes[-1])], [], None, None)
    definition.type_params = []  # type: ignore[attr-defined]  # asked for from Python 3.12 on
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(definition, nodes[0])], []))
    with Quiet():  # Python has warned of these statements when the user's text was run
        code = compile(module, tx.frame.filename, "exec", dont_inherit=True)
    own = next(c for c in code.co_consts if hasattr(c, "co_code"))
    own = own.replace(co_name=tx.frame.code.co_name, co_qualname=tx.frame.code.co_qualname)
    return FunctionType(own, tx.globals, "loop", (*values.values(), *missing.values()))


def _definitions(nested: Mapping[str, FunctionNode]) -> Iterator[ast.stmt]:
    """What defines the functions of the frame that the statements call."""
    for name, node in nested.items():
        if isinstance(node, ast.Lambda):
            yield ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], node), node)
        elif node.name != name:
            yield node
            yield ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], ast.Name(node.name, ast.Load())), node)
        else:
            yield node
