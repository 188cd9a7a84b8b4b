"""Takes a frame and the values of a call that no entry matches, gives an entry for it, and tells what happened."""

from __future__ import annotations

import importlib
import threading
import time
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeAlias

from jitmagic.backends.base import Pending
from jitmagic.backends.deferring import deferring
from jitmagic.config import current
from jitmagic.errors import InternalError, Unsupported, UserError
from jitmagic.graph.graph import Graph
from jitmagic.own_builtins import replaced_builtin
from jitmagic.runtime.callers import caller_span
from jitmagic.runtime.covering import cover
from jitmagic.runtime.entry import Entry, hold_all
from jitmagic.runtime.frame import Cells, CompiledFrame, Values
from jitmagic.runtime.lowering import Lowered
from jitmagic.runtime.memory import MEMORY
from jitmagic.runtime.stopping import handing_back
from jitmagic.runtime.telling import remedy, tell_compile, tell_pending, tell_recompile
from jitmagic.runtime.touch import touches_arrays
from jitmagic.tracer.capture import Capture, FrameState, Options
from jitmagic.tracer.guards.explain import Failure
from jitmagic.tracer.guards.guard import GuardSet
from jitmagic.tracer.part_names import readable
from jitmagic.tracer.program import make_program

__all__ = ["CaptureStep", "Compiler", "LowerStep", "is_tracing", "tracing"]

_REPORT = "please report this; the function runs as plain Python"

CaptureStep: TypeAlias = Callable[[FunctionType, dict[str, Any], Options, FrameState], Capture]
LowerStep: TypeAlias = Callable[[Graph, Sequence[Any], Options], Lowered]


class _Thread(threading.local):
    depth: int = 0


_thread = _Thread()


def is_tracing() -> bool:
    """Whether this thread is compiling: calls of compiled functions run plainly then."""
    return _thread.depth > 0


@contextmanager
def tracing() -> Iterator[None]:
    """Inside, calls of compiled functions in this thread run plainly."""
    _thread.depth += 1
    try:
        yield
    finally:
        _thread.depth -= 1


