"""Takes a seed, gives a function with loops and branches over whole arrays, and arguments for it."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["make_arguments", "make_program"]

ARRAYS = ("x", "y", "z")
SCALARS = ("s", "t")
DTYPES = ("f8", "f8", "f8", "f4", "i8", "i4")


@dataclass
class _Writer:
    rng: random.Random
    lines: list[str] = field(default_factory=list)
    depth: int = 0
    loops: int = 0
    serial: int = 0

    def add(self, text: str) -> None:
        self.lines.append("    " * (self.depth + 1) + text)

    # -- expressions
    def array(self, deep: int = 2) -> str:
        pick = self.rng.randrange(8 if deep else 1)
        if pick == 0:
            return self.rng.choice(ARRAYS)
        if pick <= 3:
            return f"({self.array(deep - 1)} {self.rng.choice('+-*')} {self.array(deep - 1)})"
        if pick == 4:
            return f"({self.array(deep - 1)} {self.rng.choice(['+', '*', '-'])} {self.number()})"
        if pick == 5:
            return f"np.{self.rng.choice(['abs', 'sqrt', 'sign', 'negative'])}({self.array(deep - 1)})"
        if pick == 6:
            return f"np.where({self.array(deep - 1)} > {self.number()}, {self.array(deep - 1)}, {self.array(0)})"
        return f"{self.array(deep - 1)}[::-1]"

    def number(self) -> str:
        pool = ["2", "0.5", "-1", "3.0", "k", *SCALARS, *(f"i{n}" for n in range(self.loops))]
        return self.rng.choice(pool)

    def scalar(self) -> str:
        kind = self.rng.choice(["sum", "max", "min", "mean"])
        return f"{self.array(1)}.{kind}()"

    def test(self, deep: int = 1) -> str:
        pick = self.rng.randrange(7 if deep else 4)
        if pick == 0:
            return f"k % {self.rng.randint(2, 3)} == {self.rng.randint(0, 1)}"
        if pick <= 2:
            return f"{self.scalar()} {self.rng.choice(['>', '<', '<='])} {self.number()}"
        if pick == 3:
            return f"({self.array(1)} > {self.number()}).{self.rng.choice(['any', 'all'])}()"
        if pick == 4:
            return f"({self.test(0)} {self.rng.choice(['and', 'or'])} {self.test(0)})"
        if pick == 5:
            return f"not {self.test(0)}"
        return f"{self.number()} < {self.scalar()} < 10"

    # -- statements
    def statement(self) -> None:
        weights = [6, 3, 3, 2, 2, 2, 1, 1, 1, 1]
        makers = [
            self._assign, self._scalar, self._write, self._if, self._for, self._count, self._while, self._swap,
            self._choice, self._leave,
        ]  # fmt: skip
        self.rng.choices(makers, weights)[0]()

    def _assign(self) -> None:
        name = self.rng.choice(ARRAYS)
        if self.rng.random() < 0.15:
            self.add(f"{name} = {self.rng.choice(ARRAYS)}")
        elif self.rng.random() < 0.2:
            self.add(f"{name} {self.rng.choice(['+=', '-=', '*='])} {self.rng.choice([self.array(1), self.number()])}")
        else:
            self.add(f"{name} = {self.array()}")

    def _scalar(self) -> None:
        self.add(f"{self.rng.choice(SCALARS)} = {self.rng.choice([self.scalar(), self.scalar(), self.number()])}")

    def _write(self) -> None:
        name, other = self.rng.choice(ARRAYS), self.rng.choice(ARRAYS)
        part = self.rng.choice(["[1:-1]", "[k % 3]", "[:2]", "[::2]", f"[{other} > {self.number()}]"])
        source = {"[1:-1]": f"{self.array(1)}[2:]", "[::2]": f"{self.array(1)}[::2]", "[:2]": self.number()}
        self.add(f"{name}{part} {self.rng.choice(['=', '=', '+='])} {source.get(part, self.number())}")

    def _block(self, most: int = 3) -> None:
        self.depth += 1
        for _ in range(self.rng.randint(1, most)):
            self.statement()
        self.depth -= 1

    def _if(self) -> None:
        if self.depth > 2:
            return self._assign()
        self.add(f"if {self.test()}:")
        self._block()
        if self.rng.random() < 0.5:
            self.add("else:")
            self._block()
        return None

    def _for(self) -> None:
        if self.depth > 1:
            return self._scalar()
        index = f"i{self.loops}"
        self.loops += 1
        bound = self.rng.choice(["n", "n", "3", "12", "k"])
        self.add(f"for {index} in range({bound}):")
        self._block(4)
        self.loops -= 1
        return None

    def _while(self) -> None:
        if self.depth > 1:
            return self._scalar()
        name = f"w{self.serial}"
        self.serial += 1
        self.add(f"{name} = 0")
        self.add(f"while {name} < {self.rng.choice(['n', '4', '11'])} and {self.test()}:")
        self.depth += 1
        self.add(f"{name} += 1")
        self.depth -= 1
        self._block()
        return None

    def _count(self) -> None:
        self.add("k += 1")

    def _swap(self) -> None:
        a, b = self.rng.sample(ARRAYS, 2)
        self.add(f"{a}, {b} = {b}, {a}")

    def _choice(self) -> None:
        self.add(f"{self.rng.choice(ARRAYS)} = {self.array(1)} if {self.test()} else {self.array(1)}")

    def _leave(self) -> None:
        pick = self.rng.randrange(4)
        if pick == 0:
            self.add(f"assert {self.test()}, 'no'")
        elif pick == 1 and self.depth:
            self.add(f"return {self.array(1)}, {self.rng.choice(SCALARS)}")
        elif self.loops and pick >= 2:
            self.add(f"if {self.test()}: {self.rng.choice(['break', 'continue'])}")
        else:
            self._scalar()


def make_program(seed: int) -> str:
    """The source of ``f(x, y, n)``."""
    writer = _Writer(random.Random(seed))
    writer.lines.append("def f(x, y, n):")
    writer.add("z = x * 1")
    writer.add("s = 1.5")
    writer.add("t = x.sum()")
    writer.add("k = 0")
    for _ in range(writer.rng.randint(2, 5)):
        writer.statement()
    writer.add(writer.rng.choice(["return x, y, z, s, t, k", "return z, s", "return x, k", "return y, z, t"]))
    return "\n".join(writer.lines) + "\n"


def make_arguments(seed: int) -> tuple[Any, ...]:
    """Two arrays of one length, which may share memory, and a number of rounds."""
    rng = random.Random(seed)
    data = np.random.default_rng(seed)
    size = rng.choice([4, 5, 7])
    dtype = rng.choice(DTYPES)
    both = (data.standard_normal(2 * size) * 4).astype(dtype)
    x = both[:size]
    y = rng.choice([both[size:], both[size:], both[:size].copy(), both[1 : size + 1], x])
    if rng.random() < 0.1:
        x[rng.randrange(size)] = np.nan if dtype[0] == "f" else 0
    return x, y, rng.choice([0, 1, 3, 9, 12])
