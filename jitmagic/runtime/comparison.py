"""Takes a compiled function, its plain form and a call, gives every difference between the two on copies."""

from __future__ import annotations

import contextlib
import dis
import io
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.runtime.copies import arrays_in, copy_arguments

__all__ = ["Comparison", "Difference", "compare", "quietly", "same_random_state", "written_outside"]

_SHOWN_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which plain and compiled differ, both as text."""

    what: str
    plain: str
    compiled: str


@dataclass(slots=True)
class Comparison:
    """``refused`` says why nothing was run, ``raised`` what both raised; ``compared`` counts values."""

    differences: list[Difference] = field(default_factory=list)
    compared: int = 0
    refused: str = ""
    raised: str = ""

    @property
    def same(self) -> bool:
        return not self.differences and not self.refused


@dataclass(frozen=True, slots=True)
class _Outcome:
    result: Any
    error: BaseException | None
    printed: str
    arguments: Any


def compare(
    compiled: Callable[..., Any],
    plain: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    written: str,
) -> Comparison:
    """Run both on copies of the arguments, with printed text caught and random streams put back afterwards.

    ``written`` names what the function changes besides its arguments: then nothing is run (see ``written_outside``).
    """
    if written:
        return Comparison(refused=f"it {written}, which cannot be done twice")
    try:
        first, second = copy_arguments((args, kwargs)), copy_arguments((args, kwargs))
    except Exception as error:  # whatever the user's __deepcopy__ raises
        return Comparison(refused=f"its arguments cannot be copied ({type(error).__name__}: {error})")
    with same_random_state():
        expected = _run(plain, first)
    with same_random_state():
        found = _run(compiled, second)
    comparison = Comparison()
    _compare_outcomes(expected, found, comparison)
    return comparison


@contextlib.contextmanager
def same_random_state() -> Iterator[None]:
    """Put the global random streams back at the end."""
    state, legacy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(state)
        np.random.set_state(legacy)


@contextlib.contextmanager
def quietly() -> Iterator[io.StringIO]:
    """Catch what is printed."""
    with contextlib.redirect_stdout(io.StringIO()) as text:
        yield text


def written_outside(function: FunctionType) -> str:
    """A global or closure variable that the code of the function writes; empty if there is none."""
    free = set(function.__code__.co_freevars)
    for instruction in dis.get_instructions(function):
        if instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL"):
            return f"sets the global {instruction.argval}"
        if instruction.opname in ("STORE_DEREF", "DELETE_DEREF") and instruction.argval in free:
            return f"sets the variable {instruction.argval} of the function around it"
    return ""


def _run(function: Callable[..., Any], arguments: Any) -> _Outcome:
    args, kwargs = arguments
    result, error = None, None
    with quietly() as printed:
        try:
            result = function(*args, **kwargs)
        except Exception as raised:  # part of the outcome
            error = raised
    return _Outcome(result, error, printed.getvalue(), arguments)


def _compare_outcomes(plain: _Outcome, compiled: _Outcome, into: Comparison) -> None:
    _note(into, "exception", _error_text(plain.error), _error_text(compiled.error))
    if plain.error is not None and into.same:
        into.raised = _short(_error_text(plain.error))
    _note(into, "printed text", plain.printed, compiled.printed)
    _compare_values("result", plain.result, compiled.result, into)
    for index, (a, b) in enumerate(zip(plain.arguments[0], compiled.arguments[0], strict=True)):
        _compare_values(f"argument {index} afterwards", a, b, into)
    for name in plain.arguments[1]:
        _compare_values(f"{name} afterwards", plain.arguments[1][name], compiled.arguments[1][name], into)
    _note(into, "memory shared", _sharing(plain), _sharing(compiled))


def _error_text(error: BaseException | None) -> str:
    return "none" if error is None else f"{type(error).__name__}: {error}"


def _sharing(outcome: _Outcome) -> str:
    """Which arrays of result and arguments are one object, or share memory."""
    arrays = [*arrays_in(outcome.result), *arrays_in(outcome.arguments)]
    found = []
    for i, a in enumerate(arrays):
        for j in range(i):
            if a is arrays[j]:
                found.append(f"{j} is {i}")
            elif np.may_share_memory(a, arrays[j]):
                found.append(f"{j} overlaps {i}")
    return ", ".join(found) or "nothing"


def _note(into: Comparison, what: str, plain: str, compiled: str) -> None:
    if plain != compiled:
        into.differences.append(Difference(what, _short(plain), _short(compiled)))


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 3] + "..."


def _compare_values(what: str, plain: Any, compiled: Any, into: Comparison) -> None:
    """Compare by type, structure, and bits; what is neither array, number nor container by type only."""
    if type(plain) is not type(compiled):
        _note(into, f"type of {what}", type(plain).__name__, type(compiled).__name__)
    elif isinstance(plain, np.ndarray | np.generic):
        _compare_arrays(what, plain, compiled, into)
    elif isinstance(plain, tuple | list):
        _note(into, f"length of {what}", str(len(plain)), str(len(compiled)))
        for index, (a, b) in enumerate(zip(plain, compiled, strict=False)):
            _compare_values(f"{what}[{index}]", a, b, into)
    elif isinstance(plain, dict):
        _note(into, f"keys of {what}", repr(list(plain)), repr(list(compiled)))
        for key in [k for k in plain if k in compiled]:
            _compare_values(f"{what}[{key!r}]", plain[key], compiled[key], into)
    elif isinstance(plain, int | float | complex | str | bytes | None):
        into.compared += plain is not None
        _note(into, what, repr(plain), repr(compiled))


def _compare_arrays(what: str, plain: Any, compiled: Any, into: Comparison) -> None:
    for name in ("dtype", "shape", "strides"):
        _note(into, f"{name} of {what}", repr(getattr(plain, name)), repr(getattr(compiled, name)))
    if isinstance(plain, np.ndarray):
        _note(into, f"flags of {what}", str(plain.flags.writeable), str(compiled.flags.writeable))
    if plain.dtype == compiled.dtype and plain.shape == compiled.shape:
        into.compared += plain.size
        where = _first_difference(np.asarray(plain), np.asarray(compiled))
        if where is not None:
            a, b = plain[where], compiled[where]
            into.differences.append(Difference(f"{what}[{', '.join(map(str, where))}]", repr(a), repr(b)))


def _first_difference(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """The first index at which the bits differ; any NaN equals any other."""
    if a.dtype.hasobject:
        return None
    if a.dtype.kind in "fc":
        differs = _real_bits_differ(a.real, b.real) | (a.dtype.kind == "c" and _real_bits_differ(a.imag, b.imag))
    else:
        differs = a != b
    places = np.argwhere(differs)
    return tuple(int(i) for i in places[0]) if len(places) else None


def _real_bits_differ(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> Any:
    return ((a != b) | (np.signbit(a) != np.signbit(b))) & ~(np.isnan(a) & np.isnan(b))
