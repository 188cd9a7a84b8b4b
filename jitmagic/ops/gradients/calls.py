"""Takes a call of a row, gives the cotangents of its operands; calls functions of our own as NumPy calls its own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from jitmagic.ops.record import Op

__all__ = ["as_called", "by_position", "cotangents", "invoke"]

PLAIN = (np.ndarray, np.generic)
LATE = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)  # no place; none behind ``*args``


def invoke(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``function(*args, **kwargs)``, handed to ``__array_function__`` if an argument has one, as NumPy does it.

    For functions of our own that stand in the registry: Tensors and staged values see them as one operation.
    """
    for value in args:
        if not isinstance(value, PLAIN) and hasattr(type(value), "__array_function__"):
            return value.__array_function__(function, (type(value),), args, kwargs)
    return function(*args, **kwargs)


def by_position(row: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The same call with operands that were passed by name at their positions, where rules are looked up.

    Those that can be passed by name only have the positions behind the others; ``as_called`` is the way back.
    """
    rest = dict(kwargs)
    if not rest:
        return args, rest
    names = _names(row)
    wanted = [i for i, name in enumerate(names) if name in rest]
    if not wanted:
        return args, rest
    given = list(args)
    for place in range(len(args), wanted[-1] + 1):
        default = row.signature.parameters[names[place]].default
        given.append(rest.pop(names[place], default))
    return tuple(given), rest


@lru_cache(maxsize=1024)
def _names(row: Op) -> tuple[str, ...]:
    """The names of the operands that may have a rule."""
    parameters = row.signature.parameters.values()
    kinds = {p.kind for p in parameters}
    late = LATE if inspect.Parameter.VAR_POSITIONAL in kinds else LATE[:1]
    named = [p.name for p in parameters if p.kind not in late]
    return tuple(named[: len(row.vjp or ())])


def as_called(row: Op, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call as ``row.call`` takes it: what can be passed by name only goes back to its name, but for defaults."""
    parameters = list(row.signature.parameters.values())[: len(args)]
    late = [p for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY]
    if not late or any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        return args, dict(kwargs)
    first = len(parameters) - len(late)
    named = {p.name: value for p, value in zip(late, args[first:], strict=True) if value is not p.default}
    return args[:first], {**named, **kwargs}


def cotangents(
    row: Op, places: Iterable[int], g: Any, ans: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Iterator[tuple[int, Any]]:
    """Each place of ``places`` that has a rule, with the cotangent of the operand there."""
    rules = row.vjp or ()
    variadic = is_variadic(row)
    last: list[Any] | None = None
    for place in places:
        if variadic and place >= len(rules) - 1:
            if last is None:
                rule = rules[-1]
                last = rule(g, ans, *args, **kwargs) if rule else []
            if last:
                yield place, last[place - len(rules) + 1]
        elif place < len(rules) and (rule := rules[place]) is not None:
            yield place, rule(g, ans, *args, **kwargs)


@lru_cache(maxsize=1024)
def has_rule(row: Op, place: int) -> bool:
    """Whether the row tells the cotangent of the operand at that position."""
    rules = row.vjp or ()
    if place < len(rules):
        return rules[place] is not None
    return bool(rules) and rules[-1] is not None and is_variadic(row)


def is_variadic(row: Op) -> bool:
    """Whether the last rule serves all operands from its place on."""
    kinds = [p.kind for p in row.signature.parameters.values()]
    return inspect.Parameter.VAR_POSITIONAL in kinds and kinds.index(inspect.Parameter.VAR_POSITIONAL) < len(
        row.vjp or ()
    )
