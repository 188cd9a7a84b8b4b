"""The cache of a process stays below its limit: the least recently used entries go, never under a call in progress."""

from __future__ import annotations

import gc
import linecache
import weakref
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.native import compile as native_kernels
from jitmagic.runtime.memory import MEMORY, entry_bytes

X = np.arange(5.0)


def made(k: int, backend: str = "aot_eager") -> Any:
    """A compiled function that nothing shares with the others."""
    text, filename = f"def f(x): return x * {k}.5 + 1.0\n", f"<memory {k}>"
    linecache.cache[filename] = (len(text), None, [text], filename)
    names: dict[str, Any] = {}
    exec(compile(text, filename, "exec"), names)
    return jm.compile(names["f"], backend=backend)


def kept(functions: list[Any]) -> list[int]:
    return [k for k, f in enumerate(functions) if f.jit.entries]


@pytest.fixture
def room() -> Any:
    """A limit for about ten small entries above what others hold already."""
    gc.collect()
    f = made(0)
    f(X)
    each = entry_bytes(f.jit.frame.entries[0])
    del f
    gc.collect()
    limit = MEMORY.used_bytes() + 10 * each
    with jm.configure(cache_memory_limit_bytes=limit, demote=False):
        yield limit


def others_stay_in_use() -> None:
    """Entries of other tests are older than ours: they would all go first."""
    for frame in list(MEMORY.frames):
        for entry in frame.entries:
            entry.used = 10**9


def test_the_least_recently_used_go_and_the_answer_stays(room: int) -> None:
    others_stay_in_use()
    functions = [made(k) for k in range(30)]
    for k, f in enumerate(functions):
        assert f(X).tolist() == (X * (k + 0.5) + 1).tolist()
        assert functions[0](X).tolist() == (X * 0.5 + 1).tolist()
        assert MEMORY.used_bytes() <= room
    assert kept(functions)[0] == 0, "the function that was called all the time is still compiled"
    assert kept(functions)[1:] == list(range(31 - len(kept(functions)), 30)), "of the others the newest"


def test_a_dropped_entry_is_compiled_again_and_says_why(room: int) -> None:
    others_stay_in_use()
    functions = [made(k) for k in range(14)]
    for f in functions:
        f(X)
    first = functions[0]
    assert first.jit.entries == 0
    assert first(X).tolist() == (X * 0.5 + 1).tolist()
    assert (first.jit.compiles, first.jit.entries) == (2, 1)
    (reason,) = jm.recompiles(first)
    assert (reason.guard, reason.then, reason.now) == ("the entry for this call", "kept", "dropped as the least used")
    assert "cache_memory_limit_bytes" in reason.remedy


def test_all_dropped_entries_say_why_also_beside_others_that_came_closer() -> None:
    class Box:
        k = 2.0

    box = Box()

    @jm.compile(backend="eager")
    def f(x: Any, s: str) -> Any:
        return x * box.k + len(s)

    words = [str(k) * (k + 1) for k in range(8)]
    for s in words:
        f(X, s)
    with f.jit.frame.lock:
        f.jit.frame.evict(f.jit.frame.entries[1:])
    before = len(f.jit.frame.record.recompiles)
    for s in words[:-1]:
        f(X, s)
    assert {event.guard for event in f.jit.frame.record.recompiles[before:]} == {"the entry for this call"}


LOOP = "def f(x):\n    s = 0.0\n    for i in range(len(x)): s = s * 0.25 + x[i]\n    return s\n"
FLOW = "def f(x):\n    while np.sum(x * x) > 1.0: x = np.where(x > 0.5, x * 0.5, x * 0.875) + 0.0\n    return x * 2\n"


@pytest.mark.parametrize("text", [LOOP, FLOW], ids=["loop", "flow"])
def test_the_code_of_loops_and_of_pieces_counts(text: str) -> None:
    """Pieces are compiled when they run first; what they add is seen at the next look."""
    names: dict[str, Any] = {"np": np}
    linecache.cache["<memory of a loop>"] = (len(text), None, text.splitlines(True), "<memory of a loop>")
    exec(compile(text, "<memory of a loop>", "exec"), names)
    gc.collect()
    before = MEMORY.used_bytes()
    f = jm.compile(names["f"], backend="numba")
    f(np.arange(1.0, 50.0))
    (entry,) = f.jit.frame.entries
    kernels = [k for k in (*entry.lowered.kernels, *entry.lowered.beside) if k.code_bytes]
    assert kernels
    assert MEMORY.used_bytes() - before >= entry_bytes(entry) + sum(k.code_bytes for k in kernels)


def test_kernels_go_with_their_entries() -> None:
    f = made(7, "numba")
    f(X)
    kernel = f.jit.frame.entries[0].lowered.kernels[0]
    assert kernel.code_bytes > 0
    assert kernel.place > 0
    code = [weakref.ref(k) for k in native_kernels._live.values() if int(k.address) == kernel.place]
    assert len(code) == 1
    with f.jit.frame.lock:
        f.jit.frame.evict(f.jit.frame.entries)
    gc.collect()
    assert code[0]() is None
    assert f(X).tolist() == (X * 7.5 + 1).tolist()


def test_an_entry_that_is_dropped_during_its_own_call_ends_it() -> None:
    def outer(x: Any, callback: Any) -> Any:
        y = x * 2.0
        callback()
        return y + 1.0

    f = jm.compile(outer, backend="aot_eager")
    frame = f.jit.frame

    def drop() -> None:
        for each in (frame, *frame.pieces.values()):
            with each.lock:
                each.evict(each.entries)
        gc.collect()

    for _ in range(3):
        f(X, lambda: None)
    dropper = jm.disable(drop)
    for _ in range(3):
        assert f(X, dropper).tolist() == (X * 2 + 1).tolist()
    assert f.jit.hits > 0
