"""The code of every native entry, as kernel text, and the numbers that tables are written in.

A table is a block of words. It starts with a head; ``FIRST`` or a bucket gives the place (in bytes from the start of
the table) of a record, which is one cache entry: a few words, then checks up to ``DONE``. Places 0 mean "none".
Checks read *registers*: the arguments come first, the others are filled by loads.
"""

from __future__ import annotations

import textwrap
from enum import IntEnum

from jitmagic.backends.native.abi import FEW_TURNS
from jitmagic.runtime.native.layout import OFFSETS
from jitmagic.runtime.native.parts_text import ERRSTATE_HOLDS, OTHER_ENTRY, put

__all__ = [
    "BIG_PRIME",
    "ENTRY_TEXT",
    "REGISTERS",
    "Check",
    "Head",
    "Mode",
    "Record",
]

REGISTERS = 1024
BIG_PRIME = -7046029254386353131  # 2**64 divided by the golden ratio, odd: D. Knuth, TAOCP 3, section 6.4


class Head(IntEnum):
    """The first words of a table."""

    COUNT = 0  # arguments of a call
    SLOW = 1  # callable for calls that no record serves
    BAILED = 2  # callable for calls whose program gave up
    BAIL = 3  # the exception class with which it does
    FIRST = 4  # place of the first record, where there are no buckets
    MASK = 5  # number of buckets less one; 0: no buckets
    BUCKETS = 6  # place of the buckets
    ND_TYPE = 7
    FLOAT_TYPE = 8
    INT_TYPE = 9
    NONE = 10
    ERRSTATE = 11  # the context variable
    TYPE_TYPE = 12
    FUNCTION_TYPE = 13
    STEPS = 14  # address of the code that runs steps
    POOL = 15  # callable that gives the thread pool's state
    NEW_ARRAY = 16  # address of NumPy's PyArray_NewFromDescr
    NEW_SCALAR = 17  # address of its PyArray_Scalar
    BUSY = 18  # whether other code may run in a call, which could free this table: the call then holds it
    MODES = 19  # one word per argument: what of it chooses the bucket


class Record(IntEnum):
    """The first words of a record; the checks follow."""

    NEXT = 0  # place of the record to try if this one fails
    HITS = 1  # address of the counter
    GO = 2  # callable that serves a match
    STEPS = 3  # place of the steps that serve it instead; 0: call GO
    CHECKS = 4


class Mode(IntEnum):
    """Bits of ``Head.MODES``."""

    TYPE = 1
    DTYPE = 2  # and number of dimensions
    SHAPE = 4
    FLOAT = 8
    INT = 16


class Check(IntEnum):
    """What follows the number in a table. ``r`` is a register; ``o`` an object, by address."""

    DONE = 0
    ARRAY = 1  # r, dtype o, dtype word, dimensions, mask and value of its flags, then sizes (-1: any from 2)
    STRIDES = 2  # r, dimensions, strides
    TYPE = 3  # r, o, is weak
    IS = 4  # r, o, is weak
    EQUALS = 5  # r, type o, o
    BITS = 6  # r, type o, 64 bits
    NAN = 7  # r
    LENGTH = 8  # r, type o, length
    SAME = 9  # r, r
    DISTINCT = 10  # r, r
    ERRSTATE = 11  # whether the steps make this check, capsule o, mask, whether there is no callback
    CLASS_ENTRY = 12  # r, name o, o, is weak, whether r is the class itself
    ABSENT = 13  # r, name o
    FUNCTION = 14  # r, code o, globals o
    DEFAULTS = 15  # r, their number; no keyword defaults
    INT64 = 16  # r
    EQUAL_SIZES = 17  # r, axis, r, axis
    UNSET_CELL = 18  # r (a cell), cell type o
    NOT_IN = 19  # 0, dict o, key o
    # loads: the register that is filled comes first
    LOAD = 20  # r, o
    FROM_DICT = 21  # r, dict o, key o
    FROM_OWN_DICT = 22  # r, r, key o
    FROM_SEQUENCE = 23  # r, r, type o, index
    FROM_MAPPING = 24  # r, r, dict type o, key o
    FROM_CLOSURE = 25  # r, r (a function), index: the cell
    FROM_CELL = 26  # r, r (a cell), cell type o
    TYPE_OF = 27  # r, r
    FIELD = 28  # r, r, type o, offset
    DEFAULTS_OF = 29  # r, r (a function), 0: positional, 1: by keyword
    # namespaces: n, length of what may be skipped, then for each the address
    # of a word that changes with it, that word when the checks last held, and the same before they are tried
    UNCHANGED = 30
    CHECKED = 31  # place of that UNCHANGED, counted back in bytes; n
    PAIRS = 32  # 0, address of the header of some pairs
    NOT_AMONG = 33  # r, address of ascending addresses, their number
    ALL_DISTINCT = 34  # 0, n, then n times r
    WORD = 35  # 0, address of a word, what it must be
    FROM_KEYED = 36  # load: r, r (a dict), r (its key)

    @property
    def is_busy(self) -> bool:
        """Whether other code may run meanwhile: the ``__eq__`` of a dict's keys, what a garbage collection ends."""
        return self in _BUSY


