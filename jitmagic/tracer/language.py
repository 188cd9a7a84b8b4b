"""What Python's syntax and functions mean over trackers, as one record that the evaluator is given.

The evaluator calls handlers and handlers call the evaluator; the record keeps them from importing each other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jitmagic.tracer.signals import Returned
    from jitmagic.tracer.variables.base import VariableTracker

__all__ = ["Language"]


@dataclass(frozen=True, slots=True)
class Language:
    """Every callable takes the evaluator first.

    * ``run_block(tx, statements)`` evaluates statements in order and says how they were left;
    * ``statements`` and ``expressions`` map syntax classes to handlers;
    * ``call_builtin(tx, tracker, args, kwargs)`` answers calls of Python's own functions, ``builtins`` those with rows;
    * ``compare(tx, name, left, right)`` is one of the six comparisons, ``binary`` any other operator;
    * ``generator(frame, name, call)`` makes the tracker of a generator, ``run_generator(tracker)`` runs its body;
    * ``repr_text(tx, value)`` is what ``repr`` gives.
    """

    run_block: Callable[..., Returned | None]
    statements: Mapping[type[ast.stmt], Callable[..., Any]]
    expressions: Mapping[type[ast.expr], Callable[..., VariableTracker]]
    call_builtin: Callable[..., VariableTracker]
    builtins: Mapping[Any, Callable[..., VariableTracker]]
    compare: Callable[..., VariableTracker]
    binary: Callable[..., VariableTracker]
    generator: type[Any]
    run_generator: Callable[..., Any]
    repr_text: Callable[..., VariableTracker]
