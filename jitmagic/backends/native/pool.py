"""The thread pool of kernels: takes a kernel, its block and a range, runs chunks of the range on several cores.

Workers are Python daemon threads that never come back from one call into compiled code: they wait
there on a pthread condition with the GIL released, so a launch costs microseconds. The thread that
launches takes chunks like any worker. Everything the two share lies in one block of memory, the
*state*.

* A second thread that launches while the pool is busy runs its kernel by itself, so nobody waits
  for anybody.
* A worker joins a job only under the mutex and only while the job is open, and a job ends only when
  all who joined have left: a worker that wakes late can never see half of the next job.
* Chunks are handed out in ascending order, so when one fails, all before it have run or are
  running; the first in program order wins.
* States are never freed (1 KB each): a fork or a new number of threads makes a new one, and who
  still holds the old one finds it without workers and does all chunks itself.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from jitmagic.backends.native.compile import Kernel, compile_kernel
from jitmagic.backends.native.once import once
from jitmagic.config import current
from jitmagic.errors import InternalError

__all__ = ["RUN_OFFSET", "SIZE_OFFSET", "pool_state", "prepare", "stop"]

# Byte offsets in the state. The words that threads fight for have cache lines of their own.
_OFFSETS = {
    "SEQUENCE": 0,  # number of jobs posted
    "STOP": 8,
    "OPEN": 16,  # workers may join
    "ACTIVE": 24,  # workers inside the job
    "SIZE": 32,  # threads, the caller included
    "RUN": 40,  # address of the compiled ``run``
    "KERNEL": 48,
    "ARGS": 56,
    "END": 64,
    "CHUNK": 72,
    "FAILED_AT": 80,
    "FAILED_STATUS": 88,
    "FLAGS": 96,
    "MUTEX": 128,
    "WORK": 256,  # condition: a job was posted
    "DONE": 384,  # condition: the last worker left
    "NEXT": 512,  # first index that nobody took yet
    "BUSY": 576,
    # About 3 us of watching before a thread sleeps. A sleeping thread needs 5 to 50 us to wake.
    "SPINS": 2000,
}
RUN_OFFSET = _OFFSETS["RUN"]
SIZE_OFFSET = _OFFSETS["SIZE"]
_STATE_BYTES = 1024
_FAR = 2**63 - 1

_TAKE_CHUNKS = """
{indent}while True:
{indent}    first = atomic_add(state, {NEXT}, chunk)
{indent}    if first >= end:
{indent}        break
{indent}    last = first + chunk
{indent}    if last > end:
{indent}        last = end
{indent}    status = call_kernel(kernel, args, first, last)
{indent}    if status != 0:
{indent}        pthread_mutex_lock(state + {MUTEX})
{indent}        if first < load_int64(state, {FAILED_AT}):
{indent}            store_int64(state, {FAILED_AT}, first)
{indent}            store_int64(state, {FAILED_STATUS}, status)
{indent}        store_release(state, {NEXT}, end)
{indent}        pthread_mutex_unlock(state + {MUTEX})
"""

_WORKER = """
def worker(state, unused_lo, unused_hi):
    seen = load_acquire(state, {SEQUENCE})
    while True:
        spins = 0
        while spins < {SPINS} and load_acquire(state, {SEQUENCE}) == seen:
            spins += 1
        pthread_mutex_lock(state + {MUTEX})
        while load_int64(state, {SEQUENCE}) == seen and load_int64(state, {STOP}) == 0:
            pthread_cond_wait(state + {WORK}, state + {MUTEX})
        seen = load_int64(state, {SEQUENCE})
        if load_int64(state, {STOP}) != 0:
            pthread_mutex_unlock(state + {MUTEX})
            return 0
        joined = load_int64(state, {OPEN})
        kernel = load_int64(state, {KERNEL})
        args = load_int64(state, {ARGS})
        end = load_int64(state, {END})
        chunk = load_int64(state, {CHUNK})
        store_int64(state, {ACTIVE}, load_int64(state, {ACTIVE}) + joined)
        pthread_mutex_unlock(state + {MUTEX})
        if joined != 0:
            clear_float_flags()
            {TAKE_CHUNKS}
            flags = float_flags()
            pthread_mutex_lock(state + {MUTEX})
            store_int64(state, {FLAGS}, load_int64(state, {FLAGS}) | flags)
            left = load_int64(state, {ACTIVE}) - 1
            store_release(state, {ACTIVE}, left)
            if left == 0:
                pthread_cond_broadcast(state + {DONE})
            pthread_mutex_unlock(state + {MUTEX})
