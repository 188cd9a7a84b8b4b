"""No collection begins while a kernel's instructions are written; what was set before is set again."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from jitmagic.backends.native import callees, codegen
from jitmagic.backends.native.collecting import collecting_later
from jitmagic.backends.native.compile import compile_kernel
from jitmagic.backends.native.store import Store

TEXT = """
def kernel(args, lo, hi):
    block = stack({size})
    store_int64(block, 0, hi)
    return load_int64(block, 0)
"""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    was_on = gc.isenabled()
    yield
    if was_on:
        gc.enable()
    else:
        gc.disable()


def test_on_again_after_an_error() -> None:
    gc.enable()
    with pytest.raises(KeyError):
        _fail()
    assert gc.isenabled()


def _fail() -> None:
    with collecting_later():
        assert not gc.isenabled()
        raise KeyError


def test_inside_each_other() -> None:
    gc.enable()
    with collecting_later():
        with collecting_later():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_off_stays_off() -> None:
    gc.disable()
    with collecting_later():
        pass
    assert not gc.isenabled()


def test_a_compile_brings_no_full_collection_forward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.enable()
    seen = []
    lower = codegen.lower
    monkeypatch.setattr(codegen, "lower", lambda *given: seen.append(gc.isenabled()) or lower(*given))
    kernel = compile_kernel(TEXT.format(size=24), "kernel", store=Store(tmp_path, 1 << 20))
    assert not kernel.cached
    assert seen == [False]
    assert gc.isenabled()


def test_what_numba_refuses_it_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``stack`` wants the number itself: with the type alone Numba raises, and says at length why."""
    context, _ = codegen._lowering()
    asked = []
    typing = type(context.typing_context)
    resolve = typing.resolve_function_type
    monkeypatch.setattr(typing, "resolve_function_type", lambda *given: asked.append(given[1:3]) or resolve(*given))
    callees._found.cache_clear()
    for size in (32, 40):
        compile_kernel(TEXT.format(size=size), "kernel", store=Store(tmp_path, 1 << 20))
    assert len(asked) == len(set(asked))
    assert len(asked) > 2
