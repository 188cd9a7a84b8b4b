"""A notebook that was open before compiles nothing: its kernels are on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

CELLS = [
    "import numpy as np\nx = np.linspace(0.1, 3.0, 5000)\nm = x.reshape(50, 100)",
    "%%compile\n"
    "def chain(x):\n    return np.exp(-x * x) * 2.0 + np.sqrt(x)\n"
    "def spread(m):\n    c = m - m.mean(axis=1, keepdims=True)\n    return (c * c).sum(axis=1)\n"
    "def so_far(x):\n    return np.cumsum(x * 2.0) / np.maximum(x, 1.0)\n"
    "def nested(m):\n"
    "    total = 0.0\n"
    "    for i in range(m.shape[0]):\n"
    "        for j in range(m.shape[1]):\n"
    "            total += m[i, j] * 0.5\n"
    "    return total",
    "%%compile --fastmath\ndef near(x):\n    return np.sin(x) * np.cos(x) + np.exp(x)",
    "import jitmagic as jm\nslope = jm.grad(lambda x: (np.tanh(x) * x).sum())",
    "results = [chain(x), spread(m), so_far(x), nested(m), near(x), slope(x)]",
    "results += [chain(x[:-1]), chain(x[:-2]), spread(m.astype(np.float32))]",
]
PROGRAM = f"""
import json, sys
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
import jitmagic
from jitmagic import events
jitmagic.configure(background=False, worker=False)
kernels = []
events.subscribe(lambda event: kernels.append(event) if type(event) is events.KernelEvent else None)
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "jitmagic")
for cell in {CELLS!r}:
    shell.run_cell(cell).raise_error()
print(json.dumps({{
    "compiler": "numba" in sys.modules,
    "kernels": len(kernels),
    "cached": sum(k.cached for k in kernels),
    "results": [__import__("numpy").asarray(r).tobytes().hex() for r in shell.user_ns["results"]],
}}))
"""


def opening(cache: Path) -> dict[str, Any]:
    """One process, from the first cell to the last."""
    env = {**os.environ, "JITMAGIC_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_the_second_opening_of_a_notebook_compiles_nothing(tmp_path: Path) -> None:
    first = opening(tmp_path)
    stored = sorted(p.name for p in tmp_path.rglob("*") if p.is_file())
    second = opening(tmp_path)
    assert first["compiler"]
    assert first["cached"] < first["kernels"]
    assert not second["compiler"], "Numba was loaded: something was compiled"
    assert second["cached"] == second["kernels"] == first["kernels"]
    assert sorted(p.name for p in tmp_path.rglob("*") if p.is_file()) == stored
    assert second["results"] == first["results"]
