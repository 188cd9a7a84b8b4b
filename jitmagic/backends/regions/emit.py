"""Takes a region, gives the text of its kernel and the operands that the kernel takes.

The text is plain typed code: every type, cast and check is written out, Numba only compiles it. All integers are int64
in registers; a result that does not fit its type, a wrong index, a division by zero and the like leave the kernel with
a status, and the caller then runs the loop as plain Python.

Where every index of the region is affine in loop counters, the ranges are checked at entry and a second copy of the
loops without checks runs; that copy is the one that vectorises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from jitmagic.backends.native.abi import Status
from jitmagic.backends.regions.ranges import ARGUMENT_BITS, WORD_BITS, Affine, Interval, Ranges, accesses, statements
from jitmagic.backends.regions.unread import unread
from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir

__all__ = ["Kernel", "emit"]

SMALL_STEP = 1024  # 2**52 of these still fit between the 62 bits of a Python int here and the 63 of a register
_LIMITS = {
    "int8": (-(2**7), 2**7 - 1),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "uint8": (0, 2**8 - 1),
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
}
_ITEMSIZE = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "float32": 4}
_ZERO = {"pybool": "False", "bool": "False", "pyfloat": "0.0", "float64": "0.0", "float32": "np.float32(0.0)"}
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*", "truediv": "/", "and_": "&", "or_": "|", "xor": "^"}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_FLOATS = ("pyfloat", "float64", "float32")


@dataclass(frozen=True, slots=True)
class Kernel:
    """``text`` defines ``region(args, lo, hi)``; ``constants`` are floats that follow the scalar parameters."""

    text: str
    constants: tuple[float, ...]


def emit(region: ir.Region) -> Kernel:
    """Write the kernel. Raises Unsupported for what no kernel can do exactly."""
    return _Emitter(region).emit()


@dataclass
class _Emitter:
    region: ir.Region
    lines: list[str] = field(default_factory=list)
    indent: int = 1
    serial: int = 0
    constants: list[float] = field(default_factory=list)
    checked: bool = True

    def __post_init__(self) -> None:
        self.ranges = Ranges(self.region)
        self.unread = unread(self.region)
        self.arrays = {a.name: a for a in self.region.arrays}

    # -- text
    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)

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
        self.line(f"    return {int(status)}")

    def leave_later(self, word: str) -> None:
        """Leave the kernel at its end if ``word`` is negative: what runs until then is thrown away.

        Without a branch the loop can be vectorised. Loops that might not end then look at ``bad`` themselves.
        """
        self.line(f"bad |= {word}")

    def leave_if_bad(self) -> None:
        self.leave("bad < 0", Status.OVERFLOW)

    # -- the whole
    def emit(self) -> Kernel:
        body: list[str] = []
        proofs = self._proofs()
        for checked in (True, False) if proofs is not None else (True,):
            self.checked, self.lines, self.indent = checked, [], 2 if proofs is not None else 1
            for each in self.region.body:
                self.statement(each)
            body.append("\n".join(self.lines) or "    " * self.indent + "pass")
        self.lines, self.indent = [], 1
        self.line("bad = 0")
        self._load_parameters()
        if proofs is not None:
            for text in proofs:
                self.line(text)
            middle = f"    if not proven:\n{body[0]}\n    else:\n{body[1]}"
        else:
            middle = body[0]
        head = "\n".join(self.lines)
        self.lines = []
        self.leave_if_bad()
        self._store_results()
        text = f"def region(args, lo, hi):\n{head}\n{middle}\n" + "\n".join(self.lines) + "\n    return 0\n"
        return Kernel(text, tuple(self.constants))

    def _load_parameters(self) -> None:
        word = 0
        for a in self.region.arrays:
            self.line(f"{a.name} = arg(args, {word})")
            for axis in range(a.ndim):
                self.line(f"{a.name}_n{axis} = arg(args, {word + 1 + axis})")
                self.line(f"{a.name}_s{axis} = arg(args, {word + 1 + a.ndim + axis})")
            word += 1 + 2 * a.ndim
        for s in self.region.scalars:
            load = "arg_float64" if s.type in _FLOATS else "arg"
            value = f"{load}(args, {word})"
            value = {"float32": f"np.float32({value})", "pybool": f"{value} != 0", "bool": f"{value} != 0"}.get(
                s.type, value
            )
            self.line(f"{s.name} = {value}")
            if s.type == "pyint":
                self.leave(f"{s.name} >= {2**ARGUMENT_BITS} or {s.name} <= {-(2**ARGUMENT_BITS)}", Status.OVERFLOW)
            word += 1
        for index in range(len(self.constants)):
            self.line(f"k{index} = arg_float64(args, {word + index})")
        self.result_word = word + len(self.constants)
        self._declare_variables()

    def _declare_variables(self) -> None:
        known = {s.name for s in self.region.scalars}
        for each in statements(self.region.body):
            if isinstance(each, ir.Assign) and each.variable.name not in known:
                known.add(each.variable.name)
                self.line(f"{each.variable.name} = {_ZERO.get(each.variable.type, '0')}")

    def _store_results(self) -> None:
        for index, variable in enumerate(self.region.results):
            target = f"arg(args, {self.result_word})"
            if variable.type in _FLOATS:
                self.line(f"store_float64({target}, {8 * index}, np.float64({variable.name}))")
            else:
                self.line(f"store_int64({target}, {8 * index}, np.int64({variable.name}))")

    # -- proofs
    def _proofs(self) -> list[str] | None:
        """Lines that set ``proven``: every affine index is in range in all rounds; None if there is none to prove."""
        accesses = [(e.array, axis, *interval) for e, axis, interval in self._known_indices()]
        if not accesses:
            return None
        lines: list[str] = []
        for name, loop in self.ranges.counters.items():
            start, stop = self.ranges.affine(loop.start), self.ranges.affine(loop.stop)
            assert start is not None
            assert stop is not None
            first, last = (start, stop) if _ascends(loop) else (stop, start)
            after = (0, 1) if _ascends(loop) else (1, 0)
            lines.append(f"{name}_lo = {self._bound(first, 'lo')} + {after[0]}")
            lines.append(f"{name}_hi = {self._bound(last, 'hi')} - {after[1]}")
        tests = [
            f"{self._bound(low, 'lo')} >= {least} and {self._bound(high, 'hi')} < {array}_n{axis} + {least}"
            for array, axis, low, high, least in accesses
        ]
        lines.append("proven = True")
        lines += [f"proven = proven and {test}" for test in dict.fromkeys(tests)]
        return lines

    def _bound(self, form: Affine, end: str) -> str:
        """The least or greatest value of an affine expression, as text over the counters' bounds."""
        other = "hi" if end == "lo" else "lo"
        parts = []
        for name, factor in form.items():
            if not factor:
                continue
            bound = f"{name}_{end if factor > 0 else other}" if name in self.ranges.counters else name
            parts.append(str(factor) if not name else f"{factor} * {bound}")
        return f"({' + '.join(parts) or '0'})"

    def _known_indices(self) -> list[tuple[ir.Load | ir.Store, int, Interval]]:
        found = []
        for each in accesses(self.region.body):
            for axis, index in enumerate(each.index):
                interval = self.ranges.interval(index)
                if interval is not None:
                    found.append((each, axis, interval))
        return found

    # -- statements
    def statement(self, node: ir.Stmt) -> None:
        _STATEMENTS[type(node)](self, node)

    def block(self, nodes: tuple[ir.Stmt, ...]) -> None:
        self.indent += 1
        for each in nodes:
            self.statement(each)
        if not nodes:
            self.line("pass")
        self.indent -= 1

    def hidden(self, value: float) -> str:
        """A constant that LLVM does not see: an operand of the kernel."""
        if value not in self.constants:
            self.constants.append(value)
        return f"k{self.constants.index(value)}"

    # -- expressions
    def value(self, node: ir.Expr) -> str:
        return _EXPRESSIONS[type(node)](self, node)

    def address(self, node: ir.Load | ir.Store) -> str:
        """The byte offset of an element; leaves the kernel if an index that was not proven is out of range."""
        array = self.arrays[node.array]
        parts = []
        for axis, index in enumerate(node.index):
            text = self.value(index)
            if self.checked or self.ranges.interval(index) is None:
                text = self._wrapped(text, f"{array.name}_n{axis}")
            stride = f"{array.name}_s{axis}"
            if array.is_contiguous and axis == array.ndim - 1:
                stride = str(_ITEMSIZE.get(array.dtype, 8))
            parts.append(f"{text} * {stride}" if text.isidentifier() or text.isdigit() else f"({text}) * {stride}")
        return " + ".join(parts)

    def _wrapped(self, text: str, size: str) -> str:
        name = self.name()
        self.line(f"{name} = {text}")
        self.line(f"if {name} < 0:")
        self.line(f"    {name} += {size}")
        self.leave(f"{name} < 0 or {name} >= {size}", Status.INDEX_ERROR)
        return name


