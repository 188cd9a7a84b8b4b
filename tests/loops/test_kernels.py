"""The text of kernels, and what a kernel does besides computing: it stops for Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.regions.emit import emit
from jitmagic.backends.regions.machine import optimised
from jitmagic.backends.regions.translate import translate
from tests.loops.outcomes import loop_calls, outcome
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


def test_short_choices_of_ints_are_made_without_a_jump() -> None:
    """What is too large counts only in the value that is chosen; the loop is thrown away for it, not cut short."""
    (line,) = [line for line in _kernel("collatz").splitlines() if "bad |=" in line]
    assert "select(" in line


def steps(x, n):
    s = 0
    for i in range(len(x)):
        s = s // 2 if x[i] > 0 else s * 3 + n
    return s


@pytest.mark.parametrize("large", [2**62 // 3, 2**62 // 3 + 1, -(2**62) // 3, 2**62 - 1, 2**63 - 1, -(2**63)])
@pytest.mark.parametrize("dtype", ["pyint", "int64"])
def test_products_with_constants_are_exact(large: int, dtype: str) -> None:
    """At the largest numbers whose product fits, and beyond, chosen or not."""
    given = large if dtype == "pyint" else np.int64(large)
    compiled = jm.compile(steps)
    for x in (np.array([-1.0, 1.0, 1.0]), np.array([-1.0, -1.0, 1.0]), np.array([-1.0, 1.0, -1.0])):
        for n in (3, given, 3):
            assert outcome(compiled, [x, n]) == outcome(steps, [x, n])


def test_the_least_of_three_ints_waits_for_the_last_round_last() -> None:
    """The neighbour that the last round has stored: the others are compared before."""
    lines = _kernel("edit_distance").splitlines()
    last = max(i for i, line in enumerate(lines) if " = min(" in line)
    waits = lines[last].rstrip(")").rpartition(", ")[2]
    (made,) = [line for line in lines[:last] if line.strip().startswith(f"{waits} = ")]
    row = lines[last + 1].split(", ")[1].partition(" + ")[0]  # of the element that is stored
    assert f"load_int64(a0, {row} + " in made


def test_loops_that_check_their_indices_are_not_written_out() -> None:
    """They are for rare calls, and would take as long to compile as the others; each names itself, as LLVM asks."""
    text = translate(_kernel("wave_2d"))
    marked = re.findall(r"!llvm\.loop (!\d+)", text)
    assert len(set(marked)) == len(marked) > 0
    for name in marked:
        assert f"\n{name} = distinct !{{ {name}, " in text
    assert "llvm.loop.unroll.disable" in text
    assert "!llvm.loop" not in translate(_kernel("collatz"))


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
