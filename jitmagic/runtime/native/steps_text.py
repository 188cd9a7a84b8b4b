"""The code that serves a match without Python, as kernel text, and the numbers that steps are written in.

Steps follow each other in the table up to ``RETURN``. They read and fill two files: *registers* hold objects (the
arguments first, made arrays from ``MADE`` on), *numbers* hold int64 (sizes, units of work).
"""

from __future__ import annotations

from enum import IntEnum

from jitmagic.backends.native import pool
from jitmagic.backends.native.abi import FEW_TURNS, Status
from jitmagic.backends.native.launch import ALIGN, CHUNK_WORK, CHUNKS_PER_THREAD, GIL_WORK, POOL_WORK
from jitmagic.runtime.native.entry_text import REGISTERS, Head
from jitmagic.runtime.native.layout import OFFSETS
from jitmagic.runtime.native.parts_text import ERRSTATE_HOLDS, OTHER_ENTRY, put

__all__ = ["BLOCK_WORDS", "MADE", "NUMBERS", "STEPS_TEXT", "Operand", "Step"]

NUMBERS = 64
BLOCK_WORDS = 256  # of a kernel's arguments; what nests may recurse, so that little of the stack is taken
MADE = 32  # the first register of made objects
_MOST_MADE = REGISTERS - MADE


class Step(IntEnum):
    """What follows the number. ``r`` is a register, ``m`` a number."""

    RETURN = 0  # r
    CONSTANT = 1  # m, value
    SIZE = 2  # m, r, axis
    INTEGER = 3  # m, r
    ADD = 4  # m, m, m
    MULTIPLY = 5  # m, m, m
    NEW = 6  # dtype o, dimensions, flags, m for each size; fills the next made register
    LAUNCH = 7  # kernel, m (turns), m (work of a turn), conditions, count, then (operand, value) pairs
    TUPLE = 8  # count, r ...; fills the next made register
    HOLD = 9  # r; what is not an argument could die meanwhile: it counts as made
    SCALAR = 10  # r; the first element of an array as a NumPy scalar, in the next made register
    NEW_FIXED = 11  # as NEW, with the sizes themselves
    LAUNCH_SMALL = 12  # kernel, turns, conditions, count, then (dimensions, r); few turns, no calls
    # Conditions are three words: status and flags that the kernel may report; those for which the call gives up under
    # the entry's np.errstate; the place of the check ERRSTATE that is still to be made if there are any, or 0.

    @property
    def is_busy(self) -> bool:
        """Whether other code may run meanwhile: without the GIL, in a garbage collection, or in making an error."""
        return self in _BUSY


_BUSY = frozenset({Step.INTEGER, Step.NEW, Step.LAUNCH, Step.TUPLE, Step.SCALAR})


class Operand(IntEnum):
    """How a kernel gets an operand; from 0 on: an array in register ``value``, of so many dimensions."""

    ARRAY = 0
    INTEGER = -1  # the int in a register
    UNSIGNED = -2  # its low 64 bits
    FLOAT = -3
    WORD = -4  # ``value`` itself
    NUMBER = -5  # the number ``value``


_NAMES = {
    **OFFSETS,
    **{f"H_{h.name}": h * 8 for h in Head},
    **{f"S_{s.name}": int(s) for s in Step},
    **{f"O_{o.name}": int(o) for o in Operand},
    "NUMBER_BYTES": NUMBERS * 8,
    "BLOCK_BYTES": BLOCK_WORDS * 8,
    "MADE": MADE,
    "GIL_WORK": float(GIL_WORK),
    "POOL_WORK": float(POOL_WORK),
    "CHUNK_WORK": float(CHUNK_WORK),
    "CHUNKS_PER_THREAD": CHUNKS_PER_THREAD,
    "ALIGN": ALIGN,
    "SIZE": pool.SIZE_OFFSET,
    "RUN": pool.RUN_OFFSET,
    "OTHER_ENTRY": OTHER_ENTRY,
    "INNER_LOOP": int(Status.INNER_LOOP),
}

