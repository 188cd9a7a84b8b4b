"""A compiler that compiles nothing, and a card that says what it was given."""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitmagic.errors import Span, UserError
from jitmagic.events import BreakEvent, CompileEvent, Event, KernelEvent, RecompileEvent, emit
from jitmagic.magic.engine import CardOptions, Engine

ALIVE: weakref.WeakSet[Any] = weakref.WeakSet()


@dataclass
class Shown:
    """What a verb gives."""

    text: str
    is_worth_showing: bool = True
    events: Sequence[Event] = ()

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        return {"text/html": f"<p>{self.text}</p>", "text/plain": self.text}


@dataclass
class Handle:
    """``f.jit``: each verb says its own name."""

    plain: Any
    options: dict[str, Any]
    entries: int = 1
    compiles: int = 1
    calls: int = 3
    hits: int = 2
    cleared: bool = False

    def clear(self) -> None:
        self.cleared = True

    def check(self, *args: Any, **kwargs: Any) -> Shown:
        return Shown(f"check {self.plain.__qualname__} {args} {kwargs}")

    def time(self, *args: Any, **kwargs: Any) -> Shown:
        view = Shown(f"time {self.plain.__qualname__} {args} {kwargs}")
        self.plain(*args, **kwargs)
        return view

    def breaks(self) -> Any:
        return Breaks(self.plain.__qualname__)

    def __getattr__(self, verb: str) -> Callable[[], Shown]:
        if verb not in ("report", "why", "guards", "graph", "source", "explore"):
            raise AttributeError(verb)
        return lambda: Shown(f"{verb} {self.plain.__qualname__}")


class Breaks(Shown):
    """One break."""

    def __init__(self, name: str) -> None:
        super().__init__(f"breaks {name}")

    def __len__(self) -> int:
        return 1


def compile_function(function: Any, **options: Any) -> Any:
    """A real function with the same code, as the compiled one is."""
    if options.get("backend") == "nope":
        raise UserError("no backend is called 'nope'; there are: numba, eager")
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    for name in ("__kwdefaults__", "__annotations__", "__doc__", "__qualname__", "__module__"):
        setattr(made, name, getattr(function, name))
    made.__dict__.update(function.__dict__)
    made.__dict__["jit"] = Handle(function, options)
    ALIVE.add(made)
    return made


@dataclass
class Drawings:
    """Every card drawn: the events, the options and the labels of cells."""

    calls: list[tuple[Sequence[Event], CardOptions, Mapping[str, str]]] = field(default_factory=list)

    def __call__(self, events: Sequence[Event], options: CardOptions, labels: Mapping[str, str]) -> Shown:
        self.calls.append((events, options, labels))
        names = ", ".join(dict.fromkeys(event.function for event in events))
        text = f"card of {names} ({options.report}, {options.graph})"
        return Shown(text, bool(events), events)


def engine(draw: Any = None) -> Engine:
    """All of the above."""
    return Engine(
        compile=compile_function,
        functions=lambda: sorted(ALIVE, key=lambda f: str(f.__qualname__)),
        draw=draw or Drawings(),
        backends=lambda: ("numba", "eager"),
        reset=ALIVE.clear,
    )


def _where(function: Any) -> tuple[str, int, Span]:
    code = function.__code__
    return function.__qualname__, id(function), Span(code.co_filename, code.co_firstlineno)


def compiled(function: Any, seconds: float = 0.0) -> None:
    """Say that ``function`` was compiled."""
    emit(CompileEvent(*_where(function), 0, 1, 0, 3, 1, 0, int(seconds * 1e9)))


def kernel(function: Any, seconds: float = 0.0) -> None:
    """Say that a kernel of ``function`` was compiled."""
    emit(KernelEvent(*_where(function), "k0", int(seconds * 1e9), False))


def recompiled(function: Any) -> None:
    """Say that ``function`` was compiled again."""
    emit(RecompileEvent(*_where(function), 2, "x.ndim == 1", "x", "1", "2", 10, "none"))


def broke(function: Any) -> None:
    """Say that the capture of ``function`` broke."""
    emit(BreakEvent(*_where(function), "JM102", "a reason", "a hint"))