_BUSY = frozenset(
    {
        *(Check.EQUALS, Check.CLASS_ENTRY, Check.ABSENT, Check.INT64, Check.NOT_IN),
        *(Check.FROM_DICT, Check.FROM_OWN_DICT, Check.FROM_MAPPING, Check.FROM_KEYED),
    }
)

_NAMES = {
    **OFFSETS,
    **{f"H_{h.name}": h * 8 for h in Head},
    **{f"R_{r.name}": r * 8 for r in Record},
    **{f"M_{m.name}": int(m) for m in Mode},
    **{f"C_{c.name}": int(c) for c in Check},
    "REGISTER_BYTES": REGISTERS * 8,
    "PRIME": BIG_PRIME,
    "LITTLE": ord("<"),
    "OTHER_ENTRY": OTHER_ENTRY,
}


_HASH = """
            item = load_int64(argv, k * 8)
            mode = load_int64(table, {H_MODES} + k * 8)
            if mode != 0:
                kind = load_int64(item, {TYPE})
                mixed = (mixed ^ kind) * {PRIME}
                mixed ^= (mixed >> 32) & 0xFFFFFFFF
                if kind == load_int64(table, {H_ND_TYPE}):
                    if mode & {M_DTYPE} != 0:
                        word = load_int64(load_int64(item, {DESCR}), {KIND})
                        if (word >> 16) & 0xFF == {LITTLE}:
                            word += 0x10000
                        ndim = np.int64(load_int32(item, {NDIM}))
                        mixed = (mixed ^ word ^ ndim << 8) * {PRIME}
                        mixed ^= (mixed >> 32) & 0xFFFFFFFF
                        if mode & {M_SHAPE} != 0:
                            sizes = load_int64(item, {SIZES})
                            for axis in range(ndim):
                                mixed = (mixed ^ load_int64(sizes, axis * 8)) * {PRIME}
                                mixed ^= (mixed >> 32) & 0xFFFFFFFF
                elif kind == load_int64(table, {H_FLOAT_TYPE}):
                    if mode & {M_FLOAT} != 0:
                        mixed = (mixed ^ load_int64(item, {VALUE})) * {PRIME}
                        mixed ^= (mixed >> 32) & 0xFFFFFFFF
                elif kind == load_int64(table, {H_INT_TYPE}):
                    if mode & {M_INT} != 0:
                        word = PyLong_AsLongLong(item)
                        if word == -1 and PyErr_Occurred() != 0:
                            PyErr_Clear()
                        mixed = (mixed ^ word) * {PRIME}
                        mixed ^= (mixed >> 32) & 0xFFFFFFFF
"""