def _ascends(loop: ir.For) -> bool:
    assert isinstance(loop.step, ir.Const)
    return loop.step.value > 0


# -- expressions
def _const(e: _Emitter, node: ir.Const) -> str:
    text = repr(node.value) if node.type != "pyint" else str(int(node.value))
    if text in ("inf", "-inf", "nan"):
        return {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}[text]
    return f"({text})" if text.startswith("-") else text


def _cast(e: _Emitter, node: ir.Cast) -> str:
    source, target = node.operand.type, node.type
    text = e.value(node.operand)
    if {source, target} <= {"pybool", "bool"}:
        return text
    if source in ("pybool", "bool"):
        text = f"np.int64({text})"
        source = "pyint"
    if target in _FLOATS:
        return _to_float(e, text, node.operand, source, target)
    if source in _FLOATS:
        raise Unsupported("region", "a float where an int is meant")
    return _to_int(e, text, node.operand, source, target)


def _to_float(e: _Emitter, text: str, operand: ir.Expr, source: str, target: str) -> str:
    if source == "pyfloat" and target == "float32":
        text = e.hold(text)
    if source == "pyint" and e.ranges.bits(operand) > 53:
        text = e.hold(text)
        e.leave(f"{text} > {2**53} or {text} < {-(2**53)}", Status.OVERFLOW)
    if target == "float32" and source == "pyfloat":  # a constant would be rounded by LLVM, which sets no flag
        rounded = e.hold(f"np.float32({text})")
        e.leave(f"math.isinf({rounded}) and not math.isinf({text})", Status.OVERFLOW)
        return rounded
    if target == "float32":
        return f"np.float32({text})"
    return f"np.float64({text})" if source not in ("pyfloat", "float64") else text


