"""Takes a plan, a program and the arguments of one call, gives the outputs and changes the arguments.

All that may fail comes first: views of arguments, the program, views of results. Only then are values copied back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from jitmagic.aot.boxed import Program
from jitmagic.aot.plan import InferencePlan, Rebuild, Ref, SizeSource
from jitmagic.errors import InternalError
from jitmagic.graph import ArrayMeta, SymInt, map_nodes
from jitmagic.graph.meta import layout_key
from jitmagic.graph.polynomial import evaluate
from jitmagic.ops.functional import follow

__all__ = ["run_wrapped"]


def run_wrapped(plan: InferencePlan, program: Program, arguments: list[Any]) -> list[Any]:
    """One call. Raises InternalError if the program gives another number of results than the plan says."""
    if plan.is_plain:
        return list(_checked(plan, program(arguments)))
    call = _Call(plan, arguments)
    passed = [group.base(arguments) for group in plan.guard.groups] + [arguments[i] for i in plan.direct]
    arguments.clear()
    call.receive(_checked(plan, program(passed)))
    return call.finish()


def _checked(plan: InferencePlan, results: Sequence[Any]) -> Sequence[Any]:
    if len(results) != plan.results:
        raise InternalError(f"the backend gave {len(results)} results where the graph has {plan.results} outputs")
    return results


class _Call:
    """The values of one call, as far as they are needed after the program."""

    def __init__(self, plan: InferencePlan, arguments: Sequence[Any]) -> None:
        self.plan = plan
        self.sizes: dict[str, int] = {}
        self.values: dict[Ref, Any] = {Ref("argument", i): a for i, a in enumerate(arguments)}
        self.values |= {Ref("constant", i): c for i, c in enumerate(plan.constants)}
        self._measure("argument")
        self.objects = {i: self._make(o) for i, o in enumerate(plan.objects) if not self._needs_result(o)}
        self._let_go()

    def receive(self, results: Sequence[Any]) -> None:
        """Take the program's results and make the objects that need them."""
        for index, result in enumerate(results):
            meta = self.plan.layouts.get(index)
            self.values[Ref("result", index)] = result if meta is None else _in_layout(result, meta)
        self._measure("result")
        for index, rebuild in enumerate(self.plan.objects):
            if index not in self.objects:
                self.objects[index] = self._make(rebuild)

    def finish(self) -> list[Any]:
        """Write back, and give the outputs."""
        for copy in self.plan.copy_backs:
            target, value = self.values[Ref("argument", copy.argument)], self.values[Ref("result", copy.result)]
            np.copyto(target, value, casting="no")
        return [self.objects[i] for i in self.plan.returns]

    def _make(self, rebuild: Rebuild) -> Any:
        def resolve(leaf: Any) -> Any:
            if isinstance(leaf, Ref):
                return self.values[leaf]
            return evaluate(leaf.poly, self.sizes) if isinstance(leaf, SymInt) else leaf

        base = self.values[rebuild.base]
        return follow(base, map_nodes(rebuild.path, resolve)) if rebuild.path else base

    def _measure(self, kind: str) -> None:
        for size in self.plan.sizes:
            if size.ref.kind == kind:
                self.sizes[size.symbol] = _size(self.values[size.ref], size)

    def _needs_result(self, rebuild: Rebuild) -> bool:
        late = {s.symbol for s in self.plan.sizes if s.ref.kind == "result"}
        return any(ref.kind == "result" for ref in _refs(rebuild)) or bool(late and rebuild.path)

    def _let_go(self) -> None:
        """Keep only the arguments that are needed after the program, so that the others may die in it."""
        needed = {Ref("argument", c.argument) for c in self.plan.copy_backs}
        for index, rebuild in enumerate(self.plan.objects):
            if index not in self.objects:
                needed.update(_refs(rebuild))
        self.values = {ref: value for ref, value in self.values.items() if ref in needed or ref.kind == "constant"}


def _refs(rebuild: Rebuild) -> Iterable[Ref]:
    found = [rebuild.base]

    def note(leaf: Any) -> Any:
        if isinstance(leaf, Ref):
            found.append(leaf)
        return leaf

    map_nodes(rebuild.path, note)
    return found


def _size(value: Any, source: SizeSource) -> int:
    return int(value) if source.axis is None else int(value.shape[source.axis])


def _in_layout(array: Any, meta: ArrayMeta) -> Any:
    """``array``, or a copy with the axes in the memory order of ``meta`` if a backend chose another (row A17)."""
    wanted = layout_key(array.shape, meta.strides)
    if layout_key(array.shape, array.strides) == wanted:
        return array
    inner_first = tuple(sorted(range(array.ndim), key=lambda axis: (abs(meta.strides[axis]), -axis)))
    copy = np.empty_like(ArrayMeta.packed(array.dtype, array.shape, inner_first).standin(), order="K")
    copy[...] = array
    return copy
