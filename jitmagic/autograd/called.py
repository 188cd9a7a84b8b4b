"""Takes the code of a function, gives it with names of their own for the classes that it calls.

``float`` in ``float(x)`` is to be something else than in ``isinstance(x, float)``; where it is called it is looked up
as ``float()``. Which loads are for calls stands in the instructions: those leave a place for ``self`` or NULL.
"""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Callable
from types import CodeType

__all__ = ["CALL", "with_calls_named"]

Call = tuple[str, ...]  # ``float``, or ``np`` and ``float64``

CALL = "()"
_LAST = 0xFF  # the largest argument of an instruction that has no prefix


def with_calls_named(code: CodeType, is_called: Callable[[str], bool], owns: Callable[[str, str], bool]) -> CodeType:
    """``code``, where ``name`` in ``name(...)`` reads ``name()`` if ``is_called(name)``.

    So does ``attribute`` in ``owner.attribute(...)`` if ``owns(owner, attribute)``. Functions inside are treated alike.
    In code with more than 250 names some stay as they are.
    """
    calls = _calls(code)
    wanted = frozenset(c for c in calls if (is_called(c[-1]) if len(c) == 1 else owns(*c)))
    return _renamed(code, wanted) if wanted else code


@functools.lru_cache(maxsize=1024)
def _calls(code: CodeType) -> frozenset[Call]:
    inner = (_calls(each) for each in code.co_consts if isinstance(each, CodeType))
    return frozenset(call for _, call in _loads(code)).union(*inner)


def _loads(code: CodeType) -> list[tuple[dis.Instruction, Call]]:
    """Each load of what is called, with its name and that of the global or closed variable that it is taken from.

    ``np.f(x)`` of a module that the file imports is compiled as ``np.f``, with the place left before or after it.
    """
    found: list[tuple[dis.Instruction, Call]] = []
    steps = list(dis.get_instructions(code))
    for before, each, after in zip([None, *steps], steps, [*steps[1:], None], strict=False):
        following = after.opname if after is not None else ""
        if each.arg is None or each.arg > _LAST or following in _ATTRIBUTES:
            continue
        if each.opname == "LOAD_GLOBAL" and each.arg & 1:
            found.append((each, (each.argval,)))
        elif before is not None and before.opname in _VARIABLES and _calls_attribute(before, each, following):
            found.append((each, (before.argval, each.argval)))
    return found


_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_VARIABLES = ("LOAD_GLOBAL", "LOAD_DEREF")
_SHIFTED = {"LOAD_GLOBAL", *(["LOAD_ATTR"] if sys.version_info >= (3, 12) else [])}  # the lowest bit is a mark


def _calls_attribute(owner: dis.Instruction, each: dis.Instruction, following: str) -> bool:
    if each.opname != "LOAD_ATTR":
        return each.opname == "LOAD_METHOD"
    return following == "PUSH_NULL" or any(s.opname in _SHIFTED and (s.arg or 0) & 1 for s in (owner, each))


@functools.lru_cache(maxsize=256)
def _renamed(code: CodeType, wanted: frozenset[Call]) -> CodeType:
    names, text = list(code.co_names), bytearray(code.co_code)
    for each, call in _loads(code):
        name = call[-1] + CALL
        place = names.index(name) if name in names else len(names)
        argument = place << 1 | (each.arg or 0) & 1 if each.opname in _SHIFTED else place
        if call in wanted and argument <= _LAST:
            names += [name] * (place == len(names))
            text[each.offset + 1] = argument
    consts = tuple(_renamed(each, wanted) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_names=tuple(names), co_code=bytes(text), co_consts=consts)