# ``p`` is the place of a check, ``o`` what the register in its first word holds, ``n`` the check's length in words.
_CHECKS = """
            check = load_int64(p, 0)
            if check == {C_DONE}:
                break
            o = load_int64(registers, load_int64(p, 8) * 8)
            n = 3
            if check == {C_ARRAY}:
                ndim = load_int64(p, 32)
                n = 7 + ndim
                holds = load_int64(o, {TYPE}) == load_int64(table, {H_ND_TYPE})
                if holds:
                    descr = load_int64(o, {DESCR})
                    if descr != load_int64(p, 16):
                        word = load_int64(descr, {KIND})
                        if (word >> 16) & 0xFF == {LITTLE}:
                            word += 0x10000
                        holds = word == load_int64(p, 24) and load_int64(descr, {METADATA}) == 0
                    holds = holds and np.int64(load_int32(o, {NDIM})) == ndim
                    holds = holds and np.int64(load_int32(o, {FLAGS})) & load_int64(p, 40) == load_int64(p, 48)
                    if holds:
                        sizes = load_int64(o, {SIZES})
                        for axis in range(ndim):
                            size = load_int64(sizes, axis * 8)
                            wanted = load_int64(p, 56 + axis * 8)
                            if size != wanted and (wanted >= 0 or size < 2):
                                holds = False
            elif check == {C_STRIDES}:
                ndim = load_int64(p, 16)
                n = 3 + ndim
                strides = load_int64(o, {STRIDES})
                for axis in range(ndim):
                    if load_int64(strides, axis * 8) != load_int64(p, 24 + axis * 8):
                        holds = False
            elif check == {C_TYPE} or check == {C_IS} or check == {C_CLASS_ENTRY}:
                n = 4
                at = p + 16
                if check == {C_TYPE}:
                    o = load_int64(o, {TYPE})
                elif check == {C_CLASS_ENTRY}:
                    n = 6
                    at = p + 24
                    if load_int64(p, 40) == 0:
                        o = load_int64(o, {TYPE})
                    elif PyType_IsSubtype(load_int64(o, {TYPE}), load_int64(table, {H_TYPE_TYPE})) == 0:
                        holds = False
                    if holds:
                        o = _PyType_Lookup(o, load_int64(p, 16))
                        if o == 0:
                            o = load_int64(table, {H_NONE})
                wanted = load_int64(at, 0)
                if load_int64(at, 8) != 0:
                    wanted = load_int64(wanted, {VALUE})
                    holds = holds and wanted != load_int64(table, {H_NONE})
                holds = holds and o == wanted
            elif check == {C_EQUALS}:
                n = 4
                if o != load_int64(p, 24):
                    holds = load_int64(o, {TYPE}) == load_int64(p, 16)
                    if holds:
                        holds = PyObject_RichCompareBool(o, load_int64(p, 24), 2) == 1
            elif check == {C_BITS}:
                n = 4
                holds = load_int64(o, {TYPE}) == load_int64(p, 16)
                if holds:
                    holds = load_int64(o, {VALUE}) == load_int64(p, 24)
            elif check == {C_NAN}:
                n = 2
                holds = load_int64(o, {TYPE}) == load_int64(table, {H_FLOAT_TYPE})
                if holds:
                    number = load_float64(o, {VALUE})
                    holds = number != number
            elif check == {C_LENGTH}:
                n = 4
                holds = load_int64(o, {TYPE}) == load_int64(p, 16)
                if holds:
                    holds = load_int64(o, {VALUE}) == load_int64(p, 24)
            elif check == {C_SAME}:
                holds = o == load_int64(registers, load_int64(p, 16) * 8)
            elif check == {C_DISTINCT}:
                holds = o != load_int64(registers, load_int64(p, 16) * 8)
            elif check == {C_ERRSTATE}:
                n = 5
                if load_int64(p, 8) == 0 or load_int64(record, {R_STEPS}) == 0:
                    at = p
                    {ERRSTATE}
            elif check == {C_ABSENT}:
                own = PyObject_GenericGetDict(o, 0)
                holds = own != 0
                if holds:
                    holds = PyDict_GetItemWithError(own, load_int64(p, 16)) == 0 and PyErr_Occurred() == 0
                    Py_DecRef(own)
            elif check == {C_FUNCTION}:
                n = 4
                holds = load_int64(o, {TYPE}) == load_int64(table, {H_FUNCTION_TYPE})
                if holds:
                    holds = PyFunction_GetCode(o) == load_int64(p, 16)
                    holds = holds and PyFunction_GetGlobals(o) == load_int64(p, 24)
            elif check == {C_DEFAULTS}:
                holds = load_int64(o, {TYPE}) == load_int64(table, {H_FUNCTION_TYPE})
                if holds:
                    own = PyFunction_GetDefaults(o)
                    total = 0
                    if own != 0:
                        total = load_int64(own, {VALUE})
                    holds = total == load_int64(p, 16)
                    own = PyFunction_GetKwDefaults(o)
                    if own != 0:
                        holds = holds and load_int64(own, {VALUE}) == 0
            elif check == {C_INT64}:
                n = 2
                holds = load_int64(o, {TYPE}) == load_int64(table, {H_INT_TYPE})
                if holds:
                    holds = PyLong_AsLongLong(o) != -1 or PyErr_Occurred() == 0
            elif check == {C_EQUAL_SIZES}:
                n = 5
                other = load_int64(registers, load_int64(p, 24) * 8)
                size = load_int64(load_int64(o, {SIZES}), load_int64(p, 16) * 8)
                holds = size == load_int64(load_int64(other, {SIZES}), load_int64(p, 32) * 8)
            elif check == {C_NOT_IN}:
                n = 4
                holds = PyDict_GetItemWithError(load_int64(p, 16), load_int64(p, 24)) == 0 and PyErr_Occurred() == 0
            elif check == {C_UNSET_CELL}:
                holds = load_int64(o, {TYPE}) == load_int64(p, 16)
                if holds:
                    holds = load_int64(o, {VALUE}) == 0
            elif check == {C_PAIRS}:
                at = load_int64(load_int64(p, 16), 0)
                stop = at + load_int64(load_int64(p, 16), 8) * 16
                while holds and at < stop:
                    holds = load_int64(load_int64(at, 0), 0) == load_int64(at, 8)
                    at += 16
            elif check == {C_NOT_AMONG}:
                n = 4
                first = np.int64(0)
                last = load_int64(p, 24)
                while first < last:
                    middle = (first + last) >> 1
                    value = load_int64(load_int64(p, 16), middle * 8)
                    if value == o:
                        holds = False
                        last = first
                    elif value < o:
                        first = middle + 1
                    else:
                        last = middle
            elif check == {C_ALL_DISTINCT}:
                total = load_int64(p, 16)
                n = 3 + total
                same = 0
                for k in range(1, total):
                    value = load_int64(registers, load_int64(p, 24 + k * 8) * 8)
                    for j in range(k):
                        if load_int64(registers, load_int64(p, 24 + j * 8) * 8) == value:
                            same += 1
                holds = same == 0
            elif check == {C_WORD}:
                n = 4
                holds = load_int64(load_int64(p, 16), 0) == load_int64(p, 24)
            elif check == {C_FROM_KEYED}:
                n = 4
                o = load_int64(registers, load_int64(p, 16) * 8)
                value = PyDict_GetItemWithError(o, load_int64(registers, load_int64(p, 24) * 8))
                holds = value != 0
                store_int64(registers, load_int64(p, 8) * 8, value)
            elif check >= {C_UNCHANGED}:
                total = load_int64(p, 8)
                if check == {C_UNCHANGED}:
                    n = 3 + 3 * total
                    changed = False
                    for k in range(total):
                        tag = load_int64(load_int64(p, 24 + k * 24), 0)
                        store_int64(p, 40 + k * 24, tag)
                        if tag != load_int64(p, 32 + k * 24):
                            changed = True
                    if not changed:
                        p += load_int64(p, 16)
                else:
                    back = p - load_int64(p, 16)
                    for k in range(total):
                        store_int64(back, 32 + k * 24, load_int64(back, 40 + k * 24))
            else:
                value = 0
                n = 4
                if check >= {C_FROM_OWN_DICT}:
                    o = load_int64(registers, load_int64(p, 16) * 8)
                if check == {C_LOAD}:
                    n = 3
                    value = load_int64(p, 16)
                elif check == {C_FROM_DICT}:
                    value = PyDict_GetItemWithError(load_int64(p, 16), load_int64(p, 24))
                elif check == {C_FROM_OWN_DICT}:
                    own = PyObject_GenericGetDict(o, 0)
                    if own != 0:
                        value = PyDict_GetItemWithError(own, load_int64(p, 24))
                        Py_DecRef(own)
                elif check == {C_FROM_SEQUENCE}:
                    n = 6
                    index = load_int64(p, 32)
                    if load_int64(o, {TYPE}) == load_int64(p, 24) and index < load_int64(o, {VALUE}):
                        at = o + {ITEM}
                        if load_int64(p, 40) != 0:
                            at = load_int64(o, {ITEM})
                        value = load_int64(at, index * 8)
                elif check == {C_FROM_MAPPING}:
                    n = 5
                    if load_int64(o, {TYPE}) == load_int64(p, 24):
                        value = PyDict_GetItemWithError(o, load_int64(p, 32))
                elif check == {C_FROM_CLOSURE}:
                    if load_int64(o, {TYPE}) == load_int64(table, {H_FUNCTION_TYPE}):
                        own = PyFunction_GetClosure(o)
                        if own != 0:
                            index = load_int64(p, 24)
                            if index < load_int64(own, {VALUE}):
                                value = load_int64(own, {ITEM} + index * 8)
                elif check == {C_FROM_CELL}:
                    if load_int64(o, {TYPE}) == load_int64(p, 24):
                        value = load_int64(o, {VALUE})
                elif check == {C_TYPE_OF}:
                    n = 3
                    value = load_int64(o, {TYPE})
                elif check == {C_FIELD}:
                    n = 5
                    if load_int64(o, {TYPE}) == load_int64(p, 24):
                        value = load_int64(o, load_int64(p, 32))
                elif check == {C_DEFAULTS_OF}:
                    if load_int64(o, {TYPE}) == load_int64(table, {H_FUNCTION_TYPE}):
                        if load_int64(p, 24) == 0:
                            value = PyFunction_GetDefaults(o)
                        else:
                            value = PyFunction_GetKwDefaults(o)
                        if value == 0:
                            value = load_int64(table, {H_NONE})
                holds = value != 0
                store_int64(registers, load_int64(p, 8) * 8, value)
            if not holds:
                break
            p += n * 8
"""

