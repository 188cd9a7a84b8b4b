"""The process of the compile worker: takes requests as lines of JSON, fills the kernel store, tells what is done.

It leaves the processor to others, and says nothing but words of a line: ``READY``, numbers of requests, ``IDLE``.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jitmagic.config import configure

__all__ = ["IDLE", "READY", "main"]

READY = "ready"
IDLE = "idle"
_NICE = 10
_READ_BYTES = 1 << 16


def main() -> None:
    """Serve until nobody may write to the input any more, or nobody has for ``sys.argv[2]`` seconds."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what Numba prints goes nowhere
    configure(cache_dir=Path(sys.argv[1]), worker=False)
    native = importlib.import_module("jitmagic.backends.native")
    with contextlib.suppress(Exception):  # a request tells more
        native.prepare_launch()  # everybody needs it, and the next kernel takes half the time
    with contextlib.suppress(OSError):  # nobody listens any more
        _tell(answers, READY)
        for request in _requests(float(sys.argv[2])):
            _compile(native, request)
            _tell(answers, str(request["number"]))
        _tell(answers, IDLE)


def _tell(answers: int, word: str) -> None:
    os.write(answers, f"{word}\n".encode())


def _compile(native: Any, request: dict[str, Any]) -> None:
    with contextlib.suppress(Exception):  # who asked compiles it too, and tells
        configure(cache_dir=Path(request["cache_dir"]))
        native.compile_kernel(request["source"], request["name"], fastmath=request["fastmath"])


def _requests(idle_s: float) -> Iterator[dict[str, Any]]:
    waiting = b""
    while True:
        line, is_whole, rest = waiting.partition(b"\n")
        if is_whole:
            waiting = rest
            yield json.loads(line)
            continue
        more = os.read(0, _READ_BYTES) if _is_readable(idle_s) else b""
        if not more:
            return
        waiting += more


def _is_readable(timeout_s: float) -> bool:
    if sys.platform == "win32":  # waits for sockets only there
        return True
    return bool(select.select([0], [], [], timeout_s)[0])
