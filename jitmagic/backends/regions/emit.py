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
from jitmagic.backends.regions.complexes import assign_pair, equal, store_pair
from jitmagic.backends.regions.folds import fold
from jitmagic.backends.regions.functions import truncated, unary
from jitmagic.backends.regions.independence import is_independent
from jitmagic.backends.regions.liveness import lives
from jitmagic.backends.regions.parts import spread_loop
from jitmagic.backends.regions.places import all_places, places
from jitmagic.backends.regions.proofs import Proof, entry_proof, loop_proof
from jitmagic.backends.regions.ranges import ARGUMENT_BITS, parts_of, statements
from jitmagic.backends.regions.rounds import budget, counts, is_innermost, is_short
from jitmagic.backends.regions.unread import unread
from jitmagic.backends.regions.writer import COMPLEX, FLOATS, LIMITS, ZEROS, Writer, is_quick
from jitmagic.errors import Unsupported
from jitmagic.graph import region as ir

__all__ = ["Kernel", "emit"]

_ITEMSIZE = {"bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "float32": 4}
_ITEMSIZE["complex128"] = 16
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


@dataclass(frozen=True, slots=True)
class Kernel:
    """``text`` defines ``region(args, lo, hi)``.

    After the scalar parameters follow ``constants``, the addresses of tables for ``inner_loops``, and, if it
    ``spreads``, that of the function that gives the thread pool.
    """

    text: str
    constants: tuple[float, ...]
    inner_loops: tuple[tuple[str, ...], ...] = ()
    spreads: bool = False


def emit(region: ir.Region) -> Kernel:
    """Write the kernel. Raises Unsupported for what no kernel can do exactly."""
    return _Emitter(region).emit()


@dataclass
class _Emitter(Writer):
    """Writes the whole: parameters, proofs, the loops with and without checks, results."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.unread = unread(self.region)
        self.lives = lives(self.region)
        self.arrays = {a.name: a for a in self.region.arrays}
        self.refuted: list[Proof] = []  # what does not hold at the present place
        self.is_rare = False  # inside an innermost loop of which another copy has proven indices
        self.target: ir.Var | ir.Store | None = None  # what the statement that is being written stores in

    # -- the whole
    def emit(self) -> Kernel:
        proof = entry_proof(self.region, self.ranges)
        body = self._copy(None, 1) if proof is None else self._both(proof)
        self.lines, self.indent = [], 1
        self.line("bad = 0")
        self.line(f"budget({budget(self.region)})")
        self._load_parameters()
        shown = ", ".join(v.name for each in self.region.held for v in all_places(each.variables))
        words = f"arg(args, {self.result_word}), {8 * len(all_places(self.region.results))}"
        self.line(f"hand_back({', '.join(filter(None, (words, shown)))})")
        for text in () if proof is None else proof.lines:
            self.line(text)
        head = "\n".join(self.lines)
        self.lines = []
        self.leave_if_bad()
        self._store_results()
        text = f"def region(args, lo, hi):\n{head}\n{body}\n" + "\n".join(self.lines) + "\n    return OK\n"
        text = "\n".join([*self.parts, text])
        return Kernel(text, tuple(self.constants), tuple(self.inner_loops), self.spreads)

    def _both(self, proof: Proof) -> str:
        self.refuted = [proof]
        checked = self._copy(None, 2)
        self.refuted = []
        return f"    if not {proof.name}:\n{checked}\n    else:\n{self._copy(proof, 2)}"

    def _copy(self, proof: Proof | None, indent: int) -> str:
        """The statements, with checks of the indices that ``proof`` does not prove."""
        self.proofs = [] if proof is None else [proof]
        self.lines, self.indent = [], indent
        with self.checked.function():
            for each in self.region.body:
                self.statement(each)
        return "\n".join(self.lines) or "    " * indent + "pass"

    def _load_parameters(self) -> None:
        for text in self.array_lines("args"):
            self.line(text)
        word = sum(1 + 2 * a.ndim for a in self.region.arrays)
        for s in (place for each in self.region.scalars for place in places(each)):
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
        if self.spreads:
            self.line(f"pool = arg(args, {self.result_word})")
            self.result_word += 1
        self._declare_variables()

    def _declare_variables(self) -> None:
        known = {s.name for s in self.region.scalars}
        for each in statements(self.region.body):
            if isinstance(each, ir.Assign) and each.variable.name not in known:
                known.add(each.variable.name)
                for place in places(each.variable):
                    self.line(f"{place.name} = {ZEROS.get(place.type, '0')}")

    def _store_results(self) -> None:
        for index, variable in enumerate(all_places(self.region.results)):
            target = f"arg(args, {self.result_word})"
            if variable.type in FLOATS:
                self.line(f"store_float64({target}, {8 * index}, np.float64({variable.name}))")
            else:
                self.line(f"store_int64({target}, {8 * index}, np.int64({variable.name}))")

    def is_carried(self, operand: ir.Expr) -> bool:
        """Whether an operand probably waits for the last round: such a one comes last, when the others are done."""
        target = self.target
        if isinstance(target, ir.Var):
            return any(part == target for part in parts_of(operand))
        loads = (part for part in parts_of(operand) if isinstance(part, ir.Load))
        return target is not None and any(
            load.array == target.array and load.index[:-1] == target.index[:-1] for load in loads
        )

    # -- statements
    def statement(self, node: ir.Stmt) -> None:
        _STATEMENTS[type(node)](self, node)

    def block(self, nodes: tuple[ir.Stmt, ...]) -> None:
        self.indent += 1
        with self.checked.block(_assigned(nodes)):
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
            size = f"{array.name}_n{axis}"
            text = self._proven(index, size) if self.is_proven(index) else self.wrapped(index, size)
            stride = self.stride(array, axis)
            parts.append(f"{text} * {stride}" if text.isidentifier() or text.isdigit() else f"({text}) * {stride}")
        return " + ".join(parts)

    def stride(self, array: ir.ArrayParameter, axis: int) -> str:
        is_known = array.is_contiguous and axis == array.ndim - 1
        return str(_ITEMSIZE.get(array.dtype, 8)) if is_known else f"{array.name}_s{axis}"

    def is_proven(self, index: ir.Expr) -> bool:
        return any(id(index) in proof.indices for proof in self.proofs)

    def _proven(self, index: ir.Expr, size: str) -> str:
        """An index that is in range, and of which no part overflows."""
        if any(id(index) in proof.from_end for proof in self.proofs):
            return f"{size} + {self._bare(index)}"
        return self.value(index) if isinstance(index, ir.Binary) and index.operator == "mod" else self._bare(index)

    def _bare(self, index: ir.Expr) -> str:
        if isinstance(index, ir.Cast):
            return self._bare(index.operand)
        if isinstance(index, ir.Unary):
            return f"(-{self._bare(index.operand)})"
        if isinstance(index, ir.Binary):
            sign = {"add": "+", "sub": "-", "mul": "*"}[index.operator]
            return f"({self._bare(index.left)} {sign} {self._bare(index.right)})"
        return self.value(index)

    def may_spread(self, loop: ir.For) -> bool:
        """Whether threads may share the rounds; only where all indices that count for that are proven."""
        if self.is_part or not self.proofs:
            return False
        return is_independent(loop, self.region, self.ranges, self.lives[id(loop)])

    def proof_of(self, loop: ir.For, ends: tuple[str, ...]) -> Proof | None:
        """What can be proven at the head of an innermost loop."""
        known = frozenset[int]().union(*(p.indices for p in self.proofs))
        return loop_proof(f"{loop.variable.name}_proven", loop, ends, self.ranges, known)

    def innermost(self, node: ir.For, ends: tuple[str, ...], *, is_up: bool) -> None:
        """A loop without long loops inside; ``is_up`` if a step that is not constant is known to be positive."""
        name = node.variable.name
        constant = int(node.step.value) if isinstance(node.step, ir.Const) else 0
        if is_short(node) or not (constant or is_up):
            self.line(f"for {name} in range({', '.join(ends)}):")
            if not is_short(node):
                self.line(f"    {'count' if node.is_whole else 'poll'}(1)")
        else:
            word = f"{'whole_' if node.is_whole else ''}{'down' if constant < 0 else 'up'}"
            self.line(f"for {name} in {word}({', '.join(ends)}):")
        self.block(node.body)

    def wrapped(self, index: ir.Expr, size: str) -> str:
        """An index that counts from the end if it is negative; one comparison finds those that need no more.

        Where another copy of the loop has proven indices, this one is short instead: it is seldom run.
        """
        text = self.value(index)
        known = self.checked.find(text, size)
        if known is not None:
            return known
        name = self.name()
        self.line(f"{name} = {text}")
        if any(id(index) in proof.indices for proof in self.refuted):
            self.line(f"{name} = select({name} < 0, {name} + {size}, {name})")
            self.leave(f"outside({name}, {size})", Status.INDEX_ERROR)
        else:
            self.line(f"if outside({name}, {size}):")
            self.line(f"    {name} += {size}")
            self.line(f"    if outside({name}, {size}):")
            self.line(f"        return {Status.INDEX_ERROR.name}")
        self.checked.add(text, size, name)
        return name


def _assigned(nodes: tuple[ir.Stmt, ...]) -> set[str]:
    return {each.variable.name for each in statements(nodes) if isinstance(each, ir.Assign | ir.For)}


# -- expressions
def _const(e: _Emitter, node: ir.Const) -> str:
    text = repr(node.value) if node.type != "pyint" else str(int(node.value))
    if text in ("inf", "-inf", "nan"):
        return {"inf": "np.inf", "-inf": "-np.inf", "nan": "np.nan"}[text]
    return f"({text})" if text.startswith("-") else text


def _compare(e: _Emitter, node: ir.Compare) -> str:
    if node.left.type in COMPLEX:
        return equal(e, node)
    return f"({e.value(node.left)} {_COMPARE[node.operator]} {e.value(node.right)})"


def _logic(e: _Emitter, node: ir.Logic) -> str:
    if node.operator not in ("and", "or"):
        return _choose(e, node) if node.operator == "choose" else _extreme(e, node)
    result = e.name()
    before = e.indent
    e.line(f"{result} = {e.value(node.operands[0])}")
    with e.checked.block():
        for operand in node.operands[1:]:
            e.line(f"if {result}:" if node.operator == "and" else f"if not {result}:")
            e.indent += 1
            e.line(f"{result} = {e.value(operand)}")
    e.indent = before
    return result


def _extreme(e: _Emitter, node: ir.Logic) -> str:
    """The first of the operands that no later one beats; of ints, of which equal ones are the same, in any order."""
    first, *others = node.operands if node.type in FLOATS else sorted(node.operands, key=e.is_carried)
    best = e.hold(e.value(first))
    for operand in others:
        value = e.hold(e.value(operand))
        if node.type in FLOATS:  # nan stays where it is first
            text = f"select({value} {'>' if node.operator == 'max' else '<'} {best}, {value}, {best})"
        else:
            text = f"{node.operator}({best}, {value})"
        best = e.hold(text)
    return best


def _choose(e: _Emitter, node: ir.Logic) -> str:
    """Both values are computed, and one is chosen without a jump, where ints take so few steps for them.

    What such steps find wrong counts only for the value that is chosen.
    """
    test, *choices = node.operands
    asked = e.value(test)
    made = [e.apart(choice) for choice in choices]
    if all(isinstance(c, ir.Const | ir.Var) for c in choices) or all(map(is_quick, choices, made)):
        asked = e.hold(asked) if any(m.lines for m in made) else asked
        for part, counts in zip(made, (("{0}", "0"), ("0", "{0}")), strict=True):
            for line in part.lines:
                word = line.removeprefix("bad |= ")
                chosen = f"bad |= select({asked}, {', '.join(counts)})"
                e.line(line if word is line else chosen.format(word))
        return f"select({asked}, {made[0].text}, {made[1].text})"
    result = e.name()
    for head, part in ((f"if {asked}:", made[0]), ("else:", made[1])):
        e.line(head)
        e.lines += [f"    {'    ' * e.indent}{line}" for line in part.lines]
        e.line(f"    {result} = {part.text}")
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
    ir.Fold: fold,
}


# -- statements
def _assign(e: _Emitter, node: ir.Assign) -> None:
    e.target = node.variable
    if node.variable.type in COMPLEX:
        assign_pair(e, node.variable, node.value, keeps=id(node) in e.unread)
        return
    text = e.value(node.value)
    e.line(f"{node.variable.name} = {text}")
    e.checked.forget([node.variable.name])
    if id(node) in e.unread:
        e.line(f"keep({node.variable.name})" if node.variable.type in FLOATS else f"keep(np.float64({text}))")


def _store(e: _Emitter, node: ir.Store) -> None:
    e.target = node
    if e.arrays[node.array].dtype == "complex128":
        store_pair(e, node)
        return
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
    ends = tuple(e.hold(e.value(each)) for each in (node.start, node.stop, node.step))
    step = ends[2]
    if node.variable.name not in e.ranges.counters:
        e.leave_if_bad()
    if not isinstance(node.step, ir.Const) or not node.step.value:
        e.leave(f"{step} == 0", Status.VALUE_ERROR)
    if e.may_spread(node) and spread_loop(e, node, ends):
        return
    with e.on_line(node.line):
        _rounds(e, node, ends)


def _rounds(e: _Emitter, node: ir.For, ends: tuple[str, ...]) -> None:
    start, stop, step = ends
    if not is_innermost(node):
        e.line(f"for {node.variable.name} in range({start}, {stop}, {step}):")
        if not counts(node.body):
            e.line("    poll(1)")
        e.block(node.body)
        return
    proof = None if e.is_rare and is_short(node) else e.proof_of(node, ends)
    if proof is None:
        e.innermost(node, ends, is_up=False)
        return
    for text in proof.lines:
        e.line(text)
    for head, holds in ((f"if {proof.name}:", True), ("else:", False)):
        e.line(head)
        e.indent += 1
        place = e.proofs if holds else e.refuted
        place.append(proof)
        around, e.is_rare = e.is_rare, e.is_rare or not holds
        e.innermost(node, ends, is_up=holds)
        e.is_rare = around
        place.pop()
        e.indent -= 1


def _while(e: _Emitter, node: ir.While) -> None:
    if node.orelse:
        raise Unsupported("region", "else after a loop")
    with e.on_line(node.line), e.checked.block(_assigned(node.body)):
        e.line("while True:")
        e.indent += 1
        e.line("poll(1, bad)")
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