# A METH_FASTCALL function: (self, argv, count) -> object. ``self`` is a tuple whose first item is the ndarray that
# holds the table; nobody else need hold it. Python code runs in here only through GO, SLOW and BAILED, which are the
# last thing a call does, and what is busy.
_ENTRY = """
def entry(self, argv, count):
    table = load_int64(load_int64(self, {ITEM}), {DATA})
    busy = load_int64(table, {H_BUSY})
    if busy != 0:
        Py_IncRef(self)
    result = 0
    callee = load_int64(table, {H_SLOW})
    place = 0
    registers = stack({REGISTER_BYTES})
    found = stack(64)
    if count == load_int64(table, {H_COUNT}):
        for k in range(count):
            store_int64(registers, k * 8, load_int64(argv, k * 8))
        place = load_int64(table, {H_FIRST})
        mask = load_int64(table, {H_MASK})
        if mask != 0:
            mixed = 0
            for k in range(count):
                {HASH}
            place = load_int64(table, load_int64(table, {H_BUCKETS}) + (mixed & mask) * 8)
    while place != 0:
        record = table + place
        p = record + {R_CHECKS}
        holds = True
        while True:
            {CHECKS}
        if holds:
            counter = load_int64(record, {R_HITS})
            store_int64(counter, 0, load_int64(counter, 0) + 1)
            callee = load_int64(table, {H_BAILED})
            steps = load_int64(record, {R_STEPS})
            if steps != 0:
                result = call_kernel(load_int64(table, {H_STEPS}), table, registers, table + steps)
                if result != {OTHER_ENTRY}:
                    break
                result = 0
                callee = load_int64(table, {H_SLOW})
                store_int64(counter, 0, load_int64(counter, 0) - 1)
            else:
                bail = load_int64(table, {H_BAIL})
                go = load_int64(record, {R_GO})
                Py_IncRef(go)
                Py_IncRef(callee)
                result = PyObject_Vectorcall(go, argv, count, 0)
                Py_DecRef(go)
                if result == 0 and PyErr_ExceptionMatches(bail) != 0:
                    PyErr_Clear()
                    result = PyObject_Vectorcall(callee, argv, count, 0)
                Py_DecRef(callee)
                callee = 0
                break
        if PyErr_Occurred() != 0:
            PyErr_Clear()
        place = load_int64(record, {R_NEXT})
    if result == 0 and callee != 0:
        Py_IncRef(callee)
        result = PyObject_Vectorcall(callee, argv, count, 0)
        Py_DecRef(callee)
    if busy != 0:
        Py_DecRef(self)
    return result
"""

_PARTS = {"HASH": textwrap.dedent(_HASH), "CHECKS": textwrap.dedent(_CHECKS)}
ENTRY_TEXT = FEW_TURNS + put(put(_ENTRY, **_PARTS), ERRSTATE=ERRSTATE_HOLDS).format(**_NAMES)
