"""Takes the lines of a host program, gives them with large temporary arrays taken from memory that the program keeps.

t1 = empty((20000,), d0)    =>    t1 = scratch.take(0)
t2 = zeros((20000,), d0)    =>    t2 = scratch.take(0); t2.fill(0)
t3 = t1.copy('K')           =>    t3 = scratch.take(0); t3[...] = t1
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jitmagic.backends.loops.operands import dense_axes
from jitmagic.backends.numba_cpu.scratch import IS_ENABLED, LEAST_BYTES, Kind
from jitmagic.backends.numba_cpu.small_arrays import names_that_stay, without_small
from jitmagic.graph import ArrayMeta, Node

__all__ = ["kind_of", "large_kind", "with_memory", "with_scratch"]

# (asking first whether there is one would let another thread take it in between)
BORROW = (
    "    try:",
    "        scratch = spaces.pop()",
    "    except IndexError:",
    "        scratch = Scratch(kinds, saved)",
)
MAKES = re.compile(r"    (\w+) = (?:(empty|zeros)\(.*\)|(\w+)\.copy\('K'\))")


def with_memory(writer: Any, fresh: Sequence[tuple[int, Node]]) -> tuple[list[str], list[Kind]]:
    """The lines of a host program with the memory that it keeps from run to run, and the kinds of its scratch.

    ``fresh`` are the places of lines that make an array which the program hands to nobody, with its node.
    """
    lines, names = writer.lines, [f"o{k}" for k in range(len(writer.saved))]
    if writer.has_products:  # a program of kernels alone runs natively, and allocates in no time
        stay = names_that_stay(writer.plan, writer.names)
        lines, fresh, small = without_small(lines, fresh, writer.names, stay, writer.saved)
        names += small
    if names:
        lines = [lines[0], f"    ({', '.join(names)}, ) = scratch.saved", *lines[1:]]
    lines, kinds = with_scratch(lines, [(k + bool(names), n) for k, n in fresh], borrowed=bool(names))
    return [line for line in lines if line], kinds


def with_scratch(
    lines: Sequence[str], fresh: Sequence[tuple[int, Node]], *, borrowed: bool = False
) -> tuple[list[str], list[Kind]]:
    """``fresh`` are the places of lines that make an array which the program hands to nobody, with its node.

    ``borrowed``: the lines use the scratch already.
    """
    found, kinds = list(lines), dict[Kind, int]()
    for place, node in fresh:
        kind = large_kind(node)
        line = MAKES.fullmatch(found[place])
        if kind is None or line is None:
            continue
        name, function, source = line.groups()
        text = f"    {name} = scratch.take({kinds.setdefault(kind, len(kinds))})"
        if function == "zeros":
            text += f"; {name}.fill(0)"
        elif source is not None:
            text += f"; {name}[...] = {source}"
        found[place] = text
    if kinds or borrowed:
        found[1:1] = BORROW
        found.insert(len(found) - 1, "    spaces.append(scratch)")
    return found, list(kinds)


def large_kind(node: Node) -> Kind | None:
    """What the array of a node is like, if that is known, and if it is large and dense."""
    kind = kind_of(node.meta) if isinstance(node.meta, ArrayMeta) else None
    return kind if kind is not None and kind.nbytes >= LEAST_BYTES else None


def kind_of(meta: ArrayMeta) -> Kind | None:
    """What an array is like, if all is known, and if it is dense."""
    if not IS_ENABLED or meta.scalar or meta.is_counted or 1 in meta.hint_shape:
        return None
    axes = dense_axes(meta)
    orders = {tuple(range(meta.ndim)): "F", tuple(range(meta.ndim))[::-1]: "C"}  # (one axis: C)
    if axes not in orders or any(type(n) is not int for n in meta.shape):
        return None
    return Kind(tuple(meta.hint_shape), meta.dtype, orders[axes])
