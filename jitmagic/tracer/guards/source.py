"""Where a value came from, as a path that can be printed for people and evaluated again at the next call.

``code`` is Python over the names that every check and every program has: the frame's parameters as
``arg_<name>``, ``G`` (the function's globals), ``B`` (builtins), ``C`` (its closure cells) and ``K0``, ``K1``, ...
(constants of the entry). It
runs no user code: attributes are read where the trace found them. ``text`` is what a person would write.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = [
    "AttributeSource",
    "CellObjectSource",
    "CellSource",
    "ClosureSource",
    "ConstantSource",
    "DictSource",
    "EntrySource",
    "GlobalSource",
    "InsideSource",
    "ItemSource",
    "LengthSource",
    "LocalSource",
    "MemberSource",
    "OwnDictSource",
    "Source",
    "StateSource",
    "TypeSource",
    "inside",
]


@dataclass(frozen=True, slots=True)
class Source:
    """Base. ``category`` drives policy: local, global, constant, module, managed or random."""

    @property
    def base(self) -> Source | None:
        """The source that this one is read from; None for a root."""
        return None

    @property
    def text(self) -> str:
        raise NotImplementedError

    def code(self, base: str) -> str:
        """Python that reads the value, given Python that reads the base (ignored by roots)."""
        raise NotImplementedError

    @property
    def category(self) -> str:
        return self.base.category if self.base is not None else "local"

    @property
    def has_name(self) -> bool:
        """Whether ``text`` is something that the user has written."""
        return self.base is None or self.base.has_name

    @property
    def path(self) -> tuple[Source, ...]:
        """From the root to this source."""
        return (self,) if self.base is None else (*self.base.path, self)

    @property
    def expression(self) -> str:
        """Python that reads the value from the roots."""
        return self.code("" if self.base is None else self.base.expression)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class LocalSource(Source):
    """A parameter of the frame."""

    name: str

    @property
    def text(self) -> str:
        return self.name

    def code(self, base: str) -> str:
        return f"arg_{self.name}"  # a parameter may be called G or K0 as well


@dataclass(frozen=True, slots=True)
class GlobalSource(Source):
    """A name in a module's globals, or in builtins. ``namespace`` is ``G``, ``B`` or a constant's name."""

    name: str
    namespace: str = "G"

    @property
    def text(self) -> str:
        return self.name

    @property
    def category(self) -> str:
        return "global"

    def code(self, base: str) -> str:
        return f"{self.namespace}[{self.name!r}]"


@dataclass(frozen=True, slots=True)
class ClosureSource(Source):
    """The content of a cell of the frame's own closure; counts as local (row B02)."""

    index: int
    name: str

    @property
    def text(self) -> str:
        return self.name

    def code(self, base: str) -> str:
        return f"C[{self.index}].cell_contents"


@dataclass(frozen=True, slots=True)
class ConstantSource(Source):
    """An object that the entry itself holds, as ``K<index>``; it needs no guards."""

    index: int
    label: str = ""

    @property
    def text(self) -> str:
        return self.label or f"K{self.index}"

    @property
    def has_name(self) -> bool:
        return bool(self.label)

    @property
    def category(self) -> str:
        return "constant"

    def code(self, base: str) -> str:
        return f"K{self.index}"


@dataclass(frozen=True, slots=True)
class _Step(Source):
    """A source read from another one."""

    origin: Source

    @property
    def base(self) -> Source:
        return self.origin

    @property
    def category(self) -> str:
        """What is read from an object that the entry holds may change, as a global may."""
        category = self.origin.category
        return "global" if category == "constant" else category


@dataclass(frozen=True, slots=True)
class AttributeSource(_Step):
    """``origin.name`` read by ordinary attribute access; only where that runs no user code."""

    name: str

    @property
    def text(self) -> str:
        return f"{self.origin.text}.{self.name}"

    def code(self, base: str) -> str:
        return f"{base}.{self.name}"


@dataclass(frozen=True, slots=True)
class DictSource(_Step):
    """An attribute found in the instance's own ``__dict__`` (``origin.__dict__[name]``)."""

    name: str

    @property
    def text(self) -> str:
        return f"{self.origin.text}.{self.name}"

    def code(self, base: str) -> str:
        return f"{base}.__dict__[{self.name!r}]"


