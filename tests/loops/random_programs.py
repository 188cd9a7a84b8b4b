"""Takes a seed, gives the text of a function full of loops over numbers and array elements, and arguments for it.

The programs are small and mean: every dtype, negative and wrong indices, loops of no round, division by zero,
integers that leave their type, nan and inf, variables whose type changes from round to round.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

__all__ = ["Program", "make_arguments", "make_program"]

DTYPES = ["float64"] * 5 + ["float32", "float32", "int64", "int64", "int32", "int16", "int8"]
DTYPES += ["uint8", "uint16", "uint32", "bool"]
VALUES = {
    "int": [0, 1, 2, 3, 5, -1, -2, 7, 2**31, 2**62, -(2**63), 2**63 - 1, 10**9],
    "float": [0.0, -0.0, 0.5, 1.0, -1.5, 3.25, 1e300, -1e300, float("inf"), float("nan"), 1e-310],
    "bool": [True, False],
}
PARAMETER_KINDS = ["int", "int", "float", "float", "bool", "float64", "float32", "int64", "int32", "uint8"]
VARIABLES = ["s", "t", "u", "v"]


class Program:
    """``text`` defines ``f``; ``kinds`` says what each parameter is."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.kinds: dict[str, str] = {}
        self.depth = 0
        self.counters: list[str] = []
        self.serial = 0
        self.bound = VARIABLES[: self.random.randint(1, 4)]
        self.arrays: dict[str, int] = {}
        self.tame = self.random.random() < 0.7  # mostly expressions whose types agree
        self.text = self._function()

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    # -- text
    def _function(self) -> str:
        for k in range(self.random.randint(1, 3)):
            ndim = self.pick(1, 1, 2)
            self.arrays[f"a{k}"] = ndim
            self.kinds[f"a{k}"] = f"{self.random.choice(DTYPES)}[{ndim}]"
        if self.tame and self.random.random() < 0.6:
            same = self.random.choice(["float64", "float32", "int64", "int32"])
            self.kinds = {k: f"{same}[{self.arrays[k]}]" for k in self.kinds}
        for k in range(self.random.randint(0, 2)):
            self.kinds[f"p{k}"] = self.random.choice(PARAMETER_KINDS)
        self.kinds["n"] = "count"
        lines = [f"def f({', '.join(self.kinds)}):"]
        lines += [f"    {name} = {self._start()}" for name in self.bound]
        lines += self._loop(1)
        gives = [*self.bound, *(f"{k} if {k} is not None else 0" for k in [])]
        lines.append(f"    return {', '.join(gives)},")
        return "\n".join(lines) + "\n"

    def _start(self) -> str:
        scalars = [k for k in self.kinds if k.startswith("p")]
        if scalars and self.random.random() < 0.3:
            return self.random.choice(scalars)
        array = self.random.choice(list(self.arrays))
        if self.random.random() < 0.1:
            return f"{array}[{', '.join('0' * self.arrays[array])}]"
        return self.pick("0", "0", "0.0", "0.0", "1", "1.5", "-2", "True", "1e300", "2 ** 40")

    def _block(self, indent: int, size: int) -> list[str]:
        return [line for _ in range(size) for line in self._statement(indent)]

    def _statement(self, indent: int) -> list[str]:
        pad = "    " * indent
        draw = self.random.random()
        if draw < 0.3:
            return [f"{pad}{self.random.choice(self.bound)} {self._augmenting()}= {self._expression(2)}"]
        if draw < 0.5:
            return [f"{pad}{self.random.choice(self.bound)} = {self._expression(2)}"]
        if draw < 0.56:
            return [f"{pad}{self._element()} {self._augmenting()}= {self._expression(2)}"]
        if draw < 0.7:
            return [f"{pad}{self._element()} = {self._expression(2)}"]
        if draw < 0.74 and len(self.bound) > 1:
            one, other = self.random.sample(self.bound, 2)
            return [f"{pad}{one}, {other} = {self._expression(1)}, {self._expression(1)}"]
        if draw < 0.88:
            return self._if(indent)
        if indent < 4:
            return self._loop(indent)
        return [f"{pad}{self.random.choice(self.bound)} = {self._expression(1)}"]

    def _augmenting(self) -> str:
        return (
            self.pick("+", "+", "+", "-", "*", "*", "/", "//", "%", "|", "&", "^")
            if not self.tame
            else self.pick(*"++-*")
        )

    def _if(self, indent: int) -> list[str]:
        pad = "    " * indent
        lines = [f"{pad}if {self._condition()}:"]
        draw = self.random.random()
        if self.counters and draw < 0.25:
            lines += self._block(indent + 1, self.pick(0, 1))
            lines.append(f"{pad}    {self.pick('break', 'continue')}")
        else:
            lines += self._block(indent + 1, self.pick(1, 1, 2))
        if self.random.random() < 0.4:
            lines += [f"{pad}else:", *self._block(indent + 1, self.pick(1, 1, 2))]
        return lines

    def _loop(self, indent: int) -> list[str]:
        pad = "    " * indent
        self.serial += 1
        name = f"i{self.serial}"
        if self.random.random() < 0.25:
            lines = [f"{pad}{name} = 0", f"{pad}while {name} < {self.pick('n', '3', '0')}" + self._more() + ":"]
            self.counters.append(name)
            lines += [f"{pad}    {name} += 1", *self._block(indent + 1, self.random.randint(1, 3))]
        else:
            lines = [f"{pad}for {name} in range({self._range()}):"]
            self.counters.append(name)
            lines += self._block(indent + 1, self.random.randint(1, 3))
        self.counters.pop()
        return lines

    def _more(self) -> str:
        return f" and {self._condition()}" if self.random.random() < 0.5 else ""

    def _range(self) -> str:
        array = self.random.choice(list(self.arrays))
        counter = self.random.choice(self.counters) if self.counters else "n"
        return self.pick(
            "n", f"len({array})", "1, n", f"len({array}) - 1", f"len({array}) - 1, -1, -1", counter, f"{counter}, n",
            "0, n, 2", "3", f"{array}.shape[{self.arrays[array] - 1}]", "9",
        )  # fmt: skip

    def _element(self) -> str:
        array = self.random.choice(list(self.arrays))
        return f"{array}[{', '.join(self._index(array, axis) for axis in range(self.arrays[array]))}]"

    def _index(self, array: str, axis: int) -> str:
        if not self.counters or self.random.random() < 0.05:
            return self.pick("0", "-1", "2")
        counter = self.random.choice(self.counters)
        size = f"len({array})" if axis == 0 else f"{array}.shape[{axis}]"
        safe = [f"{counter} % {size}", f"{counter} - {size}", f"({counter} * 3 + 1) % {size}"]
        return self.pick(counter, counter, counter, f"{counter} - 1", *safe, *safe)

    def _condition(self) -> str:
        draw = self.random.random()
        if draw < 0.15:
            return f"{self._condition()} {self.pick('and', 'or')} {self._condition()}"
        if draw < 0.25:
            return f"not {self._condition()}"
        if draw < 0.35:
            return self._expression(1)
        if draw < 0.45:
            return f"{self._expression(0)} <= {self._expression(1)} < {self._expression(0)}"
        return f"{self._expression(1)} {self.pick('<', '<=', '>', '>=', '==', '!=')} {self._expression(1)}"

    def _expression(self, depth: int) -> str:
        draw = self.random.random()
        if depth <= 0 or draw < 0.25:
            return self._leaf()
        inner = depth - 1
        if draw < 0.8:
            operators = "+++---***" if self.tame else ["+", "-", "*", "/", "//", "%", "**", "&", "|", "^"]
            operator = self.pick(*operators)
            right = self.pick("2", "3", "0.5") if operator == "**" else self._expression(inner)  # no towers of ints
            return f"({self._expression(inner)} {operator} {right})"
        if draw < 0.84:
            return f"(-{self._expression(inner)})"
        if draw < 0.88:
            return f"({self._expression(inner)} if {self._condition()} else {self._expression(inner)})"
        if draw < 0.92:
            return f"{self.pick('min', 'max')}({self._expression(inner)}, {self._expression(inner)})"
        name = self.pick("abs", "abs", "float", "int", "math.sqrt", "math.exp", "np.sqrt", "math.floor", "bool")
        return f"{name}({self._expression(inner)})"

    def _leaf(self) -> str:
        draw = self.random.random()
        scalars = [k for k in self.kinds if k.startswith("p")]
        if draw < 0.4:
            return self._element()
        if draw < 0.65:
            return self.random.choice(self.bound)
        if draw < 0.75 and self.counters:
            return self.random.choice(self.counters)
        if draw < 0.85 and scalars:
            return self.random.choice(scalars)
        return self.pick("0", "1", "2", "0.5", "-1", "3", "2.0", "-0.0")


