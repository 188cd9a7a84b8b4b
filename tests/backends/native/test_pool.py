"""The thread pool: right for every number of threads, from several threads, after a fork, at exit."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from jitmagic.backends.native import FloatFlag, Status, compile_kernel, make_launcher, pool, split_result
from jitmagic.backends.native.pool import pool_state
from jitmagic.config import configure
from jitmagic.errors import InternalError

from . import texts

LONG = 100_000  # work per iteration that sends any loop to the pool

# writes, for each i, the first index of the chunk that i was in
CHUNKS = """
def kernel(args, lo, hi):
    for i in range(lo, hi):
        store_int64(arg(args, 0), i * 8, lo)
    return 0
"""

SQUARE_ROOT = """
def kernel(args, lo, hi):
    for i in range(lo, hi):
        store_float64(arg(args, 3), i * 8, math.sqrt(load_float64(arg(args, 0), i * 8)))
    return 0
"""


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [0, 1, 2, 15, 16, 17, 1000, 100_003])
def test_every_index_is_in_one_chunk(threads: int, size: int) -> None:
    kernel = compile_kernel(CHUNKS, "kernel")
    launch = make_launcher("a1")
    with configure(threads=threads):
        out = np.full(size + 1, -1)
        assert launch(kernel.address, 0, size, LONG, out) == 0
    assert out[-1] == -1
    starts = np.unique(out[:-1])
    chunk = starts[1] if starts.size > 1 else size
    np.testing.assert_array_equal(out[:-1], np.arange(size) // max(1, chunk) * chunk)
    assert (starts.size > 1) == (threads > 1 and size > 1)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("size", [0, 1, 16, 64, 65, 130, 1000, 100_003])
def test_threads_take_columns_by_whole_cache_lines(threads: int, size: int) -> None:
    kernel = compile_kernel(CHUNKS, "kernel")
    launch = make_launcher("a1")
    with configure(threads=threads):
        out = np.full(size + 1, -1)
        assert launch(kernel.address, 0, size, -LONG, out) == 0
    assert out[-1] == -1
    starts = np.unique(out[:-1])
    assert (starts % 64 == 0).all()
    assert (starts.size > 1) == (threads > 1 and size > 64)
    chunk = starts[1] if starts.size > 1 else size
    np.testing.assert_array_equal(out[:-1], np.arange(size) // max(1, chunk) * chunk)


def test_thousands_of_launches_in_a_row() -> None:
    """A worker that wakes late must not see half of the next job."""
    kernel = compile_kernel(texts.AXPY, "kernel")
    launch = make_launcher("a1a1a1")
    with configure(threads=3):
        for size in range(1, 3001):
            x, y, out = np.full(size % 67 + 1, size * 1.0), np.full(size % 67 + 1, 2.0), np.zeros(size % 67 + 1)
            assert launch(kernel.address, 0, x.size, LONG, x, y, out) == 0
            assert (out == size * 2.0 + 1.0).all()


def test_eight_python_threads_at_once() -> None:
    kernel = compile_kernel(texts.AXPY, "kernel")
    launch = make_launcher("a1a1a1")
    barrier = threading.Barrier(8)

    def work(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        barrier.wait()
        for _ in range(100):
            x, y = rng.standard_normal((2, 5000))
            out = np.zeros(5000)
            if launch(kernel.address, 0, 5000, LONG, x, y, out) != 0 or not np.array_equal(out, x * y + 1.0):
                return False
        return True

    with configure(threads=2), ThreadPoolExecutor(8) as executor:
        assert all(executor.map(work, range(8)))


@pytest.mark.parametrize("where", [0, 49, 99])
def test_flags_of_workers_are_joined(where: int) -> None:
    x = np.ones(100)
    x[where] = -1.0
    out = np.zeros(100)
    kernel = compile_kernel(SQUARE_ROOT, "kernel")
    launch = make_launcher("a1a1")
    with configure(threads=4):
        for _ in range(20):
            result = launch(kernel.address, 0, 100, LONG, x, out)
            assert split_result(result) == (Status.OK, FloatFlag.INVALID)
            assert launch(kernel.address, 0, 100, LONG, np.ones(100), out) == 0
    np.testing.assert_array_equal(np.isnan(out), False)


def test_one_state_per_number_of_threads() -> None:
    with configure(threads=2):
        first = pool_state()
        assert first == pool_state() != 0
        with configure(threads=3):
            assert pool_state() not in (0, first)
        with configure(threads=1):
            assert pool_state() == 0


def test_a_limit_on_threads_leaves_the_work_to_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    kernel = compile_kernel(CHUNKS, "kernel")
    out = np.full(100, -1)
    with configure(threads=5):
        monkeypatch.setattr(threading.Thread, "start", refuse)
        assert make_launcher("a1")(kernel.address, 0, 100, LONG, out) == 0
    assert (np.diff(out) >= 0).all()
    assert np.unique(out).size == 20


def test_a_pool_that_does_not_compile_means_serial(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise InternalError("no compiler")

    kernel = compile_kernel(CHUNKS, "kernel")
    out = np.full(100, -1)
    monkeypatch.setattr(pool, "prepare", refuse)
    for threads in (6, 2, 6):
        with configure(threads=threads):
            assert make_launcher("a1")(kernel.address, 0, 100, LONG, out) == 0
    assert (out == 0).all()
    monkeypatch.undo()
    with configure(threads=3):
        assert pool_state() != 0


def run_program(text: str, *arguments: str) -> str:
    """The output of a Python program; it must end well and quietly."""
    program = textwrap.dedent(text)
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-W", "error::RuntimeWarning", "-c", program, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


# Python 3.12 and later warn of a fork with threads, which is what is tested here.
PRELUDE = """
import os, sys, threading, warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
import numpy as np
from jitmagic.backends.native import compile_kernel, make_launcher
from jitmagic.config import configure
configure(threads=3)
TEXT = '''
def kernel(args, lo, hi):
    for i in range(lo, hi):
        store_int64(arg(args, 0), i * 8, load_int64(arg(args, 0), i * 8) + 1)
    return 0
'''
kernel = compile_kernel(TEXT, "kernel")
launch = make_launcher("a1")
out = np.zeros(10_000, np.int64)
def go():
    assert launch(kernel.address, 0, out.size, 1000, out) == 0