def _to_int(e: _Emitter, text: str, operand: ir.Expr, source: str, target: str) -> str:
    if target == "pyint":
        if source == "int64":
            text = e.hold(text)
            e.leave(f"{text} > {2**WORD_BITS} or {text} < {-(2**WORD_BITS)}", Status.OVERFLOW)
        return text
    return _fitting(e, text, target) if target in _LIMITS else text


def _fitting(e: _Emitter, text: str, kind: str) -> str:
    """Leave the kernel if an int does not fit a small NumPy type."""
    low, high = _LIMITS[kind]
    text = e.hold(text)
    e.leave_later(f"(({text} - {low}) | ({high} - {text}))")
    return text


def _binary(e: _Emitter, node: ir.Binary) -> str:
    special = _SPECIAL.get(node.operator)
    if special is not None:
        return special(e, node)
    left, right = e.value(node.left), e.value(node.right)
    text = f"({left} {_SYMBOLS[node.operator]} {right})"
    if node.left.type in _FLOATS:
        if node.operator == "truediv" and node.type == "pyfloat":
            right = e.hold(right)
            e.leave(f"{right} == 0.0", Status.ZERO_DIVISION)
            return f"({left} / {right})"
        return text
    return _checked_int(e, node, left, right, text)


def _checked_int(e: _Emitter, node: ir.Binary, left: str, right: str, text: str) -> str:
    if node.operator == "truediv":
        right = e.hold(right)
        e.leave(f"{right} == 0", Status.ZERO_DIVISION)
        return f"(np.float64({left}) / np.float64({right}))"
    if node.operator not in ("add", "sub", "mul") or (node.type == "pyint" and _stays_small(e, node)):
        return text
    left, right = e.hold(left), e.hold(right)
    if node.type in _LIMITS:
        return _fitting(e, text, node.type)
    if node.operator == "mul":
        text = f"mul_or_leave({left}, {right})"
    total = e.hold(text)
    if node.type == "pyint":
        e.leave_later(f"{total} + {2**WORD_BITS}")
    elif node.operator != "mul":
        other = right if node.operator == "add" else f"(~{right})"
        e.leave_later(f"(({left} ^ {total}) & ({other} ^ {total}))")
    return total


