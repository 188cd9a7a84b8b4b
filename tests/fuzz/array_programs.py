"""Takes a seed, gives the text of a function over two arrays and a number, statement by statement.

Each statement is tried in plain Python when it is drawn: most that raise are thrown away, some are kept, so that
programs are long enough to mean something and exceptions still occur.
"""

from __future__ import annotations

import random
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.array_arguments import DTYPES, make_arguments

__all__ = ["ArrayProgram", "make_array_program", "text_of"]


def _read_vocabulary(path: Path) -> dict[str, tuple[str, ...]]:
    """Sections of patterns, one a line; ``{0}`` and ``{1}`` stand for names of values, ``(nothing)`` for itself."""
    blocks = re.split(r"^\[(\w+)\]$", path.read_text(), flags=re.MULTILINE)[1:]
    return {
        name: tuple("" if line == "(nothing)" else line for line in body.strip("\n").split("\n"))
        for name, body in zip(blocks[::2], blocks[1::2], strict=True)
    }


WORDS = _read_vocabulary(Path(__file__).parent / "programs" / "vocabulary.txt")
LOOPS = ("for i in range(3):", "for i in range(k):", "for row in {0}:", "for i in range(len({0})):")
NUMBERS = 14  # of the scalars, those that are numbers and may stand on the right of an operator
LENGTH = (1, 2, 2, 3, 3, 4, 5, 6)


@dataclass(frozen=True)
class ArrayProgram:
    """The statements of the body of ``f(a, b, k)``, and the seed of its arguments."""

    seed: int
    statements: tuple[str, ...]
    result: str

    @property
    def text(self) -> str:
        return text_of(self.statements, self.result)


def text_of(statements: Sequence[str], result: str) -> str:
    """The text of the function."""
    lines = [f"    {line}" for statement in statements for line in statement.split("\n")]
    return "\n".join(["def f(a, b, k):", *lines, f"    return {result}", ""])


