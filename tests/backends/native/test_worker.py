"""The compile worker: calls run plainly until the kernels arrive, nothing outlives the process, nothing hangs."""

from __future__ import annotations

import itertools
import os
import signal
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
from jitmagic import events
from jitmagic.backends.native import worker
from jitmagic.events import PendingEvent
from jitmagic.report import Report

LIMIT_S = 300.0  # a worker starts and compiles in a few seconds; the machine may be busy


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    yield
    worker.stop()


@pytest.fixture
def settled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[worker.Worker]:
    """As after ``%load_ext jitmagic``, some seconds later; whoever waits for a kernel gets it."""
    monkeypatch.setattr(worker, "_PATIENCE_S", LIMIT_S)
    with jm.configure(worker=None, cache_dir=tmp_path):
        worker.settle()
        started = worker._state.worker
        assert started is not None
        assert started.ready.wait(LIMIT_S)
        yield started


@pytest.fixture
def working(tmp_path: Path) -> Iterator[None]:
    with jm.configure(worker=True, cache_dir=tmp_path):
        yield


_constants = itertools.count(3.0)


def new_program() -> Any:
    """A function with a kernel that no other test has asked for: nobody holds it in memory."""
    factor = next(_constants)

    def program(x: Any, y: Any) -> Any:
        z = np.sqrt(x * x + y)
        return (z * factor - y).sum(), z / (factor + y)

    return jm.compile(program)


def operands() -> tuple[Any, Any]:
    return np.linspace(0, 1, 5000), np.linspace(1, 2, 5000)


def agrees(compiled: Any) -> None:
    for found, expected in zip(compiled(*operands()), compiled.jit.plain(*operands()), strict=True):
        assert np.array_equal(found, expected)


@pytest.mark.usefixtures("working")
def test_calls_run_plainly_until_the_kernels_arrive() -> None:
    compiled = new_program()
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
    compiled = new_program()
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
        compiled = new_program()
        agrees(compiled)
        assert worker.wait(LIMIT_S)
        agrees(compiled)
        assert compiled.jit.entries == 1


@pytest.mark.usefixtures("working")
def test_many_threads_ask_for_one_kernel() -> None:
    from concurrent.futures import ThreadPoolExecutor

    compiled = new_program()
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: agrees(compiled), range(16)))
    assert worker.wait(LIMIT_S)
    agrees(compiled)
    assert compiled.jit.entries == 1


def test_a_worker_that_waits_serves_the_first_call(settled: worker.Worker) -> None:
    compiled = new_program()
    agrees(compiled)
    assert compiled.jit.entries == 1
    assert all(kernel.cached for kernel in compiled.jit.frame.entries[0].lowered.kernels)
    assert not compiled.jit.record.pending


def test_a_worker_that_is_busy_is_not_waited_for(settled: worker.Worker) -> None:
    os.kill(settled.process.pid, signal.SIGSTOP)
    settled.ask(worker.Text("def kernel(args, lo, hi):\n    return hi"))
    compiled = new_program()
    with events.recording() as told:
        agrees(compiled)
        agrees(compiled)
    assert compiled.jit.entries == 0
    assert [type(event) for event in told] == [PendingEvent]
    assert "compiled in the background" in Report(told).text
    os.kill(settled.process.pid, signal.SIGCONT)
    assert worker.wait(LIMIT_S)
    agrees(compiled)
    assert compiled.jit.entries == 1
    assert "background" not in Report(compiled.jit.events).text


def test_more_requests_than_a_pipe_holds_block_nobody(settled: worker.Worker) -> None:
    os.kill(settled.process.pid, signal.SIGSTOP)
    texts = [f"def kernel(args, lo, hi):\n    return hi + {n}  # {'x' * 9000}\n" for n in range(20)]
    asked = [settled.ask(worker.Text(text)) for text in texts]  # 180 kB
    os.kill(settled.process.pid, signal.SIGCONT)
    assert all(event.wait(LIMIT_S) for event in asked)
    assert all(worker.Text(text).is_at_hand() for text in texts)


def test_a_loop_is_not_run_plainly_meanwhile(tmp_path: Path) -> None:
    def steps(x: Any) -> Any:
        y = x * 2 + 1
        for i in range(1, x.shape[0]):
            y[i] = y[i - 1] * 0.5 + x[i]
        return np.sqrt(y) * 3 + y

    with jm.configure(worker=True, cache_dir=tmp_path):
        compiled = jm.compile(steps)
        assert np.array_equal(compiled(np.linspace(0, 1, 500)), steps(np.linspace(0, 1, 500)))
        assert compiled.jit.entries == 1


@pytest.mark.usefixtures("working")
def test_what_is_to_be_seen_now_is_compiled_now() -> None:
    x = np.linspace(0, 1, 50)
    checked = jm.compile(lambda x: np.sqrt(x) * 5 + x, check=True)
    checked(x)
    assert checked.jit.entries == 1
    timed = jm.compile(lambda x: np.sqrt(x) * 6 + x)
    timed(x)
    assert timed.jit.entries == 0
    timed.jit.time(x)
    assert timed.jit.entries == 1


