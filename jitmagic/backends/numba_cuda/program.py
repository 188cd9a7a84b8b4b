"""Takes a pure graph, gives a program that runs its loops on the GPU and everything else through NumPy.

Arrays are copied to the device when a kernel first reads them, and back when NumPy or the caller needs them. If an
input lies on the device, results that kernels made stay there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.backends.loops.ir import Fold
from jitmagic.backends.loops.ir import Kernel as LoopKernel
from jitmagic.backends.loops.operands import dense_axes
from jitmagic.backends.loops.schedule import Call, Launch, Schedule, schedule
from jitmagic.backends.numba_cuda.device import cuda, is_on_device, to_device
from jitmagic.backends.numba_cuda.emit import emit, on_device, parameters
from jitmagic.graph import ArrayMeta, Graph, Node, SymInt, map_nodes
from jitmagic.graph.polynomial import evaluate

__all__ = ["CudaKernel", "CudaProgram", "compile_graph", "ptx"]

THREADS = 128  # of a block
PARTIALS = 1 << 14  # threads of a fold over a whole array
COMBINE: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("sum", "mean"), np.add.reduce),
    "prod": np.multiply.reduce,
    "max": np.maximum.reduce,
    "min": np.minimum.reduce,
    "any": np.logical_or.reduce,
    "all": np.logical_and.reduce,
}


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """One kernel: its name, loop IR and text, and the nodes it computes."""

    name: str
    loops: LoopKernel
    source: str
    launch: Launch
    function: Callable[..., Any] = field(repr=False)
    compiled: Any = field(repr=False)  # compiles at its first launch


def compile_graph(graph: Graph, examples: Sequence[Any] | None = None) -> CudaProgram:
    """Fuse and emit; every operation that the device knows runs there, single ones too."""
    plan = schedule(graph, 1, on_device, scans=False)
    kernels = {step.built.kernel.name: _kernel(step) for step in plan.launches}
    return CudaProgram(plan, kernels)


def _kernel(step: Launch) -> CudaKernel:
    loops = step.built.kernel
    source = emit(loops)
    function = function_of(source)
    return CudaKernel(loops.name, loops, source, step, function, cuda().jit(function))


def function_of(source: str) -> Callable[..., Any]:
    """The Python function behind a text."""
    scope: dict[str, Any] = {"cuda": cuda(), "math": math, "np": np}
    exec(compile(source, "<jitmagic cuda kernel>", "exec"), scope)
    function: Callable[..., Any] = scope["kernel"]
    return function


def ptx(kernel: CudaKernel, capability: tuple[int, int] = (8, 0)) -> str:
    """The kernel in the assembly language of GPUs; needs a toolkit, but no GPU. Raises what Numba raises."""
    from numba.core import types

    signature: list[Any] = []
    for operand in kernel.loops.operands:
        if operand.kind in ("in", "out"):
            signature.append(types.Array(getattr(types, _numba_name(operand.dtype)), operand.ndim, "A"))
        elif operand.kind != "loop":
            signature.append({"i": types.int64, "u": types.uint64, "d": types.float64}[operand.letter])
    text, _ = cuda().compile_ptx(kernel.function, tuple(signature), cc=capability)
    return str(text)


def _numba_name(dtype: Any) -> str:
    return "boolean" if dtype.kind == "b" else str(dtype.name)


@dataclass(slots=True)
class CudaProgram:
    """``program(inputs) -> outputs``; for the report it tells the same as a program for the CPU."""

    plan: Schedule
    by_name: dict[str, CudaKernel]

    @property
    def kernels(self) -> tuple[CudaKernel, ...]:
        return tuple(self.by_name.values())

    @property
    def source(self) -> str:
        return "\n\n".join(k.source for k in self.kernels)

    @property
    def marks(self) -> dict[Node, str]:
        return self.plan.marks

    @property
    def extern_count(self) -> int:
        return sum(mark == "extern" for mark in self.plan.marks.values())

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        return _Run(self, any(map(is_on_device, inputs))).run(inputs)


@dataclass(slots=True)
class _Run:
    """One call: every value on the host, on the device, or on both."""

    program: CudaProgram
    stays: bool  # results remain on the device
    host: dict[Node, Any] = field(default_factory=dict)
    device: dict[Node, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def run(self, inputs: Sequence[Any]) -> list[Any]:
        graph = self.program.plan.graph
        for node, value in zip(graph.inputs, inputs, strict=True):
            self.put(node, value)
        for node in graph.nodes:
            if node.kind == "constant":
                self.put(node, node.value)
        for step in self.program.plan.steps:
            if isinstance(step, Call):
                self.put(step.node, self.called(step.node))
            else:
                self.launch(step)
        return [self.result(node) for node in graph.outputs]

    def put(self, node: Node, value: Any) -> None:
        (self.device if is_on_device(value) else self.host)[node] = value
        for binding in self.program.plan.graph.bindings:
            if binding.node is node:
                self.sizes[binding.symbol] = int(value) if binding.axis is None else value.shape[binding.axis]

    def on_host(self, node: Node) -> Any:
        if node not in self.host:
            self.host[node] = self.copied_back(node)
        return self.host[node]

    def copied_back(self, node: Node) -> Any:
        """In the memory order that NumPy would have given."""
        array = self.device[node]
        found = array.copy_to_host() if hasattr(array, "copy_to_host") else cuda().as_cuda_array(array).copy_to_host()
        laid_out = _empty(node.meta, found.shape)
        laid_out[...] = found
        return laid_out

    def on_device(self, node: Node) -> Any:
        if node not in self.device or not hasattr(self.device[node], "copy_to_host"):
            self.device[node] = to_device(self.device.get(node, self.host.get(node)))
        return self.device[node]

    def result(self, node: Node) -> Any:
        return self.device[node] if self.stays and node in self.device else self.on_host(node)

    def called(self, node: Node) -> Any:
        if node.kind == "item":
            return self.on_host(node.args[0])[node.index]
        assert node.op is not None
        return node.op.call(*map_nodes(node.args, self.resolved), **map_nodes(node.kwargs, self.resolved))

    def resolved(self, leaf: Any) -> Any:
        return self.on_host(leaf) if isinstance(leaf, Node) else self.size(leaf)

    def size(self, leaf: Any) -> Any:
        return evaluate(leaf.poly, self.sizes) if isinstance(leaf, SymInt) else leaf

    def launch(self, step: Launch) -> None:
        built, kernel = step.built, step.built.kernel
        sizes = [self.size(n) for n in built.sizes]
        total = math.prod(sizes)
        kept = math.prod(n for a, n in enumerate(sizes) if a not in kernel.reduced) if kernel.shape != "R" else total
        threads = -(-min(kept, PARTIALS) // THREADS) * THREADS if kernel.shape == "R" else kept
        values: dict[str, Any] = {f"n{axis}": n for axis, n in enumerate(sizes)}
        folds = {s.access.operand: s for s in kernel.body if isinstance(s, Fold)} if kernel.shape == "R" else {}
        for name, node in built.inputs.items():
            is_array = isinstance(node.meta, ArrayMeta) and not node.meta.scalar
            values[name] = self.on_device(node) if is_array else _word(self.on_host(node), kernel, name)
        for name, node in built.outputs.items():
            assert isinstance(node.meta, ArrayMeta)
            if name in folds:
                values[name] = cuda().device_array(threads, node.meta.dtype)
            else:
                values[name] = self.allocated(node)
        if threads:
            self.start(step, [values[n] for n in parameters(kernel)], threads)
        for name, node in built.outputs.items():
            if name in folds:
                self.put(node, self.combined(folds[name], values[name].copy_to_host()[:total], total))
            else:
                self.device[node] = values[name]

    def start(self, step: Launch, arguments: list[Any], threads: int) -> None:
        kernel = self.program.by_name[step.built.kernel.name]
        kernel.compiled[-(-threads // THREADS), THREADS](*arguments)

    def allocated(self, node: Node) -> Any:
        meta = node.meta
        assert isinstance(meta, ArrayMeta)
        shape = tuple(self.size(n) for n in meta.shape)
        axes = dense_axes(meta)
        order = "F" if axes is not None and meta.ndim > 1 and axes == tuple(sorted(axes)) else "C"
        return cuda().device_array(shape, meta.dtype, order=order)

    def combined(self, fold: Fold, partial: Any, total: int) -> Any:
        """The partial results, without those of threads that had no element."""
        dtype = fold.value.dtype
        found = COMBINE[fold.kind](partial)
        return np.array(found / total if fold.kind == "mean" else found, dtype)[()]


def _word(value: Any, kernel: LoopKernel, name: str) -> Any:
    """A scalar as the kernel's signature has it."""
    kinds: dict[str, Any] = {"i": np.int64, "u": np.uint64, "d": np.float64}
    return kinds[kernel.operand(name).letter](value)


def _empty(meta: Any, shape: tuple[int, ...]) -> Any:
    """An array with the axes in the order that ``meta`` has them in memory."""
    axes = dense_axes(meta) if isinstance(meta, ArrayMeta) else None
    if axes is None or len(shape) < 2:
        return np.empty(shape, meta.dtype)
    order = [*(a for a in range(len(shape)) if a not in axes), *axes[::-1]]
    packed = np.empty(tuple(shape[a] for a in order), meta.dtype)
    return packed.transpose([order.index(a) for a in range(len(shape))])
