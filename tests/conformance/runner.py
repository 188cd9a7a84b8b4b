"""Takes a program as text, runs it plain and captured in two worlds of its own, and compares everything they show."""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import linecache
import logging
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.tracer.frame import frame_of
from tests.conformance.machine import Machine
from tests.conformance.sameness import difference

__all__ = ["Outcome", "Program", "run"]

_serial = itertools.count()


@dataclass(frozen=True)
class Program:
    """A row: ``text`` defines ``f``; ``calls`` are argument lists as text, evaluated anew for each call.

    ``breaks`` is what is expected of the first call; ``plain`` the expected reason if it is not captured at all.
    """

    name: str
    text: str
    calls: Sequence[str] = field(hash=False)
    breaks: int = 0
    plain: str = ""
    nodes: bool = True


@dataclass
class World:
    """The globals of one side, and what its calls gave, printed and warned."""

    space: dict[str, Any]
    results: list[Any] = field(default_factory=list)
    arguments: list[Any] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)


@dataclass
class Outcome:
    """``difference`` is empty if both sides agree; the rest says how the first call was captured."""

    difference: str
    breaks: list[str]
    plain: list[str]
    nodes: int
    hits: int


def run(program: Program) -> Outcome:
    """Every call is made twice in a row (the second must be right by the entry of the first), then the next one."""
    machine = Machine()
    plain, captured = _world(program), _world(program)
    first: tuple[list[str], list[str], int] | None = None
    for text in [c for call in program.calls for c in (call, call)]:
        _call(plain, text, lambda f, a, k: f(*a, **k))
        _call(captured, text, machine.call)
        if first is None:
            shown = [f"{b.code} at line {b.span.line}: {b.reason}" for b in machine.breaks]
            first = shown, list(machine.plain_reasons), machine.node_count
        found = difference((plain.shown, plain.results), (captured.shown, captured.results))
        if found:
            return Outcome(f"call f({text}): {found}", *first, machine.hits)
    assert first is not None
    found = difference(
        (plain.results, plain.arguments, _visible(plain.space)),
        (captured.results, captured.arguments, _visible(captured.space)),
    )
    return Outcome(found or _changed_syntax(program, captured), *first, machine.hits)


def _changed_syntax(program: Program, world: World) -> str:
    """Where capturing has changed the syntax tree of a function, which later captures start from; empty if nowhere."""
    text = ast.parse(_text_of(program))
    for value in world.space.values():
        if isinstance(value, FunctionType) and value.__code__.co_filename.startswith("<program"):
            found = frame_of(value).node
            wanted = next(n for n in ast.walk(text) if type(n) is type(found) and _place(n) == _place(found))
            if ast.dump(found) != ast.dump(wanted):
                return f"the syntax of {value.__name__} is now {ast.unparse(found)}"
    return ""


def _place(node: Any) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _text_of(program: Program) -> str:
    return program.text.strip("\n") + "\n"


def _world(program: Program) -> World:
    filename = f"<program {program.name} {next(_serial)}>"
    text = _text_of(program)
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    space: dict[str, Any] = {"__name__": "program", "np": np, "A": sample}
    exec(compile(text, filename, "exec", dont_inherit=True), space)
    return World(space)


def sample(*shape: int, dtype: Any = float, seed: int = 0) -> Any:
    """A small array of odd numbers, the same for the same arguments."""
    values = np.random.default_rng([seed, *shape]).normal(size=shape) * 4
    return values.astype(dtype)


def _call(world: World, text: str, how: Any) -> None:
    args, kwargs = eval(f"(lambda *a, **k: (a, k))({text})", world.space)
    world.arguments.append((args, kwargs))
    handler = _Log(world.shown)
    logging.getLogger().addHandler(handler)
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()) as out:
        warnings.simplefilter("always")
        try:
            world.results.append(how(world.space["f"], args, kwargs))
        except Exception as error:
            world.results.append(error.with_traceback(None))
        finally:
            logging.getLogger().removeHandler(handler)
    world.shown.append(out.getvalue())
    world.shown += [f"{w.category.__name__}: {w.message}" for w in caught]


class _Log(logging.Handler):
    def __init__(self, shown: list[str]) -> None:
        super().__init__()
        self.shown = shown

    def emit(self, record: logging.LogRecord) -> None:
        self.shown.append(f"{record.levelname} {record.getMessage()} {record.funcName} {record.lineno}")


def _visible(space: dict[str, Any]) -> dict[str, Any]:
    """What the program can see. Where a warning is noted as shown is up to the runtime, not to a capture."""
    return {k: v for k, v in space.items() if k not in ("__builtins__", "A", "np", "__warningregistry__")}