def _stays_small(e: _Emitter, node: ir.Binary) -> bool:
    """Whether a Python int needs no check: it has few bits, or would have to be counted up for weeks."""
    step = node.right if isinstance(node.right, ir.Const) else node.left
    is_step = node.operator != "mul" and isinstance(step, ir.Const) and abs(step.value) <= SMALL_STEP
    return is_step or e.ranges.bits(node) <= WORD_BITS


def _int_division(e: _Emitter, node: ir.Binary) -> str:
    """``int / int``: exact while both are exact as floats."""
    left, right = e.hold(e.value(node.left)), e.hold(e.value(node.right))
    e.leave(f"{right} == 0", Status.ZERO_DIVISION)
    for text, operand in ((left, node.left), (right, node.right)):
        if e.ranges.bits(operand) > 53:
            e.leave(f"{text} > {2**53} or {text} < {-(2**53)}", Status.OVERFLOW)
    return f"(np.float64({left}) / np.float64({right}))"


def _floor_division(e: _Emitter, node: ir.Binary) -> str:
    left, right = e.hold(e.value(node.left)), e.hold(e.value(node.right))
    if node.type not in _FLOATS:
        if not (isinstance(node.right, ir.Const) and node.right.value > 0):
            e.leave(f"{right} == 0 or {right} == -1", Status.ZERO_DIVISION)
        return f"({left} // {right})"
    e.leave(f"{right} == 0.0", Status.ZERO_DIVISION)
    rest, quotient = e.name(), e.name()
    e.line(f"{rest} = math.fmod({left}, {right})")
    e.line(f"{quotient} = ({left} - {rest}) / {right}")
    e.line(f"if {rest} != 0.0 and ({right} < 0.0) != ({rest} < 0.0):")
    e.line(f"    {quotient} -= 1.0")
    e.line(f"if {quotient} != 0.0:")
    whole = e.name()
    e.line(f"    {whole} = math.floor({quotient})")
    e.line(f"    if {quotient} - {whole} > 0.5:")
    e.line(f"        {whole} += 1.0")
    e.line(f"    {quotient} = np.float64({whole})")
    e.line("else:")
    e.line(f"    {quotient} = math.copysign(0.0, {left} / {right})")
    return quotient


def _remainder(e: _Emitter, node: ir.Binary) -> str:
    left, right = e.hold(e.value(node.left)), e.hold(e.value(node.right))
    if node.type not in _FLOATS:
        return _int_remainder(e, node, left, right)
    e.leave(f"{right} == 0.0", Status.ZERO_DIVISION)
    rest = e.name()
    e.line(f"{rest} = math.fmod({left}, {right})")
    e.line(f"if {rest} != 0.0:")
    e.line(f"    if ({right} < 0.0) != ({rest} < 0.0):")
    e.line(f"        {rest} += {right}")
    e.line("else:")
    e.line(f"    {rest} = math.copysign(0.0, {right})")
    return rest


def _int_remainder(e: _Emitter, node: ir.Binary, left: str, right: str) -> str:
    """A division costs as much as a dozen additions: numbers that are their own remainder do without."""
    if isinstance(node.right, ir.Const) and node.right.value > 0:
        return f"({left} % {right})"
    if e.checked or not e.ranges.is_surely_positive(node.right):
        e.leave(f"{right} == 0 or {right} == -1", Status.ZERO_DIVISION)
    rest = e.name()
    e.line(f"if {left} >= 0 and {left} < {right}:")
    e.line(f"    {rest} = {left}")
    e.line("else:")
    e.line(f"    {rest} = {left} % {right}")
    return rest


def _power(e: _Emitter, node: ir.Binary) -> str:
    """libm's ``pow``, as Python and NumPy scalars call it.

    A constant exponent is hidden from LLVM, which would turn ``pow(x, 2.0)`` into ``x * x``: other bits, since
    libm's result is not always the correctly rounded one.
    """
    if node.type == "float32":
        raise Unsupported("region", "a power of float32")
    left = e.hold(e.value(node.left))
    exponent = node.right.operand if isinstance(node.right, ir.Cast) else node.right
    right = e.hidden(float(exponent.value)) if isinstance(exponent, ir.Const) else e.hold(e.value(node.right))
    if node.type == "pyfloat":
        e.leave(
            f"({left} < 0.0 and math.floor({right}) != {right}) or ({left} == 0.0 and {right} < 0.0)",
            Status.VALUE_ERROR,
        )
    result = e.hold(f"math.pow({left}, {right})")
    if node.type == "pyfloat":
        e.leave(f"math.isinf({result}) and not math.isinf({left}) and not math.isinf({right})", Status.OVERFLOW)
    return result


