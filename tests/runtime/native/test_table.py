"""One table for all entries of a frame: which entry serves a call, and what reaches generated Python."""

from __future__ import annotations

import gc
import pickle
import weakref

import cloudpickle
import numpy as np
import pytest

import jitmagic as jm
from jitmagic.backends.native import compile as native_compile
from jitmagic.config import configure
from jitmagic.runtime.native import table as table_module
from jitmagic.runtime.native.entry_text import Head
from tests.runtime.native.programs import SETTLED, goes_native, same, served_natively


def line(x, y):
    return x * y + 1.0


def row(x):
    return x * 2.0 + 1.0


@pytest.fixture(autouse=True)
def no_demotion():
    with configure(demote=False):
        yield


@pytest.fixture
def static_sizes():
    with configure(automatic_dynamic_shapes=False):
        yield


def test_arguments_of_the_wrong_number_raise_as_in_python() -> None:
    f = jm.compile(line)
    x = np.ones(4)
    for _ in range(SETTLED):
        f(x, x + 1)
    for call in (lambda g: g(x), lambda g: g(x, x, x), lambda g: g(x, z=x), lambda g: g()):
        with pytest.raises(TypeError) as expected:
            call(line)
        with pytest.raises(TypeError) as found:
            call(f)
        assert str(found.value) == str(expected.value)


def test_keywords_defaults_and_stars_reach_the_entry() -> None:
    def many(x, /, y=2.0, *rest, k=1.0, **more):
        return x * y + k

    f = jm.compile(many)
    x = np.arange(5.0)
    for _ in range(3):
        for call in (lambda g: g(x), lambda g: g(x, 3.0), lambda g: g(x, y=4.0), lambda g: g(x, k=5.0)):
            assert same(call(f), call(many))
    assert same(f(x, 1.0, 2, 3, z=1), many(x, 1.0, 2, 3, z=1))
    assert served_natively(f) > 0


class Sub(np.ndarray):
    pass


@pytest.mark.usefixtures("static_sizes")
def test_other_arrays_do_not_match() -> None:
    f = jm.compile(row)
    x = np.arange(6.0)
    for _ in range(3):
        f(x)
    before = served_natively(f)
    read_only = x.copy()
    read_only.flags.writeable = False
    for other, hits in (
        (x.astype(">f8"), 0),
        (x.astype(np.float32), 0),
        (x[:5], 0),
        (x.reshape(2, 3), 0),
        (np.arange(12.0)[::2], 0),
        (np.frombuffer(b"x" + x.tobytes(), np.uint8)[1:].view(np.float64), 0),
        (read_only, 1),
        (pickle.loads(pickle.dumps(x)), 1),  # its dtype is another object
        (x.astype(">f8").astype(x.dtype.newbyteorder("<")), 1),
        (x.view(Sub), 0),
        ([1.0, 2.0], 0),
    ):
        if not isinstance(other, list):
            assert same(f(other), row(other))
        else:
            with pytest.raises(TypeError):
                f(other)
        entry = f.jit.frame.entries[-1]
        assert int(entry.native_hits[0]) == before + hits, other
        before = int(entry.native_hits[0])


def test_64_entries_stand_in_as_many_buckets() -> None:
    with configure(entry_limit=64, automatic_dynamic_shapes=False):
        f = jm.compile(row)
        for n in range(2, 66):
            f(np.arange(float(n)))
        assert f.jit.entries == 64
        words = f.jit.frame.native.memory
        assert words[Head.MASK] == 127
        start = int(words[Head.BUCKETS]) // 8
        rows = [int(place) for place in words[start : start + 128] if place]
        longest = max(_length(words, place) for place in rows)
        assert longest <= 4  # of 64 in 128 places, by chance
        hits = f.jit.hits
        for n in range(2, 66):
            x = np.arange(float(n))
            assert same(f(x), row(x))
        assert f.jit.hits == hits + 64
        assert all(int(e.native_hits[0]) >= 1 for e in f.jit.frame.entries)


