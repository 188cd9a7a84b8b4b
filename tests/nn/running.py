"""Takes the text of a program that defines ``f``, runs calls plainly and compiled, and compares everything."""

from __future__ import annotations

import contextlib
import io
import itertools
import linecache
import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic import nn

__all__ = ["Run", "explained", "run", "same"]

BACKENDS = ("eager", "numba")
_serial = itertools.count()


class Run:
    """The namespace, an outcome for each call, the compiles after each call, and what was printed."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.outcomes: list[Any] = []
        self.compiles: list[int] = []
        self.printed = ""

    @property
    def breaks(self) -> list[Any]:
        return list(self.names["f"].jit.breaks())


def described(value: Any) -> Any:
    """Text and bytes by which two outcomes can be told apart."""
    if isinstance(value, np.ndarray | np.generic):
        flat = np.asarray(value)
        return (type(value).__name__, flat.dtype.str, flat.shape, np.ascontiguousarray(flat).tobytes())
    if isinstance(value, BaseException):
        return (type(value).__name__, str(value))
    if isinstance(value, list | tuple):
        return (type(value).__name__, *map(described, value))
    if isinstance(value, dict):
        return ("dict", *((k, described(v)) for k, v in value.items()))
    if isinstance(value, nn.Module):
        return (type(value).__name__, described(dict(value.named_parameters())), described(dict(value.named_buffers())))
    return (type(value).__name__, repr(value))


def run(text: str, calls: Sequence[str], backend: str = "") -> Run:
    """A call is an expression with an outcome, or statements; without ``backend`` ``f`` stays plain."""
    random.seed(7)
    np.random.seed(7)
    names: dict[str, Any] = {"np": np, "jm": jm, "nn": nn, "__name__": "__main__"}
    exec(compile(text, _file(text), "exec"), names)
    if backend:
        names["f"] = jm.compile(names["f"], backend=backend)
    done, printed = Run(names), io.StringIO()
    with contextlib.redirect_stdout(printed), jm.configure(demote=False), warnings.catch_warnings():
        warnings.simplefilter("error")
        for call in calls:
            _step(done, call, bool(backend))
    done.outcomes.append(("streams", random.random(), np.random.rand()))
    done.printed = printed.getvalue()
    return done


def _file(text: str) -> str:
    """A file of its own, whose source can be found."""
    name = f"<modules {next(_serial)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    return name


def _step(done: Run, call: str, compiled: bool) -> None:
    try:
        code = compile(call, "<call>", "eval")
    except SyntaxError:
        exec(compile(call, _file(call), "exec"), done.names)
        return
    try:
        done.outcomes.append(described(eval(code, done.names)))
    except Exception as error:
        done.outcomes.append(described(error))
    if compiled and "f(" in call:
        done.compiles.append(done.names["f"].jit.compiles)


def same(text: str, calls: Sequence[str], compiles: Sequence[int] | None = None, breaks: int | None = 0) -> Run:
    """Outcomes and prints are those of the plain run with every backend; gives the last run.

    ``compiles``: how often ``f`` was compiled after each call; ``breaks``: how many graph breaks it has.
    """
    plain = run(text, calls)
    for backend in BACKENDS:
        found = run(text, calls, backend)
        for index, (a, b) in enumerate(zip(found.outcomes, plain.outcomes, strict=True)):
            assert a == b, f"{backend}, outcome {index}"
        assert found.printed == plain.printed, backend
        if compiles is not None:
            assert found.compiles == list(compiles), f"{backend}: {found.compiles}, {found.names['f'].jit.why().text}"
        if breaks is not None:
            assert len(found.breaks) == breaks, (backend, found.breaks)
    return found


def explained(text: str, call: str = "f(x)") -> Any:
    """What ``jm.explain`` says of one call."""
    names = run(text, []).names
    names["f"] = jm.explain(names["f"])
    return eval(call, names)