def workers():
    return sum(t.name.startswith("jitmagic") for t in threading.enumerate())
"""


def test_a_fork_gets_a_pool_of_its_own() -> None:
    printed = run_program(
        PRELUDE
        + """
go()
assert workers() == 2
for _ in range(2):
    child = os.fork()
    if child == 0:
        assert workers() == 0
        go(); go()
        assert workers() == 2
        assert compile_kernel(TEXT.replace("+ 1", "+ 2"), "kernel").address
        assert (out == 3).all()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
go()
assert (out == 2).all()
print("done")
"""
    )
    assert printed == "done\n"


def test_a_fork_while_another_thread_is_in_the_pool() -> None:
    printed = run_program(
        PRELUDE
        + """
stop = False
other = np.zeros(200_000, np.int64)
def busy():
    while not stop:
        launch(kernel.address, 0, other.size, 1000, other)
thread = threading.Thread(target=busy)
thread.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        go()
        os._exit(0 if (out == 1).all() else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
thread.join()
print("done")
"""
    )
    assert printed == "done\n"


def test_the_interpreter_ends_quietly_with_workers() -> None:
    assert run_program(PRELUDE + "go()\nprint('done')") == "done\n"


def test_the_interpreter_ends_quietly_with_a_daemon_thread_in_a_kernel() -> None:
    printed = run_program(
        PRELUDE
        + """
import time
def forever():
    mine = np.zeros(100_000, np.int64)
    while True:
        launch(kernel.address, 0, mine.size, 1000, mine)
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.1)
print("done")
"""
    )
    assert printed == "done\n"


def test_launches_after_the_end_of_the_pool_run_serially() -> None:
    printed = run_program(
        """
import atexit
atexit.register(lambda: (go(), print("last", int(out.sum()), workers())))  # runs after the pool's own
"""
        + PRELUDE
        + "go()"
    )
    assert printed == "last 20000 0\n"
