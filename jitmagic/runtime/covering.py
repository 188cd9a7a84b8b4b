"""Takes the guards of an entry, gives the same guards with those on unchanged modules behind one comparison.

What is read from a specialised module, from its tables and from what they hold, changes only with the dict that it
stands in, the class dicts that its lookup went through, or the description of an array that the entry holds. All of
these are compared at once (``runtime.native.pairs``): on Python 3.12 and later one stamp stands for all dicts, before
that each dict has a tag. If anything differs, the guards are tested one by one and, if they hold, the new state is the
one to compare with. What cannot be watched (lists, functions, objects of other classes) stays outside.
"""

from __future__ import annotations

import importlib
import threading
import warnings
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from jitmagic.config import current
from jitmagic.nn.module import Module
from jitmagic.nn.replaced import watch
from jitmagic.own_builtins import OWN_BUILTINS
from jitmagic.runtime.reach import Reach, is_plain, sources_of
from jitmagic.runtime.tracebacks import GENERATED
from jitmagic.tracer.guards.codegen import Candidate, select
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.holding import Held, hold
from jitmagic.tracer.guards.source import (
    ClosureSource,
    DictSource,
    LocalSource,
    Source,
)

__all__ = ["Cover", "cover", "is_worth_it"]

_SMALLEST = 16  # guards from which on they are worth a cover
_replacements = np.zeros(1, np.int64)  # of whole dicts or classes of modules


def _note_replacement(_: Any) -> None:
    _replacements[0] += 1


watch(_note_replacement)


def cover(
    guards: Sequence[Held], constants: Sequence[Any], names: Mapping[str, Any], *, takes_cells: bool
) -> list[Held]:
    """The guards as a call checks them. ``names`` are those of the frame; a piece ``takes_cells`` with each call.

    Without the setting ``guard_nn_modules`` the contents of specialised modules are taken to stay, but for
    ``training``.
    """
    guards = [g for g in guards if not _may_miss(g.guard)]
    reach = Reach({g.guard.source: weakref.ref(m) for g in guards if (m := _tied(g.guard)) is not None}, constants)
    covered = [g for g in guards if reach.covers(g.guard)]
    if takes_cells:
        covered = [g for g in covered if not any(isinstance(_root(s), ClosureSource) for s in sources_of(g.guard))]
    if not current().guard_nn_modules:
        unchecked = {id(g) for g in covered if not (_is_training(g.guard) or g.guard.source.category in _ALWAYS)}
        if unchecked:
            _remark_unchecked()
        return [g for g in guards if id(g) not in unchecked]
    if not is_worth_it(covered) or not _is_possible():
        return list(guards)
    left_out = set(map(id, covered))
    made = Cover(covered, constants, names, reach)
    return [*(g for g in guards if id(g) not in left_out), hold(made.guard())]


_ALWAYS = ("builtin", "managed", "unspecialised")  # contents that are guarded without ``guard_nn_modules`` too
_CONTENTS = frozenset(
    {
        *("BUILTIN_MATCH", "CLASS_ATTRIBUTE", "CONSTANT_MATCH", "DICT_KEYS", "FUNCTION_MATCH", "ID_MATCH"),
        *("LIST_LENGTH", "NOT_PRESENT_IN_GENERIC_DICT"),
    }
)  # no kernel relies on what these test: without them an answer may be stale, with nothing worse


def _may_miss(guard: Guard) -> bool:
    """Whether a setting says that nobody edits this."""
    settings, category = current(), guard.source.category
    if category == "managed" and settings.skip_managed_guards:
        return guard.kind in _CONTENTS and not _is_training(guard)
    if category == "builtin" and not settings.guard_builtin_modules:
        return isinstance(guard.source, DictSource) and guard.kind == "CONSTANT_MATCH" and not _is_training(guard)
    return False


def is_worth_it(covered: Sequence[Held]) -> bool:
    """Whether one comparison costs less: for many guards, and for such as only Python can test one by one."""
    return len(covered) >= _SMALLEST or any(not held.guard.form for held in covered)


def _is_training(guard: Guard) -> bool:
    return isinstance(guard.source, DictSource) and guard.source.name == "training"


@cache
def _remark_unchecked() -> None:
    """Once in a process."""
    warnings.warn(
        "guard_nn_modules is off: compiled functions do not notice when attributes, parameters, buffers, children or "
        "hooks of a module they were compiled for are replaced; another module, train() and eval() are noticed",
        stacklevel=2,
    )


def _is_possible() -> bool:
    pairs, stamps = _native()
    return pairs.mro_pair(Module) is not None and (stamps.can_watch() or stamps.has_dict_tags())


def _native() -> Any:
    """Loaded at the first entry for a module: they bring LLVM."""
    return tuple(importlib.import_module(f"jitmagic.runtime.native.{name}") for name in ("pairs", "stamps"))


def _tied(guard: Guard) -> Module | None:
    """The module that an identity guard asks for."""
    value = guard.constant() if isinstance(guard.constant, weakref.ref) else guard.constant
    return value if guard.kind == "ID_MATCH" and is_plain(value) else None


def _root(source: Source) -> Source:
    return source.path[0]


