"""One frame: a function, or a piece of one around a graph break, with its cache entries and what serves its calls."""

from __future__ import annotations

import builtins
import importlib
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import length_hint
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from jitmagic.runtime.dispatch import Exits, Form, make_run, make_straight_run
from jitmagic.runtime.entry import Entry, Grave
from jitmagic.runtime.layout import Layout
from jitmagic.runtime.record import FunctionRecord, def_span
from jitmagic.runtime.recursion import may_recur
from jitmagic.runtime.trampoline import Link, Target, link_in, make_byway, make_trampoline
from jitmagic.tracer.capture import FrameState, Options
from jitmagic.tracer.guards.kinds import NAMES

if TYPE_CHECKING:
    from jitmagic.runtime.native.table import NativeRun

__all__ = ["DEPTH", "Cells", "CompiledFrame", "Values"]

Values = tuple[Any, ...]  # one for each parameter, in the order of Layout.names
Cells = tuple[CellType, ...]
Miss = Callable[["CompiledFrame", Values, Cells], Any]

DEPTH = 16  # nested calls of one function; Python allows about 1000 frames, and a compiled call may use seven
_GRAVES_KEPT = 32
_WINDOW = (64, 4096)  # calls that go straight to plain Python before the guards are looked at again
_BAILS = 8  # an entry that gave up so often, and in more than one of so many calls, is left to plain Python


