"""Takes a region, gives a callable over its operands that launches the kernel and hands back the results.

The callable is generated for the region:

    def run(a0, c0, s_float64):
        out = empty(3)
        r = launch(address, 0, 1, RELEASE, a0, c0, s_float64, k0, out)
        if r and listened(r, FLAGS): stop(r, out, (a0,))
        ints = out.view(int64)
        return float64(out[0]), ints.item(1)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jitmagic.backends.base import Bail
from jitmagic.backends.native import FloatFlag, InnerLoop, Kernel, compile_kernel, inner_loop, make_launcher
from jitmagic.backends.native.abi import Status
from jitmagic.backends.numba_cpu.conditions import listened
from jitmagic.backends.regions.emit import Kernel as Emitted
from jitmagic.backends.regions.emit import emit
from jitmagic.backends.regions.machine import generate
from jitmagic.backends.regions.places import all_places
from jitmagic.backends.regions.spreading import pool_or_none
from jitmagic.backends.regions.states import Stopped, raise_interrupt, state_of, words_of
from jitmagic.backends.regions.writer import COMPLEX, FLOATS
from jitmagic.errors import LoopStopped
from jitmagic.graph import region as ir

__all__ = ["RegionProgram", "compile_region"]

RELEASE = 0  # work as the launcher sees it: a kernel gives the GIL away by itself when it runs long
_FLAGS = int(FloatFlag.DIVIDE | FloatFlag.OVER | FloatFlag.UNDER | FloatFlag.INVALID)
_READ: Mapping[str, str] = {
    "pyint": "ints.item({0})",
    "pyfloat": "out.item({0})",
    "pybool": "ints.item({0}) != 0",
    "float64": "out[{0}]",
    "int64": "ints[{0}]",
    "pycomplex": "complex(out.item({0}), out.item({0} + 1))",
    "complex128": "complex128(complex(out.item({0}), out.item({0} + 1)))",
}


def compile_region(region: ir.Region) -> RegionProgram:
    """Compile the kernel. Raises Unsupported where no kernel can be exact."""
    made = emit(region)
    return RegionProgram(region, compile_kernel(made.text, "loop", generate=generate), made)


class RegionProgram:
    """``program(*operands)`` changes the written arrays and gives the tuple of results; ``run`` is the same, faster.

    Raises Bail if the loop must run as plain Python; written arrays may then hold anything. Raises KeyboardInterrupt,
    or what else the user's handler of Ctrl-C raises, and LoopStopped in its place if ``stopped`` tells how far the loop
    has come.
    """

    def __init__(self, region: ir.Region, kernel: Kernel, made: Emitted) -> None:
        self.region = region
        self.kernel = kernel
        self.stopped: Stopped | None = None
        self.hands_back = False  # whether somebody waits for LoopStopped
        self.tables = [_table(*wanted) for wanted in made.inner_loops]
        self.source = _text(region, made)
        scope: dict[str, Any] = {
            "launch": make_launcher(_form(region, made)),
            "address": kernel.address,
            "listened": listened,
            "Bail": Bail,
            "stop": self._stop,
            "empty": np.empty,
            "complex": complex,
            "int64": np.int64,
            **{v.type: np.dtype(v.type).type for v in region.results if not v.type.startswith("py")},
            "pool": id(pool_or_none),
            **{f"k{i}": value for i, value in enumerate(made.constants)},
            **{f"u{i}": int(table.ctypes.data) for i, (_, table) in enumerate(self.tables)},
        }
        exec(compile(self.source, "<jitmagic loop>", "exec"), scope)
        self.run: Callable[..., tuple[Any, ...]] = scope["run"]

    def __call__(self, *operands: Any) -> tuple[Any, ...]:
        return self.run(*operands)

    def _stop(self, result: int, out: Any, arrays: tuple[Any, ...]) -> None:
        """The end of a run that ``result`` says was none; ``arrays`` are those that it was to write."""
        if result & 0xFF == Status.INTERRUPTED:
            try:
                raise_interrupt()
            except BaseException as error:
                self.stopped = None if listened(result & ~0xFF, _FLAGS) else state_of(self.region, out, arrays, error)
                if self.stopped is not None and self.hands_back:
                    raise LoopStopped(error, self.stopped.line) from None
                raise
        raise Bail


def _table(ufunc: str, *dtypes: str) -> tuple[InnerLoop, Any]:
    """NumPy's loop for scalars, and the addresses that the kernel reads."""
    loop = inner_loop(getattr(np, ufunc), [np.dtype(each) for each in dtypes])
    return loop, np.array([loop.function, int(loop.context), loop.auxdata], np.int64)


def _form(region: ir.Region, made: Emitted) -> str:
    form = "".join(f"a{a.ndim}" for a in region.arrays)
    form += "".join("c" if s.type in COMPLEX else "d" if s.type in FLOATS else "i" for s in region.scalars)
    return form + "d" * len(made.constants) + "i" * (len(made.inner_loops) + made.spreads) + "a1"


def _text(region: ir.Region, made: Emitted) -> str:
    parameters = [f"p{i}" for i in range(len(region.arrays) + len(region.scalars))]
    given = parameters[: len(region.arrays)]
    for name, scalar in zip(parameters[len(region.arrays) :], region.scalars, strict=True):
        given.append(f"int({name})" if scalar.type in ("pybool", "bool") else name)
    given += [f"k{i}" for i in range(len(made.constants))]
    given += [f"u{i}" for i in range(len(made.inner_loops))]
    given += ["pool"] * made.spreads
    words = [len(all_places(region.results[:i])) for i in range(len(region.results) + 1)]
    reads = (_READ.get(v.type, f"{v.type}({_place(v)}[{{0}}])") for v in region.results)
    results = [read.format(word) for read, word in zip(reads, words, strict=False)]
    written = "".join(f"{p}, " for p, a in zip(parameters, region.arrays, strict=False) if a.is_written)
    lines = [
        f"def run({', '.join(parameters)}):",
        f"    out = empty({words[-1] + words_of(region)})",
        "    try:",
        f"        r = launch(address, 0, 1, {RELEASE}, {', '.join([*given, 'out'])})",
        "    except (OverflowError, TypeError) as error:",
        "        raise Bail from error",
        f"    if r and listened(r, {_FLAGS}):",
        f"        stop(r, out, ({written}))",
    ]
    if any(v.type not in (*FLOATS, *COMPLEX) for v in region.results):
        lines.append("    ints = out.view(int64)")
    return "\n".join([*lines, f"    return ({''.join(f'{r}, ' for r in results)})", ""])


def _place(variable: ir.Var) -> str:
    return "out" if variable.type in FLOATS else "ints"
