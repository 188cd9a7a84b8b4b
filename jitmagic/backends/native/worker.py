"""The compile worker: takes kernel texts, has them compiled in a process of its own; they arrive through the store.

Whoever compiles inside ``deferring()`` waits for a moment, and gets ``Pending`` for kernels that are not at hand then:
it comes back when they are. Loading the extension starts the process (``settle``), so that it has imported Numba before
something is to be compiled; elsewhere it is started where the setting ``worker`` is True. What the process could not
compile, and everything once it has died, is compiled here.

The process lives as long as somebody may write to it: when this process ends, however it ends, the child reads the end
of its input and leaves. It also leaves after some minutes without work, and is started again for the next.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import NamedTuple

from jitmagic.backends.base import Pending
from jitmagic.backends.deferring import can_come_back
from jitmagic.backends.native.compile import is_at_hand
from jitmagic.backends.native.store import current_store
from jitmagic.backends.native.worker_process import IDLE, READY
from jitmagic.config import current

__all__ = ["Text", "defer", "settle", "start", "stop", "wait"]

_PATIENCE_S = 0.25  # a kernel takes 0.03 to 0.1 s; nobody notices this
_CLOSED = -1
_IDLE_S = 300.0  # it keeps about 90 MB; the next one takes a second or two to start
_CHILD = "import sys; sys.path[:] = sys.argv[3:]; from jitmagic.backends.native.worker_process import main; main()"


class Text(NamedTuple):
    """Source of ``def <name>(args, lo, hi)``."""

    source: str
    fastmath: bool = False
    name: str = "kernel"

    def is_at_hand(self) -> bool:
        return is_at_hand(self.source, self.fastmath, self.name)

    @property
    def key(self) -> str:
        return current_store().key(self.source, self.name, self.fastmath)


@dataclass(slots=True)
class Worker:
    """The process, and an event for each text that it was asked for.

    ``to_child`` and ``from_child`` are file descriptors: a fork closes them, and no file object closes them again.
    """

    process: subprocess.Popen[bytes]
    to_child: int
    from_child: int
    asked: dict[str, threading.Event] = field(default_factory=dict)  # by the key of the text
    unanswered: dict[int, threading.Event] = field(default_factory=dict)
    ready: threading.Event = field(default_factory=threading.Event)  # Numba is imported, and warm
    requests: SimpleQueue[bytes | None] = field(default_factory=SimpleQueue)
    lock: threading.RLock = field(default_factory=threading.RLock)
    dead: bool = False

    def ask(self, text: Text) -> threading.Event:
        """An event that is set when there is nothing to wait for any more."""
        with self.lock:
            known = self.asked.get(text.key)
            if known is None:
                known = self.asked[text.key] = threading.Event()
                number = len(self.asked)
                self.unanswered[number] = known
                request = {"number": number, **text._asdict(), "cache_dir": str(current().cache_dir)}
                self.requests.put(json.dumps(request).encode() + b"\n")
            if self.dead:
                known.set()
            return known

    def send(self) -> None:
        """Write the requests: in a thread, since the child reads no more while it compiles."""
        with contextlib.suppress(OSError):  # it has ended, which ``listen`` sees as well
            while (request := self.requests.get()) is not None:
                while request:
                    request = request[os.write(self.to_child, request) :]
        self._close()

    def listen(self) -> None:
        """Set the events as the child tells; all of them when it has ended."""
        with open(self.from_child, closefd=False) as answers:
            for line in answers:
                self._note(line.strip())
        with self.lock:
            self.dead = True
            for event in (self.ready, *self.asked.values()):
                event.set()
            self.unanswered.clear()
        self.requests.put(None)
        number, self.from_child = self.from_child, _CLOSED
        os.close(number)
        self.process.wait()  # leaves no zombie

    def _close(self) -> None:
        number, self.to_child = self.to_child, _CLOSED
        os.close(number)

    def _note(self, word: str) -> None:
        with self.lock:
            if word == READY:
                self.ready.set()
            elif word == IDLE:
                _state.forget(self)
            else:
                self.unanswered.pop(int(word)).set()

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()


@dataclass(slots=True)
class _State:
    """The worker of this process, if it was started; ``settled`` where one is wanted whatever the setting's default."""

    worker: Worker | None = None
    settled: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)

    def forget(self, worker: Worker) -> None:
        """It is about to leave: who asks next starts another."""
        atexit.unregister(worker.end)
        if self.worker is worker:
            self.worker = None