_SPECIAL: Mapping[str, Callable[[_Emitter, ir.Binary], str]] = {
    "intdiv": _int_division,
    "floordiv": _floor_division,
    "mod": _remainder,
    "pow": _power,
}


def _unary(e: _Emitter, node: ir.Unary) -> str:
    text = e.value(node.operand)
    if node.function == "neg":
        return _fitting(e, f"(-{text})", node.type) if node.type in _LIMITS else f"(-{text})"
    if node.function == "abs":
        if node.type == "float32":
            return f"np.float32(abs({text}))"
        return _fitting(e, f"abs({text})", node.type) if node.type in _LIMITS else f"abs({text})"
    if node.function == "int":
        return _truncated(e, text, node.operand.type)
    module, _, name = node.function.partition(".")
    if module == "numpy":
        return _numpy_function(name, text, node.type)
    return _math_function(e, name, e.hold(text), node.type)


def _truncated(e: _Emitter, text: str, kind: str) -> str:
    if kind not in _FLOATS:
        return f"np.int64({text})"
    text = e.hold(text)
    e.leave(f"not ({text} > {-float(2**52)!r} and {text} < {float(2**52)!r})", Status.OVERFLOW)
    return f"np.int64({text})"


_NUMPY = {"sqrt": "math.sqrt({0})", "fabs": "abs({0})", "absolute": "abs({0})", "floor": "math.floor({0})"}
_NUMPY |= {"square": "({0} * {0})", "negative": "(-{0})", "ceil": "math.ceil({0})"}


def _numpy_function(name: str, text: str, kind: str) -> str:
    if name not in _NUMPY or (name in ("floor", "ceil")):
        raise Unsupported("region", f"numpy.{name} of a number")
    made = _NUMPY[name].format(text)
    return f"np.float32({made})" if kind == "float32" else made


_DOMAINS = {
    "sqrt": "{0} < 0.0",
    "log": "not {0} > 0.0",
    "log2": "not {0} > 0.0",
    "log10": "not {0} > 0.0",
    "log1p": "not {0} > -1.0",
    "asin": "not abs({0}) <= 1.0",
    "acos": "not abs({0}) <= 1.0",
    "acosh": "not {0} >= 1.0",
    "atanh": "not abs({0}) < 1.0",
}
_FINITE = ("sin", "cos", "tan", "exp", "expm1", "sinh", "cosh", "tanh", "atan", "asinh", "fabs")


def _math_function(e: _Emitter, name: str, text: str, kind: str) -> str:
    """Python's functions raise outside of their domain, and where a finite number gives an infinite one."""
    if name in ("floor", "ceil"):
        e.leave(f"not ({text} > {-float(2**52)!r} and {text} < {float(2**52)!r})", Status.OVERFLOW)
        return f"np.int64(math.{name}({text}))"
    if name in _DOMAINS:
        e.leave(_DOMAINS[name].format(text), Status.VALUE_ERROR)
        return f"math.{name}({text})"
    if name not in _FINITE:
        raise Unsupported("region", f"math.{name}")
    e.leave(f"not ({text} - {text} == 0.0)", Status.VALUE_ERROR)
    result = e.hold(f"math.{name}({text})")
    if name in ("exp", "expm1", "sinh", "cosh"):
        e.leave(f"math.isinf({result})", Status.OVERFLOW)
    return result


def _compare(e: _Emitter, node: ir.Compare) -> str:
    return f"({e.value(node.left)} {_COMPARE[node.operator]} {e.value(node.right)})"


def _logic(e: _Emitter, node: ir.Logic) -> str:
    if node.operator not in ("and", "or"):
        return _choose(e, node) if node.operator == "choose" else _extreme(e, node)
    result = e.name()
    before = e.indent
    e.line(f"{result} = {e.value(node.operands[0])}")
    for operand in node.operands[1:]:
        e.line(f"if {result}:" if node.operator == "and" else f"if not {result}:")
        e.indent += 1
        e.line(f"{result} = {e.value(operand)}")
    e.indent = before
    return result


