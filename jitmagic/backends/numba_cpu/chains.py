"""Takes the launches of a schedule, gives runs of them that share one loop over their rows, and the text of each run.

Where a loop only reads, of what another made, the rows that it works on itself, the two may take turns: some rows of
the first, the same rows of the second, and so on. What passes between them is then still in the cache, and one launch
serves for all. ``softmax`` is one pass over memory in place of four.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jitmagic.backends.loops.bodies import Built
from jitmagic.backends.loops.ir import Access, Fold, Kernel, Load, Store
from jitmagic.backends.loops.nest import make_nest
from jitmagic.backends.loops.scans import SHAPES as SCANS
from jitmagic.backends.loops.schedule import Launch, Step
from jitmagic.backends.native.abi import parse_form
from jitmagic.graph import Node, SymInt, hint_of

__all__ = ["Chain", "Sections", "chained", "chains", "merged", "rows_of"]

SMALLEST = 1 << 15  # elements from which on what passes between loops leaves the first-level cache
BLOCK = 1 << 14  # elements that each member works on before the next one takes its turn
LONGEST_ROW = 1 << 16  # elements; longer rows leave the cache before their turn is over
NARROWEST = 256  # columns of a block, where a row is a column of memory: half a page of each row in turn


@dataclass(frozen=True, slots=True)
class Chain:
    """``launches`` in their order; ``scales`` names for each the sizes whose product is a row's turns of its loop.

    ``rows`` is the number of rows, ``step`` how many of them are worked on in turn.
    """

    launches: tuple[Launch, ...]
    scales: tuple[tuple[str, ...], ...]
    rows: Any
    step: int

    @property
    def form(self) -> str:
        return "".join(launch.built.kernel.form for launch in self.launches)

    @property
    def flags(self) -> int:
        return functools.reduce(operator.or_, (launch.built.kernel.flags for launch in self.launches))

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(dict.fromkeys(node for launch in self.launches for node in launch.nodes))


@dataclass(frozen=True, slots=True)
class _Rows:
    """How a kernel's loops fall into rows: the axis of its space, and the sizes of what one turn of it holds."""

    axis: int
    count: Any
    scale: tuple[str, ...]  # sizes of the other axes of the level that the range runs over, as kernels name them
    inner: int  # elements of a row
    narrow: bool


def rows_of(built: Built) -> _Rows | None:
    """None for kernels whose range is not one of rows: those that fold a whole array, or call for one thread."""
    kernel = built.kernel
    if kernel.shape == "R" or kernel.shape in SCANS or kernel.serial:
        return None
    levels = make_nest(kernel).levels
    level = levels[1] if kernel.shape == "RK" else levels[0]
    if not level:
        return None
    count = built.sizes[level[0]]
    total = math.prod(hint_of(n) for n in built.sizes)
    inner = total // max(1, hint_of(count))
    return _Rows(level[0], count, tuple(f"n{a}" for a in level[1:]), inner, kernel.shape == "RK")


def chains(steps: Sequence[Step]) -> list[Chain]:
    """The runs of two launches or more that gain by taking turns."""
    found: list[Chain] = []
    run: list[Launch] = []
    for step in steps:
        if isinstance(step, Launch) and _may_follow(run, step):
            run.append(step)
            continue
        found += _made(run)
        run = [step] if isinstance(step, Launch) and rows_of(step.built) is not None else []
    return [*found, *_made(run)]


def _key(size: Any) -> Any:
    return size.key if isinstance(size, SymInt) else size


def _may_follow(run: Sequence[Launch], step: Launch) -> bool:
    """Whether ``step`` has the rows of those before it, and reads of their results only its own."""
    rows = rows_of(step.built)
    if not run or rows is None:
        return False
    made: dict[Node, int] = {}
    for launch in run:
        other = rows_of(launch.built)
        assert other is not None
        if _key(other.count) != _key(rows.count):
            return False
        for name, node in launch.built.outputs.items():
            axis = _written(launch.built.kernel, name).axis_of(other.axis)
            if axis is None:
                return False
            made[node] = axis
    reads = [(name, made[node]) for name, node in step.built.inputs.items() if node in made]
    return bool(reads) and all(
        access.axes[axis].space == rows.axis and access.axes[axis].start == 0 and access.axes[axis].step == 1
        for name, axis in reads
        for access in _read(step.built.kernel, name)
    )


def _written(kernel: Kernel, name: str) -> Access:
    return next(s.access for s in kernel.body if isinstance(s, Store | Fold) and s.access.operand == name)


def _read(kernel: Kernel, name: str) -> Iterator[Access]:
    return (s.access for s in kernel.body if isinstance(s, Load) and s.access.operand == name)


def _made(run: Sequence[Launch]) -> list[Chain]:
    if len(run) < 2:
        return []
    rows = [r for launch in run if (r := rows_of(launch.built)) is not None]
    inner = max(r.inner for r in rows)
    step = max(1, BLOCK // inner, NARROWEST if any(r.narrow for r in rows) else 1)
    total = inner * hint_of(rows[0].count)
    words = sum(o.words for o in parse_form("".join(launch.built.kernel.form for launch in run)))
    if total < SMALLEST or inner > LONGEST_ROW or words > MOST_WORDS:
        return []
    return [Chain(tuple(run), tuple(r.scale for r in rows), rows[0].count, step)]


MOST_WORDS = 250  # of a block of arguments, as the native entry has it


# ------------------------------------------------------------ text


@dataclass(frozen=True, slots=True)
class Sections:
    """The text of a kernel in three parts: what comes before its loops, they, and what comes after them."""

    before: str
    loops: str
    after: str


def merged(members: Sequence[Sections], scales: Sequence[str], step: int) -> str:
    """One kernel whose members take turns, ``step`` rows each. ``scales`` are expressions over a member's sizes."""
    lines = ["def kernel(args, lo, hi):"]
    texts = [_renamed(member, k) for k, member in enumerate(members)]
    lines += [text.before for text in texts]
    lines += [f"    for block in range(lo, hi, {step}):", f"        stop = min(block + {step}, hi)"]
    for k, (text, scale) in enumerate(zip(texts, scales, strict=True)):
        factor = f" * ({_rename(scale, k)})" if scale else ""
        lines += [f"        lo_{k}, hi_{k} = block{factor}, stop{factor}", _indented(text.loops)]
    lines += [text.after for text in texts]
    return "\n".join([*(line for line in lines if line), "    return OK", ""])


def _renamed(member: Sections, number: int) -> Sections:
    return Sections(*(_rename_block(part, number) for part in (member.before, member.loops, member.after)))


def _rename_block(text: str, number: int) -> str:
    """Statements indented by one step, with the names of member ``number``."""
    if not text.strip():
        return ""
    tree = ast.parse(f"def part():\n{text}")
    return "\n".join(ast.unparse(_Rename(number).visit(tree)).splitlines()[1:])


def _rename(expression: str, number: int) -> str:
    return ast.unparse(_Rename(number).visit(ast.parse(expression, mode="eval")))


class _Rename(ast.NodeTransformer):
    """Gives the variables of a kernel another name; what it calls and the block of arguments stay."""

    def __init__(self, number: int) -> None:
        self.number = number

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(f"{node.id}_{self.number}", node.ctx) if node.id not in _SHARED else node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        node.args = [self.visit(a) for a in node.args]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        return node

    def visit_Return(self, node: ast.Return) -> ast.Return:
        return node


_SHARED = frozenset({"args"})


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


def chained(found: Sequence[Chain]) -> Mapping[int, Chain]:
    """The chain of each launch, by its identity."""
    return {id(launch): chain for chain in found for launch in chain.launches}
