"""The guards that are known only when the trace is complete: size relations, no aliasing, floating-point state."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from jitmagic.graph.node import Node
from jitmagic.graph.polynomial import format_polynomial
from jitmagic.graph.shapes import Relation
from jitmagic.tracer.guards import ConstantSource, Source
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.kinds import errstate_guard, no_alias_guard
from jitmagic.tracer.guards.module_kinds import not_held_guard
from jitmagic.tracer.output import OutputGraph
from jitmagic.tracer.variables.array import ArrayTracker

__all__ = ["add_final_guards", "late_guards"]


def add_final_guards(output: OutputGraph) -> None:
    for relation in output.env.relations:
        output.guards.add(_relation_guard(output, relation))
    arrays = _sources(output, arrays_only=True)
    others = _sources(output, arrays_only=False)
    for group in (arrays if _tells_arrays_apart(output) else (), others if output.effects else ()):
        if len(group) > 1:
            output.guards.add(no_alias_guard(tuple(group)))
    held = frozenset(
        id(array)
        for array, tracker in output.tracked.values()
        if isinstance(tracker, ArrayTracker) and isinstance(tracker.source, ConstantSource)
    )
    for source in arrays if held else ():
        output.guards.add(not_held_guard(source, held))
    if any(_may_warn(n) for n in output.graph.nodes):
        output.guards.add(
            errstate_guard(output.input_sources[0] if output.input_sources else output.constant_source(None))
        )


def _tells_arrays_apart(output: OutputGraph) -> bool:
    """Whether it matters if two inputs are one array: nothing is written in a trace where it does not.

    A Tensor has a history of its own, which is written when it is read.
    """
    is_written = any(node.written() for node in output.graph.nodes)
    return is_written or bool(output.effects or output.options.tensors)


def late_guards(output: OutputGraph) -> Callable[[], list[Guard]]:
    """What gives the guards on relations of sizes that are decided from now on (backward computations ask for some)."""
    known = len(output.env.relations)

    def found() -> list[Guard]:
        return [_relation_guard(output, relation) for relation in list(output.env.relations)[known:]]

    return found


def _sources(output: OutputGraph, *, arrays_only: bool) -> list[Source]:
    found = []
    for _, tracker in output.tracked.values():
        source = tracker.source
        if source is None or isinstance(tracker, ArrayTracker) != arrays_only:
            continue
        if not (arrays_only and isinstance(source, ConstantSource)):  # those are known to differ from each other
            found.append(source)
    return found


def _may_warn(node: Node) -> bool:
    return bool(getattr(node.op, "warns", ()))


def _relation_guard(output: OutputGraph, relation: Relation) -> Guard:
    """A relation between sizes, over the sources of the sizes (G18)."""
    names = sorted(s.name for s in relation.symbols())
    sources: list[Source] = []
    test = f"{format_polynomial(relation.left)} {relation.op} {format_polynomial(relation.right)}"
    shown = test
    for name in names:
        source, axis = output.symbol_sources[name]
        if source not in sources:
            sources.append(source)
        position = sources.index(source)
        value = f"{{v{position or ''}}}"
        size = "" if axis is None else f".shape[{axis}]"
        test = _replace_name(test, name, f"{value}{size}")
        shown = _replace_name(shown, name, f"{source.text}{size}")
    now = " + ', ' + ".join(_said(output, s, f"{{v{i or ''}}}") for i, s in enumerate(sources))
    return Guard(
        "SIZE_RELATION",
        sources[0],
        test,
        "true",
        f"'false: ' + {now}",
        others=tuple(sources[1:]),
        about=shown,
        remedy=f"pass {'numbers' if all(_is_number(output, s) for s in sources) else 'sizes'} that keep this relation",
        form=_form(output, relation, names),
    )


def _said(output: OutputGraph, source: Source, value: str) -> str:
    """An expression for the words on what a number, or the shape of an array, is now."""
    if _is_number(output, source):
        return f"{f'{source.text} is '!r} + str({value})"
    return f"{f'{source.text} has the shape '!r} + str({value}.shape)"


def _form(output: OutputGraph, relation: Relation, names: list[str]) -> tuple[Any, ...]:
    """As data, for the native entry: only that two sizes of arrays are equal."""
    sides = sorted({format_polynomial(relation.left), format_polynomial(relation.right)})
    axes = [output.symbol_sources[name][1] for name in names]
    if relation.op != "==" or sides != names or None in axes or len(names) != 2:
        return ()
    return ("equal sizes", *axes)


def _is_number(output: OutputGraph, source: Source) -> bool:
    return source in output.symbol_inputs


def _replace_name(text: str, name: str, by: str) -> str:

    return re.sub(rf"\b{name}\b", lambda _: by, text)
