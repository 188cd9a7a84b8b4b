"""Takes the guards of an entry, gives checks: the words of a record that compiled code reads.

Guards on one array become one check. What is read from namespaces (globals, modules) comes last, behind one
comparison for each namespace: if none of their dicts changed since the checks held, they still hold.
"""

from __future__ import annotations

import struct
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import ref

import numpy as np

from jitmagic.autograd.modes import BLOCKS
from jitmagic.runtime.native.entry_text import REGISTERS, Check
from jitmagic.runtime.native.layout import OFFSETS, dtype_word, errstate_mask, has_dict_tags
from jitmagic.runtime.native.pairs import mro_offset
from jitmagic.runtime.native.stamps import DictStamp, can_watch
from jitmagic.runtime.native.words import NoForm, Words
from jitmagic.tracer.guards.guard import Guard
from jitmagic.tracer.guards.source import (
    AttributeSource,
    CellObjectSource,
    CellSource,
    ClosureSource,
    ConstantSource,
    DictSource,
    GlobalSource,
    InsideSource,
    ItemSource,
    LocalSource,
    MemberSource,
    Source,
    StateSource,
    TypeSource,
)

__all__ = ["Checks", "Surroundings", "float_bits"]

_NUMBERS = "?bhilqBHILQefdgFDG"  # dtypes that one word describes


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the sources of a frame start from: its parameters, namespaces and cells (None: they come with the call)."""

    parameters: tuple[str, ...]
    names: Mapping[str, Any]
    cells: tuple[Any, ...] | None


@dataclass(slots=True)
class Checks:
    """Writes one record's checks into ``words``. ``registers`` says where the value of a source is.

    ``errstate`` is the place of the check of that name, 0 without one.
    """

    words: Words
    around: Surroundings
    constants: Sequence[Any]
    registers: dict[Source, int] = field(default_factory=dict)
    used: int = 0
    errstate: int = 0
    kinds: dict[Source, type] = field(default_factory=dict)
    modules: dict[Source, types.ModuleType] = field(default_factory=dict)
    arrays: set[Source] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.registers = {LocalSource(name): k for k, name in enumerate(self.around.parameters)}
        self.used = len(self.around.parameters) + (self.around.cells is None)

    def write(self, guards: Sequence[Guard], also: Sequence[Source] = ()) -> None:
        """Check ``guards``, and load the sources ``also``. Raises NoForm if that is not possible."""
        for guard in guards:
            self._note(guard)
        apart = [g for g in guards if self._is_from_namespace(g)] if has_dict_tags() or can_watch() else []
        arrays: dict[Source, list[Guard]] = {}
        for guard in guards:
            if _is_of_array(guard):
                arrays.setdefault(guard.source, []).append(guard)
        left_out = {id(guard) for guard in apart}
        for guard in guards:
            if _is_of_array(guard):
                if guard.source not in self.arrays:
                    self._array(guard.source, arrays[guard.source])
            elif id(guard) not in left_out:
                self._check(guard)
        for source in also:
            self.load(source)
        if apart:
            self._namespaces(apart)
        self.words.add(Check.DONE)

    def _note(self, guard: Guard) -> None:
        """What a guard tells of the class behind its source, which loads from it rely on."""
        constant = _strong(guard.constant)
        if guard.form and guard.form[0] in ("type", "length"):
            self.kinds[guard.source] = constant
        if guard.form[:1] == ("keys",):
            self.kinds[guard.source] = dict
        if guard.form == ("is",) and type(constant) is types.ModuleType:
            self.modules[guard.source] = constant

    # -- loads
    def load(self, source: Source) -> int:
        """The register that holds the value of ``source``; reads it if no check before has."""
        if source not in self.registers:
            write = _LOADS.get(type(source))
            if write is None:
                raise NoForm(source.text)
            register = write(self, source)
            self.registers[source] = register
        return self.registers[source]

    def fill(self, check: Check, *operands: int) -> int:
        """Write a load into a new register."""
        if self.used >= REGISTERS:
            raise NoForm("too many values are read")
        self.words.add(check, self.used, *operands)
        self.used += 1
        return self.used - 1

    # -- checks
    def _check(self, guard: Guard) -> None:
        write = _WRITERS.get(guard.form[0]) if guard.form else None
        if write is None:
            raise NoForm(guard.text)
        write(self, guard)

    def _array(self, source: Source, guards: Sequence[Guard]) -> None:
        forms = {guard.form[0]: guard for guard in guards}
        if not {"dtype", "sizes"} <= forms.keys():
            raise NoForm(source.text)
        dtype = forms["dtype"].constant
        sizes = forms["sizes"].form[1]
        mask = value = 0
        for guard in guards:
            if guard.form[0] == "flags":
                mask |= guard.form[1]
                value |= guard.form[2]
        register = self.load(source)
        self.arrays.add(source)
        word = dtype_word(dtype) if dtype.char in _NUMBERS else -1
        head = (register, self.words.keep(dtype), word, len(sizes), mask, value)
        self.words.add(Check.ARRAY, *head, *(-1 if n is None else n for n in sizes))
        if "strides" in forms:
            strides = forms["strides"].form[1]
            self.words.add(Check.STRIDES, register, len(strides), *strides)

    # -- namespaces
    def _is_from_namespace(self, guard: Guard) -> bool:
        """True if only a change of a namespace's dict can change the outcome."""
        return not guard.others and self._dict_read(guard) is not None

    def _dict_read(self, guard: Guard) -> dict[str, Any] | None:
        """The dict on which alone the outcome depends, if there is one."""
        if not guard.form or guard.form[0] not in ("is", "equals", "float", "not in"):
            return None
        return self.namespace(guard.form[2]) if guard.form[0] == "not in" else self.dict_of(guard.source)

    def dict_of(self, source: Source) -> dict[str, Any] | None:
        """The dict in which ``source`` is an entry, if it is always the same dict."""
        if isinstance(source, GlobalSource):
            return self.namespace(source.namespace)
        if isinstance(source, DictSource) and source.origin in self.modules:
            return vars(self.modules[source.origin]) if self.dict_of(source.origin) is not None else None
        return None

    def namespace(self, name: str) -> dict[str, Any] | None:
        found = self.constants[int(name[1:])] if name.startswith("K") else self.around.names.get(name)
        return found if type(found) is dict else None

    def _namespaces(self, guards: Sequence[Guard]) -> None:
        """Check ``guards`` unless every dict that they read from is unchanged."""
        dicts = {id(d): d for g in guards if (d := self._dict_read(g)) is not None}
        start = self.words.add(Check.UNCHANGED, len(dicts), 0)
        for each in dicts.values():
            self.words.add(self._changing_word(each), -1, -1)
        begin = self.words.place
        for guard in guards:
            self._check(guard)
        end = self.words.add(Check.CHECKED, len(dicts), 0)
        self.words.words[end // 8 + 2] = end - start
        self.words.words[start // 8 + 2] = self.words.place - begin

    def _changing_word(self, scope: dict[str, Any]) -> int:
        """The address of a word that is another one after every change of ``scope``."""
        if has_dict_tags():
            return self.words.keep(scope) + OFFSETS["TAG"]
        stamp = DictStamp([scope])
        self.words.kept.append(stamp)
        assert stamp.address is not None
        return stamp.address


def _is_of_array(guard: Guard) -> bool:
    return bool(guard.form) and guard.form[0] in _OF_ARRAYS


def _strong(constant: Any) -> Any:
    return constant() if isinstance(constant, ref) else constant


def _expected(checks: Checks, constant: Any) -> tuple[int, int]:
    """An object by address, or its weak reference and 1."""
    return checks.words.keep(constant), int(isinstance(constant, ref))


def float_bits(value: float) -> int:
    bits: int = struct.unpack("<q", struct.pack("<d", value))[0]
    return bits


# ---------------------------------------------------------------- guards, by the name of their form


def _type(checks: Checks, guard: Guard) -> None:
    checks.words.add(Check.TYPE, checks.load(guard.source), *_expected(checks, guard.constant))


def _is(checks: Checks, guard: Guard) -> None:
    checks.words.add(Check.IS, checks.load(guard.source), *_expected(checks, guard.constant))


def _equals(checks: Checks, guard: Guard) -> None:
    value = guard.constant
    register = checks.load(guard.source)
    checks.words.add(Check.EQUALS, register, checks.words.keep(type(value)), checks.words.keep(value))


def _float(checks: Checks, guard: Guard) -> None:
    register, value = checks.load(guard.source), guard.constant
    if value != value:
        checks.words.add(Check.NAN, register)
    else:
        checks.words.add(Check.BITS, register, checks.words.keep(float), float_bits(value))


def _length(checks: Checks, guard: Guard) -> None:
    kind = _strong(guard.constant)
    if not (isinstance(kind, type) and issubclass(kind, list | tuple | dict)):
        raise NoForm(guard.text)
    checks.words.add(Check.LENGTH, checks.load(guard.source), checks.words.keep(kind), guard.form[1])


def _same(checks: Checks, guard: Guard) -> None:
    checks.words.add(Check.SAME, checks.load(guard.source), checks.load(guard.others[0]))


_FEW_DISTINCT = 4  # sources of one guard: the pairs grow with the square


def _distinct(checks: Checks, guard: Guard) -> None:
    sources = (guard.source, *guard.others)
    registers = [checks.load(source) for source in sources]
    if len(sources) > _FEW_DISTINCT:
        checks.words.add(Check.ALL_DISTINCT, 0, len(registers), *registers)
        return
    for k, one in enumerate(registers):
        for other in registers[k + 1 :]:
            checks.words.add(Check.DISTINCT, one, other)


def _errstate(checks: Checks, guard: Guard) -> None:
    *modes, no_callback = guard.constant
    checks.errstate = checks.words.add(Check.ERRSTATE, 0, 0, errstate_mask(dict(modes)), int(no_callback))


def _class_entry(checks: Checks, guard: Guard) -> None:
    _, name, of_class = guard.form
    place = (checks.words.keep(sys.intern(name)), *_expected(checks, guard.constant), int(of_class))
    checks.words.add(Check.CLASS_ENTRY, checks.load(guard.source), *place)


def _absent(checks: Checks, guard: Guard) -> None:
    checks.words.add(Check.ABSENT, checks.load(guard.source), checks.words.keep(sys.intern(guard.form[1])))


def _function(checks: Checks, guard: Guard) -> None:
    kind, code, scope, _ = guard.constant  # code that means the same is left to the Python test
    if kind is not types.FunctionType:
        raise NoForm(guard.text)
    checks.words.add(Check.FUNCTION, checks.load(guard.source), checks.words.keep(code), checks.words.keep(scope))


def _bases(checks: Checks, guard: Guard) -> None:
    offset = mro_offset()
    if offset is None:
        raise NoForm(guard.text)
    found = checks.fill(Check.FIELD, checks.load(guard.source), checks.words.keep(guard.form[1]), offset)
    checks.words.add(Check.IS, found, *_expected(checks, guard.constant))


def _defaults(checks: Checks, guard: Guard) -> None:
    """As many defaults by position, and these by keyword; their order means nothing."""
    _, count, names = guard.form
    if not names:
        checks.words.add(Check.DEFAULTS, checks.load(guard.source), count)
        return
    by_position, by_keyword = (AttributeSource(guard.source, name) for name in _DEFAULTS)
    wanted = (Check.LENGTH, checks.words.keep(tuple), count) if count else (Check.IS, *_expected(checks, None))
    checks.words.add(wanted[0], checks.load(by_position), *wanted[1:])
    checks.words.add(Check.LENGTH, checks.load(by_keyword), checks.words.keep(dict), len(names))
    for name in names:
        checks.load(ItemSource(by_keyword, name))


def _int64(checks: Checks, guard: Guard) -> None:
    checks.words.add(Check.INT64, checks.load(guard.source))


def _equal_sizes(checks: Checks, guard: Guard) -> None:
    _, axis, other_axis = guard.form
    other = guard.others[0] if guard.others else guard.source
    if not {guard.source, other} <= checks.arrays:  # only an array that passed its check has sizes
        raise NoForm(guard.text)
    checks.words.add(Check.EQUAL_SIZES, checks.load(guard.source), axis, checks.load(other), other_axis)


def _not_in(checks: Checks, guard: Guard) -> None:
    _, name, namespace = guard.form
    scope = checks.namespace(namespace)
    if scope is None:
        raise NoForm(guard.text)
    checks.words.add(Check.NOT_IN, 0, checks.words.keep(scope), checks.words.keep(sys.intern(name)))


def _not_among(checks: Checks, guard: Guard) -> None:
    addresses = np.array(sorted(guard.constant), np.int64)
    checks.words.keep(addresses)
    checks.words.add(Check.NOT_AMONG, checks.load(guard.source), addresses.ctypes.data, len(addresses))


def _pairs(checks: Checks, guard: Guard) -> None:
    checks.words.keep(guard.constant)
    checks.words.add(Check.PAIRS, 0, guard.constant.header_address)


_MOST_KEYS = 32


def _keys(checks: Checks, guard: Guard) -> None:
    """As many keys, and each of these among them."""
    keys = guard.form[1]
    if len(keys) > _MOST_KEYS or not all(type(key) in (str, int) for key in keys):
        raise NoForm(guard.text)
    register = checks.load(guard.source)
    checks.words.add(Check.LENGTH, register, checks.words.keep(dict), len(keys))
    for key in keys:
        checks.load(ItemSource(guard.source, key))


def _unset_cell(checks: Checks, guard: Guard) -> None:
    checks.words.add(Check.UNSET_CELL, checks.load(guard.source), checks.words.keep(types.CellType))


def _recording(checks: Checks, guard: Guard) -> None:
    """No block of another mode is open anywhere; if one is, in whatever thread, Python finds out."""
    checks.words.add(Check.WORD, 0, BLOCKS.ctypes.data, 0)


_OF_ARRAYS = frozenset({"dtype", "sizes", "flags", "strides"})
_WRITERS: dict[str, Callable[[Checks, Guard], None]] = {
    "type": _type,
    "is": _is,
    "equals": _equals,
    "float": _float,
    "length": _length,
    "same": _same,
    "distinct": _distinct,
    "errstate": _errstate,
    "class entry": _class_entry,
    "absent": _absent,
    "bases": _bases,
    "function": _function,
    "defaults": _defaults,
    "int64": _int64,
    "equal sizes": _equal_sizes,
    "not in": _not_in,
    "recording": _recording,
    "not among": _not_among,
    "pairs": _pairs,
    "keys": _keys,
    "unset cell": _unset_cell,
}


# ---------------------------------------------------------------- sources


def _from_global(checks: Checks, source: GlobalSource) -> int:
    scope = checks.namespace(source.namespace)
    if scope is None:
        raise NoForm(source.text)
    return checks.fill(Check.FROM_DICT, checks.words.keep(scope), checks.words.keep(sys.intern(source.name)))


def _from_closure(checks: Checks, source: ClosureSource) -> int:
    cell = checks.load(CellObjectSource(source))
    return checks.fill(Check.FROM_CELL, cell, checks.words.keep(types.CellType))


def _from_cell(checks: Checks, source: CellSource) -> int:
    cell = checks.load(CellObjectSource(source))
    return checks.fill(Check.FROM_CELL, cell, checks.words.keep(types.CellType))


def _cell(checks: Checks, source: CellObjectSource) -> int:
    content = source.cell_of
    if isinstance(content, CellSource):
        return checks.fill(Check.FROM_CLOSURE, checks.load(content.origin), content.index)
    if checks.around.cells is None:
        cells = len(checks.around.parameters)
        return checks.fill(Check.FROM_SEQUENCE, cells, checks.words.keep(tuple), content.index, 0)
    return checks.fill(Check.LOAD, checks.words.keep(checks.around.cells[content.index]))


def _constant(checks: Checks, source: ConstantSource) -> int:
    return checks.fill(Check.LOAD, checks.words.keep(checks.constants[source.index]))


def _from_own_dict(checks: Checks, source: DictSource) -> int:
    key = checks.words.keep(sys.intern(source.name))
    scope = checks.dict_of(source)
    if scope is not None:
        return checks.fill(Check.FROM_DICT, checks.words.keep(scope), key)
    return checks.fill(Check.FROM_OWN_DICT, checks.load(source.origin), key)


def _item(checks: Checks, source: ItemSource) -> int:
    kind, key = checks.kinds.get(source.origin), source.key
    if kind is None and type(key) is str:
        kind = dict  # the load itself asks for the class
    if isinstance(source.origin, AttributeSource):
        kind = _DEFAULTS.get(source.origin.name, (0, kind))[1]
    origin = checks.load(source.origin)
    is_sequence = kind is list or (
        kind is not None and issubclass(kind, tuple)
    )  # a named tuple has its items there too
    if is_sequence and type(key) is int and key >= 0:
        return checks.fill(Check.FROM_SEQUENCE, origin, checks.words.keep(kind), key, int(kind is list))
    if kind is dict and type(key) in (str, int):
        return checks.fill(Check.FROM_MAPPING, origin, checks.words.keep(dict), checks.words.keep(key))
    raise NoForm(source.text)


def _inside(checks: Checks, source: InsideSource) -> int:
    return checks.load(source.origin)


def _type_of(checks: Checks, source: TypeSource) -> int:
    return checks.fill(Check.TYPE_OF, checks.load(source.origin))


_FIELDS: dict[str, tuple[type, int]] = {
    "__func__": (types.MethodType, 16),
    "__self__": (types.MethodType, 24),
    "start": (slice, 16),
    "stop": (slice, 24),
    "step": (slice, 32),
}
_DEFAULTS: dict[str, tuple[int, type]] = {"__defaults__": (0, tuple), "__kwdefaults__": (1, dict)}


def _attribute(checks: Checks, source: AttributeSource) -> int:
    if source.name in _DEFAULTS:
        return checks.fill(Check.DEFAULTS_OF, checks.load(source.origin), _DEFAULTS[source.name][0])
    if source.name not in _FIELDS:
        raise NoForm(source.text)
    kind, offset = _FIELDS[source.name]
    return checks.fill(Check.FIELD, checks.load(source.origin), checks.words.keep(kind), offset)


def _remembered(checks: Checks, source: StateSource) -> int:
    """By the parameter itself, which another guard has found to be the same as ever."""
    return checks.fill(Check.FROM_KEYED, checks.load(source.state), checks.load(source.key))


_LOADS: dict[type[Source], Callable[[Checks, Any], int]] = {
    GlobalSource: _from_global,
    ClosureSource: _from_closure,
    CellSource: _from_cell,
    CellObjectSource: _cell,
    ConstantSource: _constant,
    DictSource: _from_own_dict,
    ItemSource: _item,
    MemberSource: _item,
    StateSource: _remembered,
    TypeSource: _type_of,
    InsideSource: _inside,
    AttributeSource: _attribute,
}
