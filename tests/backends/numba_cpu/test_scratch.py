"""Memory that programs keep from run to run: nothing that was handed out is ever used again."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import jitmagic as jm
from jitmagic.backends.numba_cpu import scratch

N = 20_000  # elements: large enough for memory that is kept


def parts(x: Any) -> Any:
    y = np.sort(x) * 2.0 + 1.0
    y[1:] += y[:-1] * 0.5
    z = y * 3.0 - 1.0
    return np.sort(z)[::-1] * 0.5 + z[::-1], y[3:]


def compiled_parts() -> Any:
    with jm.configure(demote=False, background=False):
        f: Any = jm.compile(parts)
        f(np.ones(N))
        f(np.ones(N))
    return f


def bits(results: Any) -> list[bytes]:
    return [r.tobytes() for r in results]


def test_results_stay_as_they_are_in_later_calls() -> None:
    f = compiled_parts()
    inputs = [np.random.default_rng(k).normal(size=N) for k in range(4)]
    found = [f(x) for x in inputs]
    assert [bits(r) for r in found] == [bits(parts(x)) for x in inputs]
    assert not np.shares_memory(found[0][0], found[1][0])
    assert found[0][0].flags.owndata == parts(inputs[0])[0].flags.owndata


def test_the_program_takes_its_memory_from_there() -> None:
    f = compiled_parts()
    (entry,) = f.jit.frame.entries
    assert "scratch.take(" in entry.lowered.host
    assert sum(each.bytes for each in scratch._all) > 0


def test_threads_have_memory_of_their_own() -> None:
    f = compiled_parts()
    inputs = [np.random.default_rng(k).normal(size=N) for k in range(4)]
    wanted = [bits(parts(x)) for x in inputs]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(20):
            if bits(f(inputs[k])) != wanted[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(inputs))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_what_is_held_is_not_given_out_again() -> None:
    space = scratch.Scratch([scratch.Kind((N,), np.dtype(np.float64), "C")])
    first = space.take(0)
    view = first[3:]
    second = space.take(0)
    assert not np.shares_memory(first, second)
    del first
    third = space.take(0)
    assert not np.shares_memory(view, third)
    address = view.__array_interface__["data"][0]
    del view
    fourth = space.take(0)
    assert fourth.__array_interface__["data"][0] == address - 24


def test_memory_is_bounded_and_let_go() -> None:
    size = scratch.MOST_BYTES // 8 // 4
    space = scratch.Scratch([scratch.Kind((size,), np.dtype(np.float64), "C")])
    held = [space.take(0) for _ in range(6)]
    assert space.bytes == scratch.MOST_BYTES
    assert len({a.__array_interface__["data"][0] for a in held}) == 6
    scratch.forget()
    assert space.bytes == 0
    again = space.take(0)
    assert not any(np.shares_memory(again, a) for a in held)