def _extreme(e: _Emitter, node: ir.Logic) -> str:
    """The first of the operands that no later one beats."""
    best = e.hold(e.value(node.operands[0]))
    for operand in node.operands[1:]:
        value = e.hold(e.value(operand))
        best = e.hold(f"select({value} {'>' if node.operator == 'max' else '<'} {best}, {value}, {best})")
    return best


def _choose(e: _Emitter, node: ir.Logic) -> str:
    test, body, orelse = node.operands
    if isinstance(body, ir.Const | ir.Var) and isinstance(orelse, ir.Const | ir.Var):
        return f"select({e.value(test)}, {e.value(body)}, {e.value(orelse)})"
    result = e.name()
    e.line(f"if {e.value(test)}:")
    e.indent += 1
    e.line(f"{result} = {e.value(body)}")
    e.indent -= 1
    e.line("else:")
    e.indent += 1
    e.line(f"{result} = {e.value(orelse)}")
    e.indent -= 1
    return result


def _load(e: _Emitter, node: ir.Load) -> str:
    text = f"load_{node.type}({node.array}, {e.address(node)})"
    return text if node.type in ("float64", "float32", "bool") else f"np.int64({text})"


_EXPRESSIONS: Mapping[type, Callable[..., str]] = {
    ir.Const: _const,
    ir.Var: lambda e, node: node.name,
    ir.Cast: _cast,
    ir.Binary: _binary,
    ir.Unary: _unary,
    ir.Compare: _compare,
    ir.Logic: _logic,
    ir.Not: lambda e, node: f"(not {e.value(node.operand)})",
    ir.Load: _load,
    ir.Size: lambda e, node: f"{node.array}_n{node.axis}",
}


# -- statements
def _assign(e: _Emitter, node: ir.Assign) -> None:
    text = e.value(node.value)
    e.line(f"{node.variable.name} = {text}")
    if id(node) in e.unread:
        e.line(f"keep({node.variable.name})" if node.variable.type in _FLOATS else f"keep(np.float64({text}))")


def _store(e: _Emitter, node: ir.Store) -> None:
    dtype = e.arrays[node.array].dtype
    kind = node.value.type
    value = e.value(node.value)
    if dtype in _FLOATS and kind not in _FLOATS:
        value = _to_float(e, f"np.int64({value})" if "bool" in kind else value, node.value, kind, dtype)
    elif dtype == "float32":
        value = f"np.float32({value})"
    elif dtype in _LIMITS and kind != dtype:
        if kind not in ("pyint", "pybool", "bool"):
            raise Unsupported("region", f"storing {kind} in an array of {dtype}")
        value = _fitting(e, f"np.int64({value})", dtype)
    elif dtype == "int64" and "bool" in kind:
        value = f"np.int64({value})"
    held = e.hold(value)
    cast = held if dtype in ("float64", "float32", "bool", "int64") else f"np.{dtype}({held})"
    e.line(f"store_{dtype}({node.array}, {e.address(node)}, {cast})")


def _if(e: _Emitter, node: ir.If) -> None:
    e.line(f"if {e.value(node.test)}:")
    e.block(node.body)
    if node.orelse:
        e.line("else:")
        e.block(node.orelse)


def _for(e: _Emitter, node: ir.For) -> None:
    if node.orelse:
        raise Unsupported("region", "else after a loop")
    start, stop, step = e.value(node.start), e.value(node.stop), e.hold(e.value(node.step))
    if node.variable.name not in e.ranges.counters:
        e.leave_if_bad()
    if not isinstance(node.step, ir.Const) or not node.step.value:
        e.leave(f"{step} == 0", Status.VALUE_ERROR)
    e.line(f"for {node.variable.name} in range({start}, {stop}, {step}):")
    e.block(node.body)


def _while(e: _Emitter, node: ir.While) -> None:
    if node.orelse:
        raise Unsupported("region", "else after a loop")
    e.line("while True:")
    e.indent += 1
    e.leave_if_bad()
    e.line(f"if not {e.value(node.test)}:")
    e.line("    break")
    e.indent -= 1
    e.block(node.body)


_STATEMENTS: Mapping[type, Callable[..., None]] = {
    ir.Assign: _assign,
    ir.Store: _store,
    ir.If: _if,
    ir.For: _for,
    ir.While: _while,
    ir.Leave: lambda e, node: e.line(f"return {int(Status.EXIT)}"),
    ir.Break: lambda e, node: e.line("break"),
    ir.Continue: lambda e, node: e.line("continue"),
}
