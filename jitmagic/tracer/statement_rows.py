"""The handlers of all statements, in one table."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from jitmagic.tracer import class_statements, contexts, patterns, statements, try_statements
from jitmagic.tracer.evaluator import Evaluator
from jitmagic.tracer.signals import Returned

__all__ = ["STATEMENTS"]

STATEMENTS: dict[type[ast.stmt], Callable[[Evaluator, Any], Returned | None]] = {
    **statements.ROWS,
    **try_statements.ROWS,
    **contexts.ROWS,
    **patterns.ROWS,
    **class_statements.ROWS,
}
