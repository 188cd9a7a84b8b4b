"""Takes the text of a small program, gives everything that a run of it leaves behind, plain or compiled.

A program is what a person writes into a cell: it defines ``f``, the data that ``f`` works on, and whatever else it
needs. A run is a fresh namespace in which the text was executed, ``f`` was compiled, and calls were evaluated.
"""

from __future__ import annotations

import collections
import contextlib
import io
import itertools
import linecache
import random
import types
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jitmagic as jm

__all__ = ["BACKENDS", "Run", "assert_same", "explained", "plain", "run", "same_everywhere"]

BACKENDS = ("eager", "aot_eager", "numba")
_serial = itertools.count()
_SEED = 1234


@dataclass
class Run:
    """One run: the namespace, one outcome for each call, what was printed, and which warnings were given."""

    names: dict[str, Any]
    outcomes: list[Any] = field(default_factory=list)
    compiles: list[int] = field(default_factory=list)
    printed: str = ""
    warned: list[str] = field(default_factory=list)

    @property
    def f(self) -> Any:
        return self.names["f"]

    def snapshot(self) -> Any:
        """Everything that a person could tell two runs apart by."""
        data = {k: v for k, v in self.names.items() if not k.startswith("__") and not _is_code(v)}
        seen = _Seen()
        values = [seen.describe(o) for o in self.outcomes], {k: seen.describe(v) for k, v in sorted(data.items())}
        return values, seen.overlaps(), self.printed, self.warned


def _is_code(value: Any) -> bool:
    return isinstance(value, type | types.ModuleType | types.FunctionType)


@dataclass
class _Seen:
    """Numbers every object that has an identity, so that structures with the same sharing are described equally."""

    known: dict[int, tuple[int, Any]] = field(default_factory=dict)

    def describe(self, value: Any) -> Any:
        if isinstance(value, np.generic):
            return ("scalar", value.dtype.str, _bits(np.asarray(value)))
        if value is None or type(value) in (int, bool, str, bytes, float, complex, np.dtype, slice, range, type):
            return (type(value).__name__, repr(value))
        if id(value) in self.known:
            return ("seen", self.known[id(value)][0])
        if type(value) is not tuple:
            self.known[id(value)] = (len(self.known), value)
        return (type(value).__name__, *self._parts(value))

    def _parts(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, np.ndarray):
            flags = value.flags.writeable
            return (value.dtype.str, value.shape, value.strides, flags, _bits(value))
        if isinstance(value, dict):
            return tuple((self.describe(k), self.describe(v)) for k, v in value.items())
        if isinstance(value, set | frozenset):
            return tuple(sorted(map(repr, value)))
        if isinstance(value, BaseException):
            return (str(value),)
        if isinstance(value, list | tuple | collections.deque):
            return tuple(self.describe(v) for v in value)
        return tuple((k, self.describe(v)) for k, v in getattr(value, "__dict__", {}).items())

    def overlaps(self) -> list[tuple[int, int]]:
        arrays = [(n, v) for n, v in self.known.values() if isinstance(v, np.ndarray)]
        return [(n, m) for (n, a), (m, b) in itertools.combinations(arrays, 2) if np.shares_memory(a, b)]


def _bits(array: np.ndarray[Any, Any]) -> Any:
    """The elements as bytes, every NaN the same."""
    if array.dtype.hasobject:
        return repr(array.tolist())
    flat = np.array(array, order="C")
    if flat.dtype.kind in "fc":
        real = flat.view(flat.real.dtype) if flat.ndim else flat.reshape(1).view(flat.real.dtype)
        real[np.isnan(real)] = np.nan
    return flat.tobytes()


def load(text: str) -> dict[str, Any]:
    """A new namespace in which ``text`` was executed, as a file of its own whose source can be found."""
    filename = f"<conformance {next(_serial)}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names: dict[str, Any] = {"np": np, "jm": jm, "__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile(text, filename, "exec", dont_inherit=True)
    exec(code, names)
    return names


def run(text: str, calls: Sequence[str], backend: str = "", **options: Any) -> Run:
    """Execute ``text``, compile its ``f`` (with no backend: leave it plain), and evaluate ``calls`` one by one.

    A call is an expression, or statements that are executed between calls; an exception is an outcome.
    """
    random.seed(_SEED)
    np.random.seed(_SEED)
    names = load(text)
    if backend:
        names["f"] = jm.compile(names["f"], backend=backend, **options)
    done = Run(names)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for call in calls:
            _step(done, call)
    done.outcomes.append(("streams", random.random(), np.random.rand()))
    done.printed = printed.getvalue()
    done.warned = [f"{w.category.__name__}: {w.message}" for w in warned]
    return done


def _step(done: Run, call: str) -> None:
    try:
        code = compile(call, "<call>", "eval")
    except SyntaxError:
        exec(compile(call, "<between>", "exec"), done.names)
        return
    try:
        done.outcomes.append(eval(code, done.names))
    except Exception as error:
        done.outcomes.append(error)
    handle = getattr(done.f, "jit", None)
    if handle is not None and "f(" in call:
        done.compiles.append(handle.compiles)


def plain(text: str, calls: Sequence[str]) -> Run:
    return run(text, calls)


def assert_same(found: Run, expected: Run) -> None:
    """Results, data, sharing, printed text and warnings are those of the plain run."""
    for index, (a, b) in enumerate(zip(found.outcomes, expected.outcomes, strict=True)):
        assert _Seen().describe(a) == _Seen().describe(b), f"outcome {index}: {a!r} instead of {b!r}"
    assert found.snapshot() == expected.snapshot()


def explained(text: str, call: str) -> Any:
    """What ``jm.explain`` says of one call in a namespace of its own."""
    random.seed(_SEED)
    np.random.seed(_SEED)
    names = load(text)
    names["explained_f"] = jm.explain(names["f"])
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(call.replace("f(", "explained_f(", 1), names)  # gives the explanation, not the result


def same_everywhere(text: str, calls: Sequence[str], compiles: Sequence[int] | None = None, **options: Any) -> Run:
    """The calls give with every backend what they give plainly; gives the last run.

    ``compiles``: how often ``f`` was compiled after each call.
    """
    expected = plain(text, calls)
    for backend in BACKENDS:
        found = run(text, calls, backend, **options)
        assert_same(found, expected)
        if compiles is not None:
            assert found.compiles == list(compiles), backend
    return found
