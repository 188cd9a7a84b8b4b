"""Takes a plain function, gives it as the tracer sees it: captured, guarded, run by the graph interpreter.

The smallest machine that gives a Capture its meaning: no kernels, no threads, no trampoline. It is the oracle for the
tracer, so it shares nothing with ``jitmagic.runtime``.
"""

from __future__ import annotations

import builtins
import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.graph.interpreter import interpret
from jitmagic.tracer.capture import Break, Capture, FrameState, Options, Resume, Tail
from jitmagic.tracer.emit import PROGRAM_NAMES
from jitmagic.tracer.guards.guard import NOTHING, Guard
from jitmagic.tracer.guards.kinds import NAMES
from jitmagic.tracer.trace import capture


@dataclass
class Entry:
    """One capture, ready to be asked whether it fits and to be run."""

    capture: Capture
    space: dict[str, Any]
    fits: Callable[..., bool]
    run: Callable[..., Any]

    def enter(self, function: FunctionType) -> Entry:
        """For a call of ``function``: pieces of one place have other cells in every call."""
        self.space["C"] = function.__closure__ or ()
        return self


@dataclass
class Machine:
    """Runs functions through their captures. ``captures`` and ``hits`` tell what happened."""

    options: Options = field(default_factory=Options)
    entries: dict[Any, list[Entry]] = field(default_factory=dict)
    states: dict[Any, FrameState] = field(default_factory=dict)
    captures: list[Capture] = field(default_factory=list)
    hits: int = 0

    @property
    def breaks(self) -> list[Break]:
        return [b for c in self.captures for b in c.breaks]

    @property
    def plain_reasons(self) -> list[str]:
        return [c.plain_reason for c in self.captures if c.plain_reason]

    @property
    def node_count(self) -> int:
        return sum(node.kind != "input" for c in self.captures for node in c.graph.nodes)

    def call(self, function: FunctionType, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """What ``function(*args, **kwargs)`` gives, by way of its captures."""
        return self._frame(function.__code__, function, args, kwargs)

    def _frame(self, key: Any, function: FunctionType, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        bound = inspect.signature(function, follow_wrapped=False).bind(*args, **kwargs)
        bound.apply_defaults()
        entry = self._entry(key, function, bound.arguments)
        if entry.capture.plain_reason:
            return function(*args, **kwargs)
        result = _run(entry.enter(function), bound.arguments)
        if result is BAILED:
            return function(*args, **kwargs)
        if entry.capture.continues and isinstance(result, Tail):
            return self._resume(result.resume, result)
        return result

    def _resume(self, resume: Resume, tail: Tail) -> Any:
        return self._frame(resume.key, resume.make(tail.cells), tail.args, {})

    def _entry(self, key: Any, function: FunctionType, arguments: dict[str, Any]) -> Entry:
        known = self.entries.setdefault(key, [])
        for entry in known:
            if entry.enter(function).fits(**arguments):
                self.hits += 1
                return entry
        state = self.states.setdefault(key, FrameState())
        made = capture(function, dict(arguments), self.options, state)
        self.captures.append(made)
        entry = build(function, made, list(arguments))
        if not entry.fits(**arguments):
            raise AssertionError(f"a capture does not fit its own call: {failing(function, made, arguments)}")
        known.append(entry)
        return entry


def build(function: FunctionType, made: Capture, names: list[str]) -> Entry:
    """Compile the program and the guards of one capture."""
    space = _space(function, made)
    parameters = ", ".join(f"arg_{n}" for n in names)
    exec(made.program.replace("def program():", f"def program({parameters}):", 1), space)
    space["graph"] = lambda inputs: _interpreted(made, inputs)
    program = space["program"]
    tests = [compile(_test_of(g, space, i), f"<guard {g.kind} {g.text}>", "eval") for i, g in enumerate(made.guards)]

    def fits(**arguments: Any) -> bool:
        local = {f"arg_{n}": v for n, v in arguments.items()}
        return all(_holds(test, space, local) for test in tests)

    return Entry(made, space, fits, lambda **a: program(**{f"arg_{n}": v for n, v in a.items()}))


BAILED: Any = object()


def _run(entry: Entry, arguments: dict[str, Any]) -> Any:
    """What the program gives, or BAILED; warnings of a run that was given up are not shown."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = entry.run(**arguments)
        except Bail:
            return BAILED
    for each in caught:
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return result


class Bail(Exception):
    """The graph cannot be run for this call; nothing was changed."""


def _interpreted(made: Capture, inputs: list[Any]) -> list[Any]:
    """An error is raised by the plain run, at its line; what the graph has written until then is taken back."""
    arrays = [(a, a.copy()) for a in inputs if isinstance(a, np.ndarray) and a.flags.writeable]
    try:
        return interpret(made.graph, inputs)
    except Exception as error:
        for array, before in arrays:
            array[...] = before
        raise Bail from error


def _space(function: FunctionType, made: Capture) -> dict[str, Any]:
    held = {f"K{i}": value for i, value in enumerate(made.constants)}
    names = {"G": function.__globals__, "B": vars(builtins), "C": function.__closure__ or ()}
    return {**PROGRAM_NAMES, **NAMES, **names, **held}


def _test_of(guard: Guard, space: dict[str, Any], index: int) -> str:
    names = {f"v{i}": f"({s.expression})" for i, s in enumerate(guard.others, 1)}
    if guard.constant is not NOTHING:
        space[f"held_{index}"] = guard.constant
    return guard.test.format(v=f"({guard.source.expression})", k=f"held_{index}", **names)


def _holds(test: Any, space: dict[str, Any], local: dict[str, Any]) -> bool:
    """A test whose source is gone (a shorter list, a deleted attribute) does not hold."""
    try:
        return bool(eval(test, space, local))
    except Exception:
        return False


def failing(function: FunctionType, made: Capture, arguments: dict[str, Any]) -> list[str]:
    """The guards that do not hold for a call, as text."""
    space = _space(function, made)
    local = {f"arg_{n}": v for n, v in arguments.items()}
    tests = [(g, _test_of(g, space, i)) for i, g in enumerate(made.guards)]
    return [f"{g.kind} {g.text}: {t}" for g, t in tests if not _holds(compile(t, "<guard>", "eval"), space, local)]
