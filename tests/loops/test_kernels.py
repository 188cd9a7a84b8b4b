"""The text of kernels, and what a kernel does besides computing: it stops for Ctrl-C."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.regions.emit import emit
from jitmagic.backends.regions.machine import optimised
from tests.loops.outcomes import loop_calls
from tests.loops.programs import PROGRAMS

FOLDER = Path(__file__).parent.parent / "golden" / "loops"
MAKERS: dict[str, Any] = {f.__name__: (f, make) for f, make in PROGRAMS}


def _kernel(name: str) -> str:
    function, make = MAKERS[name]
    compiled = jm.compile(function)
    compiled(*make(np.random.default_rng(0), 12))
    return emit(loop_calls(compiled)[-1].region).text


@pytest.mark.parametrize("name", ["prefix_recurrence", "matmul", "histogram"])
def test_the_text_of_a_kernel(name: str) -> None:
    """JITMAGIC_UPDATE_GOLDEN=1 stores it."""
    text = _kernel(name)
    path = FOLDER / f"{name}.txt"
    if os.environ.get("JITMAGIC_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_a_kernel_needs_no_compiler_of_python_code() -> None:
    """Its text is translated word by word; the machine code calls nothing but libm."""
    assert "jitmagic_kernel" in optimised(_kernel("matmul"))


def test_ctrl_c_stops_a_long_loop() -> None:
    """Not only after it has come to its end."""

    def spin(n):
        x = 1
        while x > 0:
            x = (x * 5 + 1) % n + 1
        return x

    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        jm.compile(spin)(10**6)
    timer.join()
