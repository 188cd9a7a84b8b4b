"""Takes a seed, gives a program of loops in disguise and arguments for it: comprehensions, folds, lists that grow.

python -m tests.loops.random_disguises 500          # that many programs, each with a few calls
"""

from __future__ import annotations

import functools
import math
import random
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

import jitmagic as jm
from tests.loops.outcomes import define, loop_calls, outcome

__all__ = ["Disguise", "Told", "compared", "disguise"]

DTYPES = ("float64", "float64", "float32", "int64", "int32", "uint8", "bool")
NUMBERS = ("0", "1", "2", "0.5", "-1.5", "k", "n", "1e300", "True")
FORMS = (
    *("{0} + {1}", "{0} - {1}", "{0} * {1}", "{0} / {1}", "{0} if {1} > 0 else {1}", "-({0})", "abs({0})"),
    *("({0} > {1})", "({0}) ** 2", "float({0})", "math.sqrt(abs({0}))", "{0} // 3", "int({0} * 2) % 5"),
    "max({0}, {1})",
)
CALLS = 4


@dataclass(frozen=True, slots=True)
class Disguise:
    """The text of ``f(x, y, k)``."""

    text: str
    seed: int


def disguise(seed: int) -> Disguise:
    source = random.Random(seed)
    lines = ["def f(x, y, k):", "    n = len(x)", "    out = []", "    s = 0"]
    results = []
    for number in range(source.choice((1, 1, 2))):
        lines += [f"    {line}" for line in _statement(source, number)]
        results.append(f"r{number}")
    return Disguise("\n".join([*lines, f"    return {', '.join(results)}, out, s", ""]), seed)


def _statement(source: random.Random, number: int) -> list[str]:
    if source.random() < 0.25:
        return _appending(source, number)
    return [f"r{number} = {_consumer(source)}"]


def _appending(source: random.Random, number: int) -> list[str]:
    loop, names = _loop(source)
    lines = [loop + ":"]
    if source.random() < 0.5:
        lines.append(f"    s = s * 0.5 + {_element(source, names, 1)}")
        names = [*names, "s"]
    append = f"r{number}.append({_element(source, names, 2)})"
    lines.append(f"    if {_test(source, names)}:\n            {append}" if source.random() < 0.4 else f"    {append}")
    if source.random() < 0.2:
        lines.append(f"    if {_test(source, names)}:\n            break")
    return [f"r{number} = []", *lines, *([f"r{number} = np.array(r{number})"] if source.random() < 0.5 else [])]


def _loop(source: random.Random) -> tuple[str, list[str]]:
    return source.choice(
        [
            ("for v in x", ["v"]),
            ("for i in range(n)", ["i", "x[i]"]),
            ("for i in range(1, n)", ["i", "x[i - 1]"]),
            ("for v, w in zip(x, y)", ["v", "w"]),
            ("for v, w in zip(x[1:], x[:-1])", ["v", "w"]),
            ("for i, v in enumerate(y)", ["i", "v"]),
            ("for i in range(n - 1, -1, -2)", ["i", "y[i]"]),
        ]
    )


def _stream(source: random.Random) -> str:
    loop, names = _loop(source)
    inner = ""
    if source.random() < 0.15:
        inner, names = " for j in range(5)", [*names, "j"]
    test = f" if {_test(source, names)}" if source.random() < 0.3 else ""
    return f"{_element(source, names, 2)} {loop}{inner}{test}"


def _consumer(source: random.Random) -> str:
    stream = _stream(source)
    loop, names = _loop(source)
    return source.choice(
        [
            f"np.array([{stream}])",
            f"np.array([{stream}], dtype={source.choice(('float', 'np.float32', 'int', 'bool', 'np.int16'))})",
            f"[{stream}]",
            f"np.fromiter(({stream}), float)",
            f"sum({stream})",
            f"sum([{stream}])",
            f"max({stream})",
            f"min([{stream}])",
            f"any({stream})",
            f"all({stream})",
            f"np.array([[{_element(source, [*names, 'j'], 2)} for j in range(12)] {loop}])",
            f"functools.reduce(lambda a, b: {_element(source, ['a', 'b'], 1)}, x)",
            f"list(map(lambda a, b: {_element(source, ['a', 'b'], 2)}, x, y))",
            f"np.vectorize(lambda a, b: {_element(source, ['a', 'b'], 2)})(x, y)",
            f"np.mean([{stream}])",
        ]
    )


def _element(source: random.Random, names: list[str], depth: int) -> str:
    if not depth or source.random() < 0.25:
        return source.choice([*names, *names, *names, source.choice(NUMBERS)])
    left, right = (_element(source, names, depth - 1) for _ in range(2))
    form = source.choice(FORMS)
    return form.format(f"({left})", f"({right})")


def _test(source: random.Random, names: list[str]) -> str:
    value = _element(source, names, 1)
    return f"({value}) {source.choice(('>', '<', '!=', '>='))} {source.choice(('0', '0.25', '1', 'k'))}"


def arguments_of(program: Disguise, call: int) -> list[Any]:
    rng = np.random.default_rng(program.seed)
    kinds = rng.choice(DTYPES, 2)
    rng = np.random.default_rng(program.seed * 100 + call)
    size = int(rng.choice((20, 20, 31, 9)))
    values = [(rng.random(size) * 6 - 2) for _ in range(2)]
    with np.errstate(all="ignore"):
        arrays = [v.astype(kind) for v, kind in zip(values, kinds, strict=True)]
    if rng.random() < 0.1:
        arrays[0] = arrays[0][:0]
    return [*arrays, [0.75, 2, -0.5, 0.0][call % 4]]


@dataclass(frozen=True, slots=True)
class Told:
    """``differed`` is empty if nothing did; ``is_region`` says whether there was a region at all."""

    differed: str
    is_region: bool = False


def compared(program: Disguise) -> Told:
    """Some calls of a program, plain and compiled."""
    scope = {"np": np, "math": math, "functools": functools}
    plain, given = (define(program.text, f"loop {program.seed}", **scope) for _ in range(2))
    compiled = jm.compile(given)
    for call in range(CALLS):
        arguments = arguments_of(program, call)
        wanted, found = outcome(plain, arguments), outcome(compiled, arguments)
        if wanted != found:
            return Told(f"seed {program.seed}, call {call}\n{program.text}with {arguments}\n{wanted}\n{found}")
    fallbacks = compiled.jit.frame.record.fallbacks
    if any("failed on it" in f.reason for f in fallbacks):
        return Told(f"seed {program.seed}\n{program.text}{fallbacks}")
    return Told("", bool(loop_calls(compiled)))


def main(first: int, count: int) -> int:
    told = [compared(disguise(seed)) for seed in range(first, first + count)]
    failures = [t.differed for t in told if t.differed]
    for text in failures:
        print(text)
    print(f"{count} programs, {sum(t.is_region for t in told)} with regions, {len(failures)} differed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[2]) if len(sys.argv) > 2 else 0, int(sys.argv[1])))
