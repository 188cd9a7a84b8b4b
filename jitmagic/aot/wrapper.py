"""Takes a plan and a program, gives the Python text of the function around the program, and that function.

    def run(arguments):
        a0, a1 = arguments
        arguments.clear()
        o1 = transpose(a0)                        # views of arguments
        passed = [a0, a1]
        del a1                                    # may die while the program runs
        r0, r1 = checked(program(passed))
        a0[...] = r0                              # only now are arguments changed
        return [r1, o1]

All that may fail comes first: views of arguments, the program, views of results. Only then are values copied back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jitmagic.aot.boxed import Program, results_of
from jitmagic.aot.plan import InferencePlan, Rebuild, Ref, SizeSource
from jitmagic.errors import InternalError
from jitmagic.graph import ArrayMeta, SymInt
from jitmagic.graph.meta import layout_key
from jitmagic.graph.polynomial import format_polynomial, symbols_of
from jitmagic.ops.functional import ViewStep

__all__ = ["Wrapper", "in_layout", "wrap"]

Run = Callable[[list[Any]], list[Any]]
PREFIX = {"argument": "a", "result": "r", "constant": "c"}


@dataclass(frozen=True, slots=True)
class Wrapper:
    """``run`` empties its list of arguments and gives the outputs; ``text`` is its source."""

    run: Run
    text: str


def wrap(plan: InferencePlan, program: Program, name: str = "graph") -> Wrapper:
    """The function around ``program``. Raises InternalError for a wrong number of arguments, UserError of results."""
    writer = _Writer(plan)
    text = "\n    ".join(["def run(arguments):", *writer.lines()]) + "\n"
    scope = writer.scope | {"program": program}
    exec(compile(text, f"<jitmagic wrapper of {name}>", "exec"), scope)
    return Wrapper(scope["run"], text)


@dataclass(slots=True)
class _Writer:
    """Collects the objects that the text names in ``scope``."""

    plan: InferencePlan
    scope: dict[str, Any] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        plan = self.plan
        self.scope |= {"checked": functools.partial(_checked, plan), "refuse": _refuse}
        yield f"if len(arguments) != {len(plan.names)}:"
        yield f"    refuse(arguments, {len(plan.names)})"
        if plan.is_plain:
            yield "return list(checked(program(arguments)))"
            return
        self.scope |= {f"c{i}": constant for i, constant in enumerate(plan.constants)}
        late = {i for i, made in enumerate(plan.objects) if self._needs_result(made)}
        early = [i for i in range(len(plan.objects)) if i not in late]
        yield f"{_names('a', len(plan.names))} = arguments"
        yield "arguments.clear()"
        yield from self._sizes("argument")
        yield from self._objects(early)
        yield f"passed = [{', '.join(self._passed())}]"
        yield from self._let_go(late)
        yield f"{_names('r', plan.results)} = checked(program(passed))"
        yield from self._layouts()
        yield from self._sizes("result")
        yield from self._objects(sorted(late))
        for copy in plan.copy_backs:
            yield f"a{copy.argument}[...] = r{copy.result}"
        yield f"return [{', '.join(map(self._object, plan.returns))}]"

    def _passed(self) -> list[str]:
        bases = [f"base{i}" for i in range(len(self.plan.guard.groups))]
        self.scope |= {b: group.base for b, group in zip(bases, self.plan.guard.groups, strict=True)}
        everything = ", ".join(f"a{i}" for i in range(len(self.plan.names)))
        return [f"{b}([{everything}])" for b in bases] + [f"a{i}" for i in self.plan.direct]

    def _objects(self, numbers: Sequence[int]) -> Iterator[str]:
        for number in numbers:
            if self.plan.objects[number].path:
                yield f"o{number} = {self._view(self.plan.objects[number])}"

    def _object(self, number: int) -> str:
        made = self.plan.objects[number]
        return f"o{number}" if made.path else _name(made.base)

    def _view(self, made: Rebuild) -> str:
        text = _name(made.base)
        for step in made.path:
            text = self._step(step, text)
        return text

    def _step(self, step: ViewStep, array: str) -> str:
        function = self._named(step.op.call, step.op.name)
        parts = [self._value(arg) for arg in step.args]
        parts.insert(step.position, array)
        parts += [f"{key}={self._value(value)}" for key, value in step.kwargs.items()]
        return f"{function}({', '.join(parts)})" + ("" if step.item is None else f"[{step.item}]")

    def _value(self, value: Any) -> str:
        """Python for one operand of a view."""
        if isinstance(value, Ref):
            return _name(value)
        if isinstance(value, SymInt):
            return format_polynomial(value.poly)
        if type(value) in (tuple, list):
            inner = "".join(f"{self._value(item)}, " for item in value)
            return f"({inner})" if type(value) is tuple else f"[{inner}]"
        if isinstance(value, slice):
            return f"slice({', '.join(self._value(v) for v in (value.start, value.stop, value.step))})"
        if value is None or type(value) in (int, bool, str):
            return repr(value)
        return "..." if value is Ellipsis else self._named(value, "k")

    def _named(self, value: Any, wanted: str) -> str:
        """A name in the scope for an object that has no literal."""
        name = wanted if wanted.isidentifier() else "k"
        name = f"{name}_"
        while self.scope.setdefault(name, value) is not value:
            name += "_"
        return name

    def _sizes(self, kind: str) -> Iterator[str]:
        for size in self.plan.sizes:
            if size.ref.kind == kind:
                yield f"{size.symbol} = {_size(size)}"

    def _layouts(self) -> Iterator[str]:
        for index, meta in self.plan.layouts.items():
            self.scope[f"layout{index}"] = functools.partial(in_layout, meta)
            yield f"r{index} = layout{index}(r{index})"

    def _let_go(self, late: set[int]) -> Iterator[str]:
        """Forget the arguments that are not needed after the program, so that they may die in it."""
        kept = {copy.argument for copy in self.plan.copy_backs}
        for number, made in enumerate(self.plan.objects):
            if number in late or not made.path:
                kept |= {ref.index for ref in _refs(made) if ref.kind == "argument"}
        dropped = [f"a{i}" for i in range(len(self.plan.names)) if i not in kept]
        if dropped:
            yield f"del {', '.join(dropped)}"

    def _needs_result(self, made: Rebuild) -> bool:
        late = {s.symbol for s in self.plan.sizes if s.ref.kind == "result"}
        used = {
            symbol.name for leaf in _leaves(made.path) if isinstance(leaf, SymInt) for symbol in symbols_of(leaf.poly)
        }
        return bool(late & used) or any(ref.kind == "result" for ref in _refs(made))


def _names(prefix: str, count: int) -> str:
    return f"[{', '.join(f'{prefix}{i}' for i in range(count))}]"


def _name(ref: Ref) -> str:
    return f"{PREFIX[ref.kind]}{ref.index}"


def _size(source: SizeSource) -> str:
    name = _name(source.ref)
    return f"int({name})" if source.axis is None else f"{name}.shape[{source.axis}]"


def _refs(made: Rebuild) -> list[Ref]:
    return [made.base, *(leaf for leaf in _leaves(made.path) if isinstance(leaf, Ref))]


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, dict):
        yield from _leaves(list(value.values()))
    elif isinstance(value, slice):
        yield from _leaves((value.start, value.stop, value.step))
    else:
        yield value


def _refuse(arguments: Sequence[Any], count: int) -> None:
    raise InternalError(f"the graph takes {count} arguments, got {len(arguments)}")


def _checked(plan: InferencePlan, results: Sequence[Any]) -> Sequence[Any]:
    if type(results) is not list or len(results) != plan.results:
        return results_of(results, plan.results, "the graph")
    return results


def in_layout(meta: ArrayMeta, array: Any) -> Any:
    """``array``, or a copy with the axes in the memory order of ``meta`` if a backend chose another (row A17)."""
    wanted = layout_key(array.shape, meta.strides)
    if layout_key(array.shape, array.strides) == wanted:
        return array
    inner_first = tuple(sorted(range(array.ndim), key=lambda axis: (abs(meta.strides[axis]), -axis)))
    copy = np.empty_like(ArrayMeta.packed(array.dtype, array.shape, inner_first).standin(), order="K")
    copy[...] = array
    return copy
