"""Takes a program (a cell and steps that use it), gives what running it shows, plain or compiled.

The cell is run the way ``%%compile`` runs it, in a namespace of its own. Each step is a statement of plain code; after
it everything that can be seen is written down: its value, the namespace (dtypes, strides, bits, which arrays share
memory), output, warnings, the exception with its lines, the random state.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import linecache
import random
import re
import types
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic.magic import rewrite

__all__ = ["Program", "Run", "differences", "read_programs", "run"]

_numbers = itertools.count()
_MARK = "compile this function"


@dataclass(frozen=True)
class Program:
    """``cell`` defines functions, ``steps`` use them; the steps are run ``rounds`` times."""

    name: str
    cell: str
    steps: str
    rounds: int = 3


@dataclass
class Run:
    """What each step showed, the functions that were compiled, and the steps' texts."""

    shown: list[dict[str, Any]] = field(default_factory=list)
    compiled: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    @property
    def captured(self) -> bool:
        """Whether at least one function has a compiled version."""
        return any(f.jit.compiles for f in self.compiled.values())

    @property
    def breaks(self) -> list[Any]:
        return [b for f in self.compiled.values() for b in f.jit.breaks()]


def read_programs(path: Path) -> list[Program]:
    """The programs of a file: ``### name``, the cell, a line ``---``, the steps."""
    blocks = re.split(r"^### ?", path.read_text(), flags=re.MULTILINE)[1:]
    return [Program(block.partition("\n")[0].strip(), *block.partition("\n")[2].split("\n---\n")) for block in blocks]


def differences(first: Run, second: Run) -> list[str]:
    """One line for each thing that the runs show differently."""
    found = []
    for text, one, other in zip(first.texts, first.shown, second.shown, strict=True):
        for key in one:
            if one[key] != other[key]:
                found.append(f"{text!r}: {key}{_first(one[key], other[key])}")
    return found


def _first(one: Any, other: Any) -> str:
    """Where two descriptions differ first."""
    if type(one) is type(other) and isinstance(one, tuple | list) and len(one) == len(other):
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            if a != b:
                return f"[{i}]{_first(a, b)}"
    if isinstance(one, dict) and isinstance(other, dict) and list(one) == list(other):
        return next(f"[{k!r}]{_first(one[k], other[k])}" for k in one if one[k] != other[k])
    return f": {one} -> {other}"


def run(program: Program, backend: str | None = None, filters: str = "always") -> Run:
    """Run ``program``; with a backend, its functions are compiled for it."""
    np.random.seed(7)
    random.seed(7)
    result = Run()
    names: dict[str, Any] = {"np": np, "__name__": "__main__", "__builtins__": __builtins__}
    number = next(_numbers)
    file = f"<cell {number} of {program.name}>"
    _execute_cell(program.cell, file, names, backend, result)
    steps = ast.parse(program.steps)
    for index, node in enumerate(steps.body * program.rounds):
        text = ast.unparse(node)
        result.texts.append(text)
        step_file = f"<step {index} of {number}>"
        _remember(text, step_file)
        result.shown.append(_watched(text, step_file, names, filters, (file, "<step ")))
    return result


def _remember(text: str, file: str) -> None:
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)


def _execute_cell(text: str, file: str, names: dict[str, Any], backend: str | None, result: Run) -> None:
    _remember(text, file)
    tree = ast.parse(text, file)
    if backend is None:
        exec(compile(tree, file, "exec"), names)
        return

    def decorate(target: Any) -> Any:
        made = jm.compile(target, backend=backend)
        for part in _parts(made):
            result.compiled[part.__qualname__] = part
        return made

    for definition in rewrite.find_functions(tree):
        rewrite.mark(definition, _MARK)
    exec(rewrite.bind(compile(tree, file, "exec"), {_MARK: decorate}), names)


def _parts(made: Any) -> Iterator[Any]:
    if isinstance(made, property):
        for part in (made.fget, made.fset, made.fdel):
            yield from _parts(part)
    else:
        inner = getattr(made, "__func__", made)
        if hasattr(inner, "jit"):
            yield inner


def _watched(text: str, file: str, names: dict[str, Any], filters: str, files: tuple[str, str]) -> dict[str, Any]:
    shown: dict[str, Any] = {"value": None, "error": None}
    output, errors = io.StringIO(), io.StringIO()
    node = ast.parse(text, file).body[0]
    with (
        warnings.catch_warnings(record=True) as caught,
        contextlib.redirect_stdout(output),
        contextlib.redirect_stderr(errors),
    ):
        warnings.simplefilter(filters)  # type: ignore[arg-type]  # any call of the function
        value = None
        try:
            if isinstance(node, ast.Expr):
                value = eval(compile(text, file, "eval"), names)
            else:
                exec(compile(text, file, "exec"), names)
        except BaseException as error:
            shown["error"] = _error(error, files)
    describe = _Describer()
    shown["value"] = describe(value)
    shown["names"] = {k: describe(v) for k, v in sorted(names.items()) if not k.startswith("__")}
    shown["sharing"] = describe.sharing()
    shown["output"] = (output.getvalue(), errors.getvalue())
    shown["warnings"] = [(w.category.__name__, str(w.message), w.lineno, _kind(w.filename, files)) for w in caught]
    shown["random"] = (hash(repr(np.random.get_state())), hash(random.getstate()))
    return shown


