"""Copies of arguments share memory exactly where the originals do."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jitmagic.runtime.copies import arrays_in, copy_arguments


@st.composite
def families(draw: st.DrawFn) -> list[np.ndarray]:
    """One to four arrays that may be views of each other."""
    dtype = draw(st.sampled_from(["f8", "f4", "i2", "c16", "?"]))
    base = np.arange(24).astype(dtype).reshape(draw(st.sampled_from([(24,), (4, 6), (2, 3, 4)])))
    if draw(st.booleans()):
        base = np.asfortranarray(base)
    found = [base]
    for _ in range(draw(st.integers(0, 3))):
        array = draw(st.sampled_from(found))
        how = draw(st.sampled_from(["same", "slice", "reverse", "transpose", "empty", "copy", "broadcast"]))
        made = {
            "same": lambda a: a,
            "slice": lambda a: a[1:],
            "reverse": lambda a: a[::-1],
            "transpose": lambda a: a.T,
            "empty": lambda a: a[:0],
            "copy": lambda a: a.copy(),
            "broadcast": lambda a: np.broadcast_to(a, (2, *a.shape)),
        }[how](array)
        if draw(st.booleans()) and made is not array:
            made.flags.writeable = False
        found.append(made)
    return draw(st.permutations(found))


@given(families())
def test_values_strides_flags_and_sharing_are_the_same(arrays: list[np.ndarray]) -> None:
    copies = copy_arguments({"args": tuple(arrays)})["args"]
    for a, b in zip(arrays, copies, strict=True):
        assert a is not b
        assert (a.dtype, a.shape, a.strides, a.flags.writeable) == (b.dtype, b.shape, b.strides, b.flags.writeable)
        assert a.tobytes() == b.tobytes()
        assert not np.may_share_memory(a, b)
    for i, a in enumerate(arrays):
        for j, b in enumerate(arrays):
            assert (a is b) == (copies[i] is copies[j])
            assert np.shares_memory(a, b) == np.shares_memory(copies[i], copies[j])


def test_containers_objects_and_object_arrays_are_copied_too() -> None:
    class Thing:
        def __init__(self) -> None:
            self.list = [1]

    thing, mixed = Thing(), np.array([1, "a", [2]], object)
    copied, array = copy_arguments((thing, mixed))
    copied.list.append(2)
    array[2].append(3)
    assert (thing.list, mixed[2]) == ([1], [2])


def test_arrays_are_found_in_tuples_lists_and_dicts() -> None:
    a, b, c = (np.zeros(1) for _ in range(3))
    assert [id(x) for x in arrays_in((a, [b], {"k": c}, 5))] == [id(a), id(b), id(c)]
