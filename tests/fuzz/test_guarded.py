"""Compiled programs stay within their arrays, on both sides; in a process of its own, which dies otherwise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.fuzz.guarded import guarded

_OUTSIDE = """
import ctypes
import numpy as np
from tests.fuzz.guarded import guarded
with guarded({side!r}):
    x = np.zeros(3, np.int16)
ctypes.c_int16.from_address(x.ctypes.data + {offset}).value = 1
print("alive")
"""


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    root = Path(__file__).parents[2]
    return subprocess.run(
        [sys.executable, *command], cwd=root, capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize(("side", "offset", "dies"), [("end", 6, True), ("end", 4, False), ("start", -2, True)])
def test_who_leaves_an_array_dies(side: str, offset: int, dies: bool) -> None:
    ended = _run("-c", _OUTSIDE.format(side=side, offset=offset))
    assert (ended.returncode < 0) == dies, ended.stderr
    assert ("alive" in ended.stdout) == (not dies)


def test_arrays_keep_their_contents_and_may_outlive_the_guard() -> None:
    with guarded("end"):
        x = np.arange(5000.0)
        x.resize(9000, refcheck=False)
        y = np.zeros((3, 4), np.int8)
    assert x[:5000].tolist() == np.arange(5000.0).tolist()
    assert not x[5000:].any()
    assert not y.any()
    del x, y
    assert np.zeros(3).tolist() == [0, 0, 0]


@pytest.mark.parametrize(("first", "last"), [(2000, 2010), (703017, 703018)])
def test_programs_stay_within_their_arrays(first: int, last: int) -> None:
    """Kernels, and NumPy itself: it counts 2**63 - 1 outside of its result, so no program may ask it to."""
    ended = _run("-m", "tests.fuzz.guarded", str(first), str(last))
    assert ended.returncode == 0, ended.stderr[-3000:]
    assert ended.stderr.count(f"{last - first} programs") == 2
    assert not ended.stdout
