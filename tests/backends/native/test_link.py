"""Object code is read before it is linked: it may need nothing but what is allowed."""

from __future__ import annotations

import ctypes
import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llvmlite.binding.orcjit import ResourceTracker

from jitmagic.backends.native.codegen import ENTRY, generate
from jitmagic.backends.native.link import ALLOWED_SYMBOLS, link, undefined_symbols
from jitmagic.errors import InternalError

TEXT = "def kernel(args, lo, hi):\n    return np.int64(math.exp(float(lo)))\n"
OBJECT = generate(TEXT, "kernel", "<test>", False).object_code


def call(address: int) -> int:
    kernel = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 4)(address)
    return int(kernel(0, 3, 0))


def test_what_an_object_needs_is_read_from_it() -> None:
    assert undefined_symbols(OBJECT) == {"exp"}
    assert call(link(OBJECT, ENTRY)) == 20


def test_the_same_object_can_be_linked_many_times() -> None:
    addresses = [link(OBJECT, ENTRY) for _ in range(20)]
    assert len(set(addresses)) == 20
    assert {call(address) for address in addresses} == {20}


def test_a_symbol_that_is_not_allowed_is_named() -> None:
    code = generate(TEXT.replace("exp", "log1p"), "kernel", "<test>", False).object_code
    assert b"\0log1p\0" in code
    with pytest.raises(InternalError, match="it needs sleep"):
        link(code.replace(b"\0log1p\0", b"\0sleep\0"), ENTRY)


def test_a_missing_entry_is_an_error() -> None:
    with pytest.raises(InternalError, match="no_such_symbol"):
        link(OBJECT, "no_such_symbol")


@given(st.integers(0, len(OBJECT) - 1))
def test_a_cut_object_is_an_error_not_a_crash(kept: int) -> None:
    with pytest.raises(InternalError):
        link(OBJECT[:kept], ENTRY)


def test_allowed_symbols_cannot_reach_files_or_processes() -> None:
    assert not ALLOWED_SYMBOLS & {"system", "open", "fopen", "dlopen", "dlsym", "mmap", "execve", "PyRun_SimpleString"}


def test_a_dead_library_is_unloaded_by_the_next_link_and_never_by_a_garbage_collection(monkeypatch) -> None:
    """To unload waits for whoever compiles; a collection may come while the program holds any lock."""
    close, closed = ResourceTracker.close, []

    def noted(tracker: ResourceTracker) -> None:
        closed.append(tracker.name)
        close(tracker)

    link(OBJECT, ENTRY)
    address = link(OBJECT, ENTRY)
    name = address.target.name
    monkeypatch.setattr(ResourceTracker, "close", noted)
    cycle = [address]
    cycle.append(cycle)
    del address, cycle
    gc.collect()
    assert not closed
    kept = link(OBJECT, ENTRY)
    assert name in closed
    assert call(kept) == 20
