"""Takes a function, tells whether it looks at the frames it runs in: its own variables, or those who called it.

A function is split at a graph break, and its calls come through frames of ours; who looks at frames must see neither.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from jitmagic.errors import Unsupported
from jitmagic.tracer.frame import Frame, frame_of

__all__ = ["asks_for_its_variables", "looks_at_callers"]

_VARIABLES = {"locals": 1, "vars": 1, "dir": 1, "eval": 2, "exec": 2}  # name -> arguments with which it does not look
_FRAMES = frozenset({"f_locals", "tb_frame", "walk_stack", "walk_tb"})
_CALLERS = frozenset({"_getframe", "currentframe", "f_back", "getouterframes"})


def asks_for_its_variables(frame: Frame, function: FunctionType) -> str:
    """How the function looks at its own variables as a whole (``locals()``, ``eval(text)``), or an empty text."""
    for node in ast.walk(frame.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _VARIABLES:
            name = node.func.id
            is_builtin = function.__globals__.get(name, getattr(builtins, name)) is getattr(builtins, name)
            if is_builtin and name not in frame.local_names and len(node.args) < _VARIABLES[name]:
                return f"{name}({'...' if node.args else ''})"
    code = frame.code
    if looked := sorted(_FRAMES & set(_names(code))):
        return f".{looked[0]}"
    if reader := next(_readers_called(frame, function), ""):
        return f"{reader}(), which reads the variables of its callers,"
    if "super" in code.co_names and set(code.co_varnames[:1]) & set(code.co_cellvars):
        return "super() of an argument that an inner function shares"
    return ""


def _readers_called(frame: Frame, function: FunctionType) -> Iterator[str]:
    """The functions, called by their names, that read the variables of a frame."""
    called = [node.func for node in ast.walk(frame.node) if isinstance(node, ast.Call)]
    for name in dict.fromkeys(each.id for each in called if isinstance(each, ast.Name)):
        found: Any = function.__globals__.get(name)
        if type(found) is not FunctionType or name in frame.local_names:  # an object may count who asks for its class
            continue
        if _FRAMES & set(_names(found.__code__)):
            yield name


def looks_at_callers(function: FunctionType) -> str:
    """How the function looks at who called it (``sys._getframe``, a warning with ``stacklevel``), or an empty text."""
    names = set(_names(function.__code__))
    for name in sorted(names & _CALLERS):
        return name
    if {"inspect", "stack"} <= names:
        return "inspect.stack"
    if "warn" in names and _warns_for_callers(function):
        return "a warning with stacklevel"
    return ""


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _warns_for_callers(function: FunctionType) -> bool:
    try:
        tree = frame_of(function).node
    except Unsupported:
        return False
    return any(_level(node) for node in ast.walk(tree) if isinstance(node, ast.Call))


def _level(call: ast.Call) -> bool:
    """Whether this is ``warn(...)`` with a level above 1, or one that only the run tells."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name != "warn":
        return False
    levels = [k.value for k in call.keywords if k.arg == "stacklevel"] + call.args[2:3]
    return any(not isinstance(v, ast.Constant) or v.value != 1 for v in levels)