class Cover:
    """The covered guards of one entry. ``unchanged()`` compares; ``recheck(*values)`` tests them for real.

    It holds the dicts, not the modules: the entry goes when a module dies that it is tied to.
    """

    __slots__ = (
        "_constants",
        "_guards",
        "_is_settled",
        "_lock",
        "_names",
        "_reach",
        "_same_dicts",
        "_stamp",
        "_test",
        "_verdict",
        "pairs",
    )

    def __init__(
        self, guards: Sequence[Held], constants: Sequence[Any], names: Mapping[str, Any], reach: Reach
    ) -> None:
        self._guards, self._constants, self._names = guards, constants, names
        self._verdict = np.ones(1, np.int64)  # whether the guards hold as long as the other pairs do
        self._is_settled = True  # whether that is known: false where what they read is not (yet) what is watched
        self._lock = threading.Lock()
        self._test: Any = None
        self.pairs = _native()[0].Pairs()
        self._take(reach)

    def _take(self, reach: Reach) -> None:
        """Watch what ``reach`` found."""
        pairs, stamps = _native()
        reach.forget()
        self._reach = reach
        self._stamp = stamps.DictStamp(reach.dicts.values())
        self._same_dicts: Any = None
        words = [(int(self._verdict.ctypes.data), 1), (int(_replacements.ctypes.data), int(_replacements[0]))]
        fixed = [pair for array in reach.arrays.values() for pair in pairs.array_pairs(array)]
        classes = [pairs.mro_pair(cls) for cls in reach.classes]
        self.pairs.put([*words, *self._stamp.pairs(), *classes], fixed)

    @property
    def header_address(self) -> int:
        address: int = self.pairs.header_address
        return address

    @property
    def unchanged(self) -> Any:
        return self.pairs.unchanged

    @property
    def dict_count(self) -> int:
        """How many dicts the comparison stands for."""
        return len(self._reach.dicts)

    def guard(self) -> Guard:
        """All of them as one."""
        sources = self._parameters()
        values = ", ".join("{v}" if k == 0 else f"{{v{k}}}" for k in range(len(sources)))
        first = sources[0] if sources else self._guards[0].guard.source
        return Guard(
            "MODULES_UNCHANGED",
            first,
            f"{{k}}.unchanged() or {{k}}.recheck({values})",
            "as compiled",
            "'changed'",
            self,
            others=sources[1:],
            about="everything read from modules",
            form=("pairs",),
        )

    def _parameters(self) -> tuple[Source, ...]:
        roots = {_root(s): None for g in self._guards for s in sources_of(g.guard)}
        return tuple(s for s in roots if isinstance(s, LocalSource))

    def recheck(self, *values: Any) -> bool:
        """Test the guards, and remember the outcome for the state that they were tested in."""
        if not self._lock.acquire(blocking=False):  # another thread is here, or a finalizer that calls the function
            return self._hold(*values)
        try:
            if self._is_settled and not self._verdict[0] and self.pairs.hold_from(1):
                return False
            held = self._settle(*values)
            if held and not self._is_settled and self._take_again():
                held = self._settle(*values)
            return held
        finally:
            self._lock.release()

    def _settle(self, *values: Any) -> bool:
        """Whether the guards hold. No verdict is given for a state before it is tested: other threads read it."""
        self._verdict[0] = 0
        self.pairs.expect_present(1)
        held = self._hold(*values)
        self._is_settled = self._reach.is_same_classes and self._are_same_dicts(*values) and self.pairs.hold_from(1)
        self._verdict[0] = held and self._is_settled
        return held

    def _hold(self, *values: Any) -> bool:
        if self._test is None:
            self._test = self._generate(self._guards)
        return bool(self._test(*values))

    def _are_same_dicts(self, *values: Any) -> bool:
        if self._same_dicts is None:
            self._same_dicts = self._generate([hold(_same(s, d)) for s, d in self._reach.places.items()])
        return bool(self._same_dicts(*values))

    def _take_again(self) -> bool:
        """Other dicts stand where those that are watched stood, or arrays are described elsewhere.

        False if what stands there cannot be watched: the guards are then tested at each call.
        """
        reach = self._reach.again()
        if not all([reach.covers(held.guard) for held in self._guards]):
            return False
        self._take(reach)
        return True

    def _generate(self, guards: Sequence[Held]) -> FunctionType:
        parameters = {s.name: f"p{k}" for k, s in enumerate(self._parameters()) if isinstance(s, LocalSource)}
        selection = select([Candidate(guards, self._constants, ("return True",))], parameters)
        body = "\n".join("        " + line for line in selection.lines)
        text = f"def test({', '.join(parameters.values())}):\n    try:\n{body}\n    except Exception:\n        pass\n"
        namespace = {**self._names, **selection.names, "__builtins__": OWN_BUILTINS}
        exec(compile(text, f"{GENERATED}guards on modules>", "exec", dont_inherit=True), namespace)
        test = namespace.pop("test")
        assert isinstance(test, FunctionType)
        return test


def _same(place: Source, found: dict[Any, Any]) -> Guard:
    return Guard("ID_MATCH", place, "id({v}) == {k}", "this dict", constant=id(found))
