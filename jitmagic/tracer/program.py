"""Takes a capture, gives the function around its graph: loads, graph call, effects, result."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from jitmagic.errors import InternalError
from jitmagic.tracer.capture import Capture
from jitmagic.tracer.emit import PROGRAM_NAMES
from jitmagic.tracer.guards.source import LocalSource

__all__ = ["make_program"]


def make_program(
    capture: Capture,
    parameters: tuple[str, ...],
    names: Mapping[str, Any],
    run: Callable[[list[Any]], list[Any]],
    *,
    title: str,
    takes_cells: bool,
    block: Callable[[Any], Any],
) -> FunctionType:
    """Compile the capture's program; it takes ``parameters`` in this order, then ``C`` if it ``takes_cells``."""
    tree = ast.parse(capture.program)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "program"]
    if not found:
        raise InternalError(f"the program of {title} does not define program(): {capture.program!r}")
    order = [*(LocalSource(name).code("") for name in parameters), *(["C"] if takes_cells else [])]
    found[0].args = ast.arguments([], [ast.arg(name) for name in order], None, [], [], None, [])
    code = compile(ast.fix_missing_locations(tree), f"<jitmagic program of {title}>", "exec", dont_inherit=True)
    namespace = {**PROGRAM_NAMES, **names}
    namespace.update((f"K{i}", value) for i, value in enumerate(capture.constants))
    namespace |= {"graph": run, "block": block}
    exec(code, namespace)
    program = namespace.pop("program")
    assert isinstance(program, FunctionType)
    return program
