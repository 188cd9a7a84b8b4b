"""Takes one kernel of the loop IR, gives its Numba Python text for the native kernel ABI.

The text depends on structure, dtypes, ranks and contiguity, never on sizes: a new size finds its kernel in the store.
Where an operand may or may not be contiguous along the innermost loop, that loop is written twice, so that the
contiguous one vectorises.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from jitmagic.backends.loops.ir import (
    Access,
    Apply,
    Cast,
    Fold,
    Index,
    Kernel,
    Literal,
    Load,
    Scalar,
    Statement,
    Store,
    Strided,
    Value,
    arguments_of,
    fenced,
    veiled,
)
from jitmagic.backends.loops.nest import Nest, accesses, make_nest
from jitmagic.backends.loops.scans import SHAPES as SCANS
from jitmagic.backends.native.abi import Operand as Words
from jitmagic.backends.native.abi import Status, parse_form
from jitmagic.backends.numba_cpu.chains import Chain, Sections, merged
from jitmagic.backends.numba_cpu.expressions import (
    apply_text,
    cast_text,
    literal_text,
    range_text,
    scalar_text,
    typed,
)
from jitmagic.backends.numba_cpu.folds import emit_folds, is_loose, loose_name
from jitmagic.backends.numba_cpu.merging import columns_merge, is_merged, needs_signs
from jitmagic.backends.numba_cpu.scans import emit_scans
from jitmagic.backends.numba_cpu.short_rows import emit_short_rows
from jitmagic.backends.numba_cpu.streaming import streamed_stores
from jitmagic.backends.numba_cpu.text import Text
from jitmagic.backends.numba_cpu.tiles import emit_tiles

__all__ = ["emit", "emit_chain"]


def emit(kernel: Kernel) -> str:
    """The text of ``def kernel(args, lo, hi)``."""
    words = parse_form(kernel.form)
    parts = _sections(kernel, words)
    return f"def kernel(args, lo, hi):\n{parts.before}{parts.loops}{parts.after}    return OK\n"


def emit_chain(chain: Chain) -> str:
    """The text of one kernel for all loops of a chain; its operands are theirs, one loop's after the other's."""
    words, members, scales = parse_form(chain.form), [], []
    for launch, scale in zip(chain.launches, chain.scales, strict=True):
        kernel = launch.built.kernel
        members.append(_sections(kernel, words[: len(kernel.operands)]))
        words = words[len(kernel.operands) :]
        scales.append(" * ".join(scale))
    return merged(members, scales, chain.step)


def _sections(kernel: Kernel, words: Sequence[Words]) -> Sections:
    emitter = Emitter(kernel, make_nest(kernel), dict(zip([o.name for o in kernel.operands], words, strict=True)))
    parts = []
    for steps in ((emitter.operands, emitter.checks, emitter.pointers), (emitter.loops,), (emitter.finish,)):
        emitter.text = Text(indent=1)
        for step in steps:
            step()
        parts.append(str(emitter.text) if emitter.text.lines else "")
    return Sections(*parts)


@dataclass(slots=True)
class Emitter:
    """One kernel on its way to text. ``unit`` maps accesses to their innermost stride as text."""

    kernel: Kernel
    nest: Nest
    words: dict[str, Words]
    text: Text = field(default_factory=Text)
    names: dict[Access, str] = field(default_factory=dict)
    depths: dict[Value, int] = field(default_factory=dict)
    fences: dict[Any, tuple[Value, ...]] = field(default_factory=dict)
    veils: frozenset[Value] = frozenset()
    over: dict[Access, Access] = field(default_factory=dict)  # a place that is written, and the same as it is read

    def __post_init__(self) -> None:
        self.fences = fenced(self.kernel.body) if self.kernel.flags else {}  # they keep what nobody reports
        self.veils = veiled(self.kernel.body) if self.kernel.flags else frozenset()
        places = accesses(self.kernel)
        reads = {a.operand: a for a in places}
        self.over = {a: reads[self.kernel.over[a.operand]] for a in places if a.operand in self.kernel.over}
        self.names = {access: f"x{k}" for k, access in enumerate(places) if access not in self.over}

    # ------------------------------------------------------------ prologue

    def operands(self) -> None:
        """Read addresses, sizes and strides of the arrays."""
        for operand in self.kernel.operands:
            if operand.kind in ("loop", "size"):
                self.text.add(f"{operand.name} = arg(args, {self.words[operand.name].first})")
            if operand.kind not in ("in", "out"):
                continue
            first, ndim = self.words[operand.name].first, operand.ndim
            self.text.add(f"{operand.name} = arg(args, {first})")
            for axis in range(ndim):
                self.text.add(f"{operand.name}_n{axis} = arg(args, {first + 1 + axis})")
            for axis in range(ndim):
                self.text.add(f"{operand.name}_s{axis} = arg(args, {first + 1 + ndim + axis})")
        for axis, (name, source) in enumerate(self.kernel.extent):
            self.text.add(f"n{axis} = {name}_n{source}")

    def checks(self) -> None:
        """What was assumed at compile time, checked: a wrong assumption must not touch foreign memory."""
        wrong: dict[str, None] = {}
        for operand in self.kernel.operands:
            wrong |= dict.fromkeys(_gaps(operand.name, operand.dense, operand.dtype))
        for access in (*self.names, *self.over):
            wrong |= dict.fromkeys(self.out_of_bounds(access))
        if wrong:
            empty = " and ".join(f"n{axis} > 0" for axis in range(self.kernel.ndim))
            self.text.open(f"if {empty}:")
            for condition in wrong:
                self.text.open(f"if {condition}:")
                self.text.add(f"return {Status.SHAPE_ERROR.name}")
                self.text.close()
            self.text.close()

    def out_of_bounds(self, access: Access) -> list[str]:
        """Conditions under which some element of the access is outside of its operand."""
        found = []
        for axis, index in enumerate(access.axes):
            size = f"{access.operand}_n{axis}"
            if index.space is None:
                found.append(f"{size} <= {index.start}" if index.start >= 0 else f"{size} < {-index.start}")
            elif index.start == 0 and index.step == 1:
                if (access.operand, axis) not in self.kernel.extent:
                    found.append(f"{size} < n{index.space}")
            else:
                last = f"{_start(access.operand, axis, index)} + {index.step} * (n{index.space} - 1)"
                found.append(f"{last} {'>=' if index.step > 0 else '<'} {size if index.step > 0 else 0}")
                if index.start >= 0 and index.step < 0:
                    found.append(f"{size} <= {index.start}")
        return found

    def pointers(self) -> None:
        """The address of the first element of every access."""
        for access, name in self.names.items():
            terms = [access.operand]
            for axis, index in enumerate(access.axes):
                if index.start:
                    terms.append(f"{_start(access.operand, axis, index)} * {access.operand}_s{axis}")
            self.text.add(f"{name} = {' + '.join(terms)}")

        for dtype in dict.fromkeys(value.dtype for value in self.veils):
            self.text.add(f"one_{dtype} = unknown_{dtype}({typed('1.0', dtype)})")
        if self.has_ranges:
            self.text.add("bad = 0")
        if self.collects_flags:
            self.text.add("seen = 0")

    @property
    def collects_flags(self) -> bool:
        """Whether it calls loops of NumPy, which may clear the flags that others set."""
        return self.kernel.flags != 0 and any(isinstance(s, Strided) for s in self.kernel.body)

    @property
    def has_ranges(self) -> bool:
        """Whether some conversion, or the sign of some zero, is defined only for some values."""
        return any(
            (isinstance(s, Cast) and range_text(s)) or (isinstance(s, Fold) and needs_signs(s))
            for s in self.kernel.body
        )

    def finish(self) -> None:
        if self.kernel.streamed:
            self.text.add("stream_fence()")
        if self.has_ranges:
            self.text.open("if bad != 0:")
            self.text.add(f"return {Status.VALUE_ERROR.name}")
            self.text.close()
        if self.collects_flags:
            self.text.add("raise_float_flags(seen)")

    # ------------------------------------------------------------ loops

    def loops(self) -> None:
        """Outer loops with what does not change inside them, then the innermost one."""
        levels = self.nest.levels
        if self.kernel.shape in SCANS:
            emit_scans(self)
            return
        self.outer_values(0)
        if self.kernel.shape:
            emit_folds(self)
            return
        if self.kernel.short_rows and emit_short_rows(self):
            return
        for depth in range(len(levels) - 1):
            self.text.open(f"for i{depth} in range({self.bounds(depth)}):")
            self.enter(depth)
        self.inner(len(levels) - 1)
        self.text.close(len(levels) - 1)

    def enter(self, depth: int) -> None:
        """The addresses inside of the loop over ``i<depth>``, and what is known once it was entered."""
        for access, name in self.names.items():
            stride = self.stride(access, depth)
            if stride != "0":
                self.text.add(f"{name}_{depth + 1} = {self.pointer(access, depth)} + i{depth} * {stride}")
        self.outer_values(depth + 1)

    def bounds(self, depth: int) -> str:
        if depth == 0:
            return "lo, hi"
        return " * ".join(f"n{axis}" for axis in self.nest.levels[depth])

    def pointer(self, access: Access, depth: int) -> str:
        """The variable that holds the address after ``depth`` loops were entered."""
        moved = [d for d in range(depth) if self.stride(access, d) != "0"]
        return f"{self.names[access]}_{moved[-1] + 1}" if moved else self.names[access]

    def stride(self, access: Access, depth: int) -> str:
        """Bytes from one step of a loop to the next, as text."""
        level = self.nest.levels[depth]
        axis = access.axis_of(level[-1]) if level else None
        if axis is None:
            return "0"
        operand, step = self.kernel.operand(access.operand), access.axes[axis].step
        if operand.dense and operand.dense[0] == axis and operand.dtype is not None:
            return str(step * operand.dtype.itemsize)
        stride = f"{access.operand}_s{axis}"
        return stride if step == 1 else f"({step} * {stride})"

    def outer_values(self, depth: int) -> None:
        """Statements whose arguments are all known once ``depth`` loops were entered, and not before."""
        if depth == len(self.nest.levels):
            return
        for statement in self.kernel.body:
            if not isinstance(statement, Store | Fold) and self.depth(statement) == depth:
                self.statement(statement, depth, "0")

    @property
    def full_depth(self) -> int:
        return len(self.nest.levels)

    def depth(self, statement: Statement) -> int:
        """The number of loops around a statement. A strided call always belongs to the innermost."""
        if isinstance(statement, Load):
            depth = self.nest.depth(statement.access)
        elif isinstance(statement, Strided | Store | Fold) or self.is_fenced(statement):
            depth = len(self.nest.levels)
        else:
            depth = max((self.depths[v] for v in arguments_of(statement)), default=0)
        if hasattr(statement, "out"):
            self.depths[statement.out] = depth
        return depth

    def is_fenced(self, statement: Statement) -> bool:
        """A choice, or arithmetic that it must not see: both belong to the stages of the innermost loop."""
        out = getattr(statement, "out", None)
        return out in self.fences or any(out in arguments for arguments in self.fences.values())

    def inner(self, depth: int) -> None:
        """The innermost loop; twice where strides are known only at run time."""
        text = self.text
        if self.fences or any(isinstance(s, Strided) for s in self.kernel.body) or streamed_stores(self, depth):
            emit_tiles(self, depth)
            return
        unknown = [a for a in self.names if not self.stride(a, depth).lstrip("-").isdigit()]
        body = [s for s in self.kernel.body if self.depth(s) == len(self.nest.levels)]
        if unknown:
            text.open(f"if {' and '.join(f'{self.stride(a, depth)} == {self.itemsize(a)}' for a in unknown)}:")
            self.inner_loop(depth, body, contiguous=True)
            text.close()
            text.open("else:")
            self.inner_loop(depth, body, contiguous=False)
            text.close()
        else:
            self.inner_loop(depth, body, contiguous=False)

    def inner_loop(self, depth: int, body: list[Statement], *, contiguous: bool) -> None:
        self.text.open(f"for i{depth} in range({self.bounds(depth)}):")
        for statement in body:
            self.statement(statement, depth, f"i{depth}", contiguous)
        self.text.close()

    def itemsize(self, access: Access) -> int:
        dtype = self.kernel.operand(access.operand).dtype
        assert dtype is not None
        return dtype.itemsize

    def offset(self, access: Access, depth: int, variable: str, contiguous: bool) -> str:
        """The place of an element behind ``pointer(access, depth)``."""
        if variable == "0":
            return "0"
        stride = self.stride(access, depth)
        if stride == "0":
            return "0"
        known = stride.lstrip("-").isdigit()
        return f"{variable} * {self.itemsize(access) if contiguous and not known else stride}"

    # ------------------------------------------------------------ statements

    def statement(self, statement: Statement, depth: int, variable: str, contiguous: bool = False) -> None:
        if isinstance(statement, Fold):
            self.accumulate(statement, depth, variable)
        elif isinstance(statement, Store):
            access = self.over.get(statement.access, statement.access)
            dtype = self.kernel.operand(access.operand).dtype
            place = f"{self.pointer(access, depth)}, {self.offset(access, depth, variable, contiguous)}"
            self.text.add(f"store_{dtype}({place}, {statement.value})")
        elif isinstance(statement, Load):
            access = statement.access
            place = f"{self.pointer(access, depth)}, {self.offset(access, depth, variable, contiguous)}"
            self.text.add(f"{statement.out} = load_{statement.out.dtype}({place})")
        elif isinstance(statement, Scalar):
            letter = self.kernel.operand(statement.operand).letter
            self.text.add(f"{statement.out} = {scalar_text(statement, self.words[statement.operand].first, letter)}")
        else:
            condition = range_text(statement) if isinstance(statement, Cast) else None
            if condition is not None:
                self.text.add(f"bad |= select({condition}, 0, 1)")
            text = _TEXTS[type(statement)](statement)
            if statement.out in self.veils:  # times one, which LLVM does not know to be one
                text = typed(f"({text}) * one_{statement.out.dtype}", statement.out.dtype)
            self.text.add(f"{statement.out} = {text}")

    def accumulate(self, statement: Fold, depth: int, variable: str) -> None:
        """Add to the result in memory, the way of folds along outer axes, or to the sum of this tile."""
        dtype = statement.value.dtype
        if self.kernel.shape not in ("RK", "KRK"):
            if is_loose(self.kernel, statement):
                name = loose_name(self.kernel, statement)
                self.text.add(f"{name} = {typed(f'{name} + {statement.value}', dtype)}")
            return
        place = f"{self.pointer(statement.access, depth)}, {self.offset(statement.access, depth, variable, False)}"
        if is_merged(statement):
            for line in columns_merge(statement, place):
                self.text.add(line)
        else:
            self.text.add(f"store_{dtype}({place}, {typed(f'load_{dtype}({place}) + {statement.value}', dtype)})")


def _gaps(name: str, dense: tuple[int, ...] | None, dtype: Any) -> list[str]:
    """Conditions under which an operand is not dense, although it should be."""
    if not dense:
        return []
    found = [f"{name}_s{dense[0]} != {dtype.itemsize}"]
    found += [f"{name}_s{b} != {name}_s{a} * {name}_n{a}" for a, b in itertools.pairwise(dense)]
    return found


def _start(operand: str, axis: int, index: Index) -> str:
    if index.start >= 0:
        return str(index.start)
    # a slice that starts before the beginning starts at it; backwards it is then empty
    return f"max({operand}_n{axis} - {-index.start}, 0)" if index.step > 0 else f"({operand}_n{axis} - {-index.start})"


_TEXTS: dict[type, Callable[[Any], str]] = {
    Apply: apply_text,
    Cast: cast_text,
    Literal: literal_text,
}