"""

# request: kernel, args, lo, hi, chunk; word 5 receives the flags of the workers
_RUN = """
def run(state, request, unused):
    kernel = load_int64(request, 0)
    args = load_int64(request, 8)
    start = load_int64(request, 16)
    end = load_int64(request, 24)
    chunk = load_int64(request, 32)
    store_int64(request, 40, 0)
    if atomic_exchange(state, {BUSY}, 1) != 0:
        return call_kernel(kernel, args, start, end)
    pthread_mutex_lock(state + {MUTEX})
    store_int64(state, {KERNEL}, kernel)
    store_int64(state, {ARGS}, args)
    store_int64(state, {END}, end)
    store_int64(state, {CHUNK}, chunk)
    store_int64(state, {FAILED_AT}, {FAR})
    store_int64(state, {FAILED_STATUS}, 0)
    store_int64(state, {FLAGS}, 0)
    store_release(state, {NEXT}, start)
    store_int64(state, {OPEN}, 1)
    store_release(state, {SEQUENCE}, load_int64(state, {SEQUENCE}) + 1)
    pthread_cond_broadcast(state + {WORK})
    pthread_mutex_unlock(state + {MUTEX})
    {TAKE_CHUNKS}
    spins = 0
    while spins < {SPINS} and load_acquire(state, {ACTIVE}) != 0:
        spins += 1
    pthread_mutex_lock(state + {MUTEX})
    store_int64(state, {OPEN}, 0)
    while load_int64(state, {ACTIVE}) > 0:
        pthread_cond_wait(state + {DONE}, state + {MUTEX})
    status = load_int64(state, {FAILED_STATUS})
    store_int64(request, 40, load_int64(state, {FLAGS}))
    pthread_mutex_unlock(state + {MUTEX})
    store_release(state, {BUSY}, 0)
    return status
"""


def _source(template: str, indent: str) -> str:
    take_chunks = _TAKE_CHUNKS.format(indent=indent, **_OFFSETS).strip()
    return template.format(TAKE_CHUNKS=take_chunks, FAR=_FAR, **_OFFSETS)


@once
def prepare() -> tuple[Kernel, Kernel]:
    """Compile (or load) the pool's own code: worker and run. Kept for the life of the process."""
    worker = compile_kernel(_source(_WORKER, " " * 12), "worker")
    return worker, compile_kernel(_source(_RUN, " " * 4), "run")


@dataclass(frozen=True, slots=True)
class _Pool:
    size: int  # threads, the caller included
    address: int  # of the state
    threads: tuple[threading.Thread, ...] = field(repr=False)


_lock = threading.Lock()
_pool: _Pool | None = None
_closed = False
_states: list[Any] = []  # never freed: a thread may still be inside


def pool_state() -> int:
    """Address of the state of a pool of ``config.threads`` threads; 0 where kernels have to run serially.

    Called with the GIL held, by launchers that are about to run a long loop; starts or resizes the pool.
    """
    global _pool
    size = current().threads
    pool = _pool
    if pool is not None and pool.size == size:
        return pool.address
    if size < 2 or _closed or not hasattr(ctypes.pythonapi, "pthread_cond_wait"):
        return 0
    with _lock:
        if _pool is None or _pool.size != size:
            _dismiss(_pool)
            try:
                _pool = _start(size)
            except InternalError:  # the pool's code does not compile here: serial from now on
                _pool = _Pool(size, 0, ())
        return _pool.address


def stop() -> None:
    """Send the workers home; later kernels of this process run serially. Called at interpreter exit."""
    global _closed, _pool
    with _lock:
        _closed = True
        pool, _pool = _pool, None
    _dismiss(pool)
    for thread in pool.threads if pool is not None else ():
        thread.join(timeout=1.0)


def _start(size: int) -> _Pool:
    worker, run = prepare()
    memory = ctypes.create_string_buffer(_STATE_BYTES + 64)
    _states.append(memory)
    address = -(-ctypes.addressof(memory) // 64) * 64
    _pthread("pthread_mutex_init", address + _OFFSETS["MUTEX"], None)
    _pthread("pthread_cond_init", address + _OFFSETS["WORK"], None)
    _pthread("pthread_cond_init", address + _OFFSETS["DONE"], None)
    _write(address, "SIZE", size)
    _write(address, "RUN", run.address)
    enter = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(worker.address)
    return _Pool(size, address, tuple(_start_threads(size - 1, enter, address)))


def _start_threads(count: int, enter: Any, address: int) -> Iterator[threading.Thread]:
    """As many workers as the system allows: the launching thread does what is left over."""
    for number in range(count):
        thread = threading.Thread(target=enter, args=(address, 0, 0), name=f"jitmagic-{number}", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # a limit on threads, or the interpreter is about to end
            return
        yield thread


def _dismiss(pool: _Pool | None) -> None:
    if pool is None or not pool.address:
        return
    _pthread("pthread_mutex_lock", pool.address + _OFFSETS["MUTEX"])
    _write(pool.address, "STOP", 1)
    _pthread("pthread_cond_broadcast", pool.address + _OFFSETS["WORK"])
    _pthread("pthread_mutex_unlock", pool.address + _OFFSETS["MUTEX"])


def _pthread(name: str, *arguments: int | None) -> None:
    function = getattr(ctypes.pythonapi, name)
    function(*(None if a is None else ctypes.c_void_p(a) for a in arguments))


def _write(address: int, field_name: str, value: int) -> None:
    ctypes.c_int64.from_address(address + _OFFSETS[field_name]).value = value


def _after_fork_in_child() -> None:
    """Threads do not survive a fork, and one may have held the mutex: forget all, and start anew on demand."""
    global _lock, _pool
    _lock = threading.Lock()
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(stop)