def test_a_worker_without_work_leaves_and_the_next_compile_starts_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_IDLE_S", 0.2)
    with jm.configure(worker=None, cache_dir=tmp_path):
        worker.settle()
        first = worker._state.worker
        assert first is not None
        is_gone(first.process.pid)
        first.process.wait(LIMIT_S)
        assert worker._state.worker is None
        compiled = new_program()
        agrees(compiled)
        assert worker._state.worker not in (None, first)
        assert worker.wait(LIMIT_S)
        agrees(compiled)
        assert compiled.jit.entries == 1


def test_a_dead_worker_is_no_zombie_and_not_started_again(settled: worker.Worker) -> None:
    settled.process.kill()
    end_s = time.monotonic() + LIMIT_S
    while settled.process.returncode is None and time.monotonic() < end_s:
        time.sleep(0.01)
    assert settled.process.returncode is not None
    assert not Path(f"/proc/{settled.process.pid}").exists()
    compiled = new_program()
    agrees(compiled)
    assert compiled.jit.entries == 1
    assert worker._state.worker is settled
    assert (settled.to_child, settled.from_child) == (-1, -1)


@pytest.mark.parametrize("executable", ["/nowhere/python", "", "/bin/false"])
def test_without_a_process_everything_is_compiled_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executable: str
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with jm.configure(worker=None, cache_dir=tmp_path):
        worker.settle()
        if worker._state.worker is not None:
            worker._state.worker.process.wait(LIMIT_S)
            assert worker._state.worker.ready.wait(LIMIT_S)
        compiled = new_program()
        agrees(compiled)
        assert compiled.jit.entries == 1


@pytest.mark.parametrize("setting", [False, None])
def test_nothing_is_deferred_unless_somebody_settled_it(tmp_path: Path, setting: bool | None) -> None:
    with jm.configure(worker=setting, cache_dir=tmp_path):
        compiled = jm.compile(lambda x: (x - 8) * x + 2)
        compiled(np.ones(10))
        assert compiled.jit.entries == 1
        assert worker._state.worker is None


def test_settling_is_nothing_where_no_worker_is_wanted(tmp_path: Path) -> None:
    with jm.configure(worker=False, cache_dir=tmp_path):
        worker.settle()
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


# The child takes no part: it has no worker, and what it opens where the pipes were stays open.
FORK = textwrap.dedent(
    """
    import gc
    ends = worker._state.worker.to_child, worker._state.worker.from_child
    pid = os.fork()
    if pid == 0:
        assert worker._state.worker is None
        opened = [os.open(os.devnull, os.O_RDONLY) for _ in range(20)]
        assert set(ends) <= set(opened)
        gc.collect()
        assert all(os.fstat(number) for number in opened)
        assert (jm.compile(lambda x: x * 3 + 1)(np.ones(5)) == 4).all()
        os._exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    print("forked")
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
    assert ("forked" in done.stdout) == (end is FORK), done.stderr
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
        FORK,
    ],
    ids=["end", "exit", "kill", "fork"],
)
def test_no_worker_outlives_its_process(tmp_path: Path, end: str) -> None:
    is_gone(run_script(tmp_path, end))


def is_gone(number: int) -> None:
    end_s = time.monotonic() + LIMIT_S
    while is_alive(number) and time.monotonic() < end_s:
        time.sleep(0.05)
    assert not is_alive(number)


SESSION = textwrap.dedent(
    """
    import sys
    import numpy as np
    from IPython.core.interactiveshell import InteractiveShell
    import jitmagic as jm
    from jitmagic.backends.native import worker
    from jitmagic.runtime import ahead
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jitmagic")
    shell.run_line_magic("reload_ext", "jitmagic")
    ahead.finish()
    started = worker._state.worker
    print(started and started.process.pid)
    shell.run_cell("%%compile\\nimport numpy as np\\ndef f(x):\\n    return np.sqrt(x) * 2 + x").raise_error()
    f, x = shell.user_ns["f"], np.linspace(1, 2, 50)
    expected = np.sqrt(x) * 2 + x
    for _ in range(3):
        assert (f(x) == expected).all()
        jm.wait()
    assert f.jit.entries == 1
    print("numba" in sys.modules)
    {end}
    """
)


def session(tmp_path: Path, end: str, **env: str) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name != "JITMAGIC_WORKER"}
    environment |= {"JITMAGIC_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **env}
    text = SESSION.format(end=end)
    done = subprocess.run(
        [sys.executable, "-c", text], env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.split(":")[0] != "f"]


def test_the_extension_starts_a_worker_and_numba_stays_out_of_the_notebook(tmp_path: Path) -> None:
    process, has_numba = session(tmp_path, "")
    assert has_numba == "False"
    is_gone(int(process))


def test_taking_the_extension_away_ends_the_worker(tmp_path: Path) -> None:
    end = """shell.run_line_magic("unload_ext", "jitmagic")\nassert started.process.returncode is not None"""
    assert session(tmp_path, end)[1] == "False"


def test_a_session_without_a_worker(tmp_path: Path) -> None:
    assert session(tmp_path, "", JITMAGIC_WORKER="0") == ["None", "True"]
