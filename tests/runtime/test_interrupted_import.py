"""An interrupt while Numba is imported stops the call; Numba is loaded whole nevertheless, and used by the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import os, signal, sys, time

import numpy as np

import jitmagic as jm


class Interrupt:
    def find_spec(self, name, path, target=None):
        if name == "numba.core.dispatcher":
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.3)


def f(x):
    return x * 2 + 1


f = jm.compile(f)
sys.meta_path.insert(0, Interrupt())
try:
    f(np.ones(3))
except KeyboardInterrupt:
    print("interrupted")
f(np.ones(3))
print(f.jit.report())
"""


def test_numba_is_never_left_half_loaded(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "JITMAGIC_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.startswith("interrupted\n")
    assert "1 kernel, 0 breaks" in done.stdout
