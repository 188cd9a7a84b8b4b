"""The compile worker: calls run plainly until the kernels arrive, nothing outlives the process, nothing hangs."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.native import worker

LIMIT_S = 120.0  # a worker starts and compiles in a few seconds; the machine may be busy


@pytest.fixture
def working(tmp_path: Path) -> Iterator[None]:
    with jm.configure(worker=True, cache_dir=tmp_path):
        yield
        worker.stop()


def program(x: Any, y: Any) -> Any:
    z = np.sqrt(x * x + y)
    return (z * 3 - y).sum(), z / (1 + y)


def operands() -> tuple[Any, Any]:
    return np.linspace(0, 1, 5000), np.linspace(1, 2, 5000)


def agrees(compiled: Any) -> None:
    for found, expected in zip(compiled(*operands()), program(*operands()), strict=True):
        assert np.array_equal(found, expected)


@pytest.mark.usefixtures("working")
def test_calls_run_plainly_until_the_kernels_arrive() -> None:
    compiled = jm.compile(program)
    agrees(compiled)
    assert compiled.jit.entries == 0
    assert not compiled.jit.record.fallbacks
    assert worker.wait(LIMIT_S)
    agrees(compiled)
    assert compiled.jit.entries == 1
    kernels = compiled.jit.frame.entries[0].lowered.kernels
    assert kernels
    assert all(kernel.cached for kernel in kernels)  # no compiler ran in this process


@pytest.mark.usefixtures("working")
def test_jm_wait_returns_when_the_next_call_is_compiled() -> None:
    compiled = jm.compile(lambda x: (x - 7) * x + 2)
    compiled(np.ones(10))
    jm.wait()
    compiled(np.ones(10))
    assert compiled.jit.entries == 1


@pytest.mark.usefixtures("working")
def test_a_worker_that_dies_leaves_the_compiling_to_this_process() -> None:
    compiled = jm.compile(program)
    compiled(*operands())
    assert worker._state.worker is not None
    worker._state.worker.process.kill()
    assert worker.wait(LIMIT_S)
    agrees(compiled)
    assert compiled.jit.entries == 1


@pytest.mark.usefixtures("working")
def test_what_the_worker_cannot_compile_is_compiled_here(tmp_path: Path) -> None:
    """A store that nobody can write: the worker's answer comes, the kernel does not."""
    blocked = tmp_path / "file"
    blocked.write_text("no folder")
    with jm.configure(cache_dir=blocked):
        compiled = jm.compile(program)
        agrees(compiled)
        assert worker.wait(LIMIT_S)
        agrees(compiled)
        assert compiled.jit.entries == 1


@pytest.mark.usefixtures("working")
def test_many_threads_ask_for_one_kernel() -> None:
    from concurrent.futures import ThreadPoolExecutor

    compiled = jm.compile(program)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: agrees(compiled), range(16)))
    assert worker.wait(LIMIT_S)
    agrees(compiled)
    assert compiled.jit.entries == 1


def test_without_the_setting_nothing_is_deferred(tmp_path: Path) -> None:
    with jm.configure(worker=False, cache_dir=tmp_path):
        compiled = jm.compile(lambda x: (x - 8) * x + 2)
        compiled(np.ones(10))
        assert compiled.jit.entries == 1
        assert worker._state.worker is None


SCRIPT = textwrap.dedent(
    """
    import os, pathlib, sys, time
    import numpy as np
    import jitmagic as jm
    from jitmagic.backends.native import worker
    jm.configure(worker=True, cache_dir=pathlib.Path(sys.argv[1]))
    def f(x):
        return np.sqrt(x) * 2 + x
    g = jm.compile(f)
    g(np.ones(9))
    print(worker._state.worker.process.pid, flush=True)
    {end}
    """
)


def run_script(tmp_path: Path, end: str) -> int:
    """Run the script; gives the number of its worker's process."""
    path = tmp_path / "script.py"
    path.write_text(SCRIPT.format(end=end))
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{root / 'widgets'}"}
    done = subprocess.run(
        [sys.executable, str(path), str(tmp_path / "store")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.stdout, done.stderr
    return int(done.stdout.split()[0])


def is_alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{number}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX processes")
@pytest.mark.parametrize(
    "end",
    [
        "",
        "os._exit(1)",
        "os.kill(os.getpid(), 9)",
        "pid = os.fork()\nif pid == 0:\n    assert worker._state.worker is None\n    os._exit(0)\nos.waitpid(pid, 0)",
    ],
    ids=["end", "exit", "kill", "fork"],
)
def test_no_worker_outlives_its_process(tmp_path: Path, end: str) -> None:
    number = run_script(tmp_path, end)
    end_s = time.monotonic() + LIMIT_S
    while is_alive(number) and time.monotonic() < end_s:
        time.sleep(0.05)
    assert not is_alive(number)
