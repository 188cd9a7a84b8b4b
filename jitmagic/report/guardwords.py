"""Takes the record of a guard, gives it in plain words: what it says, and what guards of its kind are for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jitmagic.events import GuardRecord
from jitmagic.report.words import short_code, shorten

__all__ = ["GUARD_KINDS", "SESSION_KINDS", "kinds_in", "statement"]

_VALUE_LIMIT = 60  # characters

GUARD_KINDS = {
    "ALIAS": "two names still stand for one and the same object",
    "ARRAY_MATCH": "an array still has this dtype, these sizes and this order in memory",
    "BUILTIN_MATCH": "a function of Python or NumPy was not replaced or hidden by another of that name",
    "CACHE_FULL": "the compiled version was not dropped to make room for others",
    "CACHE_MATCH": "the cache of a function still has, or still lacks, the result for these arguments",
    "CLASS_ATTRIBUTE": "a class still has this method or attribute",
    "CLOSURE_MATCH": "a variable of the enclosing function is still unset",
    "CONSTANT_MATCH": "a plain value, which became a constant of the compiled code, is still the same",
    "DICT_KEYS": "a dict still has these keys",
    "EQUALS_MATCH": "a set still has these members, or a collection this order",
    "ERRSTATE": "NumPy still treats floating-point errors in the same way (np.errstate)",
    "FUNCTION_MATCH": "a function that was compiled along still has the same code",
    "GRAD_MODE": "gradients of Tensors are still recorded, or still not (jm.no_grad)",
    "ID_MATCH": "a name still stands for the very same object",
    "LIST_LENGTH": "a list or tuple still has this length",
    "MODULES_UNCHANGED": "nothing was changed in the modules that were read",
    "NOT_PRESENT_IN_GENERIC_DICT": "an object still has no attribute, or a dict no entry, of this name",
    "NO_ALIASING": "arguments that were different arrays are still different arrays",
    "PYMODULE_MATCH": "a name still stands for this imported module",
    "REQUIRES_GRAD": "a Tensor still requires a gradient, or still requires none",
    "SIZE_RELATION": "sizes are still related like this",
    "SUBCLASS_MATCH": "a class is still a subclass of another one, or still not",
    "TYPE_MATCH": "a value is still of exactly this class",
    "WARNINGS": "still no filter makes an exception of a warning (warnings.simplefilter)",
}
SESSION_KINDS = frozenset({"ERRSTATE", "GRAD_MODE", "WARNINGS"})  # no condition on the value they were noted with

_TRUE = frozenset({"ALIAS", "SIZE_RELATION", "WARNINGS"})  # the expression says it all
_UNCHANGED = frozenset({"BUILTIN_MATCH", "ERRSTATE", "ID_MATCH", "PYMODULE_MATCH"})


def statement(guard: GuardRecord) -> str:
    """One guard as a sentence without a full stop: ``z.dtype is float64``, ``np.sin unchanged``."""
    return _sentence(replace(guard, expression=short_code(guard.expression)))


def _sentence(guard: GuardRecord) -> str:
    if guard.kind == "NO_ALIASING" and guard.expected.startswith("False"):
        return guard.expression.replace(" is ", " is not ")
    if guard.kind in _TRUE or guard.expected in ("", guard.expression):
        return guard.expression if guard.kind not in _UNCHANGED else f"{guard.expression} unchanged"
    if guard.kind in _UNCHANGED and guard.expected != "absent":
        return f"{guard.expression} unchanged"
    if guard.kind == "FUNCTION_MATCH":
        return _function_statement(guard)
    return f"{guard.expression} is {shorten(guard.expected, _VALUE_LIMIT)}"


def _function_statement(guard: GuardRecord) -> str:
    """``helper unchanged``; ``helper unchanged (Cell In[3], line 2)`` for one of a cell."""
    said, named, place = guard.expected.partition(" of ")
    if named and said.startswith("the "):
        return f"{said.removeprefix('the ')} unchanged ({place})"
    function, told, _ = guard.expected.partition(" as compiled")
    return f"{function if told else guard.expression} unchanged"


def kinds_in(guards: Iterable[GuardRecord]) -> list[str]:
    """The kinds that occur, each once, in the order of the alphabet."""
    return sorted({guard.kind for guard in guards})
