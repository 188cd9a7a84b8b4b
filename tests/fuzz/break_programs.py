"""Takes a seed, gives a cell whose function is stopped at random places, and steps that call it.

``stop`` is a function that no compiler may look into: each call of it is a graph break. The statements around it write
to everything that outlives a call (lists, dicts, sets, deques, attributes, globals, cells, iterators, output,
warnings, log records), so that a value computed twice, an iterator started anew or an effect out of order is seen.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.fuzz.twins import Program

__all__ = ["make_break_program"]

HEAD = """
import logging, warnings, contextlib
from collections import deque
import jitmagic as jm
SEEN = []
def note(v):
    SEEN.append(v if isinstance(v, (int, str)) else "array")
    return v
stop = jm.disable(lambda v: note(v))
ROWS, TABLE, RECENT, TAGS = [], {}, deque(maxlen=5), set()
TOTAL = 0
class Boom(Exception):
    pass
class Box:
    made = 0
    def __init__(self, k):
        self.k = k
        self.seen = []
        Box.made += 1
    def scale(self, v):
        self.seen.append(len(self.seen))
        return v * self.k
class Room:
    def __init__(self, name, calm=False):
        self.name, self.calm = name, calm
    def __enter__(self):
        SEEN.append("in " + self.name)
        return self
    def __exit__(self, kind, error, where):
        SEEN.append("out " + self.name + (" " + kind.__name__ if kind else ""))
        return self.calm and kind is Boom
@contextlib.contextmanager
def place(name):
    SEEN.append("enter " + name)
    try:
        yield name
    finally:
        SEEN.append("leave " + name)
def tick():
    global TOTAL
    TOTAL += 1
    return TOTAL
def counted(v, k):
    for i in range(k):
        SEEN.append(i)
        yield v + i
def mixed(v, k):
    r = v * 0.5
    if k % 2:
        r = stop(r) + 1
    ROWS.append(k)
    return r + k
def deep(v, k):
    return v if k <= 0 else deep(v * 0.5, k - 1) + 1
box = Box(0.5)
items = iter([1, 2, 3, 4, 5, 6, 7, 8, 9])
"""

LISTENER = """
class Listener(logging.Handler):
    def emit(self, record):
        SEEN.append(record.getMessage())
