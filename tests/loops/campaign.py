"""Takes the loop programs, calls each with generated arguments in a process of its own, gives a table of what differed.

    python -m tests.loops.campaign                       # 10,000 calls of every program
    python -m tests.loops.campaign --calls 500 lu sieve

Arguments are extreme numbers, empty arrays, wrong shapes and dtypes, odd memory layouts, and things that are no arrays.
A call passes if it shows what plain Python shows: result, exception with its text and line, warnings, contents of the
arguments afterwards. A process that ends in any other way than by itself is a failure of its program.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic.backends.regions import parts
from tests.loops.outcomes import outcome_on
from tests.loops.programs import PROGRAMS

__all__ = ["arguments_of", "campaign"]

Arguments = list[Any]
CALLS = 10_000
CALLS_PER_COMPILE = 5_000  # then the function is compiled anew, so that other arguments come first
LONGEST = 1000  # rounds that a number in the place of a count asks for
SHOWN = 3  # differences that are told in full
SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 11)
HUGE = (2**31 - 1, -(2**31), 2**53 + 1, 2**62, 2**63 - 1, -(2**63))
FLOATS = (float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 5e-324, -0.0, 0.0, 1.5)
DTYPES = "float64 float32 float16 int64 int32 int8 uint8 uint64 bool complex128 object >f8 <U3".split()  # noqa: SIM905 - a list of names is easier to read so
THINGS: tuple[Any, ...] = (None, "text", 3, -1, 2.5, True, [1.0, 2.0, 3.0], [[1, 2], [3, 4]], (), 10**30)
FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {f.__name__: (f, make) for f, make in PROGRAMS}


def arguments_of(name: str, seed: int) -> Arguments:
    """The arguments of one generated call."""
    rng = np.random.default_rng(seed)
    right = _made(FUNCTIONS[name][1], rng)
    made = list(right)
    for _ in range(int(rng.choice([0, 1, 1, 1, 2, 3]))):
        place = int(rng.integers(len(made)))
        made[place] = _bounded(_changed(made[place], rng), right[place])
    return made


def _bounded(value: Any, right: Any) -> Any:
    """A loop that counts up to a number ends: no infinity (a float that was changed again) in the place of an int."""
    counts = isinstance(right, int | np.integer) and isinstance(value, float | np.floating)
    return type(value)(2.5) if counts and not abs(value) < LONGEST else value


def _made(make: Any, rng: np.random.Generator) -> Arguments:
    """Right arguments of a random size; not every program has a smallest size."""
    while True:
        try:
            return list(make(rng, int(rng.choice(SIZES))))
        except (ValueError, IndexError):
            continue


def _changed(value: Any, rng: np.random.Generator) -> Any:
    if rng.random() < 0.05:
        things = [t for t in THINGS if isinstance(value, np.ndarray) or not isinstance(t, int) or t < 10]
        return copy.deepcopy(things[int(rng.integers(len(things)))])
    if not isinstance(value, np.ndarray):
        return _number(value, rng)
    return _CHANGES[int(rng.integers(len(_CHANGES)))](value, rng) if value.ndim else value.astype(np.int8)


def _number(value: Any, rng: np.random.Generator) -> Any:
    """Another number; loops count to some of them, so large ints are left to arrays."""
    if isinstance(value, float):
        return float(rng.choice(FLOATS))
    if isinstance(value, np.generic):
        value = value.item()
    small: list[Any] = [0, 1, -1, -7, 2, 9, True, np.int64(3), np.int8(5), np.uint8(2), 2.0, np.float64(3.0)]
    return small[int(rng.integers(len(small)))]


def _extreme(value: Any, rng: np.random.Generator) -> Any:
    """A few elements at the ends of what the dtype holds."""
    made = value.copy()
    if made.dtype.kind not in "iuf":
        return made
    ends: list[Any] = list(FLOATS)
    if made.dtype.kind != "f":
        info = np.iinfo(made.dtype)
        ends = [h for h in (*HUGE, -1, info.min, info.max) if info.min <= h <= info.max]
    for _ in range(min(made.size, int(rng.integers(1, 4)))):
        with np.errstate(all="ignore"):
            made.flat[int(rng.integers(made.size))] = ends[int(rng.integers(len(ends)))]
    return made


def _shorter(value: Any, rng: np.random.Generator) -> Any:
    if not value.ndim:
        return value
    axis = int(rng.integers(value.ndim))
    return np.take(value, range(int(rng.integers(value.shape[axis] + 1))), axis=axis)


def _one_of(*ways: Callable[[Any], Any]) -> Callable[[Any, np.random.Generator], Any]:
    return lambda value, rng: ways[int(rng.integers(len(ways)))](value)


_reshaped = _one_of(np.ravel, lambda v: v[None], lambda v: v[..., None], lambda v: v.T, lambda v: v.reshape(-1)[:1])


def _cast(value: Any, rng: np.random.Generator) -> Any:
    if value.dtype.kind not in "biufc":
        return value
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return value.astype(DTYPES[int(rng.integers(len(DTYPES)))])


def _unaligned(value: Any) -> Any:
    if value.dtype.hasobject or not value.size:
        return value
    memory = np.empty(value.nbytes + 1, np.uint8)
    made = memory[1:].view(value.dtype).reshape(value.shape)
    made[...] = value
    return made


_laid_out = _one_of(
    np.asfortranarray,
    lambda v: np.repeat(v, 2, axis=0)[::2],
    lambda v: v[::-1].copy()[::-1],
    lambda v: np.broadcast_to(v[:1], v.shape) if v.size else v,
    _unaligned,
)


def _read_only(value: Any, rng: np.random.Generator) -> Any:
    made = value.copy()
    made.flags.writeable = False
    return made


_CHANGES: tuple[Callable[[Any, np.random.Generator], Any], ...] = (
    _extreme,
    _extreme,
    _extreme,
    _shorter,
    _shorter,
    _reshaped,
    _cast,
    _laid_out,
    _read_only,
)


def campaign(name: str, calls: int, first: int = 0) -> dict[str, Any]:
    """Call one program; what differed, and how many calls a kernel served."""
    function = FUNCTIONS[name][0]
    differed: list[str] = []
    served = 0
    compiled: Any = None
    for call in range(calls):
        if call % CALLS_PER_COMPILE == 0:
            served += 0 if compiled is None else compiled.jit.hits
            compiled = jm.compile(function)
            compiled(*_right(name))
        wanted = outcome_on(function, arguments_of(name, first + call))
        found = outcome_on(compiled, arguments_of(name, first + call))
        if found != wanted:
            differed.append(
                f"call {first + call} with {arguments_of(name, first + call)!r}:"
                f"\n  plain    {wanted}\n  compiled {found}"
            )
    return {"calls": calls, "served": served + compiled.jit.hits, "differed": differed}


def _right(name: str) -> Arguments:
    return list(FUNCTIONS[name][1](np.random.default_rng(0), 6))


def _child(name: str, calls: int, first: int) -> int:
    faulthandler.enable()
    parts.SPREAD_WORK = 500.0  # threads come in at sizes that are quick to check
    parts.CHUNK_WORK = 50.0
    print(json.dumps(campaign(name, calls, first)))
    return 0


def _in_process(name: str, calls: int, first: int) -> str | dict[str, Any]:
    """What the process of one program tells, or how it ended."""
    command = [
        sys.executable,
        "-m",
        "tests.loops.campaign",
        "--child",
        name,
        "--calls",
        str(calls),
        "--first",
        str(first),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        return f"ended with status {done.returncode}: {done.stderr[-2000:]}"
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--calls", type=int, default=CALLS)
    parser.add_argument("--first", type=int, default=0, help="seed of the first call")
    parser.add_argument("--child", help="run one program in this process")
    options = parser.parse_args(argv)
    if options.child:
        return _child(options.child, options.calls, options.first)
    failures = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        names = options.names or list(FUNCTIONS)
        for name, told in zip(
            names, pool.map(lambda n: _in_process(n, options.calls, options.first), names), strict=True
        ):
            failures += _tell(name, told)
    print("all calls show what plain Python shows" if not failures else f"{failures} programs failed")
    return 1 if failures else 0


def _tell(name: str, told: str | dict[str, Any]) -> bool:
    if isinstance(told, str):
        print(f"{name:<20} {told}", flush=True)
        return True
    differed = told["differed"]
    print(
        f"{name:<20} {told['calls']:>6} calls, {told['served']:>6} served by compiled code, {len(differed)} differed",
        flush=True,
    )
    for text in differed[:SHOWN]:
        print(f"  {text}")
    return bool(differed)


if __name__ == "__main__":
    sys.exit(main())
