"""Takes nothing, gives the peers: processes in an environment of their own, which is made here with pinned versions.

A peer that cannot be installed, or that cannot run a program, is an error: no table is made without it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

__all__ = ["NAMES", "PINNED", "Peer", "environment"]

PINNED = ("numpy==2.4.6", "numexpr==2.14.2", "numba==0.68.1", "jax==0.10.2", "torch==2.13.0")
NAMES = ("numexpr", "numba", "numba fast", "jax", "torch")
PLACE = "JITMAGIC_PEERS"  # a folder other than build/peers


def environment() -> Path:
    """The Python of the peers' environment, which is made, or completed, where it is not there."""
    folder = Path(os.environ.get(PLACE, "build/peers")).resolve()
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making {folder}: {', '.join(PINNED)}", file=sys.stderr)
        venv.create(folder, with_pip=True)
    if missing(folder):
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PINNED], check=True)
    if missing(folder):
        raise RuntimeError(f"not installed in {folder}: {', '.join(missing(folder))}")
    return python


def missing(folder: Path) -> list[str]:
    """The pinned packages that the environment lacks, or has in another version."""
    places = [str(p) for p in folder.glob("lib/python*/site-packages")]
    found = {d.name.lower(): d.version.partition("+")[0] for d in distributions(path=places)}
    wanted = (pin.split("==") for pin in PINNED)
    return [f"{name}=={version}" for name, version in wanted if found.get(name) != version]


class Peer:
    """A running peer, asked one thing after the other. It sleeps while the others are measured."""

    def __init__(self, python: Path, name: str) -> None:
        command = [str(python), "-m", "tests.benchmarks.peer_server", name]
        self.name = name
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115  # open as long as the peer runs
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True
        )

    def prepare(self, program: str, size: int) -> bool:
        """Compile a program for a size; gives whether the peer's result has NumPy's bits."""
        return bool(self._ask(program=program, size=size)["exact"])

    def seconds(self, calls: int) -> float:
        """Of one call, as the mean of so many."""
        return float(self._ask(calls=calls)["seconds"])

    def _ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            self.errors.seek(0)
            raise RuntimeError(f"{self.name} failed at {request}:\n{self.errors.read()[-3000:]}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=60)
        self.errors.close()
