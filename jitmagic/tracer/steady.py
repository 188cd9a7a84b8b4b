"""Takes an expression of a function, says whether a call made after it was evaluated may change what it gives.

``n`` of an enclosing function, a global and ``self.n`` may be bound anew by any callee; a variable of the function's
own and ``np.pi`` are not.
"""

from __future__ import annotations

import ast
import builtins
import sys
from types import CodeType, ModuleType
from typing import Any

__all__ = ["is_steady"]

_MISSING: Any = object()
_NEVER_REBOUND = frozenset((*sys.stdlib_module_names, "numpy"))  # whose attributes are no state of a program's


def is_steady(code: CodeType, space: dict[str, Any], node: ast.expr) -> bool:
    """Whether evaluating ``node`` again, after other calls of the same statement, gives the same object.

    ``code`` and ``space`` are the code and the globals of the function.
    """
    if isinstance(node, ast.Name) and _is_own(code, space, node.id):
        return True
    return isinstance(node, ast.Name | ast.Attribute) and _is_of_module(space, node)


def _is_own(code: CodeType, space: dict[str, Any], name: str) -> bool:
    """Whether nobody but the function itself can bind the name."""
    if name in code.co_cellvars or name in code.co_freevars:
        return False
    is_builtin = name not in space and hasattr(builtins, name)
    return name in code.co_varnames or name not in code.co_names or is_builtin


def _is_of_module(space: dict[str, Any], node: ast.expr) -> bool:
    """Whether it is a module, or an attribute of a module of Python's or NumPy's."""
    if isinstance(_module(space, node), ModuleType):
        return True
    owner = _module(space, node.value) if isinstance(node, ast.Attribute) else _MISSING
    return isinstance(owner, ModuleType) and owner.__name__.partition(".")[0] in _NEVER_REBOUND


def _module(space: dict[str, Any], node: ast.expr) -> Any:
    """What a dotted path of modules leads to."""
    if isinstance(node, ast.Name):
        return space.get(node.id, _MISSING)
    if not isinstance(node, ast.Attribute):
        return _MISSING
    owner = _module(space, node.value)
    return vars(owner).get(node.attr, _MISSING) if isinstance(owner, ModuleType) else _MISSING