class _Writer:
    """Draws statements, and keeps the names that hold something."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.seed = seed
        self.names = ["a", "b"]
        self.count = 0

    def pick(self, choices: Sequence[Any]) -> Any:
        return self.random.choice(choices)

    def name(self) -> str:
        return str(self.pick(self.names[-3:] if self.random.random() < 0.5 else self.names))

    def fill(self, pattern: str) -> str:
        return pattern.replace("{0}", self.name()).replace("{1}", self.name())

    def expression(self, depth: int = 2) -> str:
        if depth == 0:
            return self.name()
        return str(self.pick(_EXPRESSIONS)(self, depth - 1))

    def named(self, depth: int) -> str:
        """An expression that an attribute or a subscript may follow."""
        text = self.expression(depth)
        return text if text.isidentifier() else f"({text})"

    def unary(self, depth: int) -> str:
        return f"np.{self.pick(WORDS['unary'])}({self.expression(depth)})"

    def binary(self, depth: int) -> str:
        return f"np.{self.pick(WORDS['binary'])}({self.expression(depth)}, {self.operand(depth)})"

    def operator(self, depth: int) -> str:
        return f"({self.expression(depth)} {self.pick(WORDS['operators'])} {self.operand(depth)})"

    def operand(self, depth: int) -> str:
        return (
            self.fill(self.pick(WORDS["scalars"][:NUMBERS])) if self.random.random() < 0.3 else self.expression(depth)
        )

    def fold(self, depth: int) -> str:
        name = self.pick(WORDS["folds"])
        options = ", ".join(x for x in (self.pick(WORDS["axes"]), self.fill(self.pick(WORDS["more"]))) if x)
        inner = self.expression(depth)
        if self.random.random() < 0.5 or name == "count_nonzero":
            return f"np.{name}({inner}{', ' if options else ''}{options})"
        return f"({inner}).{name}({options})"

    def view(self, depth: int) -> str:
        return f"{self.named(depth)}{self.pick(WORDS['views'])}"

    def cast(self, depth: int) -> str:
        more = self.pick(("", "", ", copy=False", ", order='F'", ", casting='same_kind'"))
        return f"{self.named(depth)}.astype({self.pick(DTYPES)!r}{more})"

    def function(self, depth: int) -> str:
        return self.fill(self.pick(WORDS["functions"]))

    def leaf(self, depth: int) -> str:
        return self.name()

    # -- statements, each of one or more lines
    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def assign(self) -> tuple[str, str]:
        name = self.new()
        return f"{name} = {self.expression(self.pick((1, 2, 2, 3)))}", name

    def scalar(self) -> tuple[str, str]:
        name = self.new()
        return f"{name} = {self.fill(self.pick(WORDS['scalars']))}", name

    def write(self) -> tuple[str, str]:
        return self.fill(self.pick(WORDS["writes"])), ""

    def show(self) -> tuple[str, str]:
        return self.fill(self.pick(("print({0}.shape, {0}.dtype)", "print({0})", "print(float({0}.sum()))"))), ""

    def simple(self) -> tuple[str, str]:
        return self.assign() if self.random.random() < 0.55 else self.write()

    def condition(self) -> tuple[str, str]:
        lines, name = [f"if {self.fill(self.pick(WORDS['conditions']))}:"], self.name()
        lines.append(f"    {self.rebind(name)}")
        if self.random.random() < 0.5:
            lines += ["else:", f"    {self.rebind(name)}"]
        return "\n".join(lines), ""

    def rebind(self, name: str) -> str:
        return self.write()[0] if self.random.random() < 0.4 else f"{name} = {self.expression(1)}"

    def loop(self) -> tuple[str, str]:
        name = self.name()
        head = self.fill(self.pick(LOOPS))
        index = "0" if "row" in head else "i"
        inside = (f"{name}[{index}] += 1", f"{name} = {name} + 1", f"{name}[{index}] = {name}[{index} - 1] * 2")
        body = self.pick((self.rebind(name), *inside))
        return f"{head}\n    {body}", ""

    def context(self) -> tuple[str, str]:
        head = self.pick(WORDS["contexts"])
        inner, name = self.simple()
        lines = [f"with {head}:"]
        if "catch" in head:
            lines.append(f"    warnings.simplefilter({self.pick(('error', 'ignore', 'always'))!r})")
        return "\n".join([*lines, f"    {inner}"]), name

    def attempt(self) -> tuple[str, str]:
        inner, _ = self.simple()
        name = self.name()
        return f"try:\n    {inner}\nexcept Exception as error:\n    {name} = str(error)", ""


def _weighted(**weights: int) -> tuple[Callable[..., Any], ...]:
    """Methods of the writer, each as often as its weight says."""
    return tuple(getattr(_Writer, name) for name, weight in weights.items() for _ in range(weight))


_EXPRESSIONS = _weighted(operator=5, view=4, fold=4, function=5, unary=2, binary=2, cast=1, leaf=2)
_STATEMENTS = _weighted(assign=10, write=5, condition=2, loop=1, context=2, attempt=1, scalar=2, show=1)


def make_array_program(seed: int) -> ArrayProgram:
    """The program of that seed."""
    writer = _Writer(seed)
    kept: list[str] = []
    wanted = writer.pick(LENGTH)
    for _ in range(4 * wanted):
        statement, name = writer.pick(_STATEMENTS)(writer)
        if not _runs([*kept, statement], seed) and writer.random.random() < 0.93:
            continue
        kept.append(statement)
        if name:
            writer.names.append(name)
        if len(kept) >= wanted:
            break
    shown = [n for n in dict.fromkeys(writer.names[::-1]) if n not in "ab" or writer.random.random() < 0.3]
    result = ", ".join(shown[:3]) if shown else writer.expression(1)
    return ArrayProgram(seed, tuple(kept), result)


def _runs(statements: list[str], seed: int) -> bool:
    scope: dict[str, Any] = {"np": np, "warnings": warnings, "print": lambda *x: None}
    try:
        exec(text_of(statements, "None"), scope)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            scope["f"](*make_arguments(seed, 0))
    except Exception:
        return False
    return True