@dataclass(frozen=True, slots=True)
class Compiler:
    """The steps behind a compile: ``capture`` is the tracer's, ``lower`` the backend's.

    ``block(frame)`` gives what makes the compiled forms of loop bodies and callees, for the programs of ``frame``.
    """

    capture: CaptureStep
    lower: LowerStep
    block: Callable[[CompiledFrame], Callable[[Any], Any]]

    def compile(
        self, frame: CompiledFrame, values: Values, cells: Cells, install: Callable[[CompiledFrame, Entry], None]
    ) -> Entry | None:
        """A new entry that matches this call, or None if it is to run plainly. Hold the frame's lock.

        Raises UserError where the user asked for something that cannot be had (``fullgraph``, ``mark_dynamic``).
        """
        arguments, names = frame.arguments(values), frame.guard_names(cells)
        closest = _closest_failure(frame, arguments, names)
        if len(frame.entries) >= current().entry_limit:
            _close_at_limit(frame, closest)
            return None
        if replaced := replaced_builtin():  # the libraries that we compile with would run with it as well
            frame.record.fall_back(
                f"builtins.{replaced} has been replaced: nothing is compiled until Python's own is back",
                f"give your function the name {replaced} in the notebook instead: that hides the builtin there only",
            )
            return None
        started = time.perf_counter_ns()
        try:
            with tracing():
                capture = self.capture(frame.function_for(cells), arguments, frame.options, frame.state)
                entry = self._entry(frame, capture, values)
        except UserError:
            raise
        except Pending as waiting:
            frame.pending = waiting.is_done
            tell_pending(frame)
            return None
        except RecursionError:  # this deep in a recursion there is no room for a trace
            return None
        except Exception as error:  # a fault of ours must not reach the user's program
            _give_up(frame, error)
            return None
        elapsed = time.perf_counter_ns() - started
        if entry is None:
            if not frame.closed:  # it was analysed, and met no arrays
                frame.record.count_compile(elapsed)
            return None
        failure = entry.failure(arguments, names)
        if failure is not None:
            _give_up(frame, InternalError(f"the guard {failure.guard.text} does not hold for the call it was made for"))
            return None
        install(frame, entry)  # before any other thread can see it
        frame.add(entry)
        frame.record.pending.clear()
        MEMORY.note(frame, entry)
        elapsed = time.perf_counter_ns() - started
        if not entry.is_plain:
            frame.record.count_compile(elapsed)
            tell_compile(frame, entry, elapsed)
        if closest is not None:
            tell_recompile(frame, entry, closest, elapsed, caller_span())
        return entry

    def _entry(self, frame: CompiledFrame, capture: Capture, values: Values) -> Entry | None:
        """Build the entry; None if the frame needs none."""
        if capture.plain_reason:
            raises = capture.plain_detail if capture.plain_code == "raises" else ""
            frame.record.fall_back(capture.plain_reason, capture.plain_hint, raises=raises)
            if not len(capture.guards):
                frame.closed = capture.plain_reason
                return None
            return self._finish(frame, capture)
        if not capture.continues and not touches_arrays(capture, values):
            frame.touchless += 1
            return None
        lowered = self._lowered(frame, capture)
        for guard in capture.late_guards():
            capture.guards.add(guard)
        capture.late_guards = list  # it holds on to the trace
        if lowered is None:
            return self._finish(frame, capture)
        program = make_program(
            capture,
            frame.form.layout.names,
            frame.names,
            handing_back(capture, lowered.run) if lowered.direct is None else lowered.run,
            title=frame.form.title,
            takes_cells=frame.is_piece,
            block=self.block(frame),
        )
        native = importlib.import_module("jitmagic.runtime.native.table")  # brings LLVM, so not before it is needed
        plan, program = native.native_program(frame.form, frame.names, capture, lowered.direct, program)
        entry = self._finish(frame, capture, lowered, program)
        entry.plan = plan
        return entry

    def _lowered(self, frame: CompiledFrame, capture: Capture) -> Lowered | None:
        """The graph compiled; None where it has no compiled form, which is told."""
        try:
            with deferring(not frame.options.check):  # what is to be compared is compiled now
                return self.lower(capture.graph, capture.examples, frame.options)
        except (UserError, Pending):
            raise
        except Unsupported as error:
            frame.record.fall_back(f"calls like this have no compiled form ({error})")
        except Exception as error:  # a fault of a backend must not reach the user's program
            frame.record.fall_back(f"its code could not be generated ({type(error).__name__}: {error})", _REPORT)
        return None

    def _finish(
        self,
        frame: CompiledFrame,
        capture: Capture,
        lowered: Lowered | None = None,
        program: Callable[..., Any] | None = None,
    ) -> Entry:
        """The entry; without a program it runs plainly."""
        frame_of = weakref.ref(frame)

        def on_death(_: Any) -> None:
            frame = frame_of()
            if frame is not None:
                frame.note_death()

        entry = Entry(
            frame.serial,
            hold_all(capture, on_death),
            capture.constants,
            program or frame.plain_program(),
            capture,
            lowered or Lowered(list),
            is_plain=program is None,
        )
        entry.checked = cover(entry.guards, entry.constants, frame.names, takes_cells=frame.is_piece)
        capture.guards, capture.examples = GuardSet(), []  # they hold strongly what the entry holds weakly
        return entry


def _closest_failure(frame: CompiledFrame, arguments: Mapping[str, Any], names: Mapping[str, Any]) -> Failure | None:
    """Why the entry that came closest does not match: the one whose first failing guard comes last."""
    found = [e.failure(arguments, names) for e in frame.entries] + [g.failure(arguments, names) for g in frame.graves]
    return max((f for f in found if f is not None), key=lambda f: f.position, default=None)


_VALUES_SHOWN = 3


def _close_at_limit(frame: CompiledFrame, closest: Failure | None) -> None:
    """Compile nothing more, and name the guard that kept changing, with what it was."""
    limit = len(frame.entries)
    raised = f"raise the limit: jm.configure(entry_limit={max(1, 2 * limit)})"
    if not limit:
        frame.closed = "entry_limit is 0: nothing is compiled"
        frame.record.fall_back(frame.closed, raised)
        return
    events = frame.record.recompiles
    causes = Counter(event.guard for event in events)
    guard = causes.most_common(1)[0][0] if causes else readable(closest.guard.text) if closest else ""
    same = [event for event in events if event.guard == guard]
    values = list(dict.fromkeys([*(event.then for event in same[:1]), *(event.now for event in same)]))
    if closest is not None and readable(closest.guard.text) == guard:
        values = list(dict.fromkeys([*values, closest.now]))
    shown = [*(["..."] if len(values) > _VALUES_SHOWN else []), *values[-_VALUES_SHOWN:]]
    changed = f"; what kept changing: {guard} ({', '.join(shown)})" if guard else ""
    frame.closed = f"{limit} entries are compiled, which is the limit{changed}"
    advice = same[-1].remedy if same else readable(remedy(closest, frame.options)) if closest else ""
    frame.record.fall_back(frame.closed, f"{advice}; or {raised}" if advice else raised)


def _give_up(frame: CompiledFrame, error: Exception) -> None:
    frame.closed = f"jitmagic failed on it ({type(error).__name__}: {error})"
    frame.record.fall_back(frame.closed, _REPORT)
