"""Takes one call as text, runs it plainly and compiled, gives what became of it in the compiled function."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic.backends.numba_cpu.program import compile_graph
from tests.conformance.sameness import difference
from tests.ops.coverage.values import make, scope

__all__ = ["KINDS", "Measured", "measure"]

KINDS = ("lowered", "view", "traced", "extern", "known", "broken")
BACKEND = "numba, kernels of one operation too"
jm.register_backend(BACKEND, functools.partial(compile_graph, smallest=1))
_serial = itertools.count()


@dataclass(frozen=True, slots=True)
class Measured:
    """``kind`` is one of ``KINDS``; ``wrong`` says in which way compiled and plain differ; ``reason`` why it broke."""

    text: str
    kind: str
    wrong: str = ""
    reason: str = field(default="", compare=False)


def measure(text: str) -> Measured:
    """Call it twice in both forms; the second call is served by what the first one compiled."""
    plain = _function(text)
    compiled = jm.compile(_function(text), backend=BACKEND)
    wrong = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of looking at the flags of what np.broadcast_arrays gives
        for _ in range(2):
            wrong = wrong or difference(_outcome(plain), _outcome(compiled))
    kind, reason = _kind(compiled)
    return Measured(text, kind, wrong, reason)


def _function(text: str) -> Any:
    """``def f(<the operands that the text names>)`` that returns the value, or runs the statement."""
    names = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}
    operands = [name for name in make() if name in names]
    try:
        compile(text, "", "eval")
        body = f"return {text}"
    except SyntaxError:
        body = text
    source = f"def f({', '.join(operands)}):\n    {body}\n"
    filename = f"<coverage {next(_serial)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = dict(scope)
    exec(compile(source, filename, "exec"), namespace)
    return namespace["f"]


def _outcome(function: Any) -> Any:
    """Result or exception, operands afterwards, and the state of the generators."""
    values = make()
    np.random.seed(3)
    result, error = None, None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = function(*(values[name] for name in _parameters(function)))
        except Exception as raised:  # part of the outcome
            error = f"{type(raised).__name__}: {raised}"
    said = [(type(w.message).__name__, str(w.message)) for w in heard]
    arrays = {name: v for name, v in values.items() if isinstance(v, np.ndarray)}
    states = [repr(values["rng"].bit_generator.state), repr(np.random.get_state(legacy=False))]
    return [_plain(result), error, arrays, said, states]


def _plain(result: Any) -> Any:
    """Named tuples of NumPy as they are; other objects by their text."""
    known = np.ndarray | np.generic | tuple | list | dict | str | bytes | int | float | complex | np.dtype | None
    return result if isinstance(result, known) else repr(result)


def _parameters(function: Any) -> tuple[str, ...]:
    code = function.jit.plain.__code__ if hasattr(function, "jit") else function.__code__
    return tuple(code.co_varnames[: code.co_argcount])


def _kind(compiled: Any) -> tuple[str, str]:
    handle = compiled.jit
    broken = [f"{b.code}: {b.reason}" for b in handle.record.breaks]
    broken += [f.reason for f in handle.record.fallbacks]
    if broken:
        return "broken", "; ".join(dict.fromkeys(broken))
    nodes = [node for entry, _ in handle.all_entries() for node in entry.capture.graph.calls()]
    if not nodes:
        return "known", ""
    marks = {mark for entry, _ in handle.all_entries() for mark in _marks(entry.lowered)}
    if "extern" in marks:
        return ("extern" if len(nodes) == 1 else "traced"), ""
    return ("view" if marks == {"view"} else "lowered"), ""


def _marks(lowered: Any) -> Iterator[str]:
    """``"k0"``, ``"view"`` or ``"extern"`` for each node; what interprets the graph calls NumPy for all of them."""
    yield from (mark for _, mark in lowered.lines) if lowered.host else ["extern"]
    if lowered.host and not lowered.lines:
        yield "view"
