"""Takes a schedule, gives the host program: Python text that allocates, launches kernels and calls NumPy.

Everything static is decided while the text is written: shapes of known sizes are constants, launchers are bound to
their forms, names that are dead are dropped.
"""

from __future__ import annotations

import linecache
import operator
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Any

import numpy as np

from jitmagic.backends.base import Bail
from jitmagic.backends.loops.bodies import Built
from jitmagic.backends.loops.buffers import last_reads
from jitmagic.backends.loops.inputs_in_place import InPlace
from jitmagic.backends.loops.ir import Fold, Kernel, Strided
from jitmagic.backends.loops.nest import make_nest
from jitmagic.backends.loops.operands import dense_axes
from jitmagic.backends.loops.recipes import ALL_FLAGS
from jitmagic.backends.loops.scans import SHAPES as SCANS
from jitmagic.backends.loops.schedule import Call, Launch, Schedule, Step
from jitmagic.backends.loops.updates import (
    is_index_update,
    is_plain_update,
    loop_of,
    loops_in_place,
    outputs_in_place,
    updates_in_place,
    writes_of,
)
from jitmagic.backends.native.compile import Kernel as Native
from jitmagic.backends.native.compile import compile_kernel
from jitmagic.backends.native.inner_loop import inner_loop
from jitmagic.backends.native.launch import make_launcher
from jitmagic.backends.numba_cpu.chains import Chain, chained, rows_of
from jitmagic.backends.numba_cpu.committing import put_back, write_copies, write_in_place
from jitmagic.backends.numba_cpu.conditions import listened, quiet
from jitmagic.backends.numba_cpu.folds import combine_source
from jitmagic.backends.numba_cpu.joining import join_of, write_join
from jitmagic.backends.numba_cpu.owning import claimed, owned
from jitmagic.backends.numba_cpu.picking import fixed_ranges, picked_of, write_picked
from jitmagic.backends.numba_cpu.questions import heard_form, is_unheard, lines_of, may_warn, step_node, unheard_form
from jitmagic.backends.numba_cpu.retaining import retained
from jitmagic.backends.numba_cpu.scratch import Kind, Scratch
from jitmagic.backends.numba_cpu.scratch_lines import with_memory
from jitmagic.backends.numba_cpu.sizes import packed_strides, polynomial_text, product
from jitmagic.backends.numba_cpu.spelling import spelled, spelled_part
from jitmagic.backends.numba_cpu.spoken import may_speak
from jitmagic.backends.numba_cpu.work import SCAN_COST, beside_products, calls_products, cost_of, parts
from jitmagic.graph import ArrayMeta, Node, SymInt
from jitmagic.ops.functional import copy_layout
from jitmagic.ops.orders import inner_first
from jitmagic.ops.quiet import outspoken

__all__ = ["Host", "write_host"]

_numbers = count()
NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Host:
    """``run(*inputs) -> outputs`` and its text."""

    run: Callable[..., list[Any]]
    source: str