@dataclass(frozen=True, slots=True)
class OwnDictSource(_Step):
    """``origin.__dict__`` itself."""

    @property
    def text(self) -> str:
        return f"{self.origin.text}.__dict__"

    def code(self, base: str) -> str:
        return f"{base}.__dict__"


@dataclass(frozen=True, slots=True)
class EntrySource(DictSource):
    """An entry of a class's dict whose identity is guarded by whoever looked it up."""

    @property
    def category(self) -> str:
        return self.origin.category


@dataclass(frozen=True, slots=True)
class ItemSource(_Step):
    """``origin[key]`` of a list, tuple or dict; ``key`` is a constant whose repr evaluates to it."""

    key: Any

    @property
    def text(self) -> str:
        return f"{self.origin.text}[{getattr(self.key, 'label', None) or repr(self.key)}]"

    def code(self, base: str) -> str:
        return f"{base}[{self.key!r}]"


@dataclass(frozen=True, slots=True)
class LengthSource(_Step):
    """``len(origin)`` of a list."""

    @property
    def text(self) -> str:
        return f"len({self.origin.text})"

    def code(self, base: str) -> str:
        return f"len({base})"


@dataclass(frozen=True, slots=True)
class MemberSource(ItemSource):
    """An entry of a table of a module, written as people write it: ``m.linear``, not ``m._modules['linear']``.

    ``is_held``: the module is specialised, so an entry may hold what is here by reference (row N02).
    """

    is_held: bool = False

    @property
    def text(self) -> str:
        module = self.origin.base
        owner = self.origin if module is None else module
        return f"{owner.text}.{self.key}" if self.key.isidentifier() else f"{owner.text}[{_position(self.key)}]"


def _position(key: str) -> str:
    return key if key.isdecimal() else repr(key)


@dataclass(frozen=True, slots=True)
class InsideSource(_Step):
    """The module at ``origin`` itself, as what its contents are read from; they are of the category ``inside``.

    ``unspecialised``: always guarded. ``builtin``: of a class of ``jitmagic.nn``, guarded by setting. ``managed``:
    exchanged by an owner, guarded by setting; whatever is read from there stays managed (rows N58 and N61).
    """

    inside: str

    @property
    def text(self) -> str:
        return self.origin.text

    @property
    def category(self) -> str:
        return self.inside

    def code(self, base: str) -> str:
        return base


def inside(source: Source, category: str) -> InsideSource:
    """The contents of the module at ``source``; asking twice gives the same."""
    module = source.origin if isinstance(source, InsideSource) else source
    return InsideSource(module, "managed" if source.category == "managed" else category)


@dataclass(frozen=True, slots=True)
class StateSource(_Step):
    """What an optimiser remembers of one parameter: ``origin`` is a function that finds ``key`` in ``state``."""

    state: Source
    key: Source
    label: str

    @property
    def text(self) -> str:
        return self.label

    def code(self, base: str) -> str:
        return f"{base}()"


@dataclass(frozen=True, slots=True)
class CellSource(_Step):
    """The content of a cell of another function: ``origin.__closure__[index].cell_contents``."""

    index: int
    name: str

    @property
    def text(self) -> str:
        return f"{self.name} (used by {self.origin.text})"

    def code(self, base: str) -> str:
        return f"{base}.__closure__[{self.index}].cell_contents"


@dataclass(frozen=True, slots=True)
class CellObjectSource(Source):
    """A cell itself, for guards on whether it is set: ``cell_of`` is the source of its content."""

    cell_of: ClosureSource | CellSource

    @property
    def base(self) -> Source | None:
        return self.cell_of.base

    @property
    def text(self) -> str:
        return self.cell_of.text

    def code(self, base: str) -> str:
        return self.cell_of.code(base).removesuffix(".cell_contents")


@dataclass(frozen=True, slots=True)
class TypeSource(_Step):
    """``type(origin)``."""

    @property
    def text(self) -> str:
        return f"type({self.origin.text})"

    def code(self, base: str) -> str:
        return f"type({base})"