_state = _State()


def start() -> bool:
    """Start the process, unless it runs; False where none can be started."""
    with _state.lock:
        if _state.worker is not None:
            return not _state.worker.dead
        try:
            worker = _state.worker = _started()
        except OSError:
            return False
        atexit.register(worker.end)
        return _served(worker)


def _served(worker: Worker) -> bool:
    try:
        for run in (worker.listen, worker.send):
            threading.Thread(target=run, name=f"jitmagic-worker-{run.__name__}", daemon=True).start()
    except RuntimeError:  # no thread can be started, as when the interpreter ends
        worker.dead = True
        worker.end()
    return not worker.dead


def _started() -> Worker:
    ours: list[int] = []
    theirs: list[int] = []
    try:
        for end in (0, 1):
            pipe = os.pipe()
            theirs.append(pipe[end])
            ours.append(pipe[1 - end])
        process = subprocess.Popen(
            [sys.executable or "", "-c", _CHILD, str(current().cache_dir), str(_IDLE_S), *sys.path],
            stdin=theirs[0],
            stdout=theirs[1],
            stderr=subprocess.DEVNULL,
            process_group=0,  # Ctrl-C is not for it
        )
    except OSError:
        for number in ours:
            os.close(number)
        raise
    finally:
        for number in theirs:
            os.close(number)
    return Worker(process, to_child=ours[0], from_child=ours[1])


def settle() -> None:
    """Start the worker, and use it unless the setting ``worker`` is False; ``stop`` takes that back."""
    if current().worker is not False:
        _state.settled = True
        start()


def stop() -> None:
    """End the process; texts that it was asked for are compiled here."""
    with _state.lock:
        worker, _state.worker, _state.settled = _state.worker, None, False
    if worker is not None:
        atexit.unregister(worker.end)
        worker.end()


def wait(timeout: float | None = None) -> bool:
    """Return when everything that was asked for is compiled; False if that takes longer than ``timeout`` seconds."""
    worker = _state.worker
    waiting = [] if worker is None else list(worker.asked.values())
    return _all_set(waiting, timeout)


def _all_set(events: Iterable[threading.Event], timeout: float | None) -> bool:
    end = None if timeout is None else time.monotonic() + timeout
    return all(event.wait(None if end is None else max(0.0, end - time.monotonic())) for event in events)


def defer(texts: Iterable[Text], cannot_wait: bool = False) -> None:
    """Raise Pending if one of the kernels is not there after a moment.

    The moment is left out while the process is still starting, or busy. ``cannot_wait``: what runs meanwhile would take
    too long, so what is missing is compiled here.
    """
    wanted = current().worker
    if not (_state.settled if wanted is None else wanted) or not can_come_back():
        return
    texts = [text for text in texts if not text.is_at_hand()]
    worker = _state.worker if texts and start() else None
    if worker is None:
        return
    is_free = worker.ready.is_set() and not worker.unanswered
    events = [worker.ask(text) for text in texts]
    if not _all_set(events, _PATIENCE_S if is_free else 0.0) and not cannot_wait:
        raise Pending(lambda: all(event.is_set() for event in events))


def _forget_in_child() -> None:
    """A fork must not hold the parent's worker alive, nor read what it says."""
    worker, _state.worker, _state.settled = _state.worker, None, False
    _state.lock = threading.RLock()
    if worker is not None:
        atexit.unregister(worker.end)
        for number in (worker.to_child, worker.from_child):
            with contextlib.suppress(OSError):
                os.close(number)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)
