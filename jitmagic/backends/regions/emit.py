"""Takes a region, gives the text of its kernel and the operands that the kernel takes.

The text is plain typed code: every type, cast and check is written out, nothing is inferred. All integers are int64
in registers; a result that does not fit its type, a wrong index, a division by zero and the like leave the kernel with
a status, and the caller then runs the loop as plain Python.

Where every index of the region is affine in loop counters, the ranges are checked at entry and a second copy of the
loops without checks runs; that copy is the one that vectorises.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jitmagic.backends.native.abi import Status
from jitmagic.backends.regions.arithmetic import binary, cast, fitting, to_float
from jitmagic.backends.regions.functions import truncated, unary
from jitmagic.backends.regions.ranges import ARGUMENT_BITS, Affine, Interval, accesses, statements
from jitmagic.backends.regions.unread import unread
from jitmagic.backends.regions.writer import FLOATS, LIMITS, Writer
from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir

__all__ = ["Kernel", "emit"]

POLLS = {0: 0, 1: 255}  # by level of a loop with loops inside: it looks for Ctrl-C in one of so many rounds and one
SPINS = 65535  # the same for ``while``
_ITEMSIZE = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "float32": 4}
_ZERO = {"pybool": "False", "bool": "False", "pyfloat": "0.0", "float64": "0.0", "float32": "np.float32(0.0)"}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@dataclass(frozen=True, slots=True)
class Kernel:
    """``text`` defines ``region(args, lo, hi)``.

    After the scalar parameters follow ``constants``, and the addresses of tables for ``inner_loops``.
    """

    text: str
    constants: tuple[float, ...]
    inner_loops: tuple[tuple[str, str], ...] = ()


def emit(region: ir.Region) -> Kernel:
    """Write the kernel. Raises Unsupported for what no kernel can do exactly."""
    return _Emitter(region).emit()


@dataclass
class _Emitter(Writer):
    """Writes the whole: parameters, proofs, the loops with and without checks, results."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.loops = 0  # around the present statement
        self.unread = unread(self.region)
        self.arrays = {a.name: a for a in self.region.arrays}

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
        text = f"def region(args, lo, hi):\n{head}\n{middle}\n" + "\n".join(self.lines) + "\n    return OK\n"
        return Kernel(text, tuple(self.constants), tuple(self.inner_loops))

    def _load_parameters(self) -> None:
        word = 0
        for a in self.region.arrays:
            self.line(f"{a.name} = arg(args, {word})")
            for axis in range(a.ndim):
                self.line(f"{a.name}_n{axis} = arg(args, {word + 1 + axis})")
                self.line(f"{a.name}_s{axis} = arg(args, {word + 1 + a.ndim + axis})")
            word += 1 + 2 * a.ndim
        for s in self.region.scalars:
            load = "arg_float64" if s.type in FLOATS else "arg"
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
        word += len(self.constants)
        for index in range(len(self.inner_loops)):
            self.line(f"u{index} = arg(args, {word + index})")
        self.result_word = word + len(self.inner_loops)
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
            if variable.type in FLOATS:
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

    def round(self, node: ir.For) -> None:
        """The body of a loop; outer loops look whether Ctrl-C is waiting, inner ones stay bare."""
        has_loops = any(isinstance(s, ir.For | ir.While) for s in statements(node.body))
        mask = POLLS.get(self.loops) if has_loops else None
        if mask is not None:
            self.line(f"    poll({mask})")
        self.loops += 1
        self.block(node.body)
        self.loops -= 1

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
    ir.Cast: cast,
    ir.Binary: binary,
    ir.Unary: unary,
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
        e.line(f"keep({node.variable.name})" if node.variable.type in FLOATS else f"keep(np.float64({text}))")


def _store(e: _Emitter, node: ir.Store) -> None:
    dtype = e.arrays[node.array].dtype
    kind = node.value.type
    value = e.value(node.value)
    if dtype in FLOATS and kind not in FLOATS:
        value = to_float(e, f"np.int64({value})" if "bool" in kind else value, node.value, kind, dtype)
    elif dtype == "float32":
        value = to_float(e, value, node.value, kind, dtype)
    elif kind in FLOATS and dtype not in FLOATS:
        value = truncated(e, value, kind)
        if dtype in LIMITS:
            value = e.hold(value)
            low, high = LIMITS[dtype]
            e.leave(f"{value} < {low} or {value} > {high}", Status.OVERFLOW)
    elif dtype in LIMITS and kind != dtype:
        if kind not in ("pyint", "pybool", "bool"):
            raise Unsupported("region", f"storing {kind} in an array of {dtype}")
        value = fitting(e, f"np.int64({value})", dtype)
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
    e.round(node)


def _while(e: _Emitter, node: ir.While) -> None:
    if node.orelse:
        raise Unsupported("region", "else after a loop")
    e.line("while True:")
    e.indent += 1
    e.leave_if_bad()
    e.line(f"poll({SPINS})")
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
    ir.Leave: lambda e, node: e.line(f"return {Status.EXIT.name}"),
    ir.Break: lambda e, node: e.line("break"),
    ir.Continue: lambda e, node: e.line("continue"),
}
