"""The loop IR: one kernel as operands, accesses and a straight-line body over an index space.

It knows nothing of the target: an emitter turns a ``Kernel`` into text for a CPU or a GPU. A body is in static single
assignment: every statement but ``Store`` and ``Fold`` makes the value named by ``out``.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import numpy as np

__all__ = [
    "Access",
    "Apply",
    "Cast",
    "Fold",
    "Index",
    "Kernel",
    "Literal",
    "Load",
    "Operand",
    "Scalar",
    "Scan",
    "Statement",
    "Store",
    "Strided",
    "Value",
    "arguments_of",
    "fenced",
    "veiled",
]

DType: TypeAlias = np.dtype[Any]


@dataclass(frozen=True, slots=True)
class Value:
    """The result of a statement."""

    name: str
    dtype: DType

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Operand:
    """What a kernel is called with, in the order of its form.

    ``kind`` is ``in`` or ``out`` (ndarray of ``ndim`` dimensions), ``scalar``, ``size`` (of an axis of the
    space) or ``loop`` (a ufunc's inner loop).
    ``dense`` lists the axes of an array without gaps, fastest first and those of size 1 left out; None if it may have
    gaps. ``letter`` is its letter in the form.
    """

    name: str
    kind: str
    dtype: DType | None = None
    ndim: int = 0
    dense: tuple[int, ...] | None = None
    letter: str = "a"
    ufunc: np.ufunc | None = None

    @property
    def form(self) -> str:
        return f"a{self.ndim}" if self.kind in ("in", "out") else self.letter


@dataclass(frozen=True, slots=True)
class Index:
    """How one axis of an operand is read: element ``start + step * i`` where ``i`` runs over axis ``space``.

    ``space`` is None for an axis that stays at ``start``. A negative ``start`` counts from the end, and one before
    the beginning means 0 (as in a slice). ``cut`` says that elements of the axis may lie behind the last one read: then
    the next row does not follow without a gap.
    """

    space: int | None
    start: int = 0
    step: int = 1
    cut: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the axis is read from its first element to its last, one after the other."""
        return self.space is not None and self.start == 0 and self.step == 1 and not self.cut

    def __str__(self) -> str:
        term = "" if self.space is None else f"{'' if self.step == 1 else f'{self.step}*'}i{self.space}"
        return term if self.start == 0 and term else f"{term}{self.start:+d}" if term else str(self.start)


@dataclass(frozen=True, slots=True)
class Access:
    """A place in an operand for every point of the space: one ``Index`` per axis of the operand."""

    operand: str
    axes: tuple[Index, ...]

    def __str__(self) -> str:
        return f"{self.operand}[{', '.join(map(str, self.axes))}]"

    def axis_of(self, space: int) -> int | None:
        """The operand's axis that runs with axis ``space``; None where it is broadcast."""
        return next((k for k, index in enumerate(self.axes) if index.space == space), None)


@dataclass(frozen=True, slots=True)
class Load:
    out: Value
    access: Access

    def __str__(self) -> str:
        return f"{self.out}: {self.out.dtype} = {self.access}"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A run-time scalar operand, as int64, uint64 or float64, converted to the dtype of ``out``."""

    out: Value
    operand: str

    def __str__(self) -> str:
        return f"{self.out}: {self.out.dtype} = scalar {self.operand}"


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant of the source."""

    out: Value
    value: bool | int | float

    def __str__(self) -> str:
        return f"{self.out}: {self.out.dtype} = {self.value!r}"


@dataclass(frozen=True, slots=True)
class Cast:
    """NumPy's conversion of one dtype to another."""

    out: Value
    source: Value

    def __str__(self) -> str:
        return f"{self.out}: {self.out.dtype} = cast {self.source}"


@dataclass(frozen=True, slots=True)
class Apply:
    """``expression`` over ``a``, ``b``, ``c`` (the arguments), with the exact operations of ``out``'s loop dtype.

    Nobody asks for the floating-point conditions of a ``quiet`` one.
    """

    out: Value
    expression: str
    arguments: tuple[Value, ...]
    quiet: bool = False

    def __str__(self) -> str:
        names = ", ".join(f"{n}={v}" for n, v in zip("abc", self.arguments, strict=False))
        return f"{self.out}: {self.out.dtype} = {self.expression}  [{names}]"


@dataclass(frozen=True, slots=True)
class Strided:
    """NumPy's own inner loop, on a tile of the innermost loop; what does not change there has stride 0.

    NumPy reports no floating-point conditions of a ``quiet`` one.
    """

    out: Value
    loop: str
    arguments: tuple[Value, ...]
    quiet: bool = False

    def __str__(self) -> str:
        return f"{self.out}: {self.out.dtype} = {self.loop}({', '.join(map(str, self.arguments))})"


@dataclass(frozen=True, slots=True)
class Store:
    access: Access
    value: Value

    def __str__(self) -> str:
        return f"{self.access} = {self.value}"


@dataclass(frozen=True, slots=True)
class Fold:
    """Reduce ``value`` over the kernel's ``reduced`` axes into ``access`` with NumPy's order of operations."""

    kind: str
    access: Access
    value: Value

    def __str__(self) -> str:
        return f"{self.access} = {self.kind} {self.value}"


@dataclass(frozen=True, slots=True)
class Scan:
    """``value`` accumulated along the kernel's one ``reduced`` axis, in order."""

    out: Value
    kind: str
    value: Value

    def __str__(self) -> str:
        return f"{self.out}: {self.out.dtype} = {self.kind} so far of {self.value}"


Statement: TypeAlias = Load | Scalar | Literal | Cast | Apply | Strided | Store | Fold | Scan


def arguments_of(statement: Statement) -> tuple[Value, ...]:
    """The values that a statement reads, apart from stores."""
    if isinstance(statement, Apply | Strided):
        return statement.arguments
    return (statement.source,) if isinstance(statement, Cast) else ()


def fenced(body: Sequence[Statement]) -> dict[Value, tuple[Value, ...]]:
    """For each choice (``b if a else c``) the arguments whose arithmetic must not know of it.

    A compiler that sees arithmetic and choice together computes only what is chosen (AVX-512 has masked division),
    and the floating-point flags of the rest are lost, which NumPy reports.
    """
    raising = _raising(body)
    choices = [s for s in body if isinstance(s, Apply) and " if " in s.expression]
    found = {s.out: tuple(v for v in s.arguments if v in raising) for s in choices}
    return {out: arguments for out, arguments in found.items() if arguments}


def veiled(body: Sequence[Statement]) -> frozenset[Value]:
    """The floats that a compiler may know to be one of a few constants, and that arithmetic reads.

    It would compute with the constants while it compiles (``1 / where(m, 1.0, 0.0)`` becomes a choice between 1 and
    inf), and the floating-point flags, which NumPy reports, are lost.
    """
    known: set[Value] = {s.out for s in body if isinstance(s, Literal)}
    arrays = {s.out for s in body if isinstance(s, Load | Scalar)}
    found = set()
    for statement in body:
        if isinstance(statement, Cast) and statement.out.dtype.kind == "f":
            whole = statement.source.dtype.kind in "iu" and statement.source not in arrays
            few = statement.source.dtype.kind == "b" or whole
        else:
            few = isinstance(statement, Apply) and statement.out.dtype.kind == "f" and _chooses(statement, known)
        if few and isinstance(statement, Apply | Cast):
            found.add(statement.out)
    raising = _raising(body)
    read = {v for s in body if isinstance(s, Apply | Cast) and s.out in raising for v in arguments_of(s)}
    return frozenset((found & read) | _glimpsed(body, raising))


def _glimpsed(body: Sequence[Statement], raising: set[Value]) -> set[Value]:
    """Those of ``raising`` of which readers only want to know something, such as the sign.

    A compiler that knows the answer without the arithmetic leaves it out (``isnan(sqrt(x))`` becomes ``x < 0``), and
    with it the floating-point flags.
    """
    whole: set[Value] = set()  # values that are needed as they are
    part: set[Value] = set()
    signed = {s.out for s in body if isinstance(s, Apply) and "copysign(" in s.expression}
    for statement in reversed(body):
        if isinstance(statement, Store | Fold | Scan):
            whole.add(statement.value)
        elif isinstance(statement, Strided):
            whole.update(statement.arguments)
        elif isinstance(statement, Apply | Cast):
            out = statement.out
            is_needed = out in whole or (out in part and out in raising)
            (whole if is_needed and not _glimpses(statement, signed) else part).update(arguments_of(statement))
    return (part - whole) & raising


def _glimpses(statement: Apply | Cast, signed: set[Value]) -> bool:
    if isinstance(statement, Cast):
        return statement.out.dtype.kind == "b"
    forgets = "abs(" in statement.expression and not signed.isdisjoint(statement.arguments)
    return forgets or _asks(statement.expression)


@cache
def _asks(expression: str) -> bool:
    """Whether its value does not depend on all of its operands' bits."""
    nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    return any(isinstance(n, ast.Compare) or (isinstance(n, ast.Name) and n.id in _QUESTIONS) for n in nodes)


_QUESTIONS = {"copysign", "isfinite", "isinf", "isnan", "signbit"}


def _chooses(statement: Apply, known: set[Value]) -> bool:
    """Whether it is a choice with constants among what may be chosen."""
    if " if " not in statement.expression:
        return False
    constants = any(isinstance(n, ast.Constant) for n in ast.walk(ast.parse(statement.expression, mode="eval")))
    return constants or any(v in known for v in statement.arguments)


def _raising(body: Sequence[Statement]) -> set[Value]:
    """The results of arithmetic whose conditions are reported, and of quiet arithmetic with those."""
    found: set[Value] = set()
    for statement in body:
        if isinstance(statement, Cast):
            reports = statement.source.dtype.kind == statement.out.dtype.kind == "f"
        elif isinstance(statement, Apply) and statement.out.dtype.kind == "f":
            is_choice = " if " in statement.expression
            reports = not statement.quiet or (not is_choice and not found.isdisjoint(statement.arguments))
        else:
            continue
        if reports:
            found.add(statement.out)
    return found


@dataclass(slots=True)
class Kernel:
    """One loop nest over a space of ``ndim`` axes, run in the order ``order`` (outermost first).

    ``extent`` names an operand and its axis for each axis of the space: there the target finds the size. ``reduced``
    are the axes that a ``Fold`` sums over, ``shape`` says which loops these are (``SHAPES`` of folds and of scans).
    ``flags`` are the floating-point conditions that matter (NumPy's numbers). ``serial`` keeps it on one thread.
    ``over`` names the results that are written where an operand was, element by element, and that operand.
    ``reassociates`` lets sums of floats add up in any order. ``streamed`` names the results that go past the caches.
    ``short_rows`` says that the innermost loop takes few turns.
    """

    name: str
    ndim: int
    order: tuple[int, ...]
    operands: list[Operand] = field(default_factory=list)
    body: list[Statement] = field(default_factory=list)
    extent: list[tuple[str, int]] = field(default_factory=list)
    reduced: tuple[int, ...] = ()
    shape: str = ""
    flags: int = 0
    serial: bool = False
    over: dict[str, str] = field(default_factory=dict)
    reassociates: bool = False
    streamed: frozenset[str] = frozenset()
    short_rows: bool = False

    @property
    def form(self) -> str:
        return "".join(operand.form for operand in self.operands)

    def operand(self, name: str) -> Operand:
        return next(o for o in self.operands if o.name == name)