class CompiledFrame(Target):
    """``run`` takes every parameter by position; in a piece also the closure cells, which differ from call to call.

    A piece is the rest of the function ``whole`` after a graph break, or the body of a loop that stays plain there;
    it starts at ``line``. ``serve(frame, values, cells)`` answers the calls that no entry matches. Entries change
    under ``lock`` only; ``run`` is replaced as a whole, so that a call in another thread goes on with the one it has.
    """

    __slots__ = (
        "blocks",
        "checking",
        "closed",
        "entries",
        "form",
        "graves",
        "hits_buried",
        "left",
        "line",
        "lock",
        "misses",
        "names",
        "native",
        "options",
        "pending",
        "pieces",
        "plain_calls",
        "plain_code",
        "record",
        "serial",
        "serve",
        "state",
        "touchless",
        "trampoline",
        "went_aside",
        "went_straight",
        "whole",
        "window",
    )

    closed: str  # why nothing new is compiled; empty as long as something may be
    entries: list[Entry]
    plain_code: CodeType
    hits_buried: int
    plain_calls: int
    misses: int
    trampoline: CodeType
    checking: Any  # the generated check, a function behind ``native`` if there is one
    native: NativeRun | None

    def __init__(
        self,
        plain: FunctionType,
        options: Options,
        record: FunctionRecord,
        serve: Miss,
        whole: CompiledFrame | None = None,
        line: int = 0,
    ) -> None:
        self.plain = plain
        self.options = options
        self.record = record
        self.serve = serve
        self.plain_code = plain.__code__ if whole is None else whole.plain_code
        self.whole = weakref.ref(self if whole is None else whole)
        self.line = line
        self.state = FrameState()
        self.lock = threading.Lock()
        self.form = Form(plain.__qualname__, Layout.of(plain.__code__), takes_cells=whole is not None)
        self.names: dict[str, Any] = {**NAMES, "G": plain.__globals__, "B": vars(builtins)}
        if whole is None:
            self.names["C"] = plain.__closure__ or ()
        self.pieces: dict[tuple[Any, ...], CompiledFrame] = {}
        self.graves: list[Grave] = []
        self.pending: Callable[[], bool] | None = None  # whether the worker is done with this frame's kernels
        self.blocks: Any = None  # what serves the loop bodies of the programs, made by ``serve`` when needed
        self.forget()

    @classmethod
    def of(cls, plain: FunctionType, options: Options, serve: Miss) -> CompiledFrame:
        """The frame of a function that nobody refers to yet."""
        record = FunctionRecord(plain.__qualname__, def_span(plain.__code__), lambda: None)
        return cls(plain, options, record, serve)

    def take_over(self, function: FunctionType) -> None:
        """Let the calls of ``function`` come here (again)."""
        function.__code__ = self.trampoline

    # -- what a call is
    @property
    def is_piece(self) -> bool:
        return self.form.takes_cells

    def arguments(self, values: Values) -> dict[str, Any]:
        """The values by parameter name."""
        return dict(zip(self.form.layout.names, values, strict=True))

    def guard_names(self, cells: Cells) -> Mapping[str, Any]:
        """What the guards of this call may name besides its arguments."""
        return {**self.names, "C": cells}

    def function_for(self, cells: Cells) -> FunctionType:
        """The plain function, over these cells."""
        return over(self.plain, cells) if self.is_piece else self.plain

    def run_plain(
        self, values: Values, cells: Cells, timed: Callable[[Callable[..., Any], Values], Any] | None = None
    ) -> Any:
        """Serve a call by plain Python; ``timed`` makes it, of what a demoted entry would call."""
        self.plain_calls += 1
        local = self.record.local
        local.depth += 1
        if local.depth > DEPTH:
            self.give_up_recursion(DEPTH)
        try:
            if timed is not None:
                return timed(self.plain_program(), values)
            if self.form.layout.is_simple and not self.is_piece:
                return self.plain(*values)
            return call_plain(self.function_for(cells), self.form.layout, values)
        finally:
            local.depth -= 1

    def give_up_recursion(self, depth: int) -> None:
        """The function calls itself deeply: it stays plain, since frames of ours would use up Python's stack."""
        self.give_back("it calls itself")
        self.record.fall_back(
            f"it calls itself more than {depth} deep", "write the recursion as a loop to have it compiled"
        )

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Let the calls made in here run the function's own code: a recursion leaves no frames of ours."""
        self.went_aside += 1
        function = self.record.function()
        if function is None or function.__code__ is not self.trampoline:
            yield
            return
        function.__code__ = self.plain_code
        try:
            yield
        finally:
            if not self.closed and function.__code__ is self.plain_code:
                self.take_over(function)

    def give_back(self, reason: str) -> None:
        """Let calls of the function run its own code from now on."""
        self.closed = self.closed or reason
        function = self.record.function()
        if function is not None:
            function.__code__ = self.plain_code

    def plain_program(self) -> Callable[..., Any]:
        """The plain function in the form of a program."""
        plain, layout = self.plain, self.form.layout
        if not self.is_piece:
            return plain if layout.is_simple else lambda *values: call_plain(plain, layout, values)

        def program(*values: Any) -> Any:
            return call_plain(over(plain, values[-1]), layout, values[:-1])

        return program

    # -- entries
    def matching(self, values: Values, cells: Cells) -> Entry | None:
        """The entry for this call, found guard by guard."""
        arguments, names = self.arguments(values), self.guard_names(cells)
        return next((e for e in self.entries if e.failure(arguments, names) is None), None)

    def add(self, entry: Entry) -> None:
        """Put a new entry in front. Hold ``lock``."""
        self.entries.insert(0, entry)
        self.serial += 1
        self.rebuild()

    def bury(self) -> None:
        """Drop the entries that can never match again. Hold ``lock``."""
        dead = [entry for entry in self.entries if entry.is_dead]
        if dead:
            self.hits_buried += sum(entry.hit_count for entry in dead)
            self.entries = [entry for entry in self.entries if not entry.is_dead]
            self.graves = [*self.graves, *(Grave.of(entry) for entry in dead)][-_GRAVES_KEPT:]
            self.rebuild()

    def evict(self, entries: Sequence[Entry]) -> None:
        """Drop entries that may match again, to make room. Hold ``lock``."""
        going = [entry for entry in self.entries if entry in entries]
        self.hits_buried += sum(entry.hit_count for entry in going)
        self.entries = [entry for entry in self.entries if entry not in going]
        graves = (Grave.of(entry, is_evicted=True) for entry in going if entry.guards)
        self.graves = [*self.graves, *graves][-_GRAVES_KEPT:]
        self.closed = ""
        self.rebuild()

    def forget(self) -> None:
        """Drop everything that was compiled."""
        self._come_by(lambda link: make_trampoline(self.plain.__code__, link))
        self.entries = []
        self.closed = ""
        self.serial = 0
        self.plain_calls = self.misses = self.hits_buried = 0
        self.touchless = 0
        self.went_aside = 0
        self.window, self.left = 0, _turns(0)  # calls that may go straight to plain Python; how many of them still may
        self.went_straight = 0
        self.pieces.clear()
        self.graves.clear()
        self.state = FrameState()
        self.rebuild()

    def demote(self, entry: Entry) -> None:
        """Let plain Python serve the calls that match ``entry``."""
        entry.is_demoted = True
        with self.lock:
            entry.go = self.plain_program()
            self.rebuild()

    def note_bail(self, entry: Entry | None) -> None:
        """The compiled code of ``entry`` gave up; if that happens often, plain Python is the better start."""
        if entry is None or entry.is_demoted:
            return
        entry.bails += 1
        if entry.bails < _BAILS or entry.bails * _BAILS < entry.hit_count:
            return
        self.demote(entry)
        self.record.fall_back(
            f"compiled code had to give up in {entry.bails} calls, where NumPy had a warning or an error to tell",
            "avoid the warning, or say that it does not matter: with np.errstate(all='ignore')",
        )

    def note_death(self) -> None:
        """An object that an entry asks for by identity has died; the entry goes at the next miss, or now."""
        if sys.is_finalizing():
            return
        self.closed = ""
        if self.lock.acquire(blocking=False):  # this runs wherever the object happens to die
            try:
                self.bury()
            finally:
                self.lock.release()

    @property
    def hits(self) -> int:
        return self.hits_buried + sum(entry.hit_count for entry in self.entries)

    @property
    def calls(self) -> int:
        """Calls so far, the present one included."""
        return self.hits + self.misses + self.went_straight + self.window - length_hint(self.left)

    # -- run
    def rebuild(self) -> None:
        """Generate ``run`` for the present entries."""
        if self.entries and all(entry.is_demoted for entry in self.entries) and not self.is_piece:
            if may_recur(self.plain):  # each level would stand on the stack with frames of ours
                self.give_back("plain Python is as fast, and it may call itself")
            self._go_straight()
        else:
            self._leave_byway()
            exits = self._exits()
            self.run = self.checking = make_run(self.form, self.entries, self.names, exits)
            self.native = _native_run(self.form, self.entries, self.names, self.run, exits) if self.entries else None
            if self.native is not None:
                self.run = self.native.run
                self._open_door()

    def _open_door(self) -> None:
        """Let the function's own code call compiled code at once."""
        code = getattr(self, "trampoline", None)
        if code is not None and any(type(constant) is Link for constant in code.co_consts):
            self._come_by(lambda link: make_trampoline(self.plain.__code__, link, link.door))

    def promote(self, entry: Entry, go: Callable[..., Any]) -> None:
        """Let ``go`` serve the calls that match ``entry`` from now on."""
        entry.go = go
        namespace = self.checking.__globals__
        if f"g{entry.index}" in namespace:
            namespace[f"g{entry.index}"] = go
        if self.native is not None:
            self.native.promote(entry)

    def _exits(self) -> Exits:
        """Exits that do not keep the frame alive: a frame owns its ``run``, not the other way round."""
        frame_of = weakref.ref(self)
        plain, layout, takes_cells = self.plain, self.form.layout, self.form.takes_cells

        def miss(values: Values, cells: Cells) -> Any:
            frame = frame_of()
            if frame is None:  # the function died while this call was on its way
                return call_plain(over(plain, cells) if takes_cells else plain, layout, values)
            return frame.serve(frame, values, cells)

        def bailed(values: Values, cells: Cells) -> Any:
            frame = frame_of()
            if frame is None:
                return call_plain(over(plain, cells) if takes_cells else plain, layout, values)
            frame.note_bail(frame.matching(values, cells))
            return frame.run_plain(values, cells)

        def stumble(*values: Any) -> Any:
            if takes_cells:
                return miss(values[:-1], values[-1])
            return miss(values, plain.__closure__ or ())

        return Exits(miss, bailed, stumble)

    def _go_straight(self) -> None:
        """Every entry lost against plain Python: call that, and look at the guards again only now and then."""
        frame_of = weakref.ref(self)
        checking = self.checking = make_run(self.form, self.entries, self.names, self._exits())
        self.native = None
        self.went_straight += self.window - length_hint(self.left)
        self.window = min(max(_WINDOW[0], self.window * 2), _WINDOW[1])
        self.left = _turns(self.window)

        def look_again(*values: Any) -> Any:
            frame = frame_of()
            if frame is not None:
                with frame.lock:
                    frame.rebuild()
            return checking(*values)

        self.run = make_straight_run(self.form, self.plain, self.names, look_again, self.left)
        self._come_by(lambda link: make_byway(self.plain.__code__, link, self.left))

    def _leave_byway(self) -> None:
        """Let calls come to ``run`` again."""
        if self.window:
            self.went_straight += self.window - length_hint(self.left)
            self.window, self.left = 0, _turns(0)
            self._come_by(lambda link: make_trampoline(self.plain.__code__, link))

    def _come_by(self, make: Callable[[Link], CodeType]) -> None:
        """Let the function have the trampoline that ``make`` gives, unless it has its own code now."""
        code = getattr(self, "trampoline", None)  # a piece has none, nor has what was unpickled
        link = code and link_in(code)
        if not code or link is None:
            return
        self.trampoline = make(link)
        function = self.record.function()
        if function is not None and function.__code__ is code:
            self.take_over(function)


def _turns(count: int) -> Iterator[tuple[()]]:
    """So many items that take no part; how many are left is known."""
    return iter([()] * count)


def _native_run(*arguments: Any) -> NativeRun | None:
    """Loaded at the first entry: it brings LLVM."""
    native: NativeRun | None = importlib.import_module("jitmagic.runtime.native.table").native_run(*arguments)
    return native


def over(function: FunctionType, cells: Cells) -> FunctionType:
    """The same piece over other closure cells."""
    code = function.__code__
    count = len(code.co_freevars)
    closure = cells or tuple(CellType() for _ in range(count))
    return FunctionType(code, function.__globals__, function.__name__, None, closure)


def call_plain(function: FunctionType, layout: Layout, values: Values) -> Any:
    """Call ``function`` with one value for each of its parameters."""
    count = len(layout.positional_only) + len(layout.positional)
    positional, rest = list(values[:count]), list(values[count:])
    if layout.star:
        positional += rest.pop(0)
    keywords = dict(zip(layout.keyword_only, rest, strict=False))
    if layout.double_star:
        keywords |= rest[-1]
    return function(*positional, **keywords)
