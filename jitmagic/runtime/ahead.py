"""Takes nothing, loads what the first compile needs, and starts the compile worker: in a thread, while the user types.

Tracer, code generator and the linker's tables are half of the package and take about half a second, once in a
process. Who loads the extension will compile something, so it is not left for the first call to wait for.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from dataclasses import dataclass, field

from jitmagic.config import current

__all__ = ["finish", "start", "stop_worker"]

_MODULES = (
    "jitmagic.tracer.trace",
    "jitmagic.backends.numba_cpu.program",
    "jitmagic.backends.regions",
    "jitmagic.runtime.native.table",
    "jitmagic.runtime.native.door",
    "jitmagic.runtime.once",
)


_WORKER = "jitmagic.backends.native.worker"


@dataclass(slots=True)
class _State:
    """The thread of this process, if it was started."""

    thread: threading.Thread | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


_state = _State()


def start() -> None:
    """Begin to load, and start the compile worker, unless that is being done; returns at once."""
    with _state.lock:
        if _state.thread is None or not _state.thread.is_alive():
            _state.thread = threading.Thread(target=_load, name="jitmagic-ahead", daemon=True)
            _state.thread.start()


def finish() -> None:
    """Return when everything is loaded; at once if nothing was started."""
    thread = _state.thread
    if thread is not None and thread is not threading.current_thread():
        thread.join()


def stop_worker() -> None:
    """End the compile worker that ``start`` has started."""
    finish()
    worker = sys.modules.get(_WORKER)
    if worker is not None:
        worker.stop()


def _load() -> None:
    with contextlib.suppress(Exception):  # whatever it is, the first compile meets it too, and tells
        importlib.import_module(_WORKER).settle()
        for name in _MODULES:
            importlib.import_module(name)
        code = importlib.import_module("jitmagic.runtime.native.code")
        if not code.is_ready() and current().background:
            code.compile_apart()


if hasattr(os, "register_at_fork"):  # a child must not find a module that its parent's thread has half loaded
    os.register_at_fork(before=finish)