def make_program(seed: int) -> Program:
    return Program(seed)


def make_arguments(program: Program, seed: int) -> list[Any]:
    """Arguments of the kinds that the program takes; ``seed`` decides sizes and values, not types."""
    source = random.Random(seed)
    wild = source.random() < 0.25
    size = source.choice([0, 1, 2, 3, 4, 5, 6])
    return [_argument(source, kind, size, wild) for kind in program.kinds.values()]


def _argument(source: random.Random, kind: str, size: int, wild: bool) -> Any:
    if kind == "count":
        return size if source.random() < 0.8 else source.choice([0, 1, 3, 7])
    if kind.endswith("]"):
        return _array(source, kind[:-3], int(kind[-2]), size, wild)
    python = {"int": int, "float": float, "bool": bool}.get(kind)
    if python is not None:
        values = VALUES[kind] if wild else VALUES[kind][: 8 if kind == "int" else 6]
        return source.choice(values)
    return _element(source, kind, wild)


def _element(source: random.Random, dtype: str, wild: bool) -> Any:
    kind = np.dtype(dtype).type
    if dtype == "bool":
        return kind(source.random() < 0.5)
    if "float" in dtype:
        values = VALUES["float"] if wild else [0.0, -0.0, 0.5, 1.0, -1.5, 3.25, 0.1]
        with np.errstate(all="ignore"):
            return kind(source.choice(values))
    info = np.iinfo(dtype)
    values = [0, 1, 2, 3, 5] + ([info.min, info.max] if wild else []) + ([-1, -2] if info.min else [])
    return kind(source.choice(values))


def _array(source: random.Random, dtype: str, ndim: int, size: int, wild: bool) -> Any:
    rows = max(0, size + source.choice([0, 0, 0, 0, 1, -1]))
    shape = (rows,) if ndim == 1 else (rows, max(0, size + source.choice([0, 0, 1])))
    made = np.empty(shape, dtype)
    for where in np.ndindex(*shape):
        made[where] = _element(source, dtype, wild)
    draw = source.random()
    if draw < 0.15 and ndim == 2:
        return np.asfortranarray(made)
    if draw < 0.25:
        return np.repeat(made, 2, axis=0)[::2]
    if draw < 0.3:
        return made[::-1].copy()[::-1]
    return made
