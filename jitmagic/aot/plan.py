"""The record of what surrounds a pure graph at each call: what goes in, what is written back, what the caller gets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from jitmagic.aot.overlap import AliasGuard
from jitmagic.graph import ArrayMeta
from jitmagic.graph.printer import print_value
from jitmagic.ops.functional import ViewStep
from jitmagic.ops.registry import by_name

__all__ = ["HIDDEN", "CopyBack", "InferencePlan", "Rebuild", "Ref", "SizeSource"]


HIDDEN = ViewStep(by_name("view"), ())  # of a copy that nobody sees, as NumPy gives some results


@dataclass(frozen=True, slots=True)
class Ref:
    """An ``argument`` of the call, a ``result`` of the pure graph, or a ``constant`` of the plan, by position."""

    kind: str
    index: int


@dataclass(frozen=True, slots=True)
class Rebuild:
    """One object that the caller gets: ``base`` itself, or the view of it that replaying ``path`` makes.

    Operands in the path are ``Ref``s and symbolic sizes.
    """

    base: Ref
    path: tuple[ViewStep, ...] = ()

    @property
    def is_alias(self) -> bool:
        """Whether it shares memory with something that the caller may see."""
        return any(step is not HIDDEN for step in self.path)


@dataclass(frozen=True, slots=True)
class CopyBack:
    """After everything that may fail, ``result`` is copied into ``argument``."""

    argument: int
    result: int


@dataclass(frozen=True, slots=True)
class SizeSource:
    """A symbol of the paths is size ``axis`` of ``ref``, or its value if ``axis`` is None."""

    symbol: str
    ref: Ref
    axis: int | None


@dataclass(frozen=True, slots=True)
class InferencePlan:
    """The calling convention of one pure graph without gradients.

    * the graph takes the bases of ``guard.groups``, then the arguments ``direct``;
    * it gives ``results`` arrays: values of ``copy_backs`` first, then what ``objects`` are made of;
    * ``kept`` arguments are written by the graph itself, in final ``copy_into`` nodes (row A10);
    * ``donated`` arguments are written, and nothing reads their old value after the new one is known: a backend
      that keeps writes may compute in place;
    * ``objects`` are the different objects that the caller gets, ``returns`` the place of each output among them;
    * ``layouts`` gives the memory layout that a result must have for its views to be views;
    * for the record only: the arguments in ``needs`` require a gradient, the results ``tangents`` take part in a
      backward pass, ``effects`` tells what else the call does (assigns a shape, prints).
    """

    names: tuple[str, ...]
    guard: AliasGuard
    direct: tuple[int, ...]
    results: int
    copy_backs: tuple[CopyBack, ...] = ()
    kept: tuple[int, ...] = ()
    donated: tuple[int, ...] = ()
    objects: tuple[Rebuild, ...] = ()
    returns: tuple[int, ...] = ()
    sizes: tuple[SizeSource, ...] = ()
    constants: tuple[Any, ...] = ()
    layouts: dict[int, ArrayMeta] = field(default_factory=dict)
    needs: tuple[int, ...] = ()
    tangents: tuple[int, ...] = ()
    effects: tuple[str, ...] = ()

    @property
    def written(self) -> tuple[int, ...]:
        """The arguments whose data the call changes."""
        return tuple(sorted({c.argument for c in self.copy_backs} | set(self.kept)))

    @property
    def is_plain(self) -> bool:
        """True if the graph takes the arguments and gives the outputs just as the caller does."""
        as_is = tuple(Rebuild(Ref("result", i)) for i in range(self.results))
        in_order = self.returns == tuple(range(self.results))
        return in_order and self.objects == as_is and not self.guard.groups and not self.copy_backs

    def __str__(self) -> str:
        """ "x: written, requires a gradient", "out0: view of x", one line each."""
        lines = [self._input_line(i) for i in sorted({*self.written, *self.needs})]
        lines += self.effects
        for number, group in enumerate(self.guard.groups):
            members = ", ".join(self.names[w.input] for w in group.windows)
            lines.append(f"base{number}: the memory that {members} share")
        seen: dict[int, int] = {}
        for position, index in enumerate(self.returns):
            lines.append(f"out{position}: {self._output(index, seen)}")
            seen.setdefault(index, position)
        if self.tangents:
            lines.append(f"tangents: {', '.join(map(self._result, self.tangents))}")
        return "\n".join(lines)

    def _input_line(self, argument: int) -> str:
        found = ["written"] if argument in self.written else []
        found += ["in the graph"] if argument in self.kept else []
        found += ["may be computed in place"] if argument in self.donated and argument in self.kept else []
        found += ["requires a gradient"] if argument in self.needs else []
        return f"{self.names[argument]}: {', '.join(found)}"

    def _result(self, number: int) -> str:
        """What a result of the graph is for the caller."""
        written = next((c.argument for c in self.copy_backs if c.result == number), None)
        if written is not None:
            return self.names[written]
        places = [i for i, index in enumerate(self.returns) if self.objects[index].base == Ref("result", number)]
        is_base = places and all(self.objects[self.returns[i]].is_alias for i in places)
        return f"{'the base of ' if is_base else ''}out{places[0]}" if places else f"result {number}"

    def _output(self, index: int, seen: dict[int, int]) -> str:
        if index in seen:
            return f"the same object as out{seen[index]}"
        made = self.objects[index]
        name = self._name(made.base)
        if made.is_alias:
            return f"view of {name}: {''.join(step.show(self._text) for step in made.path)}"
        return name if made.base.kind != "result" else "new"

    def _name(self, ref: Ref) -> str:
        if ref.kind == "argument":
            return self.names[ref.index]
        return f"{ref.kind} {ref.index}"

    def _text(self, value: Any) -> str:
        return self._name(value) if isinstance(value, Ref) else print_value(value)
