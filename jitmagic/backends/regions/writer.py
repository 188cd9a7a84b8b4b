"""The text of a kernel under construction: lines, names for values, ways to leave the kernel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from jitmagic.backends.native.abi import Status
from jitmagic.backends.regions.checked import Checked
from jitmagic.backends.regions.proofs import Proof
from jitmagic.backends.regions.ranges import Ranges
from jitmagic.graph import region as ir

__all__ = ["COMPLEX", "FLOATS", "LIMITS", "SMALL_STEP", "ZEROS", "Part", "Writer", "is_quick"]

SMALL_STEP = 1024  # 2**52 of these still fit between the 62 bits of a Python int here and the 63 of a register
LIMITS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}
FLOATS = ("pyfloat", "float64", "float32")
COMPLEX = ("pycomplex", "complex128")
QUICK_LINES = 8
_SLOW = ("load_", "row_", "mul_or_leave", "//", "%", "math.", "ufunc_")
ZEROS = {"pybool": "False", "bool": "False", "pyfloat": "0.0", "float64": "0.0", "float32": "np.float32(0.0)"}


@dataclass(frozen=True, slots=True)
class Part:
    """The text of a value with the lines that it needs before it, which are not written yet."""

    lines: list[str]
    text: str


@dataclass
class Writer:
    """Handlers of expressions write lines and give the text of the value; the emitter says which handler."""

    region: ir.Region
    lines: list[str] = field(default_factory=list)
    indent: int = 1
    serial: int = 0
    constants: list[float] = field(default_factory=list)
    inner_loops: list[tuple[str, ...]] = field(default_factory=list)  # (ufunc, dtypes), as ints after the constants
    proofs: list[Proof] = field(default_factory=list)  # what holds at the present place
    checked: Checked = field(default_factory=Checked)
    parts: list[str] = field(default_factory=list)  # functions that threads may run
    is_part: bool = False  # whether the present place is in one
    program_lines: tuple[int, int] = (0, 0)  # of the program: that of the loop around, the last one that was written
    spreads: bool = False  # whether the kernel takes the thread pool as an operand

    def __post_init__(self) -> None:
        self.ranges = Ranges(self.region)

    def value(self, node: ir.Expr) -> str:
        """The text of an expression; what it needs is written before it."""
        raise NotImplementedError

    def apart(self, node: ir.Expr) -> Part:
        """The text of an expression, with its lines on their own."""
        before, indent = self.lines, self.indent
        self.lines, self.indent = [], 0
        try:
            with self.checked.block():
                text = self.value(node)
            return Part(self.lines, text)
        finally:
            self.lines, self.indent = before, indent

    def is_positive(self, divisor: ir.Expr) -> bool:
        """Whether what is proven includes that a divisor is positive."""
        form = self.ranges.affine(divisor)
        return form is not None and any(form in proof.divisors for proof in self.proofs)

    def wrapped(self, index: ir.Expr, size: str) -> str:
        """The text of an index that counts from the start; leaves the kernel if it is out of range."""
        raise NotImplementedError

    def stride(self, array: ir.ArrayParameter, axis: int) -> str:
        """The text of the bytes from one element to the next."""
        raise NotImplementedError

    def block(self, nodes: tuple[ir.Stmt, ...]) -> None:
        """Write statements, one level deeper."""
        raise NotImplementedError

    def array(self, name: str) -> ir.ArrayParameter:
        return next(a for a in self.region.arrays if a.name == name)

    def address(self, node: ir.Load | ir.Store) -> str:
        """The text of the byte offset of an element."""
        raise NotImplementedError

    def array_lines(self, block: str) -> list[str]:
        """Lines that load the addresses, sizes and strides of all arrays from the kernel's ``args``."""
        lines: list[str] = []
        word = 0
        for a in self.region.arrays:
            lines.append(f"{a.name} = arg({block}, {word})")
            for axis in range(a.ndim):
                lines.append(f"{a.name}_n{axis} = arg({block}, {word + 1 + axis})")
                lines.append(f"{a.name}_s{axis} = arg({block}, {word + 1 + a.ndim + axis})")
            word += 1 + 2 * a.ndim
        return lines

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def on_line(self, line: int) -> Iterator[None]:
        """Inside, a loop is written that is on this line of the program; 0 for none."""
        around, _ = self.program_lines
        self.program_lines = (line and line - self.region.line + 1, self.program_lines[1])
        self.say_line()
        yield
        self.program_lines = (around, self.program_lines[1])

    def say_line(self) -> None:
        """Write on which line the present loop is, if the last one that was written is another; parts do not tell."""
        line, said = self.program_lines
        if line != said and not self.is_part:
            self.line(f"on_line({line})")
            self.program_lines = (line, line)

    def name(self) -> str:
        self.serial += 1
        return f"t{self.serial}"

    def hold(self, text: str) -> str:
        """Give a value a name, so that its text may be used twice."""
        if text.isidentifier() or text.replace(".", "", 1).isdigit():
            return text
        name = self.name()
        self.line(f"{name} = {text}")
        return name

    def leave(self, condition: str, status: Status) -> None:
        self.line(f"if {condition}:")
        self.line(f"    return {status.name}")

    def leave_later(self, word: str) -> None:
        """Leave the kernel at its end if ``word`` is negative: what runs until then is thrown away.

        Without a branch the loop can be vectorised. Loops that might not end then look at ``bad`` themselves.
        """
        self.line(f"bad |= {word}")

    def leave_if_bad(self) -> None:
        self.leave("bad < 0", Status.OVERFLOW)

    # -- the whole

    def hidden(self, value: float) -> str:
        """A constant that LLVM does not see: an operand of the kernel."""
        if value not in self.constants:
            self.constants.append(value)
        return f"k{self.constants.index(value)}"

    # -- expressions

    def inner_loop(self, ufunc: str, *dtypes: str) -> str:
        """The address of a table with NumPy's own loop for these operands: an operand of the kernel."""
        if (ufunc, *dtypes) not in self.inner_loops:
            self.inner_loops.append((ufunc, *dtypes))
        return f"u{self.inner_loops.index((ufunc, *dtypes))}"


def is_quick(node: ir.Expr, part: Part) -> bool:
    """Whether an int may be computed although nobody may want it: a few steps that read no memory and do not leave."""
    if node.type in FLOATS or len(part.lines) > QUICK_LINES:
        return False
    texts = [*part.lines, part.text]
    straight = all(line.startswith(("t", "bad |= ")) and not line.endswith(":") for line in part.lines)
    return straight and not any(word in text for word in _SLOW for text in texts)
