"""Takes a graph that ends in copies into its inputs, gives it without them, and the last lines of its host program.

    try:
        r = launch(k3, 0, 5000, 3, a3, t0, a3, o0)            # in place; o0 is what was there
        if r and listened(r, 15): changed = 0 if r & 255 else 1; raise Bail
    except Bail:
        put_back(((a3, o0), )[:changed])
        raise
    r = launch(copies, 0, 1, 6144, table, a0, t1, a1, t2)     # dense arrays of known sizes, all at once
    a2[1:] = t3                                               # others

Nothing but a kernel that runs in place can stop the program from the first of these lines on, and that leaves all
inputs as they were.
NumPy takes 0.3 us to begin a copy, which is longer than a copy of the bias of a layer takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jitmagic.backends.loops.operands import dense_axes
from jitmagic.backends.loops.schedule import Launch
from jitmagic.backends.loops.updates import is_plain_path
from jitmagic.backends.native.compile import compile_kernel
from jitmagic.backends.numba_cpu.scratch_lines import kind_of
from jitmagic.backends.numba_cpu.spelling import spelled_part
from jitmagic.graph import ArrayMeta, Graph, Node
from jitmagic.graph.node import nodes_in
from jitmagic.ops.functional import COPY_INTO

__all__ = ["copies_texts", "put_back", "without_copies", "write_copies", "write_in_place"]

MOST_BYTES = 1 << 20  # of an array; NumPy copies larger ones as fast, and lets go of the GIL
MOST_WORDS = 900  # of a block of arguments
MOST_BYTES_SAVED = 32 << 20  # that a program keeps for old values
STATUS = 0xFF  # of the result of a launch; a kernel whose status is not 0 has written nothing
STEP = 64  # bytes that are copied at a time


def without_copies(graph: Graph) -> tuple[Graph, list[Node]]:
    """The graph whose outputs are also the values that are copied, and the copies, in their order."""
    copies = [node for node in graph.nodes if node.op is COPY_INTO]
    if not copies:
        return graph, copies
    read = dict.fromkeys(n for copy in copies for n in nodes_in(copy.args[1:]))
    kept = [node for node in graph.nodes if node.op is not COPY_INTO]
    return replace(graph, nodes=kept, outputs=[*graph.outputs, *(n for n in read if n not in graph.outputs)]), copies


def copies_texts(copies: Sequence[Node]) -> list[str]:
    """The text of the kernel, if these copies want it."""
    return [_TEXT] if any(_bytes_of(copy) is not None for copy in copies) else []


def write_in_place(writer: Any, steps: Sequence[Launch]) -> None:
    """Append the launches that change inputs, and before them all that could fail."""
    ready, pairs = [], list[str]()
    for step in steps:
        places = writer.old[id(step)]
        kept = {name: _place_for_old(writer, place.target) for name, place in places.items()}
        arguments = writer.arguments(step.built, kept)
        before = len(pairs)
        pairs += [f"({writer.names[place.target]}, {kept[name]}), " for name, place in places.items()]
        ready.append((step, arguments, f"changed = {before} if r & {STATUS} else {len(pairs)}"))
    start = len(writer.lines)
    for step, arguments, note in ready:
        writer.run_built(step, arguments, note if pairs else "")
    if pairs:
        writer.lines[start:] = ["    try:", *(f"    {line}" for line in writer.lines[start:])]
        writer.lines += ["    except Bail:", f"        put_back(({''.join(pairs)})[:changed])", "        raise"]


def put_back(pairs: Sequence[tuple[Any, Any]]) -> None:
    """Make changed inputs, the first of each pair, what they were."""
    for target, old in pairs:
        target[...] = old


def _place_for_old(writer: Any, target: Node) -> str:
    """A name for an array like the input, from the memory that the program keeps if its size is known."""
    meta = target.meta
    assert isinstance(meta, ArrayMeta)
    kind = kind_of(meta)
    if kind is None or sum(each.nbytes for each in writer.saved) + kind.nbytes > MOST_BYTES_SAVED:
        name = f"o{target.name}"
        writer.lines.append(f"    {name} = {writer.allocation(target)}")
        return name
    writer.saved.append(kind)
    return f"o{len(writer.saved) - 1}"


def write_copies(writer: Any, copies: Sequence[Node]) -> None:
    """Append the lines to a host program."""
    copies = [copy for copy in copies if writer.text(copy.args[0]) != writer.text(copy.args[1])]  # others are in place
    for copy in copies:
        if _bytes_of(copy) is None:
            writer.lines.append(f"    {_assignment(writer, copy)}")
    for part in _parts([copy for copy in copies if _bytes_of(copy) is not None]):
        _launch(writer, part)


def _launch(writer: Any, copies: Sequence[Node]) -> None:
    table, form, place, names = [len(copies)], "i", 1, []
    for copy in copies:
        target, value = copy.args[:2]
        width = _words(target)
        table += [8 * place, 8 * (place + width), _bytes_of(copy) or 0]
        form += f"a{target.meta.ndim}" * 2
        place += 2 * width
        names += [writer.names[target], writer.names[value]]
    kept = np.array(table, np.int64)
    writer.scope.setdefault("kept", []).append(kept)
    kernel = writer.constant(compile_kernel(_TEXT, "kernel").address, "copies")
    address = writer.constant(int(kept.ctypes.data), "table")
    work = sum(table[3::3]) // 8
    writer.run_kernel(form, kernel, f"1, {work}, {address}, {', '.join(names)}", 0, "copies into arguments")


def _parts(copies: Iterable[Node]) -> Iterator[list[Node]]:
    """As many copies at a time as a block of arguments holds."""
    part, words = list[Node](), 1
    for copy in copies:
        width = 2 * _words(copy.args[0])
        if part and words + width > MOST_WORDS:
            yield part
            part, words = list[Node](), 1
        part.append(copy)
        words += width
    if part:
        yield part


def _words(target: Node) -> int:
    assert isinstance(target.meta, ArrayMeta)
    return 1 + 2 * target.meta.ndim


def _bytes_of(copy: Node) -> int | None:
    """How many bytes follow each other alike in both arrays; None where that is not known, or where it is too much."""
    target, value, path = (*copy.args, ())[:3]
    if path or not isinstance(value, Node) or value.storage.kind in ("input", "constant"):
        return None
    a, b = target.meta, value.meta
    if not isinstance(a, ArrayMeta) or not isinstance(b, ArrayMeta) or b.scalar or b.is_counted or not a.contiguous:
        return None
    if a.dtype != b.dtype or a.dtype.hasobject or any(type(n) is not int for n in (*a.shape, *b.shape)):
        return None
    size = math.prod(a.hint_shape) * a.dtype.itemsize
    is_alike = a.shape == b.shape and dense_axes(a) == dense_axes(b) is not None
    return size if is_alike and 0 < size <= MOST_BYTES else None


def _assignment(writer: Any, copy: Node) -> str:
    target, value, path = (*copy.args, ())[:3]
    if is_plain_path(path):
        return f"{writer.names[target]}{spelled_part(writer, path)} = {writer.text(value)}"
    return f"{writer.constant(COPY_INTO.call, 'f')}({', '.join(writer.text(a) for a in copy.args)})"


def _text() -> str:
    """A kernel that copies, by a table of three words for each copy: places of two arrays in the block, bytes."""
    words = [f"w{k}" for k in range(STEP // 8)]
    lines = [
        "def kernel(args, lo, hi):",
        "    table = arg(args, 0)",
        "    for k in range(load_int64(table, 0)):",
        "        to = load_int64(args, load_int64(table, k * 24 + 8))",
        "        source = load_int64(args, load_int64(table, k * 24 + 16))",
        "        end = load_int64(table, k * 24 + 24)",
        f"        whole = end - end % {STEP}",
        f"        for j in range(0, whole, {STEP}):",
        *(f"            {word} = load_int64(source, j + {8 * i})" for i, word in enumerate(words)),
        *(f"            store_int64(to, j + {8 * i}, {word})" for i, word in enumerate(words)),
        "        for j in range(whole, end - 7, 8):",
        "            store_int64(to, j, load_int64(source, j))",
        "        for j in range(end - end % 8, end):",
        "            store_uint8(to, j, load_uint8(source, j))",
        "    return OK",
    ]
    return "\n".join([*lines, ""])


_TEXT = _text()