@dataclass(slots=True)
class Writer:
    """The host text under construction; ``scope`` holds what it refers to."""

    plan: Schedule
    natives: dict[str, Native]
    lines: list[str] = field(default_factory=list)
    scope: dict[str, Any] = field(default_factory=dict)
    names: dict[Node, str] = field(default_factory=dict)
    bound: dict[int, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    fresh: list[tuple[int, Node]] = field(default_factory=list)  # lines that may make an array, and of which node
    shown: set[Node] = field(default_factory=set)  # whose memory outputs show
    in_place: set[Node] = field(default_factory=set)
    claimed: set[Node] = field(default_factory=set)  # made by NumPy, and written into later
    loops: dict[Node, frozenset[int]] = field(default_factory=dict)
    outputs: dict[Node, Node] = field(default_factory=dict)  # ufuncs, and the operand that their result replaces
    written: dict[Node, list[str]] = field(default_factory=dict)  # by a loop, in the order of its items
    chains: Mapping[int, Chain] = field(default_factory=dict)
    targets: Mapping[Node, Node] = field(default_factory=dict)  # values that are computed where an update wants them
    has_products: bool = False
    copies: Sequence[Node] = ()
    old: Mapping[int, Mapping[str, InPlace]] = field(default_factory=dict)  # what kernels keep of inputs they change
    saved: list[Kind] = field(default_factory=list)  # arrays that what was there is kept in

    # ------------------------------------------------------------ names and values

    def constant(self, value: Any, prefix: str) -> str:
        """A name for an object in the scope of the program."""
        key = id(value)
        if key not in self.bound:
            name = self.bound[key] = f"{prefix}{self.counts[prefix]}"
            self.counts[prefix] += 1
            self.scope[name] = value
        return self.bound[key]

    def size(self, value: Any) -> str:
        return polynomial_text(value.poly) if isinstance(value, SymInt) else str(value)

    def shape(self, sizes: tuple[Any, ...]) -> str:
        return f"({', '.join(map(self.size, sizes))}{',' if len(sizes) == 1 else ''})"

    def text(self, value: Any) -> str:
        """An argument of an extern call as an expression."""
        if isinstance(value, Node):
            return self.names[value]
        if isinstance(value, SymInt):
            return self.size(value)
        if isinstance(value, slice):
            return f"slice({', '.join(self.text(v) for v in (value.start, value.stop, value.step))})"
        if type(value) is tuple:
            return f"({', '.join(map(self.text, value))}{',' if len(value) == 1 else ''})"
        if type(value) is list:
            return f"[{', '.join(map(self.text, value))}]"
        if type(value) is dict:
            return "{" + ", ".join(f"{k!r}: {self.text(v)}" for k, v in value.items()) + "}"
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return f"{self.constant(type(value), 'f')}({', '.join(map(self.text, value))})"
        if value is None or value is Ellipsis or type(value) in (bool, int, str):
            return repr(value)
        return self.constant(value, "c")

    def subscript(self, value: Any) -> str:
        """What stands between the brackets of ``x[value]``."""
        if isinstance(value, slice):
            parts = ["" if part is None else self.text(part) for part in (value.start, value.stop, value.step)]
            return ":".join(parts[: 2 if value.step is None else 3])
        if type(value) is tuple and value:
            is_sliced = len(value) > 1 and value[-1] is Ellipsis and all(isinstance(v, slice) for v in value[:-1])
            items = value[:-1] if is_sliced else value  # an Ellipsis at the end says nothing then
            return ", ".join(map(self.subscript, items)) + ("," if len(items) == 1 and not is_sliced else "")
        return self.text(value)

    def is_shown(self, node: Node) -> bool:
        """Whether a caller gets the node, or an array that shows the same memory."""
        return node.storage in self.shown

    # ------------------------------------------------------------ steps

    def write(self) -> str:
        graph = self.plan.graph
        for k, node in enumerate(graph.inputs):
            self.names[node] = f"a{k}"
        self.lines.append(f"def run({', '.join(self.names[n] for n in graph.inputs)}):")
        for node in graph.nodes:
            if node.kind == "constant":
                self.names[node] = self.constant(node.value, "c")
        ranges = fixed_ranges(self.plan)
        self.names |= {node: self.constant(np.arange(*node.args), "range") for node in ranges}
        for node in graph.inputs:
            self.bind_sizes(node)
        self.shown = {node.storage for node in self.plan.results}
        dies = last_reads(self.plan)
        self.in_place = updates_in_place(self.plan)
        self.outputs = outputs_in_place(self.plan)
        self.loops = loops_in_place(self.plan)
        for k, step in enumerate(self.plan.steps):
            if id(step) in self.old or step_node(step) in ranges:
                continue
            (self.call if isinstance(step, Call) else self.launch)(step)  # type: ignore[arg-type]  # matched by kind
            kept = self.kept(step)
            dying = [n for n in dies.get(k, ()) if n not in ranges]
            dead = [self.names[n] for n in dying if self.names.get(n) not in kept or n is step_node(step)]
            if dead:
                self.lines.append(f"    del {', '.join(dead)}")
        write_in_place(self, [step for step in self.plan.launches if id(step) in self.old])
        write_copies(self, self.copies)
        results = self.plan.results
        self.lines.append(f"    return [{', '.join(self.names[n] for n in results)}]")
        lines, kinds = with_memory(self, retained(self.plan, self.fresh, self.names))
        self.scope |= {"spaces": [], "Scratch": Scratch, "kinds": kinds, "saved": self.saved}
        return "\n".join(lines) + "\n"

    def kept(self, step: Step) -> set[str | None]:
        """Names whose array lives on under the same name after the step."""
        node = step_node(step)
        if isinstance(step, Launch):
            return {None, *(self.names[step.built.outputs[name]] for name in step.built.kernel.over)}
        if node is None:
            return {None}
        owner = node.args[0] if node.kind == "item" else node
        written = [self.names[owner.args[p]] for p in self.loops.get(owner, ())]
        return {None, self.names[node], *written}

    def bind_sizes(self, node: Node) -> None:
        for binding in self.plan.graph.bindings:
            if binding.node is node:
                name = self.names[node]
                value = f"int({name})" if binding.axis is None else f"{name}.shape[{binding.axis}]"
                self.lines.append(f"    {binding.symbol} = {value}")

    def call(self, step: Call) -> None:
        node = step.node
        if is_plain_update(node) or (is_index_update(node) and node in self.in_place):
            self.update(node)
            return
        if node in self.loops:
            self.loop(node)
            return
        if node.kind == "item" and node.args[0] in self.loops:
            self.take(node)
            return
        if node in self.targets:
            operands = ", ".join(self.text(a) for a in node.args)
            assert node.op is not None
            target = self.target(node)
            self.lines.append(f"    {self.constant(node.op.call, 'f')}({operands}, {target})")
            return
        if node in self.outputs:
            self.write_over(node)
            return
        name = self.names[node] = f"t{len(self.names)}"
        self.fresh.append((len(self.lines), node))
        join = join_of(node)
        if join is not None:
            write_join(self, join, node)
            return
        picked = picked_of(node)
        if picked is not None:
            write_picked(self, picked, node)
            return
        claim = f"; {name} = owned({name})" if node in self.claimed else ""
        self.lines.append(f"    {name} = {self.call_text(node)}{claim}")
        self.bind_sizes(node)

    def target(self, value: Node) -> str:
        """A name for the part of an array that a value is computed into."""
        update = self.targets[value]
        base, _, path = update.args
        if update not in self.in_place:
            self.copy_base(update)
            base = update
        name = self.names[value] = f"t{len(self.names)}"
        self.lines.append(f"    {name} = {self.names[base]}[{self.subscript(path[0].args[0])}]")
        return name

    def write_over(self, node: Node) -> None:
        """Put the result where an operand was that nobody reads again."""
        assert node.op is not None
        name = self.names[node] = self.names[self.outputs[node]]
        self.lines.append(f"    {self.constant(node.op.call, 'f')}({', '.join(map(self.text, node.args))}, out={name})")

    def loop(self, node: Node) -> None:
        """Run a loop; what it writes are copies, or arrays that nobody reads again."""
        call = loop_of(node)
        assert call is not None
        texts = [self.text(a) for a in node.args]
        for position in writes_of(node):
            if position not in self.loops[node]:
                source, texts[position] = texts[position], f"t{len(self.names)}w{position}"
                self.lines.append(f"    {texts[position]} = copy_layout({source})")
        self.written[node] = [texts[p] for p in writes_of(node)]
        name = self.names[node] = f"t{len(self.names)}"
        function = self.constant(call.function, "f")
        self.lines.append(f"    {name} = {function}({', '.join(texts)})")

    def take(self, item: Node) -> None:
        """Name an item of a loop: an array that it wrote, or one of its results."""
        owner = item.args[0]
        written = self.written[owner]
        if item.index < len(written):
            self.names[item] = written[item.index]
        else:
            name = self.names[item] = f"t{len(self.names)}"
            self.lines.append(f"    {name} = {self.names[owner]}[{item.index - len(written)}]")

    def update(self, node: Node) -> None:
        """Write into the base where it is free, else into a copy that is laid out like it."""
        base, value, path, *index = node.args
        if isinstance(value, Node) and self.targets.get(value) is node:
            self.names.setdefault(node, self.names[base])
            return
        if node in self.in_place:
            self.names[node] = self.names[base]
        else:
            self.copy_base(node)
        name = self.names[node]
        picked = [f"[{self.subscript(i)}]" for i in index]
        self.lines.append(f"    {name}{spelled_part(self, path, picked)} = {self.text(value)}")

    def copy_base(self, node: Node) -> None:
        """Name the new array of an update, laid out like the old one."""
        base = node.args[0]
        source = self.names[base]
        assert isinstance(base.meta, ArrayMeta)
        name = self.names[node] = f"t{len(self.names)}"
        # a dense array's own copy is what copy_layout makes of it, but for the strides of axes of size 0 and 1
        is_known = not {0, 1} & {*base.meta.hint_shape} and not base.meta.is_counted
        is_simple = is_known and dense_axes(base.meta) is not None
        copied = f"{source}.copy('K')" if is_simple else f"copy_layout({source})"
        self.fresh.append((len(self.lines), node))
        self.lines.append(f"    {name} = {copied}")

    def call_text(self, node: Node) -> str:
        if node.kind == "item":
            return f"{self.names[node.args[0]]}[{node.index}]"
        assert node.op is not None
        if node.op.call is operator.getitem and not node.kwargs:
            return f"{self.text(node.args[0])}[{self.subscript(node.args[1])}]"
        text = spelled(self, node)
        if text is not None:
            return text
        function = self.constant(unheard_form(node) if is_unheard(node) else heard_form(node), "f")
        parts = [self.text(a) for a in node.args] + [f"{k}={self.text(v)}" for k, v in node.kwargs.items()]
        return f"{function}({', '.join(parts)})"

    def launch(self, step: Launch) -> None:
        chain = self.chains.get(id(step))
        if chain is not None:
            self.launch_chain(chain, step)
            return
        built = step.built
        kernel = built.kernel
        arguments = self.arguments(built)
        self.run_built(step, arguments)
        if kernel.shape == "R":
            for fold in (s for s in kernel.body if isinstance(s, Fold)):
                self.combine(fold, self.names[built.outputs[fold.access.operand]], product(list(built.sizes)))

    def run_built(self, step: Launch, arguments: str, undo: str = "") -> None:
        """Launch a kernel whose operands are there; ``undo`` is a statement for the case that it met something."""
        built, kernel = step.built, step.built.kernel
        self.scope[kernel.name] = self.natives[kernel.name].address
        extents = self.extents(built, self.parts(built))
        self.run_kernel(kernel.form, kernel.name, f"{extents}, {arguments}", kernel.flags, lines_of(step.nodes), undo)

    def launch_chain(self, chain: Chain, step: Launch) -> None:
        """All of a chain in the place of its first; the others only give names to what it has made."""
        if step is not chain.launches[0]:
            return
        name = step.built.kernel.name
        arguments = ", ".join([self.arguments(launch.built) for launch in chain.launches])
        self.scope[name] = self.natives[name].address
        work: Any = 0
        for launch in chain.launches:
            kernel, sizes = launch.built.kernel, launch.built.sizes
            row = rows_of(launch.built)
            assert row is not None
            rest = [n for axis, n in enumerate(sizes) if axis != row.axis]
            work = (sum(map(cost_of, kernel.body)) + 1) * product(rest) + work
        extents = f"{self.size(chain.rows)}, {self.size(self.told(work))}"
        self.run_kernel(chain.form, name, f"{extents}, {arguments}", chain.flags, lines_of(chain.nodes))

    def arguments(self, built: Built, kept: Mapping[str, str] = NOTHING) -> str:
        """Allocate the results of a kernel; gives the operands of its launch. ``kept`` names those for old values."""
        kernel = built.kernel
        values: dict[str, str] = {name: self.names[node] for name, node in built.inputs.items()} | dict(kept)
        parts = self.parts(built)
        for name, node in built.outputs.items():
            if node in self.targets:
                values[name] = self.target(node)
                continue
            if name in kernel.over:
                values[name] = self.names[node] = values[kernel.over[name]]
                continue
            values[name] = self.names[node] = f"t{len(self.names)}"
            partial = kernel.shape == "R" and self.is_fold(kernel, name)
            self.fresh += [] if partial else [(len(self.lines), node)]
            self.lines.append(f"    {values[name]} = {self.partial(node, parts) if partial else self.allocation(node)}")
        for operand in kernel.operands:
            if operand.kind == "loop":
                values[operand.name] = self.loop_address(kernel, operand.name)
            elif operand.kind == "size":
                values[operand.name] = self.size(built.sizes[int(operand.name[1:])])
            elif operand.kind == "scalar" and operand.dtype == np.bool_:
                values[operand.name] = f"int({values[operand.name]})"
        return ", ".join(values[o.name] for o in kernel.operands)

    def run_kernel(self, form: str, name: str, arguments: str, flags: int, comment: str, undo: str = "") -> None:
        launcher = self.constant(make_launcher(form), "launch")
        self.lines.append(f"    r = {launcher}({name}, 0, {arguments})  # {comment}")
        self.lines.append(f"    if r and listened(r, {flags}): {undo}{'; ' if undo else ''}raise Bail")

    def is_fold(self, kernel: Kernel, name: str) -> bool:
        return any(isinstance(s, Fold) and s.access.operand == name for s in kernel.body)

    def parts(self, built: Built) -> str:
        """Into how many parts the sum of a whole array is cut."""
        total = product(list(built.sizes))
        return f"parts({self.size(total)})" if isinstance(total, SymInt) else str(parts(total))

    def partial(self, node: Node, parts: str) -> str:
        assert isinstance(node.meta, ArrayMeta)
        return f"empty({parts}, {self.constant(node.meta.dtype, 'd')})"

    def combine(self, fold: Fold, name: str, total: Any) -> None:
        """Add up the parts; the result is a NumPy scalar."""
        dtype = fold.value.dtype
        kernel = compile_kernel(combine_source(fold.kind, dtype), "kernel")
        name_of_kernel = f"combine_{fold.kind}_{dtype}"
        self.scope[name_of_kernel] = kernel.address
        divisor = self.size(total) if fold.kind == "mean" else "0"
        self.run_kernel("a1i", name_of_kernel, f"1, 0, {name}, {divisor}", ALL_FLAGS, fold.kind)
        self.lines.append(f"    {name} = {name}[0]")

    def is_plain(self, meta: Any) -> bool:
        """Whether an array is dense in C order, and every axis tells its stride."""
        is_known = isinstance(meta, ArrayMeta) and not meta.scalar and not {0, 1} & {*meta.hint_shape}
        return is_known and not meta.is_counted and dense_axes(meta) == tuple(range(meta.ndim))[::-1]

    def allocation(self, node: Node, function: str = "empty") -> str:
        """A new array in NumPy's memory order."""
        meta = node.meta
        assert isinstance(meta, ArrayMeta)
        shape, dtype = self.shape(meta.shape), self.constant(meta.dtype, "d")
        axes = inner_first(meta.hint_shape, meta.strides)
        is_packed = ArrayMeta.packed(meta.dtype, meta.shape, axes).strides == meta.strides
        if is_packed and axes == tuple(range(meta.ndim))[::-1]:
            return f"{function}({shape}, {dtype})"
        if is_packed and axes == tuple(range(meta.ndim)):
            return f"empty({shape}, {dtype}, 'F')"
        strides = self.shape(packed_strides(meta, axes) if is_packed else meta.strides)
        return f"ndarray({shape}, {dtype}, None, 0, {strides})"  # it owns its data, which a transposed view does not

    def loop_address(self, kernel: Kernel, name: str) -> str:
        """The three addresses of an inner loop, in memory that the program keeps."""
        statement = next(s for s in kernel.body if isinstance(s, Strided) and s.loop == name)
        ufunc = kernel.operand(name).ufunc
        assert ufunc is not None
        dtypes = (*(a.dtype for a in statement.arguments), statement.out.dtype)
        loop = inner_loop(ufunc, dtypes)
        table = np.array([loop.function, int(loop.context), loop.auxdata], np.int64)
        self.scope.setdefault("kept", []).append((loop, table))
        return self.constant(int(table.ctypes.data), "f_address")

    def extents(self, built: Built, parts: str) -> str:
        """``hi, work``: how many turns the outermost loop makes, and the units of work in one."""
        kernel = built.kernel
        cost = sum(map(cost_of, kernel.body)) + 1
        levels = [product([built.sizes[a] for a in level]) for level in make_nest(kernel).levels]
        if kernel.shape == "R":
            return f"{parts}, {self.size(cost * levels[0])} // {parts}"
        if kernel.shape in SCANS:
            others = product([n for axis, n in enumerate(built.sizes) if axis not in kernel.reduced])
            return f"{self.size(others)}, {self.size(SCAN_COST * built.sizes[kernel.reduced[0]])}"
        if kernel.shape == "RK":
            levels.reverse()
            cost = -cost  # every row adds to all columns: threads that shared a cache line would wait for each other
        units: Any = 0 if kernel.serial else cost * product(levels[1:])
        return f"{self.size(levels[0])}, {self.size(self.told(units))}"

    def told(self, units: Any) -> Any:
        """The work of one turn as the launcher is told it."""
        return beside_products(units) if self.has_products else units


def write_host(
    plan: Schedule,
    natives: dict[str, Native],
    together: Sequence[Chain],
    direct: Mapping[Node, Node],
    copies: Sequence[Node] = (),
    old: Mapping[int, Mapping[str, InPlace]] = NOTHING,
) -> Host:
    """Write, compile and bind the host program.

    ``together`` are the launches that share a kernel, ``direct`` the values that are computed where updates want them,
    ``copies`` the ``copy_into`` nodes that follow when all has been computed, ``old`` what each kernel that changes
    inputs keeps of them.
    """
    writer = Writer(plan, natives, chains=chained(together), targets=direct, has_products=calls_products(plan.steps))
    writer.copies, writer.old, writer.claimed = copies, old, claimed(plan)
    writer.scope |= {
        **{name: getattr(np, name) for name in ("empty", "zeros", "ndarray")},
        "Bail": Bail,
        "listened": listened,
        "put_back": put_back,
        "parts": parts,
        "copy_layout": copy_layout,
        "owned": owned,
        "kept": list(natives.values()),
    }
    source = writer.write()
    filename = f"<jitmagic program {next(_numbers)}>"
    exec(compile(source, filename, "exec"), writer.scope)
    run = writer.scope["run"]
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    weakref.finalize(run, linecache.cache.pop, filename, None).atexit = False
    outside = [node for node in map(step_node, filter(may_warn, plan.steps)) if node is not None]
    if any(map(may_speak, outside)):
        run = outspoken(run)
    return Host(quiet(run) if outside else run, source)
