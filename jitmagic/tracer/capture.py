"""What tracing one frame gives: a graph, the guards under which it holds, and the program around it."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import FunctionType
from typing import Any

from jitmagic.errors import Span
from jitmagic.events import EffectRecord
from jitmagic.graph.graph import Graph
from jitmagic.tracer.guards.guard import Guard, GuardSet
from jitmagic.tracer.guards.source import Source

__all__ = ["Break", "Capture", "FrameState", "Options", "Resume", "Tail"]


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for at ``jm.compile``; see ``spec`` there. ``dynamic`` None means automatic."""

    backend: str = "numba"
    target: str = "cpu"
    dynamic: bool | None = None
    fullgraph: bool = False
    fastmath: bool = False
    check: bool = False
    unknown_ints: bool = False  # ints among the arguments have no value in the trace (exports)
    shows_names: bool = False  # whoever is interrupted sees all variables: those of a notebook
    tensors: bool = False  # Tensors count as arrays: for who takes care of their history himself


@dataclass(slots=True)
class FrameState:
    """What is remembered between the compiles of one frame.

    ``sizes`` maps a source's text to what was seen there: a tuple of sizes in which None marks an axis that
    changed; ``numbers`` maps it to the distinct values seen (ints and floats); ``objects`` to the module or the array
    of a module seen there, or to None once it was another one: what changes is no longer tied to one object.
    ``written`` has the texts of the sources to which the frame itself gives new values, as a counter.
    """

    sizes: dict[str, tuple[int | None, ...]] = field(default_factory=dict)
    numbers: dict[str, list[complex]] = field(default_factory=dict)
    objects: dict[str, weakref.ref[Any] | None] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Break:
    """A graph break: the catalogue's code, the reason and hint as text, and the place."""

    code: str
    reason: str
    hint: str
    span: Span


@dataclass(frozen=True, slots=True)
class Resume:
    """The rest of a function after a graph break, as a frame of its own.

    ``key`` is equal for equal places and equal sets of live names; the runtime keeps one compiled frame per key.
    ``make(closure)`` gives the plain function for the cells it shares with the original; ``text`` is its source.
    """

    key: tuple[Any, ...]
    make: Callable[[tuple[Any, ...]], FunctionType]
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Tail:
    """What a program returns at a graph break: go on in frame ``resume`` with ``args`` (and shared ``cells``)."""

    resume: Resume
    args: tuple[Any, ...]
    cells: tuple[Any, ...] = ()


@dataclass(slots=True)
class Capture:
    """The result of tracing one call of one frame.

    ``program`` is Python text that defines ``program(<parameters>)`` over the names ``G``, ``B``, ``C``, ``K0...``,
    and ``graph`` (a callable that takes one list of arguments and gives the list of outputs). It loads the graph's
    inputs from their sources, runs the graph, replays the side effects in order, and returns the result, or a
    ``Tail`` if there was a break. ``constants`` are the objects behind ``K0``, ``K1``, ...
    ``changed`` leads, for each of ``effects``, to the container whose contents it replaces; None for others.
    ``continues`` is true if there was a break: the program may return a ``Tail``.
    ``split`` then shows the plain statement and the rest of the function as Python.
    ``late_guards()`` gives the guards on sizes that were relied on after the trace, while its graph was lowered.
    ``reached_from`` says for places in callees by which lines of the function they were reached.
    ``plain_reason`` is set if this call is to run as plain Python (then ``graph`` is not run); ``plain_code`` is its
    row in the catalogue of breaks, ``plain_detail`` what that row is about.
    """

    graph: Graph
    guards: GuardSet
    program: str
    constants: list[Any]
    examples: list[Any]
    breaks: list[Break] = field(default_factory=list)
    effects: list[EffectRecord] = field(default_factory=list)
    changed: list[Source | None] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    continues: bool = False
    split: str = ""
    late_guards: Callable[[], list[Guard]] = list
    reached_from: Mapping[Span, Collection[int]] = field(default_factory=dict)
    plain_code: str = ""
    plain_detail: str = ""
    plain_reason: str = ""
    plain_hint: str = ""
