"""The compile worker: takes kernel texts, has them compiled in a process of its own; they arrive through the store.

Whoever compiles inside ``deferring()`` gets ``Pending`` for kernels that are not at hand, and comes back when that is
done. The process lives as long as somebody may write to it: when this process ends, however it ends, the child reads
the end of its input and leaves. What the child could not compile, and everything once it has died, is compiled here.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from jitmagic.backends.base import Pending
from jitmagic.backends.deferring import can_come_back
from jitmagic.backends.native.compile import is_at_hand
from jitmagic.config import current

__all__ = ["defer", "start", "stop", "wait"]

Text = tuple[str, bool]  # source of ``def kernel(args, lo, hi)``, fastmath


@dataclass(slots=True)
class Worker:
    """The process, and an event for each text that it was asked for."""

    process: subprocess.Popen[str]
    asked: dict[Text, threading.Event] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    dead: bool = False

    def ask(self, text: Text) -> threading.Event:
        """An event that is set when there is nothing to wait for any more."""
        with self.lock:
            known = self.asked.get(text)
            if known is None:
                known = self.asked[text] = threading.Event()
                self._send(text, len(self.asked) - 1)
            if self.dead:
                known.set()
            return known

    def _send(self, text: Text, number: int) -> None:
        request = {"number": number, "source": text[0], "fastmath": text[1], "cache_dir": str(current().cache_dir)}
        try:
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except (OSError, ValueError):
            self.dead = True

    def listen(self) -> None:
        """Set the events as the child tells; all of them when it has ended."""
        answers = self.process.stdout
        assert answers is not None
        with answers, contextlib.suppress(OSError, ValueError):
            for line in answers:
                self._note(int(line))
        with self.lock:
            self.dead = True
            for event in self.asked.values():
                event.set()

    def _note(self, number: int) -> None:
        with self.lock:
            list(self.asked.values())[number].set()

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        with contextlib.suppress(OSError, ValueError):
            if self.process.stdin is not None:
                self.process.stdin.close()


@dataclass(slots=True)
class _State:
    """The worker of this process, if it was started."""

    worker: Worker | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_state = _State()


def start() -> bool:
    """Start the process, unless it runs; False where none can be started."""
    with _state.lock:
        if _state.worker is not None:
            return not _state.worker.dead
        command = [sys.executable, "-c", _CHILD, *sys.path]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,  # Ctrl-C is not for it
            )
        except OSError:
            return False
        worker = _state.worker = Worker(process)
    threading.Thread(target=worker.listen, name="jitmagic-worker", daemon=True).start()
    atexit.register(worker.end)
    return True


def stop() -> None:
    """End the process; texts that it was asked for are compiled here."""
    with _state.lock:
        worker, _state.worker = _state.worker, None
    if worker is not None:
        atexit.unregister(worker.end)
        worker.end()


def wait(timeout: float | None = None) -> bool:
    """Return when everything that was asked for is compiled; False if that takes longer than ``timeout`` seconds."""
    worker = _state.worker
    waiting = [] if worker is None else list(worker.asked.values())
    return all(event.wait(timeout) for event in waiting)


def defer(texts: Iterable[Text]) -> None:
    """Raise Pending if one of the kernels has to wait for the worker."""
    if not current().worker or not can_come_back():
        return
    texts = [text for text in texts if not is_at_hand(*text)]
    worker = _state.worker if texts and (_state.worker is not None or start()) else None
    if worker is None:
        return
    events = [worker.ask(text) for text in texts]
    if any(not event.is_set() for event in events):
        raise Pending(lambda: all(event.is_set() for event in events))


def _forget_in_child() -> None:
    """A fork must not hold the parent's worker alive, nor read what it says."""
    worker, _state.worker = _state.worker, None
    _state.lock = threading.Lock()
    if worker is not None:
        atexit.unregister(worker.end)
        for pipe in (worker.process.stdin, worker.process.stdout):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                os.close(pipe.fileno())  # type: ignore[union-attr]  # what is missing is suppressed


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_in_child)

# It leaves the processor to others, and says nothing but numbers: what Numba prints goes nowhere.
_CHILD = """
import json, os, pathlib, sys
sys.path[:] = sys.argv[1:]
if hasattr(os, "nice"):
    os.nice(10)
answers, sys.stdout = sys.stdout, open(os.devnull, "w")
from jitmagic.config import configure
from jitmagic.backends.native.compile import compile_kernel
for line in sys.stdin:
    asked = json.loads(line)
    try:
        configure(cache_dir=pathlib.Path(asked["cache_dir"]))
        compile_kernel(asked["source"], "kernel", fastmath=asked["fastmath"])
    except Exception:
        pass
    answers.write(f"{asked['number']}\\n")
    answers.flush()
"""
