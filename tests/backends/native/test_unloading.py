"""Code is unloaded at the next link, and never while it runs or while a collection finds it dead."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from jitmagic.backends.native import compile_kernel, make_launcher

_WAIT = """
def kernel(args, lo, hi):
    begun, word = arg(args, 0), arg(args, 3)
    store_release(begun, 0, 1)
    while load_acquire(word, 0) == 0:
        pass
    store_int64(begun, 0, {answer})
    return 0
"""

# Kernels in cycles die whenever the collector comes, which is all the time: also while another thread compiles.
_STRESS = """
import faulthandler, gc, threading
import numpy as np
from jitmagic.backends.native import compile_kernel, make_launcher

faulthandler.enable()
TEXT = "def kernel(args, lo, hi):\\n    store_int64(arg(args, 0), 0, {number})\\n    return 0\\n"
launch = make_launcher("a1")
wrong = []

def work(first):
    out = np.zeros(1, np.int64)
    for number in range(first, first + 40):
        kernel = compile_kernel(TEXT.format(number=number), "kernel")
        cycle = [kernel]
        cycle.append(cycle)
        launch(kernel.address, 0, 1, 0, out)
        if out[0] != number:
            wrong.append(number)

gc.set_threshold(3, 1, 1)
threads = [threading.Thread(target=work, args=(1000 * k,)) for k in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("wrong", wrong)
"""


def _compile_others() -> None:
    for k in range(3):
        compile_kernel(_WAIT.format(answer=100 + k), "kernel")
        gc.collect()


def test_a_running_kernel_that_nobody_else_holds_runs_to_its_end() -> None:
    begun, word = np.zeros(1, np.int64), np.zeros(1, np.int64)
    launch = make_launcher("a1a1")
    thread = threading.Thread(
        target=lambda: launch(compile_kernel(_WAIT.format(answer=7), "kernel").address, 0, 1, 10**9, begun, word)
    )
    thread.start()
    while not begun[0]:
        time.sleep(0.001)
    _compile_others()
    word.fill(1)
    thread.join()
    assert begun[0] == 7


def test_kernels_die_while_others_are_compiled(tmp_path: Path) -> None:
    """In a process of its own, with a store of its own: each is compiled."""
    code = f"import jitmagic, pathlib\njitmagic.configure(cache_dir=pathlib.Path({str(tmp_path)!r}))\n{_STRESS}"
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stdout == "wrong []\n"
    assert sum(path.is_file() for path in tmp_path.rglob("*")) >= 120