# ``at``: the last two words of the conditions. As in NumPy, np.errstate matters only once something was raised.
_RAISED = """
raised &= load_int64(at, 0)
at = load_int64(at, 8)
if at != 0:
    at += table
    {ERRSTATE}
    if not holds:
        answer = {OTHER_ENTRY}
        break
if raised != 0:
    break
"""

# Gives an object, or 0 if the call is to run another way; then nothing was changed and no error is set.
_STEPS = """
def steps(table, registers, p):
    numbers = stack({NUMBER_BYTES})
    block = stack({BLOCK_BYTES})
    request = stack(64)
    found = stack(64)
    made = 0
    answer = 0
    while True:
        step = load_int64(p, 0)
        if step == {S_RETURN}:
            answer = load_int64(registers, load_int64(p, 8) * 8)
            if made > 0 and answer == load_int64(registers, ({MADE} - 1 + made) * 8):
                made -= 1
            else:
                Py_IncRef(answer)
            break
        if step == {S_NEW} or step == {S_NEW_FIXED}:
            ndim = load_int64(p, 16)
            sizes = p + 32
            if step == {S_NEW}:
                sizes = block
                for axis in range(ndim):
                    store_int64(block, axis * 8, load_int64(numbers, load_int64(p, 32 + axis * 8) * 8))
            descr = load_int64(p, 8)
            kind = load_int64(table, {H_ND_TYPE})
            Py_IncRef(descr)
            new = call_new_array(load_int64(table, {H_NEW_ARRAY}), kind, descr, ndim, sizes, 0, 0, load_int64(p, 24), 0)
            if new == 0:
                break
            store_int64(registers, ({MADE} + made) * 8, new)
            made += 1
            p += 32 + ndim * 8
        elif step == {S_LAUNCH_SMALL}:
            operands = load_int64(p, 48)
            place = block
            stop = p + 56 + operands * 16
            for at in range(p + 56, stop, 16):
                ndim = load_int64(at, 0)
                item = load_int64(registers, load_int64(at, 8) * 8)
                store_int64(place, 0, load_int64(item, {DATA}))
                sizes = load_int64(item, {SIZES})
                strides = load_int64(item, {STRIDES})
                for axis in range(ndim):
                    store_int64(place, 8 + axis * 8, load_int64(sizes, axis * 8))
                    store_int64(place, 8 + (ndim + axis) * 8, load_int64(strides, axis * 8))
                place += 8 + ndim * 16
            counting = load_int64(p, 24)
            flags = 0
            if counting >> 8 != 0:
                clear_vector_float_flags()
            status = call_kernel(load_int64(p, 8), block, 0, load_int64(p, 16))
            if counting >> 8 != 0:
                flags = vector_float_flags()
            raised = (status | flags << 8) & counting
            if raised != 0:
                at = p + 32
                {RAISED}
            p = stop
        elif step == {S_LAUNCH}:
            kernel = load_int64(p, 8)
            turns = load_int64(numbers, load_int64(p, 16) * 8)
            total_work = float(turns) * float(load_int64(numbers, load_int64(p, 24) * 8))
            least = 1
            if total_work < 0.0:
                total_work = -total_work
                least = {ALIGN}
            counting = load_int64(p, 32)
            conditions = p + 40
            operands = load_int64(p, 56)
            p += 64
            place = block
            for position in range(operands):
                code = load_int64(p, 0)
                value = load_int64(p, 8)
                p += 16
                if code >= 0:
                    item = load_int64(registers, value * 8)
                    store_int64(place, 0, load_int64(item, {DATA}))
                    place += 8
                    sizes = load_int64(item, {SIZES})
                    strides = load_int64(item, {STRIDES})
                    for axis in range(code):
                        store_int64(place, axis * 8, load_int64(sizes, axis * 8))
                        store_int64(place, (code + axis) * 8, load_int64(strides, axis * 8))
                    place += code * 16
                else:
                    if code == {O_NUMBER}:
                        value = load_int64(numbers, value * 8)
                    elif code == {O_INTEGER}:
                        value = PyLong_AsLongLong(load_int64(registers, value * 8))
                    elif code == {O_UNSIGNED}:
                        value = PyLong_AsUnsignedLongLongMask(load_int64(registers, value * 8))
                    elif code == {O_FLOAT}:
                        value = float64_to_bits(PyFloat_AsDouble(load_int64(registers, value * 8)))
                    store_int64(place, 0, value)
                    place += 8
            state = 0
            if total_work >= {POOL_WORK} and turns > least:
                item = PyObject_CallNoArgs(load_int64(table, {H_POOL}))
                if item == 0:
                    break
                state = PyLong_AsLongLong(item)
                Py_DecRef(item)
            if PyErr_Occurred() != 0:
                break
            thread = 0
            if total_work >= {GIL_WORK}:
                thread = PyEval_SaveThread()
            flags = 0
            if counting >> 8 != 0:
                clear_float_flags()
            if state == 0:
                status = call_kernel(kernel, block, 0, turns)
            else:
                pieces = load_int64(state, {SIZE}) * {CHUNKS_PER_THREAD}
                if total_work < {CHUNK_WORK} * float(pieces):
                    pieces = np.int64(total_work / {CHUNK_WORK})
                chunk = (turns - 1) // pieces + 1
                if least > 1 or chunk > 16 * {ALIGN}:
                    chunk = ((chunk - 1) // {ALIGN} + 1) * {ALIGN}
                store_int64(request, 0, kernel)
                store_int64(request, 8, block)
                store_int64(request, 16, 0)
                store_int64(request, 24, turns)
                store_int64(request, 32, chunk)
                status = call_kernel(load_int64(state, {RUN}), state, request, 0)
                flags = load_int64(request, 40)
            if counting >> 8 != 0:
                flags |= float_flags()
            if thread != 0:
                PyEval_RestoreThread(thread)
            if PyErr_Occurred() != 0:
                break
            raised = (status | flags << 8) & counting
            if raised != 0:
                at = conditions
                {RAISED}
        elif step == {S_HOLD} or step == {S_SCALAR}:
            new = load_int64(registers, load_int64(p, 8) * 8)
            if step == {S_HOLD}:
                Py_IncRef(new)
            else:
                scalar = load_int64(table, {H_NEW_SCALAR})
                new = call_kernel(scalar, load_int64(new, {DATA}), load_int64(new, {DESCR}), 0)
                if new == 0:
                    break
            store_int64(registers, ({MADE} + made) * 8, new)
            made += 1
            p += 16
        elif step == {S_TUPLE}:
            total = load_int64(p, 8)
            new = PyTuple_New(total)
            if new == 0:
                break
            for position in range(total):
                item = load_int64(registers, load_int64(p, 16 + position * 8) * 8)
                Py_IncRef(item)
                store_int64(new, {ITEM} + position * 8, item)
            store_int64(registers, ({MADE} + made) * 8, new)
            made += 1
            p += 16 + total * 8
        else:
            value = 0
            n = 32
            if step == {S_CONSTANT}:
                n = 24
                value = load_int64(p, 16)
            elif step == {S_SIZE}:
                value = load_int64(load_int64(load_int64(registers, load_int64(p, 16) * 8), {SIZES}),
                                   load_int64(p, 24) * 8)
            elif step == {S_INTEGER}:
                n = 24
                value = PyLong_AsLongLong(load_int64(registers, load_int64(p, 16) * 8))
            else:
                value = load_int64(numbers, load_int64(p, 16) * 8)
                other = load_int64(numbers, load_int64(p, 24) * 8)
                value = value + other if step == {S_ADD} else value * other
            store_int64(numbers, load_int64(p, 8) * 8, value)
            p += n
    for position in range(made):
        Py_DecRef(load_int64(registers, ({MADE} + position) * 8))
    if answer == 0 and PyErr_Occurred() != 0:
        PyErr_Clear()
    return answer
"""

STEPS_TEXT = FEW_TURNS + put(_STEPS, RAISED=put(_RAISED, ERRSTATE=ERRSTATE_HOLDS)).format(**_NAMES)
