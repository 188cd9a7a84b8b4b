"""Takes functions of ten operations, gives a table of what their first calls take, in a new notebook and the next time.

    python -m tests.benchmarks.opening

Two processes with one kernel store, as a notebook that is opened twice: the first finds it empty, the second finds
everything there. Both load the extension and finish what it does in the background, as happens while a user types.
Times are of the calling thread, in CPU time; "the first" is the first compile of the process, the others are the
median of the functions after it. Wanted are at most 150 ms cold, and 10 ms from disk.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from statistics import median
from typing import Any

import numpy as np

BODIES = (
    "a = np.exp(-x * x) * {k} + 1.0; b = np.sqrt(a) - y; return np.maximum(b * y, 0.0) / (a + 2.0)",
    "a = x * {k} + y; b = a * a - x; c = np.exp(-b); return (np.sqrt(np.abs(c)) + y) / (1.0 + a)",
    "a = np.where(x > {k}, x, y); b = np.log1p(a * a); c = a - b * 0.5; return np.tanh(c) * y + c * 2.0",
    "a = x - y; b = np.abs(a) < {k}; c = a * a * 0.5; return np.where(b, c, np.abs(a) - 0.5) * x + y * 2.0",
    "a = np.sin(x) * {k}; b = np.cos(y) * a; c = a * a + b * b; return np.sqrt(c) - np.minimum(a, b) * y",
    "a = x / (y + {k}); b = a - np.floor(a); c = b * b * (3.0 - b * 2.0); return c * y + (x - c) * 0.25",
)
COUNT = 18


def functions() -> list[str]:
    """The cells, each with one function."""
    texts = [BODIES[n % len(BODIES)].format(k=float(n + 2)) for n in range(COUNT)]
    return [f"%%compile\ndef f{n}(x, y):\n    {text}\n" for n, text in enumerate(texts)]


def child() -> dict[str, Any]:
    """CPU seconds of each function's first call, and whether a compiler was loaded."""
    from IPython.core.interactiveshell import InteractiveShell

    import jitmagic
    from jitmagic.runtime import ahead
    from jitmagic.runtime.native.code import prepare

    jitmagic.configure(worker=False)
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "jitmagic")
    shell.run_cell("import numpy as np").raise_error()
    ahead.finish()
    prepare()
    x, y = np.linspace(0.1, 3.0, 1000), np.linspace(2.0, 1.0, 1000)
    taken = []
    for number, cell in enumerate(functions()):
        shell.run_cell(cell).raise_error()
        function = shell.user_ns[f"f{number}"]
        begin = time.thread_time()
        function(x, y)
        taken.append(time.thread_time() - begin)
    return {"seconds": taken, "compiler": "numba" in sys.modules}


def opened(directory: str) -> dict[str, Any]:
    env = {**os.environ, "JITMAGIC_CACHE_DIR": directory}
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, "--child"], env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> int:
    if "--child" in sys.argv:
        print(json.dumps(child()))
        return 0
    with tempfile.TemporaryDirectory() as directory:
        cold, warm = opened(directory), opened(directory)
    print(f"{'ten operations, first call':<28}{'the first':>12}{'median':>12}{'longest':>12}")
    for name, found in (("nothing on disk", cold), ("all kernels on disk", warm)):
        first, *others = (1e3 * seconds for seconds in found["seconds"])
        print(f"{name:<28}{first:>9.1f} ms{median(others):>9.1f} ms{max(others):>9.1f} ms")
    if warm["compiler"]:
        print("the second process loaded a compiler")
    return int(warm["compiler"])


if __name__ == "__main__":
    sys.exit(main())