def _length(words, place: int) -> int:
    count = 0
    while place:
        place = int(words[place // 8])
        count += 1
    return count


def test_entries_that_differ_in_anything_are_told_apart() -> None:
    def mixed(x, k):
        return x * k + 1

    with configure(specialize_int=True, automatic_dynamic_floats=False, automatic_dynamic_shapes=False):
        f = jm.compile(mixed)
        arrays = [np.arange(3.0), np.arange(4.0), np.arange(3, dtype=np.float32), np.ones((2, 2)), np.arange(3)]
        numbers = [1, 2, -1, 0.0, -0.0, 0.5, float("nan"), True, np.float64(2.0)]
        for _ in range(3):
            for x in arrays:
                for k in numbers:
                    with np.errstate(all="ignore"):
                        assert same(f(x, k), mixed(x, k)), (x, k)


def test_a_new_entry_of_a_known_form_runs_no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    f = jm.compile(row, backend="aot_eager")
    f(np.arange(3.0))
    runs = []
    generate = native_compile._generate
    monkeypatch.setattr(native_compile, "_generate", lambda *a: (runs.append(a), generate(*a))[1])
    for x in (np.arange(4.0), np.ones((2, 2)), np.arange(3), np.ones(3, np.float32)):
        for _ in range(2):
            assert same(f(x), row(x))
    assert served_natively(f) == 4
    assert not runs


def test_a_dead_function_frees_its_table() -> None:
    def make():
        def inner(x):
            return x * 2.0 + 1.0

        return jm.compile(inner)

    f = make()
    for _ in range(SETTLED):
        f(np.ones(3))
    assert goes_native(f)
    frame, table = weakref.ref(f.jit.frame), weakref.ref(f.jit.frame.native.memory)
    del f
    gc.collect()
    assert frame() is None
    assert table() is None


def test_a_call_outlives_the_function_that_it_is_in() -> None:
    box = []

    def inner(x):
        box.clear()
        gc.collect()
        return x * 2.0 + 1.0

    with configure(demote=True):
        box.append(jm.compile(inner, backend="eager"))
        assert same(box[0](np.ones(3)), np.ones(3) * 2.0 + 1.0)


class Key(str):
    """A key of the hash of its text; what is compared with it first calls ``does``."""

    __slots__ = ("does",)
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        self.does()
        return False


def test_a_table_outlives_what_runs_in_the_midst_of_its_checks() -> None:
    """The names of a namespace may have an ``__eq__`` of their own, which may end the function that asks."""
    f = jm.compile(lambda x: x * abs(-4.0) + 1.0)
    x = np.arange(4.0)
    for _ in range(SETTLED):
        f(x)
    assert goes_native(f)
    table, alive, key = weakref.ref(f.jit.frame.run.__self__[0]), [], Key("abs")

    def end() -> None:
        f.jit.frame.run = f.jit.frame.checking
        gc.collect()
        alive.append(table() is not None)

    key.does = end
    globals()[key] = max
    try:
        assert same(f(x), x * 4 + 1)
    finally:
        key.does = int
        del globals()[key]
    assert alive[0]


def test_an_object_that_died_does_not_match_another_at_its_address() -> None:
    class Box:
        def __init__(self, k):
            self.k = k

    def read(x, box):
        return x * box.k

    f = jm.compile(read, backend="aot_eager")
    x = np.ones(3)
    for k in range(1, 30):
        box = Box(float(k))
        assert same(f(x, box), x * float(k))
        del box


def test_builds_of_another_layout_are_left_to_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "is_ready", lambda: False)
    f = jm.compile(row)
    for _ in range(3):
        assert same(f(np.ones(3)), row(np.ones(3)))
    assert f.jit.frame.native is None
    assert f.jit.hits == 2


def test_hits_are_counted_whoever_serves() -> None:
    f = jm.compile(row)
    for n in (3, 4, 5, 6, 6, 6):
        f(np.ones(n))
    assert f.jit.hits + f.jit.compiles == f.jit.calls == 6


def test_a_function_sent_by_value_finds_its_own_frame_again() -> None:
    def sent(x):
        return x * 2.0 + 1.0

    sent.__module__ = "__main__"
    f = jm.compile(sent)
    for _ in range(SETTLED):
        f(np.ones(3))
    g = pickle.loads(cloudpickle.dumps(f))
    for function in (g, f):
        for _ in range(3):
            assert same(function(np.ones(3)), row(np.ones(3)))
    assert g.jit.frame is not f.jit.frame
    assert g.jit.calls == 3


def test_a_function_that_was_sent_without_its_attributes_says_so() -> None:
    f = jm.compile(row)
    for _ in range(SETTLED):
        f(np.ones(3))
    code = pickle.loads(cloudpickle.dumps(f.__code__))
    g = type(f)(code, globals(), "g")
    with pytest.raises(ReferenceError, match="without its attributes"):
        g(np.ones(3))


def test_a_trampoline_whose_frame_is_gone_says_so() -> None:
    f = jm.compile(row)
    for _ in range(3):
        f(np.ones(3))
    del f.jit
    gc.collect()
    with pytest.raises(ReferenceError, match="deleted"):
        f(np.ones(3))
