"""What the first compile needs is loaded in a thread, without anybody being in its way."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BEGIN = """
import os, sys
import numpy as np
import jitmagic
from jitmagic.runtime import ahead

def f(x):
    return np.exp(x) * 2.0 + x

def check():
    x = np.linspace(0.0, 1.0, 100)
    compiled = jitmagic.compile(f)
    assert (compiled(x) == f(x)).all()
    assert compiled.jit.record.compiles == 1

jitmagic.configure(background=False)
ahead.start()
"""


def run(tmp_path: Path, program: str) -> str:
    path = tmp_path / "program.py"
    path.write_text(BEGIN + program)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, path], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_compile_finds_everything_loaded(tmp_path: Path) -> None:
    """But for what generates code: with kernels on disk nothing does."""
    printed = run(
        tmp_path,
        "ahead.finish()\nbefore = set(sys.modules)\ncheck()\n"
        "parts = ('jitmagic.tracer', 'jitmagic.runtime', 'jitmagic.aot', 'jitmagic.backends.loops')\n"
        "print([m for m in sys.modules if m not in before and m.startswith(parts)])",
    )
    assert printed == "[]\n"


def test_a_call_while_it_loads_waits_for_the_rest(tmp_path: Path) -> None:
    assert run(tmp_path, "check()\nprint(ahead._state.thread.is_alive())") == "False\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_child_that_is_forked_while_it_loads_can_compile(tmp_path: Path) -> None:
    program = "child = os.fork()\ncheck()\nif not child:\n    os._exit(0)\nprint(os.waitpid(child, 0)[1])"
    assert run(tmp_path, program) == "0\n"