def _kind(file: str, files: tuple[str, str]) -> str:
    return "cell" if file == files[0] else "step" if file.startswith(files[1]) else file


def _error(error: BaseException | None, files: tuple[str, str], depth: int = 0) -> Any:
    if error is None or depth > 4:
        return None
    lines, tb = [], error.__traceback__
    while tb is not None:
        code = tb.tb_frame.f_code
        if _kind(code.co_filename, files) in ("cell", "step"):
            lines.append((code.co_name, tb.tb_lineno))
        tb = tb.tb_next
    if isinstance(error, RecursionError):
        lines = []
    rest = [_error(e, files, depth + 1) for e in (error.__cause__, error.__context__)]
    notes = getattr(error, "__notes__", None)
    return type(error).__name__, str(error), lines, rest, error.__suppress_context__, notes


class _Describer:
    """Values as plain data; arrays, lists, dicts and objects that are met again are named by their number."""

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        self.kept: list[Any] = []
        self.arrays: list[np.ndarray] = []

    def __call__(self, value: Any) -> Any:
        if isinstance(value, bool | int | str | bytes | complex | None | type(...)):
            return type(value).__name__, repr(value)
        if isinstance(value, float):
            return type(value).__name__, value.hex()
        if isinstance(value, np.generic) and not isinstance(value, np.void):
            return type(value).__name__, str(value.dtype), _bits(np.asarray(value))
        if id(value) in self.seen:
            return "again", self.seen[id(value)]
        self.seen[id(value)] = len(self.seen)
        self.kept.append(value)
        return self._fresh(value)

    def _fresh(self, value: Any) -> Any:  # noqa: C901  # one line for each kind of value
        kind = type(value).__name__
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, list | tuple | deque):
            return (kind, *map(self, value), *self._state(value))
        if isinstance(value, dict):
            return kind, [(self(k), self(v)) for k, v in value.items()]
        if isinstance(value, set | frozenset):
            return kind, sorted(map(repr, value))
        if isinstance(value, types.FunctionType):
            return "function", value.__qualname__, self(value.__defaults__), self(value.__kwdefaults__)
        if isinstance(value, type):
            return "class", value.__qualname__, self._members(value) if value.__module__ == "__main__" else ""
        if isinstance(value, types.ModuleType):
            return "module", value.__name__
        if isinstance(value, np.random.Generator | np.random.RandomState):
            state = value.bit_generator.state if hasattr(value, "bit_generator") else value.get_state()
            return kind, repr(state)
        if isinstance(value, BaseException):
            return kind, str(value), self(value.args)
        if isinstance(value, np.dtype):
            return "dtype", repr(value)
        if type(value).__module__ == "__main__":
            return (kind, *self._state(value))
        if isinstance(value, slice | range):
            return repr(value)
        return (kind,)

    def _members(self, cls: type) -> Any:
        return [(k, self(v)) for k, v in vars(cls).items() if not k.startswith("__") and not callable(v)]

    def _state(self, value: Any) -> Any:
        state = [(k, self(v)) for k, v in getattr(value, "__dict__", {}).items()]
        slots = getattr(type(value), "__slots__", ())
        names = (slots,) if isinstance(slots, str) else slots
        return state + [(k, self(getattr(value, k))) for k in names if not k.startswith("__") and hasattr(value, k)]

    def _array(self, value: np.ndarray) -> Any:
        self.arrays.append(value)
        head = (
            type(value).__name__,
            str(value.dtype),
            value.dtype.byteorder,
            value.shape,
            value.strides,
            value.flags.writeable,
        )
        body = [self(v) for v in value.ravel().tolist()] if value.dtype.hasobject else _bits(value)
        mask = (
            (_bits(np.ma.getmaskarray(value)), self(value.fill_value)) if isinstance(value, np.ma.MaskedArray) else ()
        )
        return (*head, body, mask, *self._state(value)) if type(value) is not np.ma.MaskedArray else (*head, body, mask)

    def sharing(self) -> list[Any]:
        """For each array, the first earlier one that it shares memory with, and how far apart they start."""
        found = []
        for i, array in enumerate(self.arrays):
            for j, other in enumerate(self.arrays[:i]):
                if array.size and other.size and np.may_share_memory(array, other):
                    here, there = (a.__array_interface__["data"][0] for a in (array, other))
                    found.append((i, j, here - there))
                    break
        return found


def _bits(array: np.ndarray) -> Any:
    data = np.asarray(array)
    if data.dtype.kind in "fc":
        data = np.where(np.isnan(data), np.nan, data).astype(data.dtype) if data.size else data
        if data.dtype.kind == "c":
            data = np.stack([data.real, data.imag])
            data = np.where(np.isnan(data), np.nan, data).astype(data.dtype)
        if data.dtype.itemsize > 8:
            return [repr(v) for v in data.ravel()]
    raw = data.tobytes()
    return raw if len(raw) > 96 else (repr(data.tolist()), raw)