logger = logging.getLogger("break programs")
logger.propagate = False
logger.handlers[:] = [Listener()]
"""

STEPS = """
a = np.array([0.5, -1.0, 2.0])
{calls}
SEEN, ROWS, TABLE, RECENT, TAGS, TOTAL, Box.made, vars(box)
list(items)[:1]
items = iter([1, 2, 3, 4, 5, 6])
"""


@dataclass
class _Writer:
    random: random.Random
    lines: list[str] = field(default_factory=list)
    depth: int = 1
    loops: int = 0
    serial: int = 0
    budget: int = 14  # statements that are still to come

    def pick(self, choices: Sequence[str]) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def add(self, text: str) -> None:
        self.lines += ["    " * self.depth + line for line in text.split("\n")]

    def new(self, stem: str) -> str:
        self.serial += 1
        return f"{stem}{self.serial}"

    # -- expressions
    def array(self, deep: int = 3) -> str:
        """An expression for an array of shape (3,)."""
        if deep <= 0 or self.chance(0.15):
            return self.pick(["x", "y"])
        return self._filled(self.pick(_ARRAYS), deep - 1)

    def number(self, deep: int = 2) -> str:
        """An expression for a Python int."""
        if deep <= 0 or self.chance(0.3):
            return self.pick(["n", "m", "1", "2"])
        return self._filled(self.pick(_NUMBERS), deep - 1)

    def test(self, deep: int = 2) -> str:
        """An expression that is asked for its truth."""
        return self._filled(self.pick(_TESTS), deep - 1)

    def _filled(self, pattern: str, deep: int) -> str:
        made: dict[str, Callable[[int], str]] = {"$A": self.array, "$N": self.number, "$T": self.test}
        return re.sub(r"\$[ANT]", lambda found: made[found[0]](deep), pattern)

    # -- statements
    def block(self, most: int = 3) -> None:
        self.depth += 1
        for _ in range(self.random.randint(1, most)):
            self.statement()
        self.depth -= 1

    def statement(self) -> None:
        self.budget -= 1
        if self.budget > 0 and self.depth < 5 and self.chance(0.42):
            self.random.choice(_BLOCKS)(self)
        else:
            self.add(self._filled(self.pick(_SIMPLE), 3))

    def leave(self) -> str:
        """A way to leave the place early."""
        ways = ["raise Boom('early')", "return x, n, 'early'"]
        return self.pick([*ways, "break", "continue", "break", "continue"] if self.loops else ways)

    def loop(self, head: str, *, is_long: bool = True) -> None:
        self.add(head)
        self.loops += 1
        self.block()
        if self.chance(0.4):
            self.depth += 1
            self.add(f"if {self.test()}:\n    {self.leave()}")
            self.depth -= 1
        self.loops -= 1
        if self.chance(0.2):
            self.add("else:")
            self.block(1)


_ARRAYS = (
    "($A + $A) * 0.5", "np.sin($A)", "$A * 0.5 + $N", "stop($A)", "stop($A) - stop($A)", "mixed($A, $N)",
    "$A[::-1]", "($A if $T else $A)", "box.scale($A)", "sum([$A for _ in range(2)])", "np.where($A > 0, $A, 0.5)",
    "(lambda v: v + $A)($A)", "[$A, stop($A)][$N % 2]", "max([$A, $A], key=lambda v: note(3))",
    "(y := $A)", "{'k': $A, 'l': $A}['k']", "next(counted($A, 2))", "sum(counted($A, 2))",
    "[v for v in counted($A, 3)][stop(1)]", "np.add($A, stop($A), out=np.empty(3))", "deep($A, 3)",
    "dict(a=$A, b=stop($A))['b']", "($A, tick(), stop($A))[0]", "np.array([stop(1.0), $N, 3.0]) + $A",
)  # fmt: skip
_NUMBERS = (
    "($N + $N) % 7", "len(ROWS)", "tick()", "stop($N)", "stop($N) + stop($N)", "len(format($N, '>5'))",
    "TABLE.setdefault('z', $N)", "(ROWS.pop() if ROWS else $N)", "sum(i for i in range(4) if i != stop($N))",
    "sum(stop(i) for i in range(3))", "next(items, $N)", "(note($N), stop($N))[1]", "(m := $N)", "max($N, stop($N))",
    "divmod($N, 3)[1]", "[note(1), stop($N), note(2)][1]", "int($T)", "len({*TAGS, $N})",
)  # fmt: skip
_TESTS = (
    "$N % 2 == 0", "$A.sum() > 0.3", "stop($N) > 2", "($N > 1 and stop($N) < 4)", "($N > 3 or stop($N))",
    "0 < tick() < stop($N)", "not stop($N)", "$N in ROWS", "note($N) < stop($N) < note($N)",
)  # fmt: skip
_SIMPLE = (
    "x = $A", "y = $A", "n = $N", "m = $N", "x, n = $A, $N", "n, *rest = stop(($N, 1, 2))", "x += $A", "x *= 0.5",
    "n += $N", "ROWS.append($N)", "ROWS.append(stop($N))", "TABLE[$N] = $N", "TABLE['s'] = stop($N)",
    "RECENT.append($N)", "RECENT.appendleft(stop($N))", "TAGS.add($N)", "TAGS.add(stop($N))", "box.k = stop(0.5)",
    "box.tag = $N", "Box.made += 1", "Box.made += stop(1)", "bump($N)", "print('p', $N)", "print(stop('q'), $N)",
    "logger.warning('log %s', $N)", "warnings.warn('w' + str($N))", "note($N)",
    "note(f'{n:>3}|{stop(m)!r}')", "jm.graph_break()", "local.append($N)",
    "local.append($A)", "x = local[-1] + x if local and isinstance(local[-1], np.ndarray) else x", "stop($N)",
    "x[$N % 3] = 0.25", "x[1:] = stop(x[:-1])", "local = [stop(v) for v in local]", "TABLE.update(u=$N, v=stop($N))",
    "y = x", "ROWS[:] = ROWS[-3:]", "ROWS.sort()", "x = np.sort(x)",
    "pairs = [(i, stop(i)) for i in range(2) if note(i) < 5]",
    "assert stop($N) is not None, stop('no')", "RECENT.clear()", "TABLE.pop('s', None)",
)  # fmt: skip


def _if(w: _Writer) -> None:
    w.add(f"if {w.test()}:")
    w.block()
    if w.chance(0.3):
        w.add(f"elif {w.test()}:")
        w.block(2)
    if w.chance(0.6):
        w.add("else:")
        w.block(2)


def _for(w: _Writer) -> None:
    i, e = w.new("i"), w.new("e")
    heads = (
        f"for {i} in range({w.random.randint(1, 4)}):",
        f"for {i} in range(stop(3)):",
        f"for {i}, {e} in enumerate([x, y]):",
        f"for {i}, {e} in zip(range(3), counted(x, 3)):",
        f"for {i} in counted({w.array(1)}, 3):",
        f"for {i} in stop([1, 2, 3]):",
        f"for {e} in [note(1), stop(2), note(3)]:",
        f"for {i} in iter([1, 2, 3]):",
        f"for {i} in map(stop, [1, 2]):",
        f"for {i}, {e} in {{'a': 1, 'b': stop(2)}}.items():",
        f"for {i} in items:",
        f"for {e} in local[:3]:",
        f"for {i} in x:",
    )
    w.loop(w.pick(heads))


def _while(w: _Writer) -> None:
    c = w.new("c")
    w.add(f"{c} = 0")
    test = w.pick([f"{c} < 3", f"stop({c}) < 3", f"{c} < 3 and {w.test()}"])
    w.add(f"while {test}:")
    w.add(f"    {c} += 1")
    w.loops += 1
    w.block()
    if w.chance(0.4):
        w.depth += 1
        w.add(f"if {w.test()}:\n    {w.leave()}")
        w.depth -= 1
    w.loops -= 1


def _try(w: _Writer) -> None:
    w.add("try:")
    w.block()
    if w.chance(0.5):
        w.depth += 1
        w.add(f"if {w.test()}:\n    raise {w.pick(['Boom(stop(1))', 'KeyError(1)', 'Boom'])}")
        w.depth -= 1
    kinds = w.random.randint(0, 2)
    if kinds != 0:
        w.add(w.pick(["except Boom as error:\n    note(str(error))", "except (Boom, KeyError):", "except Boom:"]))
        w.block(2)
    if kinds == 1 and w.chance(0.4):
        w.add("else:")
        w.block(1)
    if kinds == 0 or w.chance(0.4):
        w.add("finally:")
        w.block(2)


def _with(w: _Writer) -> None:
    rooms = ("Room('a')", "Room('b', True)", "place('c')", "np.errstate(all='ignore')", "Room(stop('d'))")
    calm = ("contextlib.suppress(Boom)",)
    w.add(f"with {w.pick([*rooms, *calm, 'Room(chr(101)) as room, place(room.name)'])}:")
    w.block()
    if w.chance(0.3):
        w.depth += 1
        w.add(f"if {w.test()}:\n    {w.leave()}")
        w.depth -= 1


def _match(w: _Writer) -> None:
    w.add(f"match {w.pick(['n', '(n, m)', 'stop(n)'])}:")
    for pattern in w.random.sample(["0 | 1", "(a1, b1)", "int() as k1", "2"], 2):
        w.depth += 1
        w.add(f"case {pattern}{w.pick(['', f' if {w.test()}'])}:")
        w.block(2)
        w.depth -= 1


def _def(w: _Writer) -> None:
    name = w.new("inner")
    w.add(f"def {name}(v, k=stop({w.number(1)})):")
    w.add("    nonlocal n, local")
    loops, w.loops = w.loops, 0
    w.depth += 1
    w.add(w.pick(["n += k", "local = [*local, k]", "n = stop(n)", "ROWS.append(n)"]))
    w.add(f"return {w.pick(['v + n', 'stop(v) + k', 'mixed(v, k)'])}")
    w.depth -= 1
    w.loops = loops
    w.add(f"x = {name}({w.array(1)}) + {name}({w.array(1)}, 2)")


_BLOCKS: tuple[Callable[[_Writer], None], ...] = (_if, _if, _for, _for, _for, _while, _try, _try, _with, _match, _def)


def make_break_program(seed: int) -> Program:
    """The program of a seed. ``main(x, n)`` is called with three numbers, each time on a new array."""
    cell = next(filter(_is_python, (_cell(f"{seed} {attempt}") for attempt in itertools.count())))
    calls = "\n".join(f"main(a * {k}, {n})" for k, n in ((1.0, 1), (0.5, 2), (2.0, 1)))
    return Program(f"breaks {seed}", cell, STEPS.format(calls=calls), rounds=2)


def _cell(seed: str) -> str:
    writer = _Writer(random.Random(seed))
    writer.add("y, m, local = x * 0.5, 1, []\nheld = 0")
    writer.add("def bump(k):\n    nonlocal held\n    held += k\n    return held")
    while writer.budget > 0:
        writer.statement()
    writer.add("return x, y, n, m, local, held")
    body = "\n".join(writer.lines)
    return f"{HEAD}{LISTENER}def main(x, n):\n{body}\n"


def _is_python(text: str) -> bool:
    """Whether it compiles: a walrus may have got to where none is allowed."""
    try:
        compile(text, "<cell>", "exec")
    except SyntaxError:
        return False
    return True
