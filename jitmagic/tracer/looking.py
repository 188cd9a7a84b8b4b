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
from jitmagic.own_builtins import OWN_BUILTINS
from jitmagic.tracer.frame import Frame, frame_of

__all__ = ["asks_for_its_variables", "looks_at_callers", "looks_past_it"]

_VARIABLES = {"locals": 1, "vars": 1, "dir": 1, "eval": 2, "exec": 2}  # name -> arguments with which it does not look
_FRAMES = frozenset({"f_locals", "tb_frame", "walk_stack", "walk_tb"})
_WALKERS = frozenset({"extract_stack", "format_stack", "print_stack", "getouterframes", "walk_stack"})
_STEPS = frozenset({"f_back", "_getframe", "warn"})
_CALLERS = frozenset({"_getframe", "currentframe", "f_back", "getouterframes"})


def asks_for_its_variables(frame: Frame, function: FunctionType) -> str:
    """How the function looks at its own variables as a whole (``locals()``, ``eval(text)``), or an empty text."""
    for node in ast.walk(frame.node):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _VARIABLES:
            name = node.func.id
            is_builtin = function.__globals__.get(name, getattr(builtins, name)) is OWN_BUILTINS[name]
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
    return looks_past_it(function)


def looks_past_it(function: FunctionType) -> str:
    """Which function that this one calls looks further than at its caller, or an empty text.

    The caller itself is the user's function, split or not; between that and its own caller our frames stand. Only
    functions of the same module, called by their names, are looked into.
    """
    known, waiting = {function}, [function]
    while waiting:
        for callee in _called(waiting.pop()):
            if _levels(callee) > 1:
                return f"{callee.__qualname__}(), which looks at the callers of its caller"
            if callee not in known:
                known.add(callee)
                waiting.append(callee)
    return ""


def _called(function: FunctionType) -> Iterator[FunctionType]:
    for name in dict.fromkeys(_names(function.__code__)):
        found = function.__globals__.get(name)
        if type(found) is FunctionType and found.__globals__ is function.__globals__:
            yield getattr(getattr(found, "jit", None), "plain", found)


def _levels(function: FunctionType) -> int:
    """How many frames above its own the function looks at, as far as its text tells; 99 for all of them."""
    names = set(_names(function.__code__))
    if names & _WALKERS or {"inspect", "stack"} <= names:
        return 99
    if not names & _STEPS:
        return 0
    try:
        tree = frame_of(function).node
    except Unsupported:
        return 0
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.While | ast.For)]
    if any(_is_step_back(n) for loop in loops for n in ast.walk(loop)):
        return 99
    nodes = list(ast.walk(tree))
    first = max((_level_of_call(n) for n in nodes if isinstance(n, ast.Call)), default=0)
    return first + sum(map(_is_step_back, nodes))


def _is_step_back(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "f_back"


def _level_of_call(call: ast.Call) -> int:
    """The frame that a call gets or speaks of: 0 is that of the function itself."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    given, default = {
        "_getframe": (call.args[:1], 0),
        "warn": ([k.value for k in call.keywords if k.arg == "stacklevel"] + call.args[2:3], 1),
    }.get(name, ([], 0))
    level = default
    if given:
        level = given[0].value if isinstance(given[0], ast.Constant) and type(given[0].value) is int else 99
    return level - default


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
