"""A loop kept as a loop: typed statements over scalars and array elements, the data between tracer and backends.

Every variable has one type in the whole region; a Python variable that changes its type is several variables here.
Types are ``pyint``, ``pyfloat``, ``pybool``, ``pycomplex`` for Python numbers (ints are exact: an operation whose
result might not fit leaves the region) and NumPy's names (``float64``, ``int32``, ...) for NumPy scalars.

``None`` is of the type ``none``, whose variables are never read.

A Python variable ``s`` of several types lies in ``s_pyint``, ``s_float64``, ...; its *tag*, the variable ``s_tag``,
says which of them it is now, as the index of the type in ``KINDS``. Where a test asks a tag, only the variable of that
type is meant to be read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = [
    "KINDS",
    "LARGEST_POWER",
    "ArrayParameter",
    "Assign",
    "Binary",
    "Break",
    "Cast",
    "Compare",
    "Const",
    "Continue",
    "Expr",
    "Fold",
    "For",
    "Held",
    "If",
    "Leave",
    "Load",
    "Logic",
    "Not",
    "Region",
    "ScalarParameter",
    "Size",
    "Stmt",
    "Store",
    "Unary",
    "Var",
    "While",
]


KINDS = (
    *("unbound", "none", "pybool", "pyint", "pyfloat", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
    *("float32", "float64", "pycomplex", "complex128"),
)


LARGEST_POWER = 100  # of complex numbers, from which on Python and NumPy take another algorithm


@dataclass(frozen=True, slots=True)
class Const:
    value: float | int | bool
    type: str


@dataclass(frozen=True, slots=True)
class Var:
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Cast:
    """The value of ``operand`` in another type; ints go to floats exactly or leave the region."""

    operand: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Binary:
    """``operator`` is the name of Python's function; both operands have the type that it computes in."""

    operator: str
    left: Expr
    right: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Unary:
    """``neg``, ``abs``, or a function of ``math``, ``cmath``, NumPy by its full name (``math.sqrt``, ``numpy.floor``).

    Of complex numbers also ``real``, ``imag`` and ``conjugate``.
    """

    function: str
    operand: Expr
    type: str


@dataclass(frozen=True, slots=True)
class Compare:
    operator: str
    left: Expr
    right: Expr
    type: str = "pybool"


@dataclass(frozen=True, slots=True)
class Logic:
    """``and``/``or`` of truth values, only as far as Python would; ``choose(test, a, b)``; ``max``/``min``."""

    operator: str
    operands: tuple[Expr, ...]
    type: str = "pybool"


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expr
    type: str = "pybool"


@dataclass(frozen=True, slots=True)
class Load:
    """``array[index]`` with one Python int or NumPy int per axis, counted from the end if negative."""

    array: str
    index: tuple[Expr, ...]
    type: str


@dataclass(frozen=True, slots=True)
class Size:
    """The length of one axis of an array."""

    array: str
    axis: int
    type: str = "pyint"


@dataclass(frozen=True, slots=True)
class Fold:
    """``sum``, ``mean``, ``max`` or ``min``, as NumPy has it, of the part of one axis that a slice takes.

    ``index`` are those of the other axes; ``start`` and ``stop`` are as in ``a[start:stop]``, None for the ends.
    """

    function: str
    array: str
    axis: int
    index: tuple[Expr, ...]
    start: Expr | None
    stop: Expr | None
    type: str


Expr: TypeAlias = Const | Var | Cast | Binary | Unary | Compare | Logic | Not | Load | Size | Fold


@dataclass(frozen=True, slots=True)
class Assign:
    variable: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Store:
    """``array[index] = value``; the value is cast as assignment to an element casts."""

    array: str
    index: tuple[Expr, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class If:
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()


@dataclass(frozen=True, slots=True)
class For:
    """``for variable in range(start, stop, step)``; the bounds are evaluated once, before the loop.

    ``is_whole`` if all rounds are one statement of the program, which Ctrl-C does not divide; ``line`` is its line.
    """

    variable: Var
    start: Expr
    stop: Expr
    step: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    is_whole: bool = False
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class While:
    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...] = ()
    line: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Break:
    pass


@dataclass(frozen=True, slots=True)
class Continue:
    pass


@dataclass(frozen=True, slots=True)
class Leave:
    """Leave the region: what comes now only plain Python can do; the loop is run again as plain Python."""


Stmt: TypeAlias = Assign | Store | If | For | While | Break | Continue | Leave


@dataclass(frozen=True, slots=True)
class ArrayParameter:
    """An array that the region reads, or writes too.

    ``elements`` are the types that ``array[index]`` may have in the program where that is no array but a list; else
    empty. If they are several, the array ``tags`` says which: by its index in ``KINDS``, at the same place.
    """

    name: str
    dtype: str
    ndim: int
    is_written: bool
    is_contiguous: bool
    elements: tuple[str, ...] = ()
    tags: str = ""


@dataclass(frozen=True, slots=True)
class ScalarParameter:
    """A number from outside."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class Held:
    """A variable of the program that can be seen when Ctrl-C has stopped a loop: its places, by kind, and its tag."""

    name: str
    places: tuple[Var, ...]
    tag: Var | None  # None where the only place always has a value

    @property
    def variables(self) -> tuple[Var, ...]:
        return self.places if self.tag is None else (*self.places, self.tag)


@dataclass(frozen=True, slots=True)
class Region:
    """Parameters, statements, and the variables whose last values are the results."""

    arrays: tuple[ArrayParameter, ...]
    scalars: tuple[ScalarParameter, ...]
    body: tuple[Stmt, ...]
    results: tuple[Var, ...]
    line: int = field(default=0, compare=False)
    held: tuple[Held, ...] = ()
